#pragma once
// The shared state in one key of etcd's v3 key space, which is hooke's own.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/etcd/v3_client.h"
#include "model/rendezvous/dynamic/backend.h"

namespace hooke::model {

/// "etcd-v3": the token is the revision of the last change, and the key hangs on a lease of two
/// hours that each write renews. A write whose outcome is unknown is looked up by reading again. A
/// key that has vanished is written anew. The protected steps are where a mend does otherwise.
class EtcdV3Backend : public RendezvousBackend {
 public:
  /// std::invalid_argument for an empty run id.
  EtcdV3Backend(sim::Clock& clock, std::shared_ptr<EtcdV3Client> client, const std::string& run_id);
  [[nodiscard]] std::string name() const override { return "etcd-v3"; }
  void set_read_timeout(sim::Duration timeout) override { client_->set_read_timeout(timeout); }

  std::optional<StoredState> get_state() override;
  std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                          const std::optional<Token>& token) override;

 protected:
  /// The revision that a write with this token replaces; 0: none.
  virtual std::int64_t fence_of(const std::optional<Token>& token);
  /// Told of each state that was read or written.
  virtual void on_met(std::int64_t /*revision*/, const sim::Value& /*bytes*/) {}
  /// The bytes that must stand under that revision; nullptr: any.
  [[nodiscard]] virtual const sim::Value* demanded_under(std::int64_t /*revision*/) const {
    return nullptr;
  }
  /// Whether a state that has vanished is written anew.
  [[nodiscard]] virtual bool writes_anew() const { return true; }
  /// That of the state that stands there now.
  std::int64_t present_revision() { return client_->get(key_).entry.revision; }

 private:
  EtcdV3Write put(const sim::Value& bytes, std::int64_t fence);
  void keep_lease();

  sim::Clock& clock_;
  std::shared_ptr<EtcdV3Client> client_;
  std::string key_;
  std::int64_t lease_ = 0;
  sim::MonotonicTime renewed_{};
};

}  // namespace hooke::model
