#include "model/hardened/legacy_etcd/hardened_run.h"

#include <algorithm>
#include <utility>

#include "model/etcd/signature.h"
#include "model/hardened/legacy_etcd/lasting_renewal.h"
#include "model/rendezvous/core/errors.h"
#include "model/signals/signal_gate.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// Behind the path of a member's keep-alive.
constexpr const char* kIsBack = "_is_back";
/// As kIsBack, of a place that its node has claimed.
constexpr const char* kClaim = ".claim";
/// For how long a node that has a place asks an etcd again that cannot be reached, and the pause before
/// each time. The others wait ten seconds for a node that does not confirm its place.
constexpr sim::Duration kHoldMax = std::chrono::seconds(3);
constexpr sim::Duration kHoldAgain = std::chrono::milliseconds(200);

/// Of what may be asked twice.
template <class Call>
auto insisted(sim::Ports& ports, Call call) -> decltype(call()) {
  const auto now = [&] { return ports.clock.monotonic_now(); };
  const sim::MonotonicTime until = now() + kHoldMax;
  for (;;) {
    try {
      return call();
    } catch (const EtcdConnectionError&) {
      if (now() >= until) throw;
    }
    interruptible_sleep(ports, kHoldAgain);
  }
}

}  // namespace

HardenedLegacyEtcdRun::HardenedLegacyEtcdRun(sim::Ports& ports,
                                             std::shared_ptr<EtcdV2Client> client,
                                             std::string prefix, const std::string& run_id)
    : LegacyEtcdRun(ports, std::move(client), std::move(prefix), run_id, &renew_whatever_happens),
      owner_(draw_signature(ports)) {}

LegacyEtcdRun::Active HardenedLegacyEtcdRun::read() {
  Active seen = LegacyEtcdRun::read();
  was_answered_ = true;
  if (seen.state->version) latest_seen_ = std::max(latest_seen_, *seen.state->version);
  return seen;
}

void HardenedLegacyEtcdRun::require_answers(sim::MonotonicTime now, sim::Duration limit,
                                            bool was_answered) {
  if (std::exchange(was_answered_, false) || was_answered) silent_since_.reset();
  if (!silent_since_) silent_since_ = now;
  HOOKE_CHECK(*silent_since_ <= now, "the begin of etcd's silence is not in the future");
  if (now - *silent_since_ < limit) return;
  throw RendezvousConnectionError("etcd has told this node nothing for too long");
}

std::int64_t HardenedLegacyEtcdRun::advance_counter() {
  create_counter();  // an etcd that has lost it will not have it again
  return LegacyEtcdRun::advance_counter();
}

std::int64_t HardenedLegacyEtcdRun::version_after(std::int64_t latest) const {
  HOOKE_CHECK(latest >= 0 && latest_seen_ >= 0, "the number of a version is not negative");
  return LegacyEtcdRun::version_after(std::max(latest, latest_seen_));
}

bool HardenedLegacyEtcdRun::try_remove(const Active& seen) {
  try {
    remove(seen);
    return true;
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return true;
    if (error.code() != EtcdV2Client::kCompareFailed) throw;
    return false;
  }
}

bool HardenedLegacyEtcdRun::has_been_emptied() {
  return !client_->has(active_path()) && !client_->has(counter_path());
}

// ---- members of a version -----------------------------------------------------------------------

bool HardenedLegacyEtcdRun::claim(std::int64_t version, std::int64_t rank) {
  HOOKE_CHECK(rank >= 0, "the rank of a place is not negative");
  const auto create = [&] {
    client_->put(claim_path(version, rank), {.value = owner_, .previous_exists = false});
  };
  try {
    insisted(ports_, create);
    return true;
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kExists) throw;
    return holds_claim(version, rank);
  }
}

bool HardenedLegacyEtcdRun::holds_claim(std::int64_t version, std::int64_t rank) {
  HOOKE_CHECK(!owner_.empty(), "the owner in a claim is not empty");
  const auto owner = [&] { return client_->get(claim_path(version, rank)).node.value; };
  try {
    return insisted(ports_, owner) == owner_;
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return false;
    throw;
  }
}

void HardenedLegacyEtcdRun::drop_keep_alive(const std::string& keep_alive) {
  HOOKE_CHECK(!keep_alive.empty(), "the path of the keep-alive is not empty");
  try {
    client_->compare_and_delete(keep_alive, owner_);
  } catch (const EtcdError& error) {
    const bool not_ours =
        error.code() == EtcdV2Client::kKeyNotFound || error.code() == EtcdV2Client::kCompareFailed;
    if (!not_ours) throw;
  }
}

bool HardenedLegacyEtcdRun::is_of_another(const std::string& keep_alive) {
  try {
    return client_->get(keep_alive).node.value != owner_;
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return false;
    throw;
  }
}

std::optional<std::vector<std::string>> HardenedLegacyEtcdRun::expired_beside(
    std::int64_t version, std::vector<std::string> keep_alives, const std::string& own) {
  const EtcdV2Answer listed = client_->list(version_path(version));
  const bool is_anothers = std::ranges::any_of(listed.below(), [&](const EtcdV2Node& node) {
    return node.key == own && node.value != owner_;
  });
  if (is_anothers) return std::nullopt;
  std::erase_if(keep_alives,
                [&](const std::string& keep_alive) { return has(listed, keep_alive); });
  return keep_alives;
}

void HardenedLegacyEtcdRun::tell_return(std::int64_t version, const std::string& keep_alive) {
  client_->put(return_path(version), {.value = ""});
  client_->put(keep_alive + kIsBack, {.value = ""});
}

bool HardenedLegacyEtcdRun::some_will_return(std::int64_t version,
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

std::string HardenedLegacyEtcdRun::claim_path(std::int64_t version, std::int64_t rank) const {
  return keep_alive_path(version, rank) + kClaim;
}

std::string HardenedLegacyEtcdRun::return_path(std::int64_t version) const {
  return version_path(version) + "/returns";
}

}  // namespace hooke::model
