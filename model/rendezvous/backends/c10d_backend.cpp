// Key, sentinel and token of the c10d backend, and who hosts the store.
#include "model/rendezvous/backends/c10d_backend.h"

#include <algorithm>
#include <stdexcept>

#include "model/rendezvous/core/endpoint.h"
#include "model/rendezvous/dynamic/dynamic_settings.h"
#include "model/rendezvous/state/state_codec.h"
#include "model/signals/signal_gate.h"
#include "model/store/file_store.h"
#include "model/store/kinds/tcp_stores.h"

namespace hooke::model {
namespace {

constexpr std::uint16_t kDefaultPort = 29400;
constexpr sim::Duration kDefaultReadTimeout = std::chrono::seconds(60);

template <class Call>
auto guarded(Call call) {
  try {
    return call();
  } catch (const StoreError& error) {
    throw RendezvousConnectionError(std::string("the connection to the C10d store has failed: ") +
                                    error.what());
  }
}

/// Python's strip() and lower().
std::string lower_trimmed(std::string text) {
  constexpr const char* kBlank = " \t\n\r\f\v";
  text.erase(text.find_last_not_of(kBlank) + 1);
  text.erase(0, text.find_first_not_of(kBlank));
  std::transform(text.begin(), text.end(), text.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return text;
}

/// The endpoint is the path of the file. Without one it is a temporary file, which no other node
/// knows (c10d_rendezvous_backend.py:_create_file_store).
std::shared_ptr<Store> file_store(sim::Ports& ports, const RendezvousParameters& parameters) {
  const FileStoreUser user = parameters.variant == Variant::torch_1_13
                                 ? FileStoreUser::counted_at_leave
                                 : FileStoreUser::counted;
  if (!parameters.endpoint.empty()) {
    return guarded([&] { return open_file_store(ports, parameters.endpoint, user); });
  }
  constexpr std::uint64_t kNames = 1'000'000'000'000;
  const auto& environment = ports.processes.environment();
  const auto temporary = environment.find("TMPDIR");
  const std::string above =
      temporary == environment.end() || temporary->second.empty() ? "/tmp" : temporary->second;
  const std::string directory =
      above + "/c10d_" + std::to_string(ports.random.below("c10d.temporary_file", kNames));
  const std::string path = directory + "/store";
  const bool made = ports.files.make_directories(above).ok() &&
                    ports.files.make_private_directory(directory).ok() &&
                    ports.files.write(path, "").ok();
  if (!made) {
    throw RendezvousError("the file for the C10d store could not be made in " + above);
  }
  return guarded([&] { return open_file_store(ports, path, user); });
}

}  // namespace

std::string c10d_state_key(const std::string& run_id) {
  return "torch.rendezvous." + run_id;
}

sim::Value c10d_no_state() {
  return sim::Value("Y2FuaW1hZGFt");
}

C10dBackend::C10dBackend(std::shared_ptr<Store> store, const std::string& run_id, Variant variant,
                         PlantedSet planted)
    : store_(std::move(store)),
      key_(c10d_state_key(run_id)),
      sentinel_(c10d_no_state()),
      variant_(variant),
      planted_(planted) {
  if (run_id.empty()) throw std::invalid_argument("the run id must be a non-empty string");
  if (planted_.has(Planted::c10d_state_reset_at_start)) {
    guarded([&] { store_->set(key_, sentinel_); });
  } else {
    put_sentinel();
  }
}

sim::Value C10dBackend::put_sentinel() {
  return guarded([&] { return store_->compare_set(key_, sim::Value(), sentinel_); });
}

std::optional<StoredState> C10dBackend::get_state() {
  // In a store that has come up empty a get would wait for what no agent is going to write.
  const sim::Value stored =
      variant_ == Variant::hardened ? put_sentinel() : guarded([&] { return store_->get(key_); });
  if (stored == sentinel_) return std::nullopt;
  return StoredState{decode_stored(stored), stored};
}

std::optional<SetStateResult> C10dBackend::set_state(const sim::Value& bytes,
                                                     const std::optional<Token>& token) {
  const sim::Value offered = base64_encode(bytes);
  if (planted_.has(Planted::rendezvous_write_without_compare)) {
    guarded([&] { store_->set(key_, offered); });
    return SetStateResult{bytes, offered, true};
  }
  const sim::Value& expected = token && !token->empty() ? *token : sentinel_;
  const std::uint64_t repeats = store_->repeats();
  sim::Value stored = guarded([&] { return store_->compare_set(key_, expected, offered); });
  // An agent that loses a race is told another value; its own expectation means that there is none.
  if (variant_ == Variant::hardened && stored == expected && stored != offered) {
    put_sentinel();
    stored = guarded([&] { return store_->compare_set(key_, sentinel_, offered); });
  }
  if (stored == sentinel_) return std::nullopt;
  const sim::Value decoded = decode_stored(stored);
  const bool has_set = decoded == bytes;
  return SetStateResult{decoded, stored, has_set, !has_set && store_->repeats() != repeats};
}

namespace {

/// No longer than the others take to give a silent node up: who has not heard by then is no member.
sim::Duration reply_timeout(const RendezvousParameters& parameters, sim::Duration at_most) {
  const RendezvousSettings settings = dynamic_settings(parameters);
  const sim::Duration timeout =
      settings.keep_alive_interval * (settings.keep_alive_max_attempt - 1);
  return std::min(at_most, timeout);
}

}  // namespace

C10dStore create_c10d_store(sim::Ports& ports, const RendezvousParameters& parameters) {
  const std::string type = lower_trimmed(parameters.get("store_type").value_or("tcp"));
  if (type == "file") return {nullptr, file_store(ports, parameters)};
  if (type != "tcp") {
    throw std::invalid_argument("invalid store type \"" + type +
                                "\": expected \"tcp\" or \"file\"");
  }
  const sim::Endpoint endpoint =
      parse_endpoint(parameters.endpoint, kDefaultPort, parameters.variant);
  const std::optional<bool> configured = parameters.get_as_bool("is_host");
  const bool all_host = parameters.planted.has(Planted::c10d_everyone_hosts);
  const bool is_host = configured ? *configured
                                  : all_host || matches_this_machine(ports.network, endpoint.host,
                                                                     parameters.variant);
  const sim::Duration read_timeout =
      parameters.get_as_seconds("read_timeout").value_or(kDefaultReadTimeout);
  if (read_timeout <= sim::Duration::zero()) {
    throw std::invalid_argument("the read timeout must be a positive number of seconds");
  }
  C10dStore result;
  const bool hosts_instead =
      parameters.planted.has(Planted::c10d_hosts_when_unreachable) && !is_host;
  for (const bool as_host : {is_host, hosts_instead}) {
    try {
      if (as_host) {
        result.server = serve_tcp_store(ports, endpoint.port, "rendezvous", parameters.planted);
      }
      TcpStoreOptions options;
      options.endpoint = endpoint;
      if (result.server != nullptr) {
        options.endpoint.port = result.server->port();
        if (all_host) options.endpoint.host = "localhost";
      }
      options.timeout = read_timeout;
      if (parameters.variant == Variant::hardened) {
        // An agent that serves it needs no name to find it, nor an answer from the resolver.
        if (result.server != nullptr) options.endpoint.host = "localhost";
        options.reply_timeout = reply_timeout(parameters, options.reply_timeout);
        options.interruptible = true;
        options.pause = [&ports](sim::MonotonicTime until) {
          interruptible_sleep_until(ports, until);
        };
      }
      options.variant = parameters.variant;
      result.store = connect_tcp_store(ports, options, parameters.planted);
      return result;
    } catch (const StoreError& error) {
      // Others may have come to this node's store already, which only it itself has not reached.
      if (parameters.variant != Variant::hardened) result = {};
      // Somebody else on this machine may host it already: once more as a client, unless told to
      // host.
      if ((as_host || hosts_instead) && !configured) continue;
      throw RendezvousConnectionError(std::string("the connection to the C10d store has failed: ") +
                                      error.what());
    }
  }
  throw RendezvousConnectionError("the connection to the C10d store has failed");
}

}  // namespace hooke::model
