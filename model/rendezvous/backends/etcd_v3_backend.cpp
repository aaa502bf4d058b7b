// One key, and the lease that it hangs on.
#include "model/rendezvous/backends/etcd_v3_backend.h"

#include <utility>

#include "model/rendezvous/backends/etcd_tokens.h"
#include "sim/port/check.h"

namespace hooke::model {

EtcdV3Backend::EtcdV3Backend(sim::Clock& clock, std::shared_ptr<EtcdV3Client> client,
                             const std::string& run_id)
    : clock_(clock), client_(std::move(client)), key_(etcd_state_path(run_id)) {
  HOOKE_CHECK(client_ != nullptr, "a backend has a client");
}

std::optional<StoredState> EtcdV3Backend::get_state() {
  return asked_of_etcd([&]() -> std::optional<StoredState> {
    EtcdV3Read read = client_->get(key_);
    if (!read.entry.exists()) return std::nullopt;
    on_met(read.entry.revision, read.entry.value);
    return StoredState{std::move(read.entry.value), etcd_token(read.entry.revision)};
  });
}

std::int64_t EtcdV3Backend::fence_of(const std::optional<Token>& token) {
  // Another backend's token fences nothing: no revision is negative.
  return fence_in<std::int64_t>(token).value_or(-1);
}

std::optional<SetStateResult> EtcdV3Backend::set_state(const sim::Value& bytes,
                                                       const std::optional<Token>& token) {
  return asked_of_etcd([&]() -> std::optional<SetStateResult> {
    const std::int64_t fence = fence_of(token);
    EtcdV3Write write = put(bytes, fence);
    const bool in_doubt = write.in_doubt;
    // The key's lease has ended: no agent's state is overwritten by writing it anew.
    const bool anew = writes_anew() && !write.present.exists() && fence > 0;
    if (anew) write = put(bytes, 0);
    if (!write.present.exists()) return std::nullopt;
    on_met(write.present.revision, write.present.value);
    return SetStateResult{std::move(write.present.value), etcd_token(write.present.revision),
                          write.written, !write.written && (in_doubt || write.in_doubt)};
  });
}

EtcdV3Write EtcdV3Backend::put(const sim::Value& bytes, std::int64_t fence) {
  keep_lease();
  const sim::Value* const there = demanded_under(fence);
  HOOKE_CHECK(bytes.size() > 0, "a state has bytes");
  try {
    return client_->put_if(key_, bytes, fence, lease_, there);
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV3Client::kNotFound) throw;
    lease_ = 0;  // it has ended between the look at it and its use
    keep_lease();
    EtcdV3Write write = client_->put_if(key_, bytes, fence, lease_, there);
    write.in_doubt = !write.written;  // the first may have had no answer before it was refused
    return write;
  }
}

void EtcdV3Backend::keep_lease() {
  constexpr sim::Duration kTtl = std::chrono::seconds(kEtcdStateTtlSeconds);
  const sim::MonotonicTime now = clock_.monotonic_now();
  HOOKE_CHECK(renewed_ <= now, "a lease was renewed in the past");
  if (lease_ != 0 && now - renewed_ < kTtl / 2) return;
  if (lease_ == 0 || !client_->renew(lease_)) lease_ = client_->grant(kTtl);
  renewed_ = now;
}

}  // namespace hooke::model
