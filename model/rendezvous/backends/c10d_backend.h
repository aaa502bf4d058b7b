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

/// The protected steps are where a mend does otherwise.
class C10dBackend : public RendezvousBackend {
 public:
  /// Puts the sentinel "no state" under the key unless something is there. std::invalid_argument
  /// for an empty run id, RendezvousConnectionError when the store fails.
  C10dBackend(std::shared_ptr<Store> store, const std::string& run_id);
  [[nodiscard]] std::string name() const override { return "c10d"; }
  std::optional<StoredState> get_state() override;
  /// Success is inferred from the equality of values (S-5).
  std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                          const std::optional<Token>& token) override;
  void set_read_timeout(sim::Duration timeout) override { store_->set_timeout(timeout); }

 protected:
  /// What stands under the key. In a store that has come up empty PyTorch waits for what no agent
  /// is going to write.
  virtual sim::Value stored();
  /// Writes `offered` where `expected` stands; what stands there afterwards. The answer is
  /// `expected` too where nothing stands there at all (S-4).
  virtual sim::Value write(const sim::Value& expected, const sim::Value& offered);
  /// Unless there is something already; what is there afterwards.
  sim::Value put_sentinel();
  /// Unconditionally.
  void overwrite(const sim::Value& bytes);
  [[nodiscard]] const sim::Value& sentinel() const { return sentinel_; }

 private:
  std::shared_ptr<Store> store_;
  std::string key_;
  sim::Value sentinel_;
};

/// What C10dStoreCreation makes: the store client, and its server when this process hosts it.
struct C10dStore {
  std::shared_ptr<TcpStoreServer> server;
  std::shared_ptr<Store> store;
};

/// Hosts or joins the store at parameters.endpoint, or serves on what was handed on
/// (c10d_rendezvous_backend.py:create_backend, _create_tcp_store). Config: is_host (else host
/// matching), read_timeout (60 s, > 0), store_type ("tcp", or "file": the endpoint is then the path
/// of a file that all agents share). The protected steps are where a mend does otherwise.
class C10dStoreCreation {
 public:
  C10dStoreCreation(sim::Ports& ports, const RendezvousParameters& parameters)
      : ports_(ports), parameters_(parameters) {}
  virtual ~C10dStoreCreation() = default;
  C10dStoreCreation(const C10dStoreCreation&) = delete;
  C10dStoreCreation& operator=(const C10dStoreCreation&) = delete;

  /// std::invalid_argument for bad config, RendezvousConnectionError when neither works.
  C10dStore create();

 protected:
  [[nodiscard]] virtual sim::Endpoint endpoint() const;
  /// Whether `host` is this machine.
  [[nodiscard]] virtual bool is_own(const std::string& host) const;
  /// Whether a node that is not told to host the store does so when it cannot be reached.
  [[nodiscard]] virtual bool hosts_when_unreachable() const { return false; }
  /// How the client connects; `serves`: to a store of this process, whose port is set.
  virtual void adapt(TcpStoreOptions& /*options*/, bool /*serves*/) const {}
  /// A client was not connected: the server that this process may have begun ends.
  virtual void on_failure(C10dStore& made) const { made = {}; }

  sim::Ports& ports_;
  const RendezvousParameters& parameters_;

 private:
  C10dStore create_tcp();
  /// StoreError.
  void attempt(C10dStore& made, const sim::Endpoint& endpoint, sim::Duration timeout, bool serves);
};

inline constexpr std::uint16_t kC10dDefaultPort = 29400;

}  // namespace hooke::model
