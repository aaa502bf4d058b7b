// Keys, tokens, and what a refusal means.
#include "model/rendezvous/backends/etcd_backend.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "model/rendezvous/backends/etcd_server.h"
#include "model/rendezvous/dynamic/dynamic_settings.h"
#include "model/rendezvous/state/state_codec.h"

namespace hooke::model {
namespace {

constexpr sim::Duration kEtcdReadTimeout = std::chrono::seconds(60);
constexpr std::int64_t kTtlSeconds = 7200;
constexpr const char* kStateDirectory = "/torch/elastic/rendezvous/";

std::string checked(const std::string& run_id) {
  if (run_id.empty()) throw std::invalid_argument("the run id must be a non-empty string");
  return run_id;
}

template <class Call>
auto asked(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const EtcdError& error) {
    throw RendezvousConnectionError(std::string("the connection to etcd has failed: ") +
                                    error.what());
  } catch (const EtcdConnectionError& error) {
    throw RendezvousConnectionError(std::string("the connection to etcd has failed: ") +
                                    error.what());
  }
}

/// The number a token stands for: 0 when there is no token, nullopt when it is another backend's.
template <class Number>
std::optional<Number> fence_of(const std::optional<Token>& token) {
  if (!token || token->empty()) return Number{0};
  const std::string& text = token->bytes();
  Number number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

Token token_of(std::int64_t number) {
  return Token(std::to_string(number));
}

/// The latest state that a hardened node has met, by its token.
template <class Number, class Bytes>
class LatestMet {
 public:
  explicit LatestMet(Variant variant) : keeps_(variant == Variant::hardened) {}
  void keep(Number token, const Bytes& bytes) {
    if (keeps_) met_ = {token, bytes};
  }
  /// nullptr: not known.
  [[nodiscard]] const Bytes* under(Number token) const {
    return met_ && met_->first == token ? &met_->second : nullptr;
  }

 private:
  bool keeps_;
  std::optional<std::pair<Number, Bytes>> met_;
};

class EtcdV2Backend final : public RendezvousBackend {
 public:
  EtcdV2Backend(std::shared_ptr<EtcdV2Client> client, const std::string& run_id, PlantedSet planted,
                Variant variant)
      : client_(std::move(client)),
        path_(kStateDirectory + checked(run_id)),
        met_(variant),
        tells_of_its_loss_(variant == Variant::hardened),
        fenced_(!planted.has(Planted::etcd_write_without_fence)) {}
  [[nodiscard]] std::string name() const override { return "etcd-v2"; }
  void set_read_timeout(sim::Duration timeout) override { client_->set_read_timeout(timeout); }

  std::optional<StoredState> get_state() override {
    return asked([&]() -> std::optional<StoredState> {
      try {
        const EtcdV2Node node = client_->get(path_).node;
        met_.keep(node.modified_index, node.value);
        return StoredState{decode_stored(sim::Value(node.value)),
                           token_of(static_cast<std::int64_t>(node.modified_index))};
      } catch (const EtcdError& error) {
        if (error.code() == EtcdV2Client::kKeyNotFound) return std::nullopt;
        throw;
      }
    });
  }

  std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                          const std::optional<Token>& token) override {
    const auto fence = fence_of<std::uint64_t>(token);
    if (!fence) return present();
    EtcdV2Write write{.value = base64_encode(bytes).bytes(), .ttl_seconds = kTtlSeconds};
    if (*fence == 0) {
      write.previous_exists = false;
    } else if (fenced_) {
      write.previous_index = *fence;
      if (const std::string* const there = met_.under(*fence)) write.previous_value = *there;
    }
    return asked([&]() -> std::optional<SetStateResult> {
      bool in_doubt = false;
      try {
        const EtcdV2Node node = client_->put(path_, write).node;
        met_.keep(node.modified_index, *write.value);
        return SetStateResult{bytes, token_of(static_cast<std::int64_t>(node.modified_index)), true,
                              false};
      } catch (const EtcdError& error) {
        if (tells_of_its_loss_ && error.code() == EtcdV2Client::kKeyNotFound) return std::nullopt;
        const bool lost =
            error.code() == EtcdV2Client::kExists || error.code() == EtcdV2Client::kCompareFailed;
        if (!lost) throw;
      } catch (const EtcdConnectionError& error) {
        if (!error.outcome_unknown()) throw;
        in_doubt = true;
      }
      // These very bytes, written since the token was read, are this call's.
      auto now = present();
      if (now && now->bytes == bytes && (!token || !(now->token == *token))) now->has_set = true;
      if (now) now->in_doubt = in_doubt && !now->has_set;
      return now;
    });
  }

 private:
  std::optional<SetStateResult> present() {
    auto stored = get_state();
    if (!stored) return std::nullopt;
    return SetStateResult{std::move(stored->bytes), std::move(stored->token), false, false};
  }

  std::shared_ptr<EtcdV2Client> client_;
  std::string path_;
  LatestMet<std::uint64_t, std::string> met_;
  bool tells_of_its_loss_;
  bool fenced_;
};

class EtcdV3Backend final : public RendezvousBackend {
 public:
  EtcdV3Backend(sim::Clock& clock, std::shared_ptr<EtcdV3Client> client, const std::string& run_id,
                PlantedSet planted, Variant variant)
      : clock_(clock),
        client_(std::move(client)),
        key_(kStateDirectory + checked(run_id)),
        met_(variant),
        tells_of_its_loss_(variant == Variant::hardened),
        fenced_(!planted.has(Planted::etcd_write_without_fence)) {}
  [[nodiscard]] std::string name() const override { return "etcd-v3"; }
  void set_read_timeout(sim::Duration timeout) override { client_->set_read_timeout(timeout); }

  std::optional<StoredState> get_state() override {
    return asked([&]() -> std::optional<StoredState> {
      EtcdV3Read read = client_->get(key_);
      if (!read.entry.exists()) return std::nullopt;
      met_.keep(read.entry.revision, read.entry.value);
      return StoredState{std::move(read.entry.value), token_of(read.entry.revision)};
    });
  }

  std::optional<SetStateResult> set_state(const sim::Value& bytes,
                                          const std::optional<Token>& token) override {
    return asked([&]() -> std::optional<SetStateResult> {
      // Another backend's token fences nothing: no revision is negative.
      std::int64_t fence = fence_of<std::int64_t>(token).value_or(-1);
      if (!fenced_) fence = client_->get(key_).entry.revision;
      EtcdV3Write write = put(bytes, fence);
      const bool in_doubt = write.in_doubt;
      // The key's lease has ended: no agent's state is overwritten by writing it anew.
      const bool anew = !tells_of_its_loss_ && !write.present.exists() && fence > 0;
      if (anew) write = put(bytes, 0);
      if (!write.present.exists()) return std::nullopt;
      met_.keep(write.present.revision, write.present.value);
      return SetStateResult{std::move(write.present.value), token_of(write.present.revision),
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
    constexpr sim::Duration kTtl = std::chrono::seconds(kTtlSeconds);
    const sim::MonotonicTime now = clock_.monotonic_now();
    if (lease_ != 0 && now - renewed_ < kTtl / 2) return;
    if (lease_ == 0 || !client_->renew(lease_)) lease_ = client_->grant(kTtl);
    renewed_ = now;
  }

  sim::Clock& clock_;
  std::shared_ptr<EtcdV3Client> client_;
  std::string key_;
  LatestMet<std::int64_t, sim::Value> met_;
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

std::unique_ptr<RendezvousBackend> make_etcd_v2_backend(std::shared_ptr<EtcdV2Client> client,
                                                        const std::string& run_id,
                                                        PlantedSet planted, Variant variant) {
  return std::make_unique<EtcdV2Backend>(std::move(client), run_id, planted, variant);
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
