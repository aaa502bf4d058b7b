#pragma once
// The problem: each agent judges the job by its own restarts. N agents restart a job N times
// max_restarts, a member that was told to go costs the others a restart as one that was lost
// does, and an agent that gives the job up tells no other agent.

#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/agent/restarts.h"
#include "model/hardened/agent/departure.h"
#include "model/hardened/agent/job_failure.h"

namespace hooke::model {

/// The one round of a static job (PyTorch: rendezvous/static_tcp_rendezvous.py, next_rendezvous).
inline constexpr std::int64_t kStaticRound = -1;

/// One count of restarts for all agents, and one answer to whether the job goes on, since all that
/// can end a job asks for it: a failed worker, a lost member, a failure on another node.
class JobStanding : public Restarts {
 public:
  using Restarts::Restarts;

  /// A lost member costs the job a restart, as its peers' failures would. False: none is left.
  virtual bool may_restart_for_a_loss() { return take_one(); }
  /// This agent has got this seat of the round; its group may still have to form.
  void has_joined(std::int64_t round, std::int64_t rank) { seat_ = {round, rank}; }
  /// This agent is told to go, and tells the others that it is no loss; a store that is silent is
  /// not waited for. Nothing before its first round: then no other agent counts on it.
  virtual void say_goodbye();
  /// The members of the round with these ranks have left of their own accord, which costs the job no
  /// restart; nor does this agent's following, which it tells the others. StoreError.
  virtual bool follows_a_departure(const std::vector<std::int64_t>& missing);
  /// Likewise where the group that this agent has lost was not formed yet: to others it may be.
  void follows_before_the_start();
  /// Likewise when workers here have failed and a member of the round was told to go: they miss its
  /// workers.
  virtual bool fails_for_a_departure();

  /// Takes note of what the job's agents have spent. False: the store did not answer.
  bool look() { return budget().look(); }
  /// Likewise, of an agent that has had a group before.
  void look_again();
  /// Likewise, of one that has a seat in `round`. Before the first round of a job nothing was spent,
  /// but this agent may have had a group in another store.
  void look_from(std::int64_t round);
  /// Tells what was spent while no agent could be told.
  void settle();

  /// Tells the restarts of single workers that were taken while the store was silent, which is asked
  /// for no more than a second.
  void tell_of_the_silence();

  /// Another agent has told that the workers of `round` are not started again. StoreError.
  bool has_failed(std::int64_t round) { return failure().is_told(round); }
  /// Likewise; a silent store does not hold that up for more than a second. False where it cannot be
  /// known.
  bool has_failed_meanwhile(std::int64_t round);
  /// Tells the others so of the group's present round. False: the store does not answer.
  bool give_up();
  /// What this agent has told with give_up(), if it has, is told again to a store that has lost it.
  void give_up_anew();
  /// Tells a silent store until it answers, for a minute at most, or as long as this process serves
  /// it, where no agent would ever find out otherwise. SignalException.
  void insist_that_it_is_given_up();

 protected:
  std::unique_ptr<RestartBudget> make_budget() const override;
  /// Whether the budget is one for all agents of the job.
  [[nodiscard]] virtual bool counts_for_the_job() const;
  /// Members with these ranks have said that they leave. StoreError.
  virtual bool have_said_goodbye(const std::vector<std::int64_t>& ranks);
  /// Tells the others that the job has failed. False: the store does not answer.
  virtual bool tell_failure() { return failure().tell(core_.group.round); }

 private:
  JobFailure failure();
  Departure departure();

  std::optional<std::pair<std::int64_t, std::int64_t>> seat_;  ///< round and rank, the latest
  bool has_given_up_ = false;
  bool meets_in_rounds_ = false;  ///< has had a seat in one
};

}  // namespace hooke::model
