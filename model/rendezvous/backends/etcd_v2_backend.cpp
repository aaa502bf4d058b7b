// Requests in the order in which EtcdRendezvousBackend sends them.
#include "model/rendezvous/backends/etcd_v2_backend.h"

#include <utility>

#include "model/rendezvous/backends/etcd_tokens.h"
#include "model/rendezvous/state/state_codec.h"
#include "sim/port/check.h"

namespace hooke::model {

EtcdV2Backend::EtcdV2Backend(std::shared_ptr<EtcdV2Client> client, const std::string& run_id)
    : client_(std::move(client)), path_(etcd_state_path(run_id)) {
  HOOKE_CHECK(client_ != nullptr, "a backend has a client");
}

std::optional<StoredState> EtcdV2Backend::get_state() {
  return asked_of_etcd([&]() -> std::optional<StoredState> {
    try {
      const EtcdV2Node node = client_->get(path_).node;
      on_met(node);
      return StoredState{decode_stored(node.shared.empty() ? sim::Value(node.value) : node.shared),
                         etcd_token(static_cast<std::int64_t>(node.modified_index))};
    } catch (const EtcdError& error) {
      if (error.code() == EtcdV2Client::kKeyNotFound) return std::nullopt;
      throw;
    }
  });
}

std::optional<SetStateResult> EtcdV2Backend::set_state(const sim::Value& bytes,
                                                       const std::optional<Token>& token) {
  const auto fence = fence_in<std::uint64_t>(token);
  if (!fence) return present();
  return asked_of_etcd([&]() -> std::optional<SetStateResult> {
    bool in_doubt = false;
    try {
      return put(bytes, *fence);
    } catch (const EtcdError& error) {
      if (!is_lost_race(error)) throw;
      in_doubt = error.in_doubt();
    }
    auto now = present();
    if (now) now->in_doubt = in_doubt;
    return now;
  });
}

EtcdV2Write EtcdV2Backend::write_of(const sim::Value& bytes, std::uint64_t fence) const {
  HOOKE_CHECK(bytes.size() > 0, "a state has bytes");
  EtcdV2Write write{.value = base64_encode(bytes).bytes(), .ttl_seconds = kEtcdStateTtlSeconds};
  if (fence == 0) {
    write.previous_exists = false;
  } else {
    write.previous_index = fence;
  }
  return write;
}

SetStateResult EtcdV2Backend::put(const sim::Value& bytes, std::uint64_t fence) {
  HOOKE_CHECK(bytes.size() > 0, "a state has bytes");
  const EtcdV2Node node = client_->put(path_, write_of(bytes, fence)).node;
  on_met(node);
  return {bytes, etcd_token(static_cast<std::int64_t>(node.modified_index)), true, false};
}

std::optional<SetStateResult> EtcdV2Backend::present() {
  auto stored = get_state();
  if (!stored) return std::nullopt;
  return SetStateResult{std::move(stored->bytes), std::move(stored->token), false, false};
}

bool EtcdV2Backend::is_lost_race(const EtcdError& error) {
  return error.code() == EtcdV2Client::kExists || error.code() == EtcdV2Client::kCompareFailed;
}

}  // namespace hooke::model
