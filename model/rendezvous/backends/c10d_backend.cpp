// Key, sentinel and token of the c10d backend, and which node hosts the store.
#include "model/rendezvous/backends/c10d_backend.h"

#include <stdexcept>

#include "model/rendezvous/backends/setting_word.h"
#include "model/rendezvous/core/endpoint.h"
#include "model/rendezvous/state/state_codec.h"
#include "model/signals/signal_gate.h"
#include "model/store/file_store.h"
#include "model/store/kinds/tcp_stores.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

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

/// The endpoint is the path of the file. Without one it is a temporary file, which no other node
/// knows (c10d_rendezvous_backend.py:_create_file_store).
std::shared_ptr<Store> file_store(sim::Ports& ports, const RendezvousParameters& parameters) {
  const FileStoreUser user = counts_users_of_a_file_store(parameters.variant)
                                 ? FileStoreUser::counted
                                 : FileStoreUser::counted_at_leave;
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

C10dBackend::C10dBackend(std::shared_ptr<Store> store, const std::string& run_id)
    : store_(std::move(store)), key_(c10d_state_key(run_id)), sentinel_(c10d_no_state()) {
  HOOKE_CHECK(store_ != nullptr, "a backend has a store");
  if (run_id.empty()) throw std::invalid_argument("the run id must be a non-empty string");
  put_sentinel();
}

sim::Value C10dBackend::put_sentinel() {
  return guarded([&] { return store_->compare_set(key_, sim::Value(), sentinel_); });
}

void C10dBackend::overwrite(const sim::Value& bytes) {
  guarded([&] { store_->set(key_, bytes); });
}

sim::Value C10dBackend::stored() {
  return guarded([&] { return store_->get(key_); });
}

sim::Value C10dBackend::write(const sim::Value& expected, const sim::Value& offered) {
  return guarded([&] { return store_->compare_set(key_, expected, offered); });
}

std::optional<StoredState> C10dBackend::get_state() {
  const sim::Value present = stored();
  if (present == sentinel_) return std::nullopt;
  return StoredState{decode_stored(present), present};
}

std::optional<SetStateResult> C10dBackend::set_state(const sim::Value& bytes,
                                                     const std::optional<Token>& token) {
  HOOKE_CHECK(bytes.size() > 0, "a state has bytes");
  const sim::Value offered = base64_encode(bytes);
  const sim::Value& expected = token && !token->empty() ? *token : sentinel_;
  const std::uint64_t repeats = store_->repeats();
  const sim::Value stored = write(expected, offered);
  HOOKE_CHECK(store_->repeats() >= repeats, "requests that are sent again are counted upward");
  if (stored == sentinel_) return std::nullopt;
  const sim::Value decoded = decode_stored(stored);
  const bool has_set = decoded == bytes;
  return SetStateResult{decoded, stored, has_set, !has_set && store_->repeats() != repeats};
}

C10dStore C10dStoreCreation::create() {
  const std::string type = setting_word(parameters_.get("store_type").value_or("tcp"));
  if (type == "file") return {nullptr, file_store(ports_, parameters_)};
  if (type == "tcp") return create_tcp();
  throw std::invalid_argument("invalid store type \"" + type + "\": expected \"tcp\" or \"file\"");
}

sim::Endpoint C10dStoreCreation::endpoint() const {
  return parse_endpoint(parameters_.endpoint, kC10dDefaultPort);
}

bool C10dStoreCreation::is_own(const std::string& host) const {
  return matches_this_machine(ports_.network, host, parameters_.variant);
}

C10dStore C10dStoreCreation::create_tcp() {
  const sim::Endpoint where = endpoint();
  const std::optional<bool> configured = parameters_.get_as_bool("is_host");
  const bool serves_already = parameters_.served != nullptr;
  const bool is_host = serves_already || (configured ? *configured : is_own(where.host));
  const sim::Duration read_timeout =
      parameters_.get_as_seconds("read_timeout").value_or(kDefaultReadTimeout);
  if (read_timeout <= sim::Duration::zero()) {
    throw std::invalid_argument("the read timeout must be a positive number of seconds");
  }
  C10dStore result;
  const bool hosts_instead = !is_host && hosts_when_unreachable();
  for (const bool as_host : {is_host, hosts_instead}) {
    try {
      attempt(result, where, read_timeout, as_host);
      return result;
    } catch (const StoreError& error) {
      on_failure(result);
      // One that came while the call was deaf is raised before the error is.
      check_signals(ports_);
      // Another process of this machine may host it already: once more as a client, unless told to
      // host.
      if ((as_host || hosts_instead) && !configured) continue;
      throw RendezvousConnectionError(std::string("the connection to the C10d store has failed: ") +
                                      error.what());
    }
  }
  throw RendezvousConnectionError("the connection to the C10d store has failed");
}

void C10dStoreCreation::attempt(C10dStore& made, const sim::Endpoint& endpoint,
                                sim::Duration timeout, bool serves) {
  HOOKE_CHECK(made.store == nullptr, "a store is connected to once");
  if (serves) {
    made.server = parameters_.served != nullptr
                      ? parameters_.served
                      : serve_tcp_store(ports_, endpoint.port, "rendezvous", parameters_.planted);
  }
  TcpStoreOptions options;
  options.endpoint = endpoint;
  if (made.server != nullptr) options.endpoint.port = made.server->port();
  options.timeout = timeout;
  options.variant = parameters_.variant;
  adapt(options, made.server != nullptr);
  HOOKE_CHECK(made.server == nullptr || made.server->port().value != 0,
              "a server listens at a port");
  HOOKE_CHECK(options.timeout > sim::Duration::zero(), "the settings are validated");
  HOOKE_CHECK(!serves || made.server != nullptr, "a store that is hosted here has its server here");
  made.store = connect_tcp_store(ports_, options, parameters_.planted);
  HOOKE_CHECK(made.store != nullptr, "a store that is connected to is there");
}

}  // namespace hooke::model
