#pragma once
// The shared state in one key of etcd's v2 tree (etcd_rendezvous_backend.py:EtcdRendezvousBackend).

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "model/etcd/v2_client.h"
#include "model/rendezvous/dynamic/backend.h"

namespace hooke::model {

/// "etcd-v2": the token is the index of the last change. A key that has vanished under a token is a
/// RendezvousConnectionError for ever. So is a write without an answer, although it may have
/// been done. A write that is sent again after a lost answer is refused by its own first copy: it
/// has not set the state then, and the bytes that it finds are its own.
class EtcdV2Backend : public RendezvousBackend {
 public:
  /// std::invalid_argument for an empty run id.
  EtcdV2Backend(std::shared_ptr<EtcdV2Client> client, const std::string& run_id);
  [[nodiscard]] std::string name() const override { return "etcd-v2"; }
  void set_read_timeout(sim::Duration timeout) override { client_->set_read_timeout(timeout); }

  std::optional<StoredState> get_state() override;
  std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                          const std::optional<Token>& token) override;

 protected:
  /// How these bytes are written over the change of that index; 0: over nothing.
  [[nodiscard]] virtual EtcdV2Write write_of(const sim::Value& bytes, std::uint64_t fence) const;
  /// Told of each state that was read or written.
  virtual void on_met(const EtcdV2Node&) {}

  /// EtcdError, EtcdConnectionError.
  SetStateResult put(const sim::Value& bytes, std::uint64_t fence);
  /// What is stored, as the answer to a write that was not done.
  std::optional<SetStateResult> present();
  /// Another write was faster.
  [[nodiscard]] static bool is_lost_race(const EtcdError& error);

 private:
  std::shared_ptr<EtcdV2Client> client_;
  std::string path_;
};

}  // namespace hooke::model
