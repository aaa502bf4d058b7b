#pragma once
// What each worker of this node is started with: its files, its environment, its command
// (local_elastic_agent.py:_start_workers, DefaultLogsSpecs.reify).

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/agent/agent_core.h"
#include "model/agent/heartbeat_watch.h"
#include "model/agent/worker_group.h"
#include "model/worker/process_context.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// Makes, in TMPDIR or /tmp, the directory in which an agent keeps its files when none is named; its
/// path. EscapedPythonError when it cannot be made.
std::string make_log_directory(sim::Ports& ports);

class WorkerStarts {
 public:
  /// Both outlive it.
  WorkerStarts(const AgentCore& core, const HeartbeatWatch& heartbeats)
      : ports_(core.ports),
        spec_(core.spec),
        group_(core.group),
        handler_(core.handler),
        heartbeats_(heartbeats) {}
  virtual ~WorkerStarts() = default;

  /// Makes the run's directory. EscapedPythonError when that cannot be made.
  void make_room_at_once();
  /// Makes the run's directory, if it is not there, and removes what an earlier start of this number has left.
  /// EscapedPythonError when the directory cannot be made.
  void make_room(const Attempt& attempt);
  /// What the workers' environment says of their timers, from now on.
  void tell_of_timers(std::map<std::string, std::string> variables) {
    timer_variables_ = std::move(variables);
  }
  /// All of this node's. EscapedPythonError when a directory or a file cannot be made.
  std::vector<WorkerStart> all(const Attempt& attempt);
  /// One, with files of its own. EscapedPythonError likewise.
  WorkerStart one(std::int64_t local_rank, const Attempt& attempt);

 protected:
  /// Of the directory of this attempt in the run's directory.
  [[nodiscard]] virtual std::string name_of(const Attempt& attempt) const;
  /// What the agent adds to its own environment for a worker, as worker_environment() has it.
  [[nodiscard]] virtual std::map<std::string, std::string> environment_of(
      std::int64_t local_rank, const Attempt& attempt, const std::string& error_file) const;

  sim::Ports& ports_;
  const WorkerSpec& spec_;
  const WorkerGroup& group_;

 private:
  void make_run_directory();
  /// Where the workers of this attempt leave what they leave; /dev/null when nothing is kept.
  [[nodiscard]] std::string directory_of(const Attempt& attempt) const;

  const RendezvousHandler& handler_;
  const HeartbeatWatch& heartbeats_;
  std::string run_directory_;  ///< of this agent alone; empty until the first start
  std::map<std::string, std::string> timer_variables_;
};

}  // namespace hooke::model
