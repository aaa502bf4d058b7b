#pragma once
// The shared state in one key of a c10d store (c10d_rendezvous_backend.py).

#include <memory>
#include <string>

#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/dynamic/backend.h"
#include "model/store/store.h"
#include "model/store/tcp_store.h"

namespace hooke::model {

/// The key under which the agents of job `run_id` keep their state.
std::string c10d_state_key(const std::string& run_id);
/// What stands under that key until one of them has written a state.
sim::Value c10d_no_state();

class C10dBackend final : public RendezvousBackend {
 public:
  /// Puts the sentinel "no state" under the key unless something is there. std::invalid_argument
  /// for an empty run id, RendezvousConnectionError when the store fails. Hardened, it does so
  /// again whenever the key has disappeared (R-15, S-4).
  C10dBackend(std::shared_ptr<Store> store, const std::string& run_id, Variant variant,
              PlantedSet planted = {});
  [[nodiscard]] std::string name() const override { return "c10d"; }
  std::optional<StoredState> get_state() override;
  /// Success is inferred from the equality of values (S-5).
  std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                          const std::optional<Token>& token) override;
  void set_read_timeout(sim::Duration timeout) override { store_->set_timeout(timeout); }

 private:
  /// Unless there is something already; what is there afterwards.
  sim::Value put_sentinel();

  std::shared_ptr<Store> store_;
  std::string key_;
  sim::Value sentinel_;
  Variant variant_;
  PlantedSet planted_;
};

/// What create_c10d_backend makes: the store client, and its server when this process hosts it.
struct C10dStore {
  std::unique_ptr<TcpStoreServer> server;
  std::shared_ptr<Store> store;
};

/// Hosts or joins the store at parameters.endpoint. Config: is_host (else host matching),
/// read_timeout (60 s, > 0), store_type ("tcp", or "file": the endpoint is then the path of a file
/// that all agents share). std::invalid_argument for bad config,
/// RendezvousConnectionError when neither works.
C10dStore create_c10d_store(sim::Ports& ports, const RendezvousParameters& parameters);

}  // namespace hooke::model
