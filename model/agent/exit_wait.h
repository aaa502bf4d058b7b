#pragma once
// The wait of an agent whose workers are done for the other agents of its group
// (torch/distributed/elastic/agent/server/api.py:SimpleElasticAgent._exit_barrier).

#include <functional>
#include <string_view>

#include "model/agent/exit_barrier.h"
#include "model/agent/worker_group.h"
#include "sim/port/ports.h"

namespace hooke::model {

class ExitWait {
 public:
  /// What is given must outlive this. `job_has_failed`: another agent of the round has told so;
  /// StoreError.
  ExitWait(sim::Ports& ports, const WorkerSpec& spec, RendezvousHandler& handler,
           const WorkerGroup& group, std::function<bool()> job_has_failed);

  /// How it ended, as the trace has it: "passed", "timed_out" or "failed", which are no errors;
  /// hardened also "closed"; "others_return": these want another round; "left_behind": they have
  /// one, and there is no place in it for this agent. SignalException.
  std::string_view wait();
  /// The barrier of the group's present round.
  [[nodiscard]] ExitBarrier barrier() const;

 private:
  std::string_view meet();
  std::string_view watch();
  std::string_view look_up(ExitBarrier& own);
  void come_to(ExitBarrier& own, bool again);
  [[nodiscard]] std::int64_t size() const;
  [[nodiscard]] sim::Duration longest() const;
  [[nodiscard]] bool planted(Planted which) const { return spec_.planted.has(which); }

  sim::Ports& ports_;
  const WorkerSpec& spec_;
  RendezvousHandler& handler_;
  const WorkerGroup& group_;
  std::function<bool()> job_has_failed_;
};

}  // namespace hooke::model
