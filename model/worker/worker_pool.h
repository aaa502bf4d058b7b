#pragma once
// A pool of worker slots on a machine, as a cluster manager keeps one beside its agents (Ray's
// raylet): an actor that starts processes for a process that holds a lease, tells how they end, and
// ends them with the lease. Agents of any job on its machine reach it over a connection
// (pool_wire.h); connections from other machines are broken, for a process that is heard may start
// processes.

#include <cstdint>
#include <memory>

#include "sim/port/ports.h"

namespace hooke::model {

inline constexpr std::uint16_t kWorkerPoolPort = 29'600;

class WorkerPool {
 public:
  /// Serves `slots` (> 0) workers on `port` (0: any). std::runtime_error when the port is taken.
  WorkerPool(sim::Ports& ports, sim::PortNumber port, std::int64_t slots);
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  [[nodiscard]] sim::PortNumber port() const;
  /// Serves in the calling fiber until a caught signal comes, then ends all workers.
  void run();

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace hooke::model
