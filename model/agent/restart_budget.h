#pragma once
// How many restarts after failures are left, and who counts.
//
// PyTorch's budget is each agent's own: N agents can restart a job N times max_restarts, an agent
// that takes a lost one's place begins with a full budget, and a failure that a peer sees only as a
// membership change costs that peer nothing (A-7, incident 9).

#include <cstdint>
#include <memory>
#include <optional>

#include "model/store/store.h"

namespace hooke::model {

class RestartBudget {
 public:
  virtual ~RestartBudget() = default;
  /// Restarts that are left for workers that failed in `round`.
  virtual std::int64_t remaining(std::int64_t round) = 0;
  /// Takes note of what has been spent so far: the store that keeps the count may lose it.
  virtual bool look() { return true; }
  /// Before the agent joins: tells the others what it knows to be spent, which they may not know.
  virtual void settle() {}
  /// Takes one for them, and returns how many are left then. nullopt: there was none.
  virtual std::optional<std::int64_t> spend(std::int64_t round) = 0;
};

/// PyTorch's (SimpleElasticAgent._remaining_restarts).
std::unique_ptr<RestartBudget> make_own_budget(std::int64_t max_restarts);

/// The hardened variant's: one number for all agents of the job, in the store that holds the
/// rendezvous state, under a key of its own ("restarts", as "COUNT ROUND"). It is moved by compare
/// and set, so that two agents never take the same restart, and at most once per round: whatever
/// fails in a round, its consequences on other nodes included, is one restart of the job. It
/// outlives agents: who replaces a lost one finds it as it is. Agents of torch-2.x read and write
/// other keys only; they neither see it nor disturb it, and count for themselves as ever.
/// A store that comes up empty is given back the count by each agent that knows it and joins, so
/// that the others see it as the round is formed, or spends, or finds nothing left, or comes to wait
/// beside the round of others. A lost member counts, a node that waits to be let in does not. Where there are no rounds
/// (static, round -1) every restart counts: that fits workers that are started again alone, not
/// groups, of which each restarts for one failure. While the store cannot be reached the agent's
/// own restarts count: an agent that reaches neither store nor peers does not get through the next
/// rendezvous anyway.
std::unique_ptr<RestartBudget> make_job_budget(std::int64_t max_restarts,
                                               std::shared_ptr<Store> store);

}  // namespace hooke::model
