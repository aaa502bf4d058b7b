#pragma once
// Where the workers of a round meet (rendezvous/api.py:RendezvousStoreInfo.build, and the shared
// store of dynamic_rendezvous.py).

#include <memory>
#include <optional>

#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/core/settings.h"
#include "model/store/tcp_store.h"

namespace hooke::model {

/// Rank 0 publishes its address and `server_port` (0: a port that is free right now, probed by
/// binding and closing it, R-35) in `store`; everybody reads them. Blocks up to the store's
/// time-out; StoreError.
RendezvousStoreInfo build_store_info(sim::Ports& ports, std::int64_t rank, Store& store,
                                     const std::string& local_addr, std::uint16_t server_port);

/// Builds the bootstrap information of an agent's rounds. It is built once per agent, and again
/// when the agent is rank 0 without a server yet, not once per round; hardened, each round
/// has its own, and an empty store at the port of the last one: members that kept the address find
/// it there. What an agent of PyTorch has told as rank 0 it does not tell again: a hardened one
/// keeps the address for as long as that agent stays rank 0.
class Bootstrap {
 public:
  Bootstrap(sim::Ports& ports, std::string local_addr, const RendezvousSettings& settings)
      : ports_(ports),
        local_addr_(settings.planted.has(Planted::bootstrap_loopback) ? "localhost"
                                                                      : std::move(local_addr)),
        variant_(settings.variant),
        later_rank_zero_fails_(settings.later_rank_zero_fails),
        planted_(settings.planted) {}

  /// The agent serves the workers' store itself, unless TORCH_DISABLE_SHARE_RDZV_TCP_STORE is "1".
  [[nodiscard]] bool shares_store() const;
  /// The information for a round whose rank 0 is `first`; nullopt: it is no longer known.
  /// StoreError; EscapedPythonError "AssertionError" when this node has become rank 0 only in a
  /// later round and the defect of releases before 2.13 is on.
  RendezvousStoreInfo for_round(std::int64_t rank, Store& round_store,
                                const std::optional<NodeDesc>& first);
  /// Rank 0 has told it in the store of that round (hardened).
  [[nodiscard]] bool was_told_in_round() const { return told_in_round_; }

 private:
  RendezvousStoreInfo exchange(std::int64_t rank, Store& round_store, std::uint16_t server_port);
  std::unique_ptr<TcpStoreServer> serve_anew();
  /// That of the store which this agent serves; 0: it serves none.
  [[nodiscard]] std::uint16_t served_port() const;

  sim::Ports& ports_;
  std::string local_addr_;
  Variant variant_;
  bool later_rank_zero_fails_;
  PlantedSet planted_;
  std::optional<RendezvousStoreInfo> cached_;
  std::optional<NodeDesc> told_by_;  ///< rank 0 of the round that `cached_` is from (hardened)
  bool told_in_round_ = false;
  std::unique_ptr<TcpStoreServer> server_;
  std::shared_ptr<Store>
      own_client_;  ///< the server object of PyTorch is its own first client (R-40)
};

}  // namespace hooke::model
