#pragma once
// What starts, watches and ends the worker processes of an agent. PyTorch's agents are the parents
// of their workers; where a cluster manager owns the processes (Ray's raylet, Horovod's driver),
// the agent asks it. What workers are and what their ends mean stays the agent's business
// (ProcessContext); a launcher only does as it is told.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "model/plugin/registry.h"
#include "sim/port/ports.h"

namespace hooke::model {

class ProcessLauncher {
 public:
  virtual ~ProcessLauncher() = default;
  /// Before the workers of an incarnation are started: room for `count` of them. May block until
  /// there is. std::runtime_error when there will be none; SignalException.
  virtual void reserve(std::int64_t count) = 0;
  /// Starts one worker. The number is that of its process, on the agent's machine.
  virtual sim::Outcome<sim::Pid> start(const sim::SpawnRequest& request) = 0;
  /// How a started worker has ended, told once; nullopt while it runs. Does not block.
  /// std::runtime_error when no process can say any more.
  virtual std::optional<sim::ExitStatus> poll(sim::Pid worker) = 0;
  /// False: poll() has nothing to tell of any worker, and does nothing.
  [[nodiscard]] virtual bool may_have_news() { return true; }
  /// To a worker, or with `group` to its whole process group; not_found when it has gone.
  virtual sim::Outcome<sim::Done> signal(sim::Pid worker, sim::Signal signal, bool group) = 0;
  /// The incarnation is over, and its room free.
  virtual void release() = 0;
};

/// A launcher whose options have been read.
struct ProcessLauncherKind {
  /// For one agent. `ports` outlive the launcher.
  std::function<std::unique_ptr<ProcessLauncher>(sim::Ports& ports)> make;
};

/// with_builtins has "local", PyTorch's and the default: the agent starts its workers itself;
/// "patient:attempts=3,pause=1s": likewise, each worker up to so many times, so long apart;
/// "pool:host=localhost,port=29600": it leases them from a worker pool (worker_pool.h).
class ProcessLauncherRegistry : public Registry<ProcessLauncherKind> {
 public:
  ProcessLauncherRegistry() : Registry("process launcher") {}
  static ProcessLauncherRegistry with_builtins();
};

}  // namespace hooke::model
