#pragma once
// A look from outside at jobs whose rendezvous has no shared state of the dynamic kind: the legacy
// one over etcd, and the static one. Reads, and never writes.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/etcd/v2_client.h"
#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/legacy_etcd/state.h"
#include "model/rendezvous/round_facts.h"
#include "model/store/store.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// What etcd says of one job of the legacy rendezvous.
struct LegacyEtcdView {
  std::optional<LegacyState> state;  ///< nullopt: agents have met here, and no version is active
  std::size_t state_bytes = 0;
  /// Of a frozen or final version, by rank: whether the member's key is still there. Etcd removes
  /// one that no agent has renewed for 10 s.
  std::vector<bool> kept;
  std::optional<RendezvousStoreInfo> master;  ///< of a final version
  std::vector<AgentWorkers> workers;          ///< of a final version, by rank of their agent
};

/// Reads the job `run_id` below `prefix`, the setting etcd_prefix; nullopt when etcd knows no such
/// job. RendezvousConnectionError, RendezvousStateError, StoreError.
std::optional<LegacyEtcdView> observe_legacy_etcd(sim::Ports& ports,
                                                  const std::shared_ptr<EtcdV2Client>& client,
                                                  std::string prefix, const std::string& run_id);

/// What the store of a static rendezvous says. There are no rounds, no list and no heartbeats: only
/// what all agents have told each other once, when they had all come.
struct StaticView {
  std::int64_t world_size = 0;
  std::vector<AgentWorkers> workers;  ///< by rank of their agent; empty: they do not tell
};

/// Reads the job `run_id`; nullopt until all of its agents have come. StoreError.
std::optional<StaticView> observe_static(Store& store, const std::string& run_id);

}  // namespace hooke::model
