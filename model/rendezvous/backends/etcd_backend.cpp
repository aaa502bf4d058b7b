// Options of both, and the state in v3.
#include "model/rendezvous/backends/etcd_backend.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "model/rendezvous/backends/etcd_server.h"
#include "model/rendezvous/backends/etcd_tokens.h"
#include "model/rendezvous/dynamic/dynamic_settings.h"

namespace hooke::model {
namespace {

constexpr sim::Duration kEtcdReadTimeout = std::chrono::seconds(60);

/// The latest state that a hardened node has met, by its token.
class LatestMet {
 public:
  explicit LatestMet(Variant variant) : keeps_(variant == Variant::hardened) {}
  void keep(std::int64_t token, const sim::Value& bytes) {
    if (keeps_) met_ = {token, bytes};
  }
  /// nullptr: not known.
  [[nodiscard]] const sim::Value* under(std::int64_t token) const {
    return met_ && met_->first == token ? &met_->second : nullptr;
  }

 private:
  bool keeps_;
  std::optional<std::pair<std::int64_t, sim::Value>> met_;
};

class EtcdV3Backend final : public RendezvousBackend {
 public:
  EtcdV3Backend(sim::Clock& clock, std::shared_ptr<EtcdV3Client> client, const std::string& run_id,
                PlantedSet planted, Variant variant)
      : clock_(clock),
        client_(std::move(client)),
        key_(etcd_state_path(run_id)),
        met_(variant),
        tells_of_its_loss_(variant == Variant::hardened),
        fenced_(!planted.has(Planted::etcd_write_without_fence)) {}
  [[nodiscard]] std::string name() const override { return "etcd-v3"; }
  void set_read_timeout(sim::Duration timeout) override { client_->set_read_timeout(timeout); }

  std::optional<StoredState> get_state() override {
    return asked_of_etcd([&]() -> std::optional<StoredState> {
      EtcdV3Read read = client_->get(key_);
      if (!read.entry.exists()) return std::nullopt;
      met_.keep(read.entry.revision, read.entry.value);
      return StoredState{std::move(read.entry.value), etcd_token(read.entry.revision)};
    });
  }

  std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                          const std::optional<Token>& token) override {
    return asked_of_etcd([&]() -> std::optional<SetStateResult> {
      // Another backend's token fences nothing: no revision is negative.
      std::int64_t fence = fence_in<std::int64_t>(token).value_or(-1);
      if (!fenced_) fence = client_->get(key_).entry.revision;
      EtcdV3Write write = put(bytes, fence);
      const bool in_doubt = write.in_doubt;
      // The key's lease has ended: no agent's state is overwritten by writing it anew.
      const bool anew = !tells_of_its_loss_ && !write.present.exists() && fence > 0;
      if (anew) write = put(bytes, 0);
      if (!write.present.exists()) return std::nullopt;
      met_.keep(write.present.revision, write.present.value);
      return SetStateResult{std::move(write.present.value), etcd_token(write.present.revision),
                            write.written, !write.written && (in_doubt || write.in_doubt)};
    });
  }

 private:
  EtcdV3Write put(const sim::Value& bytes, std::int64_t fence) {
    keep_lease();
    const sim::Value* const there = met_.under(fence);
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

  void keep_lease() {
    constexpr sim::Duration kTtl = std::chrono::seconds(kEtcdStateTtlSeconds);
    const sim::MonotonicTime now = clock_.monotonic_now();
    if (lease_ != 0 && now - renewed_ < kTtl / 2) return;
    if (lease_ == 0 || !client_->renew(lease_)) lease_ = client_->grant(kTtl);
    renewed_ = now;
  }

  sim::Clock& clock_;
  std::shared_ptr<EtcdV3Client> client_;
  std::string key_;
  LatestMet met_;
  bool tells_of_its_loss_;
  bool fenced_;
  std::int64_t lease_ = 0;
  sim::MonotonicTime renewed_{};
};

}  // namespace

EtcdOptions etcd_options(const RendezvousParameters& parameters) {
  std::string protocol = parameters.get("protocol").value_or("http");
  std::erase_if(protocol, [](char c) { return c == ' ' || c == '\t'; });
  std::transform(protocol.begin(), protocol.end(), protocol.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  EtcdOptions options;
  options.server = etcd_server(parameters, protocol, {"ca_cert", "ssl_cert", "ssl_cert_key"});
  options.read_timeout = parameters.get_as_seconds("read_timeout").value_or(kEtcdReadTimeout);
  if (options.read_timeout <= sim::Duration::zero()) {
    throw std::invalid_argument("the read timeout must be a positive number of seconds");
  }
  if (parameters.variant == Variant::hardened) {
    // No longer than the others wait for this node: who has not heard by then is no member.
    const RendezvousSettings settings = dynamic_settings(parameters);
    options.read_timeout = std::min<sim::Duration>(
        options.read_timeout, settings.keep_alive_interval * (settings.keep_alive_max_attempt - 1));
    options.by_quorum = true;
    options.server.interruptible = true;
  }
  options.user = parameters.get("user").value_or("");
  options.password = parameters.get("password").value_or("");
  return options;
}

std::unique_ptr<RendezvousBackend> make_etcd_v3_backend(sim::Clock& clock,
                                                        std::shared_ptr<EtcdV3Client> client,
                                                        const std::string& run_id,
                                                        PlantedSet planted, Variant variant) {
  return std::make_unique<EtcdV3Backend>(clock, std::move(client), run_id, planted, variant);
}

std::string etcd_v2_store_prefix() {
  return "/torch/elastic/store";
}

std::string etcd_v3_store_prefix() {
  return "/torch/elastic/store/";
}

}  // namespace hooke::model
