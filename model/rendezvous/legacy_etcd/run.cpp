#include "model/rendezvous/legacy_etcd/run.h"

#include <algorithm>
#include <utility>

#include "model/signals/signal_gate.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr sim::Duration kRunLife = 2h;

}  // namespace

LegacyEtcdRun::LegacyEtcdRun(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                             std::string prefix, const std::string& run_id,
                             LegacyEtcdRenewal::AfterError after_error)
    : ports_(ports), client_(std::move(client)) {
  HOOKE_CHECK(client_ != nullptr, "a run has a client");
  if (!prefix.ends_with('/')) prefix += '/';
  run_path_ = prefix + "run_" + run_id;
  if (prefix != "/") create_directory(prefix.substr(0, prefix.size() - 1), 0);
  create_directory(run_path_, kRunLife / 1s);
  renewal_ = std::make_unique<LegacyEtcdRenewal>(
      ports_, client_, LegacyEtcdRenewal::Of{run_path_, kRunLife, kRunLife / 2}, after_error);
  create_directory(rendezvous_path(), 0);
  create_counter();
}

// ---- the active version -------------------------------------------------------------------------

LegacyEtcdRun::Active LegacyEtcdRun::read() {
  check_signals(ports_);
  EtcdV2Answer answer = client_->get(active_path());
  Active out;
  out.state = decode_legacy_state(answer.node.shared, answer.node.value);
  HOOKE_CHECK(out.state != nullptr, "what was read is there");
  out.text = std::move(answer.node.value);
  out.index = answer.index;
  return out;
}

bool LegacyEtcdRun::create(const LegacyState& state, std::int64_t ttl) {
  HOOKE_CHECK(ttl > 0, "a version that is set up lives for a time");
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

std::optional<LegacyEtcdRun::Active> LegacyEtcdRun::replaced(const Active& seen,
                                                             const LegacyState& state,
                                                             std::int64_t ttl) {
  std::string text = encode_legacy_state(state);
  const auto index = rewritten(seen, text, ttl);
  if (!index) return std::nullopt;
  return Active{std::make_shared<const LegacyState>(state), std::move(text), *index};
}

bool LegacyEtcdRun::replace(const Active& seen, const LegacyState& state, std::int64_t ttl) {
  return rewritten(seen, encode_legacy_state(state), ttl).has_value();
}

std::optional<std::uint64_t> LegacyEtcdRun::rewritten(const Active& seen, const std::string& text,
                                                      std::int64_t ttl) {
  HOOKE_CHECK(!seen.text.empty() && ttl >= 0, "a state that was read is replaced");
  EtcdV2Write write{.value = text, .previous_value = seen.text};
  if (ttl != 0) write.ttl_seconds = ttl;
  try {
    return client_->put(active_path(), write).index;
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kCompareFailed) throw;
    return std::nullopt;
  }
}

void LegacyEtcdRun::remove(const Active& seen) {
  HOOKE_CHECK(!seen.text.empty(), "a state that was read is removed");
  client_->compare_and_delete(active_path(), seen.text);
}

// ---- versions -----------------------------------------------------------------------------------

std::int64_t LegacyEtcdRun::advance_counter() {
  const EtcdV2Node counter = client_->get(counter_path()).node;
  const std::int64_t latest = parse_legacy_version(counter.value, counter_path());
  const std::int64_t version = version_after(latest);
  HOOKE_CHECK(version > latest, "versions are counted upward");
  ports_.fault_point.reach("legacy.setup");
  client_->put(counter_path(), {.value = std::to_string(version),
                                .previous_exists = true,
                                .previous_index = counter.modified_index});
  return version;
}

// ---- members of a version -----------------------------------------------------------------------

void LegacyEtcdRun::put_keep_alive(const std::string& keep_alive) {
  HOOKE_CHECK(keep_alive.starts_with(rendezvous_path()), "a keep-alive is one of this run");
  client_->put(keep_alive, {.value = keep_alive_value(), .ttl_seconds = kLegacyKeepAlive / 1s});
}

std::vector<std::string> LegacyEtcdRun::expired(std::int64_t version,
                                                std::vector<std::string> keep_alives) {
  const EtcdV2Answer listed = client_->list(version_path(version));
  std::erase_if(keep_alives,
                [&](const std::string& keep_alive) { return has(listed, keep_alive); });
  return keep_alives;
}

std::vector<std::int64_t> LegacyEtcdRun::ranks_alive(std::int64_t version,
                                                     std::vector<std::int64_t> ranks) {
  const EtcdV2Answer listed = client_->list(version_path(version));
  std::erase_if(ranks,
                [&](std::int64_t rank) { return !has(listed, keep_alive_path(version, rank)); });
  return ranks;
}

bool LegacyEtcdRun::has(const EtcdV2Answer& listed, const std::string& key) {
  return std::any_of(listed.below().begin(), listed.below().end(),
                     [&](const EtcdV2Node& node) { return node.key == key; });
}

// ---- keys ---------------------------------------------------------------------------------------

void LegacyEtcdRun::create_directory(const std::string& path, std::int64_t ttl) {
  HOOKE_CHECK(ttl >= 0, "no life is negative");
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

std::string LegacyEtcdRun::version_path(std::int64_t version) const {
  HOOKE_CHECK(version >= 0, "versions are numbered from 0");
  return path("/rdzv/v_" + std::to_string(version));
}

std::string LegacyEtcdRun::keep_alive_path(std::int64_t version, std::int64_t rank) const {
  return version_path(version) + "/rank_" + std::to_string(rank);
}

std::string LegacyEtcdRun::store_path(std::int64_t version) const {
  return version_path(version) + "/kv";
}

}  // namespace hooke::model
