#pragma once
// The problem: an agent asks its rendezvous one thing, whether nodes wait. It does not see that a
// member is gone or that the job has failed on another node, and ends for one answer that
// does not come.

#include <string_view>

#include "model/agent/membership_watch.h"
#include "model/hardened/agent/hardened_exit_wait.h"
#include "model/hardened/agent/job_standing.h"

namespace hooke::model {

/// What an agent finds behind the exit barrier of its round.
enum class AfterBarrier {
  job_done,        ///< all members have ended with it
  others_return,   ///< members have left the barrier for a round that is not complete yet
  others_went_on,  ///< the next round goes on without this agent, or that is unknown
};

/// Asks what has become of the group, too.
class HardenedMembershipWatch : public MembershipWatch {
 public:
  /// What is given must outlive this.
  HardenedMembershipWatch(AgentCore& core, const HardenedExitWait& exit_wait, JobStanding& job)
      : MembershipWatch(core), exit_wait_(exit_wait), job_(job) {}

  /// The ranks of a group are known, which is not formed before all have heard of it.
  /// RendezvousGracefulExitError when there is nothing left for it to do, RendezvousClosedError when a
  /// job of one round (static) has failed before.
  void met();
  /// It was formed at `at`. Not `heard`: the store was asked since then, and did not answer.
  void formed(sim::MonotonicTime at, bool heard);

  /// Besides PyTorch's: "member_left", "member_lost" or "rendezvous_lost". Where the backend does
  /// not answer, the agent asks again until the others must have taken it for dead, and then meets
  /// them again, if it can (static: no agent ever takes it for dead); between two questions, which
  /// may take long, it looks at its workers. RendezvousError: the job is over, or has gone on
  /// without this agent.
  const char* cause_to_restart() override;
  [[nodiscard]] bool may_have_news() override {
    return is_cut_off() || is_time_to_tell() || asks_the_others();
  }
  /// The others have gone on without this agent; or, where the backend does not answer, they must have
  /// taken it for dead, and go on so. What it fails in then is its own alone.
  bool is_left_behind();
  /// The others want another round with this node, or have begun one without it, to which it comes
  /// back as a newcomer does: either way that costs the job no restart.
  const char* cause_to_follow() override;
  /// Behind an exit barrier that ended like this. An agent that was cut off may come last to one
  /// that the others have left for another round, which may need it. What only newcomers have begun,
  /// in a store that came up empty, waits for members that are done.
  virtual AfterBarrier after_barrier(std::string_view how_it_ended);

 protected:
  /// Nodes wait. Returns cause_to_follow().
  virtual const char* follow_newcomers() { return cause_to_follow(); }
  /// Whether a loss is looked for at all.
  [[nodiscard]] virtual bool looks_for_losses() const { return true; }
  /// Of a restart for a lost member.
  [[nodiscard]] virtual const char* cause_of_loss() const { return "member_lost"; }

 private:
  [[nodiscard]] bool is_cut_off() const;
  [[nodiscard]] bool is_time_to_tell() const;
  [[nodiscard]] bool asks_the_others() const;
  const char* cause_if_it_answers();
  const char* cause_of_missing_members();
  const char* come_back();
  void learn_what_was_paid();
  void tell_of_the_silence();
  void leave_what_is_done();

  const HardenedExitWait& exit_wait_;
  JobStanding& job_;
  sim::MonotonicTime heard_{};    ///< when the rendezvous last answered
  bool silent_ = false;           ///< it did not when it was last asked
  sim::MonotonicTime told_{};     ///< when it last looked whether the others must be told
  sim::MonotonicTime asked_{};    ///< when it last asked the others
  bool was_done_before_ = false;  ///< another agent of this rank had done this one's work
};

}  // namespace hooke::model
