#pragma once
// Whether workers that have failed are started again: what the policy wants, and what is left of the
// agent's restarts (torch/distributed/elastic/agent/server/api.py:SimpleElasticAgent._invoke_run,
// _remaining_restarts).

#include <cstdint>
#include <map>
#include <memory>

#include "model/agent/agent_core.h"
#include "model/agent/restart_budget.h"
#include "model/agent/restart_policy.h"

namespace hooke::model {

class Restarts {
 public:
  /// `core` outlives it.
  explicit Restarts(AgentCore& core) : core_(core), remaining_(core.spec.max_restarts) {}
  virtual ~Restarts() = default;

  /// What follows from the failures of `result` when workers have been started anew `restart_count`
  /// times: the policy says what it wants, and the budget, from which that is taken, has the last
  /// word.
  virtual RestartDecision decide(const RunResult& result, std::int64_t restart_count);
  /// This agent asks for none of the restarts that are left
  /// (local_elastic_agent.py:_check_uninterruptible_state_timeout).
  void forfeit() { remaining_ = 0; }
  /// As last heard.
  [[nodiscard]] std::int64_t remaining() const { return remaining_; }

 protected:
  /// How often workers are started anew after failures.
  [[nodiscard]] virtual std::int64_t allowed() const { return core_.spec.max_restarts; }
  /// What is left for another failure of workers that were started anew `restart_count` times.
  virtual std::int64_t remaining_after(std::int64_t restart_count);
  virtual std::unique_ptr<RestartBudget> make_budget() const;
  RestartBudget& budget();
  /// One restart of the group, for what has failed in its round. False: none is left.
  bool take_one();

  AgentCore& core_;
  std::unique_ptr<RestartBudget> budget_;  ///< null until it is first asked

 private:
  bool take_one(std::int64_t round);
  /// The round that the restart in question is counted for. None of workers that are started again
  /// alone: their round goes on, and each of them counts.
  [[nodiscard]] std::int64_t counted_round() const;

  std::int64_t remaining_;
  std::map<std::int64_t, std::int64_t> attempts_failed_;  ///< by local rank
  bool alone_ = false;  ///< the failures that are decided on cost no other worker its place
};

}  // namespace hooke::model
