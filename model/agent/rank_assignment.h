#pragma once
// How the agents of a round agree on the ranks of their workers
// (torch/distributed/elastic/agent/server/api.py:_assign_worker_ranks).

#include "model/agent/worker_group.h"

namespace hooke::model {

/// Role and size of one agent, in the order of group ranks.
struct RoleInfo {
  std::string role;
  std::int64_t local_world_size = 0;
};

/// Ranks of every agent, by group rank: prefix sums over all agents, and over those of the same
/// role. Pure.
std::vector<RankAssignment> assign_ranks(const std::vector<RoleInfo>& agents);

/// The exchange over the round's store: 2.x' linear one (agent 0 reads all, computes, writes all),
/// its shortcut for identical workers, or 1.13's where each agent reads everything. StoreError;
/// EscapedPythonError for values that no agent of this protocol writes.
RankAssignment exchange_ranks(const WorkerSpec& spec, Store& store, std::int64_t group_rank,
                              std::int64_t group_world_size);

}  // namespace hooke::model
