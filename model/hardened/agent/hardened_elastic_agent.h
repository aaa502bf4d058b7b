#pragma once
// The problem: an agent knows its own workers and one number of its rendezvous. Told to go, it says
// no word to the others; it takes a failure for the job's while these go on, or goes on after them
// (L-2, A-9); a group that loses a member while it forms is waited for until a time-out; a
// second signal leaves workers behind, and the grace that was configured holds only at the
// very end.

#include <functional>
#include <optional>

#include "model/agent/elastic_agent.h"
#include "model/hardened/agent/hardened_membership_watch.h"
#include "model/hardened/agent/job_standing.h"

namespace hooke::model {

/// Tells the other agents what it does and why, and asks what has become of them.
class HardenedElasticAgent : public ElasticAgent {
 public:
  /// `job` and `membership` are those of `kit`.
  HardenedElasticAgent(const AgentParts& parts, ElasticAgentKit kit, JobStanding& job,
                       HardenedMembershipWatch& membership);

 protected:
  /// Whatever errors it meets, it leaves no worker behind: it may serve others for long.
  void shutdown_at_end(sim::Signal signal, const std::function<void()>& meanwhile) override;
  void stop_for_signal(sim::Signal signal) override;
  /// A result: of what has failed here while the others were asked.
  std::optional<RunResult> look_at_the_others() override;
  bool goes_on_after(RunResult& result) override;
  void stop_for_good(RunResult& result) override;
  /// False when the workers have been started anew: others of the group have failed, want another
  /// round, and cannot have it without this node.
  bool finish(RunResult& result) override;
  void rendezvous() override;
  RendezvousInfo join_round() override;
  void take_place(RendezvousInfo info) override;
  /// False when the others have ended the job meanwhile: the agent then reports the failure that it
  /// wanted to restart for, which may be the first of all, and not that it came too late.
  bool restart_group(const char* cause, sim::Duration delay) override;
  /// RendezvousClosedError when another agent has given the job up meanwhile.
  void sleep_out(sim::Duration delay) override;
  /// As configured.
  [[nodiscard]] sim::Duration grace() const override { return spec_.shutdown_timeout; }
  /// A signal that comes meanwhile waits until the workers are stopped.
  void before_stopping() override {}
  /// A signal waits until the agent has come to the barrier, so that the others know of its work.
  void before_exit_barrier() override {}
  void after_stopping() override;

 private:
  bool form_group(bool again);

  JobStanding& job_;
  HardenedMembershipWatch& membership_;
};

}  // namespace hooke::model
