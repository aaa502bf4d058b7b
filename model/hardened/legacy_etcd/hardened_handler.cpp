#include "model/hardened/legacy_etcd/hardened_handler.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "model/hardened/etcd/hardened_etcd_v2_store.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/core/settings.h"
#include "model/signals/signal_gate.h"
#include "model/store/retrying_store.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// A keep-alive lives for ten seconds and is renewed after five: what is left when one renewal has
/// failed.
constexpr sim::Duration kOutageLimit = std::chrono::seconds(5);
/// For how long a round's store is asked again that cannot be reached: as long as PyTorch waits for
/// one answer.
constexpr sim::Duration kStoreOutage = std::chrono::seconds(60);
/// For how long, at least, a node that joins asks an etcd again that cannot be reached, and no longer
/// than its configuration has it wait for one answer. The others take it for dead meanwhile.
constexpr sim::Duration kJoinOutage = std::chrono::seconds(20);
/// How long after a failed attempt to close the next one follows.
constexpr sim::Duration kCloseAgain = std::chrono::milliseconds(200);
/// How often an agent looks for members that are gone.
constexpr sim::Duration kMemberLook = std::chrono::seconds(1);

}  // namespace

EtcdOptions hardened_legacy_options(EtcdOptions options) {
  options.by_quorum = true;
  options.server.interruptible = true;
  options.read_timeout = kOutageLimit;
  return options;
}

LegacyEtcdSettings hardened_legacy_settings(LegacyEtcdSettings settings) {
  if (!settings.prefix.starts_with('/')) settings.prefix.insert(settings.prefix.begin(), '/');
  HOOKE_CHECK(settings.prefix.front() == '/', "a key begins with a slash");
  return settings;
}

HardenedLegacyEtcdHandler::HardenedLegacyEtcdHandler(
    sim::Ports& ports, const RendezvousParameters& parameters, std::shared_ptr<EtcdV2Client> client,
    std::shared_ptr<Store> job_store, std::unique_ptr<HardenedLegacyEtcdRendezvous> rendezvous)
    : LegacyEtcdHandler(ports, parameters, std::move(client), std::move(job_store),
                        std::move(rendezvous)),
      hardened_(static_cast<HardenedLegacyEtcdRendezvous&>(*rendezvous_)) {
  const sim::Duration blip =
      parameters.get_as_seconds("read_timeout").value_or(RendezvousSettings().read_timeout);
  hardened_.endure(std::max(kJoinOutage, blip));
}

void HardenedLegacyEtcdHandler::when_waiting(std::function<void()> call) {
  HOOKE_CHECK(call != nullptr, "the callback for a node that waits is not null");
  hardened_.when_waiting(std::move(call));
}

void HardenedLegacyEtcdHandler::when_closing_anew(std::function<void()> call) {
  HOOKE_CHECK(call != nullptr, "the callback for a node that closes anew is not null");
  hardened_.when_closing_anew(std::move(call));
}

void HardenedLegacyEtcdHandler::when_abandoned(
    std::function<bool(std::int64_t, Store&)> was_the_end) {
  HOOKE_CHECK(was_the_end != nullptr,
              "the callback that says whether the job has ended is not null");
  hardened_.when_abandoned([this, was_the_end = std::move(was_the_end)](std::int64_t version) {
    const auto store = make_hardened_etcd_v2_store(ports_, client_, hardened_.store_path(version));
    return was_the_end(version, *store);
  });
}

std::optional<sim::Duration> HardenedLegacyEtcdHandler::outage_limit() const {
  return kOutageLimit;
}

/// No agent that waits there is deaf, or meets a LookupError (S-L16).
std::shared_ptr<Store> HardenedLegacyEtcdHandler::round_store(std::int64_t round) {
  forming_ = true;
  heard_ = ports_.clock.monotonic_now();
  return make_retrying_store(
      ports_, make_hardened_etcd_v2_store(ports_, client_, hardened_.store_path(round)),
      kStoreOutage, [this] { while_waiting(); });
}

/// As under the dynamic rendezvous, a member that dies before the group is formed leaves the others
/// waiting for what it would have written: they meet again instead.
void HardenedLegacyEtcdHandler::while_waiting() {
  check_signals(ports_);
  const sim::MonotonicTime now = ports_.clock.monotonic_now();
  HOOKE_CHECK(!forming_ || heard_ <= now, "the time of the last news is not in the future");
  // Between two looks etcd is not asked, and has said nothing.
  if (!forming_ || now < next_look_) return;
  try {
    const GroupState state = group_state();
    // Members that had formed may have given the job up for the same loss, and closed it.
    const bool closed_for_a_loss = state == GroupState::closed && !missing_ranks().empty();
    if (state == GroupState::broken || state == GroupState::over || closed_for_a_loss) {
      throw RendezvousGroupLostError("the group lost a member while it was forming");
    }
    heard_ = now;
  } catch (const RendezvousConnectionError&) {
    if (now - heard_ >= kOutageLimit) {
      throw RendezvousGroupLostError("etcd fell silent while the group was forming");
    }
  }
}

/// A final version has no time to live: unless somebody waits, no agent looks whether its members
/// are there (S-L8). An agent that misses one only has to ask for the next version, as every
/// newcomer does.
GroupState HardenedLegacyEtcdHandler::group_state() {
  if (ports_.clock.monotonic_now() < next_look_) return GroupState::whole;
  next_look_ = ports_.clock.monotonic_now() + kMemberLook;
  return raised([&] { return hardened_.group_state(); });
}

bool HardenedLegacyEtcdHandler::may_have_news() {
  return ports_.clock.monotonic_now() >= next_look_;
}

Successor HardenedLegacyEtcdHandler::successor() {
  try {
    return hardened_.successor();
  } catch (const EtcdError&) {
  } catch (const EtcdConnectionError&) {
  }
  return Successor::none;
}

void HardenedLegacyEtcdHandler::on_unreachable(const EtcdConnectionError& error) const {
  throw RendezvousConnectionError(error.what());
}

/// An agent that does not close leaves newcomers waiting for agents that have gone: where the
/// answer is lost, it tries again.
void HardenedLegacyEtcdHandler::close_persistently() {
  const sim::MonotonicTime give_up = ports_.clock.monotonic_now() + kOutageLimit;
  for (;;) {
    try {
      return hardened_.set_closed();
    } catch (const EtcdConnectionError&) {
      if (ports_.clock.monotonic_now() >= give_up) throw;
    }
    interruptible_sleep(ports_, kCloseAgain);
  }
}

bool HardenedLegacyEtcdHandler::leave() {
  try {
    hardened_.leave();
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kKeyNotFound) throw;  // else there is nothing to leave
  }
  return true;
}

bool HardenedLegacyEtcdHandler::shutdown() {
  try {
    ports_.fault_point.reach("rendezvous.closing");
    close_persistently();
    return true;
  } catch (const SignalException&) {
    throw;
  } catch (const std::exception& error) {
    ports_.trace.emit(events::rendezvous_failed, {run_id_, "EtcdException", error.what()});
    const auto* const refused = dynamic_cast<const EtcdError*>(&error);
    // What has not begun needs no closing (S-L11).
    return refused != nullptr && refused->code() == EtcdV2Client::kKeyNotFound;
  }
}

}  // namespace hooke::model
