#pragma once
// A look at a job's rendezvous from outside: reads what the agents share and never writes.

#include <optional>
#include <string>
#include <vector>

#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/dynamic/backend.h"
#include "model/rendezvous/round_facts.h"
#include "model/rendezvous/state/state.h"

namespace hooke::model {

/// What the store says of one job.
struct RendezvousView {
  StateRef state;               ///< null: agents have met here, none has written a state yet
  std::size_t state_bytes = 0;  ///< of the pickle, before the backend's encoding
  /// Of the current round, else of the latest earlier one that published it: agents that share a
  /// store over rounds publish it once.
  std::optional<RendezvousStoreInfo> master;
  std::int64_t master_round = -1;  ///< the round that published it
  /// Workers of a complete round, once its agents have published their ranks as 2.x does.
  std::optional<std::int64_t> world_size;
  /// The workers of each of its agents, by rank; empty where they do not tell (identical workers).
  std::vector<AgentWorkers> workers;
};

/// Reads the job `run_id` of a c10d rendezvous; nullopt when the store knows no such job. Makes no
/// key, not even the sentinel with which an agent begins. Understands the states of 1.13 and
/// of 2.x. StoreError, RendezvousStateError.
std::optional<RendezvousView> observe_c10d(Store& store, const std::string& run_id);

/// Reads the job `run_id` of a rendezvous whose backend keeps a state and nothing else, as etcd's
/// do; `store` is that of its rounds. RendezvousConnectionError besides.
std::optional<RendezvousView> observe(RendezvousBackend& backend, Store& store,
                                      const std::string& run_id);

}  // namespace hooke::model
