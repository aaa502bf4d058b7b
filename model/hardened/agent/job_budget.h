#pragma once
// The problem: PyTorch's budget is each agent's own. N agents can restart a job N times
// max_restarts, an agent that takes a lost one's place begins with a full budget, and a failure that
// a peer sees only as a membership change costs that peer nothing (A-7, incident 9).

#include <cstdint>
#include <memory>
#include <string>

#include "model/agent/restart_budget.h"
#include "model/store/store.h"

namespace hooke::model {

/// One number for all agents of the job, in the store that holds the rendezvous state, under a key
/// of its own ("restarts", as "COUNT ROUND"). It is moved by compare and set, so that two agents
/// never take the same restart, and at most once per round: all that fails in a round, its
/// consequences on other nodes included, is one restart of the job. It outlives agents: an agent
/// that replaces a lost one finds it as it is. Agents of torch-2.x read and write other keys only;
/// they neither see it nor disturb it, and count for themselves as ever.
/// A store that comes up empty is given back the count by each agent that knows it and joins, so
/// that the others see it as the round is formed, or spends, or finds nothing left, or comes to wait
/// beside the round of others. What is to be given back an agent knows since it had a seat, for the
/// store may go before the group is formed (JobStanding::look_from). A lost member counts, a node
/// that waits to be let in does not. Where no round pays (round -1) every restart counts, as "COUNT
/// ROUND MARK" with the last round that did and the agent's own `mark`, digits that no other agent
/// of the job has: that fits workers that are started again alone, not groups, of which each
/// restarts for one failure. While the store cannot be reached the agent's own restarts count: an
/// agent that reaches neither store nor peers does not get through the next rendezvous anyway. What
/// it has taken then comes on top of what the store holds when that answers again: with the next
/// round, and where no round pays with the next look().
std::unique_ptr<RestartBudget> make_job_budget(std::int64_t max_restarts,
                                               std::shared_ptr<Store> store, std::string mark = "");

}  // namespace hooke::model
