#include "model/rendezvous/legacy_etcd/run.h"

#include <algorithm>
#include <utility>

#include "model/signals/signal_gate.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr sim::Duration kRunLife = 2h;
/// Behind the path of a member's keep-alive.
constexpr const char* kIsBack = "_is_back";
/// As kIsBack, of a place that its node has claimed.
constexpr const char* kClaim = ".claim";

bool has(const EtcdV2Answer& listed, const std::string& key) {
  return std::any_of(listed.below.begin(), listed.below.end(),
                     [&](const EtcdV2Node& node) { return node.key == key; });
}

}  // namespace

LegacyEtcdRun::LegacyEtcdRun(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                             std::string prefix, const std::string& run_id, Variant variant)
    : ports_(ports), client_(std::move(client)), variant_(variant) {
  if (!prefix.ends_with('/')) prefix += '/';
  run_path_ = prefix + "run_" + run_id;
  if (prefix != "/") create_directory(prefix.substr(0, prefix.size() - 1), 0);
  create_directory(run_path_, kRunLife / 1s);
  renewal_ = std::make_unique<LegacyEtcdRenewal>(
      ports_, client_, LegacyEtcdRenewal::Of{run_path_, kRunLife, true}, variant_);
  create_directory(rendezvous_path(), 0);
  create_counter();
}

// ---- the active version -------------------------------------------------------------------------

LegacyEtcdRun::Active LegacyEtcdRun::read() {
  check_signals(ports_);
  EtcdV2Answer answer = client_->get(active_path());
  Active out;
  out.state = parse_legacy_state(answer.node.value);
  out.text = std::move(answer.node.value);
  out.index = answer.index;
  if (out.state.version) latest_seen_ = std::max(latest_seen_, *out.state.version);
  return out;
}

bool LegacyEtcdRun::create(const LegacyState& state, std::int64_t ttl) {
  try {
    client_->put(
        active_path(),
        {.value = encode_legacy_state(state), .ttl_seconds = ttl, .previous_exists = false});
    return true;
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kExists) throw;
    return false;
  }
}

bool LegacyEtcdRun::replace(const Active& seen, const LegacyState& state, std::int64_t ttl) {
  EtcdV2Write write{.value = encode_legacy_state(state), .previous_value = seen.text};
  if (ttl != 0) write.ttl_seconds = ttl;
  try {
    client_->put(active_path(), write);
    return true;
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kCompareFailed) throw;
    return false;
  }
}

void LegacyEtcdRun::remove(const Active& seen) {
  client_->compare_and_delete(active_path(), seen.text);
}

bool LegacyEtcdRun::try_remove(const Active& seen) {
  try {
    remove(seen);
    return true;
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return true;
    if (error.code() != EtcdV2Client::kCompareFailed) throw;
    return false;
  }
}

// ---- versions -----------------------------------------------------------------------------------

std::int64_t LegacyEtcdRun::advance_counter() {
  const bool hardened = variant_ == Variant::hardened;
  if (hardened) create_counter();  // an etcd that has lost it will not have it again
  const EtcdV2Node counter = client_->get(counter_path()).node;
  const std::int64_t latest = parse_legacy_version(counter.value, counter_path());
  const std::int64_t version = (hardened ? std::max(latest, latest_seen_) : latest) + 1;
  ports_.fault_point.reach("legacy.setup");
  client_->put(counter_path(), {.value = std::to_string(version),
                                .previous_exists = true,
                                .previous_index = counter.modified_index});
  return version;
}

bool LegacyEtcdRun::has_been_emptied() {
  return !exists(active_path()) && !exists(counter_path());
}

// ---- members of a version -----------------------------------------------------------------------

bool LegacyEtcdRun::claim(std::int64_t version, std::int64_t rank, const std::string& owner) {
  try {
    client_->put(keep_alive_path(version, rank) + kClaim,
                 {.value = owner, .previous_exists = false});
    return true;
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kExists) throw;
    return holds_claim(version, rank, owner);
  }
}

bool LegacyEtcdRun::holds_claim(std::int64_t version, std::int64_t rank, const std::string& owner) {
  try {
    return client_->get(keep_alive_path(version, rank) + kClaim).node.value == owner;
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return false;
    throw;
  }
}

void LegacyEtcdRun::put_keep_alive(const std::string& keep_alive, const std::string& owner) {
  client_->put(keep_alive, {.value = owner, .ttl_seconds = kLegacyKeepAlive / 1s});
}

void LegacyEtcdRun::drop_keep_alive(const std::string& keep_alive, const std::string& owner) {
  try {
    client_->compare_and_delete(keep_alive, owner);
  } catch (const EtcdError& error) {
    const bool not_ours =
        error.code() == EtcdV2Client::kKeyNotFound || error.code() == EtcdV2Client::kCompareFailed;
    if (!not_ours) throw;
  }
}

bool LegacyEtcdRun::is_of_another(const std::string& keep_alive, const std::string& owner) {
  try {
    return client_->get(keep_alive).node.value != owner;
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return false;
    throw;
  }
}

std::vector<std::string> LegacyEtcdRun::expired(std::int64_t version,
                                                std::vector<std::string> keep_alives) {
  const EtcdV2Answer listed = client_->list(version_path(version));
  std::erase_if(keep_alives,
                [&](const std::string& keep_alive) { return has(listed, keep_alive); });
  return keep_alives;
}

void LegacyEtcdRun::tell_return(std::int64_t version, const std::string& keep_alive) {
  client_->put(return_path(version), {.value = ""});
  client_->put(keep_alive + kIsBack, {.value = ""});
}

void LegacyEtcdRun::require_return(std::int64_t version) {
  static_cast<void>(client_->get(return_path(version)));
}

bool LegacyEtcdRun::some_will_return(std::int64_t version,
                                     const std::vector<std::string>& keep_alives) {
  const EtcdV2Answer listed = client_->list(version_path(version));
  bool one_is_back = false;
  bool one_is_awaited = false;
  for (const std::string& keep_alive : keep_alives) {
    if (has(listed, keep_alive + kIsBack)) {
      one_is_back = true;
    } else if (has(listed, keep_alive)) {
      one_is_awaited = true;
    }
  }
  return one_is_back && one_is_awaited;
}

// ---- keys ---------------------------------------------------------------------------------------

void LegacyEtcdRun::create_directory(const std::string& path, std::int64_t ttl) {
  EtcdV2Write write{.directory = true, .previous_exists = false};
  if (ttl != 0) write.ttl_seconds = ttl;
  try {
    client_->put(path, write);
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kExists) throw;
  }
}

void LegacyEtcdRun::create_counter() {
  try {
    client_->put(counter_path(), {.value = "0", .previous_exists = false});
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kExists) throw;
  }
}

bool LegacyEtcdRun::exists(const std::string& key) {
  try {
    static_cast<void>(client_->get(key));
    return true;
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kKeyNotFound) throw;
    return false;
  }
}

std::string LegacyEtcdRun::version_path(std::int64_t version) const {
  return path("/rdzv/v_" + std::to_string(version));
}

std::string LegacyEtcdRun::keep_alive_path(std::int64_t version, std::int64_t rank) const {
  return version_path(version) + "/rank_" + std::to_string(rank);
}

std::string LegacyEtcdRun::return_path(std::int64_t version) const {
  return version_path(version) + "/returns";
}

std::string LegacyEtcdRun::store_path(std::int64_t version) const {
  return version_path(version) + "/kv";
}

}  // namespace hooke::model
