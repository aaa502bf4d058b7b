#pragma once
// Why workers with whom all is well are started anew: somebody wants in, or a member is gone
// (torch/distributed/elastic/agent/server/api.py:SimpleElasticAgent._invoke_run, what it asks the
// rendezvous at each look; members that are gone are the hardened variant's).

#include <string_view>

#include "model/agent/exit_wait.h"
#include "model/agent/job_standing.h"
#include "model/agent/worker_group.h"
#include "model/agent/worker_starts.h"
#include "sim/port/ports.h"

namespace hooke::model {

class MembershipWatch {
 public:
  /// What is given must outlive this.
  MembershipWatch(sim::Ports& ports, const WorkerSpec& spec, RendezvousHandler& handler,
                  const WorkerGroup& group, const ExitWait& exit_wait, JobStanding& job);

  /// The ranks of a group are known, which is not formed before all have heard of it.
  /// RendezvousGracefulExitError when there is nothing left for it to do.
  void met();
  /// It was formed at `at`. Not `heard`: the store was asked since then, and did not answer.
  void formed(sim::MonotonicTime at, bool heard);

  /// "membership_change", "member_left", "member_lost" or "rendezvous_lost"; null: for nothing. A
  /// failing backend ends a healthy agent. A hardened one asks again until the others must
  /// have taken it for dead, and then meets them again, if it can (static: no agent ever takes it
  /// for dead); between two questions, which may take long, it looks at its workers.
  /// RendezvousError: the job is over, or has gone on without this agent.
  const char* cause_to_restart(Attempt& attempt);
  /// The others want another round with this node, or have begun one without it, to which it comes
  /// back as a newcomer does: either way that costs the job no restart.
  const char* cause_to_follow();
  /// Behind an exit barrier that ended like this. Who was cut off may come last to one that the
  /// others have left for another round. What only newcomers have begun, in a store that came up
  /// empty, waits for members that are done.
  bool others_have_gone_on(std::string_view how_barrier_ended);

 private:
  const char* cause_if_it_answers(Attempt& attempt);
  bool others_wait(const Attempt& attempt);
  void leave_what_is_done();
  [[nodiscard]] bool planted(Planted which) const { return spec_.planted.has(which); }
  [[nodiscard]] bool hardened() const { return spec_.variant == Variant::hardened; }

  sim::Ports& ports_;
  const WorkerSpec& spec_;
  RendezvousHandler& handler_;
  const WorkerGroup& group_;
  const ExitWait& exit_wait_;
  JobStanding& job_;
  sim::MonotonicTime heard_{};    ///< when the rendezvous last answered
  bool silent_ = false;           ///< it did not when it was last asked
  sim::MonotonicTime asked_{};    ///< when it last asked whether all is done
  bool was_done_before_ = false;  ///< another agent of this rank had done this one's work
};

}  // namespace hooke::model
