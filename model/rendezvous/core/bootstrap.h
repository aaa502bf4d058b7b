#pragma once
// Where the workers of a round meet (rendezvous/api.py:RendezvousStoreInfo.build, and the shared
// store of dynamic_rendezvous.py).

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/core/settings.h"
#include "model/store/tcp_store.h"

namespace hooke::model {

/// Publishes the address of this agent, which is rank 0, and `server_port` (0: a port that is free
/// right now, probed by binding and closing it, R-35) in `store`. StoreError.
RendezvousStoreInfo tell_store_info(sim::Ports& ports, Store& store, const std::string& local_addr,
                                    std::uint16_t server_port);

/// Rank 0 publishes its address and `server_port` as above; every agent reads them. Blocks up to
/// the store's time-out; StoreError.
RendezvousStoreInfo build_store_info(sim::Ports& ports, std::int64_t rank, Store& store,
                                     const std::string& local_addr, std::uint16_t server_port);
/// What was published: waits for both keys. EscapedPythonError for a port that is no number.
RendezvousStoreInfo read_store_info(Store& store);

/// Builds the bootstrap information of an agent's rounds. It is built once per agent, and again
/// when the agent is rank 0 without a server yet, not once per round.
class Bootstrap {
 public:
  Bootstrap(sim::Ports& ports, std::string local_addr, const RendezvousSettings& settings)
      : ports_(ports),
        local_addr_(hides_the_local_address(settings.variant) ? std::string()
                                                              : std::move(local_addr)),
        planted_(settings.planted),
        later_rank_zero_fails_(settings.later_rank_zero_fails),
        may_share_(serves_the_workers_store(settings.variant)) {}
  virtual ~Bootstrap() = default;
  Bootstrap(const Bootstrap&) = delete;
  Bootstrap& operator=(const Bootstrap&) = delete;

  /// The agent serves the workers' store itself, unless TORCH_DISABLE_SHARE_RDZV_TCP_STORE is "1".
  [[nodiscard]] bool shares_store() const;
  /// StoreError; EscapedPythonError "AssertionError" when this node has become rank 0 only in a
  /// later round and the defect of releases before 2.13 is on.
  virtual RendezvousStoreInfo for_round(std::int64_t rank, Store& round_store);

 protected:
  virtual RendezvousStoreInfo exchange(std::int64_t rank, Store& round_store,
                                       std::uint16_t server_port);
  /// This agent serves no store to the workers yet.
  [[nodiscard]] virtual bool serves_none() const { return server_ == nullptr; }
  /// That of the store which this agent serves; 0: it serves none.
  [[nodiscard]] virtual std::uint16_t served_port() const {
    return server_ == nullptr ? std::uint16_t{0} : server_->port().value;
  }

  sim::Ports& ports_;
  std::string local_addr_;
  PlantedSet planted_;  ///< of the stores that it makes
  std::optional<RendezvousStoreInfo> cached_;
  std::unique_ptr<TcpStoreServer> server_;

 private:
  std::uint16_t serve();

  bool later_rank_zero_fails_;
  bool may_share_;  ///< of the release
  std::shared_ptr<Store>
      own_client_;  ///< the server object of PyTorch is its own first client (R-40)
};

}  // namespace hooke::model
