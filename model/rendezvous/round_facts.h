#pragma once
// What the agents of a complete round have published in its store, read without waiting for any of
// it: where the workers meet, and which ranks each agent's workers have
// (torch/distributed/elastic/agent/server/api.py:SimpleElasticAgent._assign_worker_ranks,
// rendezvous/api.py:RendezvousStoreInfo.build).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/rendezvous/core/handler.h"
#include "model/store/store.h"

namespace hooke::model {

/// The workers of one agent: they have `count` ranks in a row.
struct AgentWorkers {
  std::string role;
  std::int64_t first_rank = 0;  ///< among all workers
  std::int64_t count = 0;
  friend bool operator==(const AgentWorkers&, const AgentWorkers&) = default;
};

// `prefix`: before the keys of the round; empty where the store is the round's own. StoreError.

/// nullopt when it is not there, or means nothing.
std::optional<RendezvousStoreInfo> published_master(Store& store, const std::string& prefix);
/// All workers, as the agent of rank 0 was told; nullopt likewise (1.13, identical workers).
std::optional<std::int64_t> published_world_size(Store& store, const std::string& prefix);
/// Of the `agents` of the round, by rank; empty until all have published theirs, where they do not
/// (identical workers), and when one of them means nothing. Reads what 1.13 and 2.x write.
std::vector<AgentWorkers> published_workers(Store& store, const std::string& prefix,
                                            std::int64_t agents);
/// Likewise where it is not known how many agents there are: as many as make up `world_size`.
std::vector<AgentWorkers> published_workers_of(Store& store, const std::string& prefix,
                                               std::int64_t world_size);

}  // namespace hooke::model
