#pragma once
// Whether a job goes on after a failure or a loss: what is left of its restarts, and whether its
// agents have been told that it is over. One answer, since all that can end a job asks for it: a
// failed worker, a lost member, a failure on another node.

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "model/agent/departure.h"
#include "model/agent/job_failure.h"
#include "model/agent/restart_budget.h"
#include "model/agent/restart_policy.h"
#include "model/agent/worker_group.h"
#include "sim/port/ports.h"

namespace hooke::model {

class JobStanding {
 public:
  /// What is given must outlive this.
  JobStanding(sim::Ports& ports, const WorkerSpec& spec, RendezvousHandler& handler,
              const WorkerGroup& group, const RestartPolicy& policy);

  /// What follows from the failures of `result` when workers have been started anew `restart_count`
  /// times: the policy says what it wants, and the budget, from which that is taken, has the last
  /// word.
  RestartDecision decide(const RunResult& result, std::int64_t restart_count);
  /// A lost member costs the job a restart, as its peers' failures would. False: none is left.
  bool may_restart_for_a_loss();
  /// This agent has got this seat of the round; its group may still have to form.
  void has_joined(std::int64_t round, std::int64_t rank) { seat_ = {round, rank}; }
  /// This agent is told to go, and tells the others that it is no loss; a store that is silent is
  /// not waited for. Nothing before its first round: then no other agent counts on it.
  void say_goodbye();
  /// Hardened: the members of the round with these ranks have left of their own accord, which costs
  /// the job no restart; nor does this agent's following, which it tells the others. StoreError.
  bool follows_a_departure(const std::vector<std::int64_t>& missing);
  /// Likewise when workers here have failed and a member of the round was told to go: they miss its
  /// workers.
  bool fails_for_a_departure();
  /// This agent asks for none of the restarts that are left
  /// (local_elastic_agent.py:_check_uninterruptible_state_timeout).
  void forfeit_restarts() { remaining_ = 0; }
  /// As last heard.
  [[nodiscard]] std::int64_t remaining_restarts() const { return remaining_; }

  /// Takes note of what the job's agents have spent. False: the store did not answer.
  bool look() { return budget().look(); }
  /// Likewise, of an agent that has had a group before.
  void look_again();
  /// Tells what was spent while no agent could be told.
  void settle();
  /// All restarts are there again.
  void renew() { budget_ = nullptr; }

  /// Another agent has told that the workers of `round` are not started again. StoreError.
  bool has_failed(std::int64_t round) { return failure().is_told(round); }
  /// Tells the others so of the group's present round. False: the store does not answer.
  bool give_up();
  /// Tells a silent store until it answers, for a minute at most, where no agent would ever find
  /// out otherwise. SignalException.
  void insist_that_it_is_given_up();

 private:
  RestartBudget& budget();
  JobFailure failure();
  Departure departure();
  [[nodiscard]] std::int64_t restarts_allowed() const;
  /// What is left for another failure of workers that were started anew `restart_count` times.
  std::int64_t remaining_after(std::int64_t restart_count);
  [[nodiscard]] bool planted(Planted which) const { return spec_.planted.has(which); }
  [[nodiscard]] bool hardened() const { return spec_.variant == Variant::hardened; }

  sim::Ports& ports_;
  const WorkerSpec& spec_;
  RendezvousHandler& handler_;
  const WorkerGroup& group_;
  const RestartPolicy& policy_;
  std::unique_ptr<RestartBudget> budget_;  ///< null until the job's store is known
  std::int64_t remaining_;
  std::optional<std::pair<std::int64_t, std::int64_t>> seat_;  ///< round and rank, the latest
  std::map<std::int64_t, std::int64_t> attempts_failed_;       ///< by local rank
};

}  // namespace hooke::model
