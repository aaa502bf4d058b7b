// The barrier first, then its phases in the order in which a node goes through them.
#include "model/rendezvous/legacy_etcd/rendezvous.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "model/observe/trace_events.h"
#include "model/rendezvous/core/errors.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using Status = LegacyState::Status;

constexpr std::int64_t kSetupTtl = 5;
constexpr std::int64_t kFrozenTtl = 10;
constexpr std::int64_t kJoinableTtl = 10;
constexpr sim::Duration kCasDelayMax = 100ms;

/// Another node was faster, or what was read has expired.
bool is_gone_or_changed(const EtcdError& error) {
  return error.code() == EtcdV2Client::kKeyNotFound || error.code() == EtcdV2Client::kCompareFailed;
}

}  // namespace

LegacyEtcdRendezvous::LegacyEtcdRendezvous(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                                           LegacyEtcdSettings settings,
                                           std::unique_ptr<LegacyEtcdRun> run)
    : ports_(ports),
      client_(std::move(client)),
      settings_(std::move(settings)),
      run_(std::move(run)) {
  HOOKE_CHECK(client_ != nullptr && run_ != nullptr, "a rendezvous has a client and a run");
}

LegacyEtcdRendezvous::~LegacyEtcdRendezvous() = default;

LegacyEtcdRendezvous::Place LegacyEtcdRendezvous::barrier() {
  deadline_ = reading() + settings_.timeout;
  for (;;) {
    require_time();
    begin_attempt();
    bool has_changed = false;
    try {
      check_signals(ports_);
      return init_phase();
    } catch (const RetryImmediately&) {
      continue;
    } catch (const RetryableFailure&) {
      has_changed = true;
    } catch (const EtcdError& error) {
      has_changed = is_gone_or_changed(error);
    } catch (const RendezvousError&) {
      throw;
    } catch (const SignalException&) {
      // PyTorch takes a signal for one of those failures that are tried again, and no agent hears
      // of it, unless it comes in the pause below (S-L19).
      on_signal();
    } catch (const std::exception&) {
      // Whatever else happens is tried again, an etcd that is gone too: the deadline ends it.
    }
    pause(has_changed);
  }
}

void LegacyEtcdRendezvous::pause(bool /*has_changed*/) {
  interruptible_sleep(ports_, retry_pause());
}

LegacyEtcdRendezvous::Place LegacyEtcdRendezvous::init_phase() {
  const std::optional<Active> created = try_create();
  const Active seen = created ? *created : run_->read();
  HOOKE_CHECK(seen.state != nullptr, "what was read is there");
  switch (seen.state->status) {
    case Status::closed: on_closed(); throw RendezvousClosedError("the rendezvous is closed");
    case Status::joinable: return join_phase(*seen.state->version);
    case Status::final_: handle_existing(*seen.state->version); throw RetryImmediately();
    case Status::setup:
    case Status::frozen: wait_for_others(seen.index); break;
  }
  throw RetryableFailure();
}

void LegacyEtcdRendezvous::wait_for_others(std::uint64_t index) {
  static_cast<void>(wait_for_change(index, run_->active_path(), settings_.timeout));
}

std::optional<LegacyEtcdRun::Active> LegacyEtcdRendezvous::try_create() {
  if (!run_->create({}, kSetupTtl)) return std::nullopt;
  return begin_version();
}

LegacyEtcdRun::Active LegacyEtcdRendezvous::begin_version() {
  Active setup;
  setup.text = encode_legacy_state({});
  std::optional<Active> begun = run_->replaced(setup, joinable_legacy_state(next_version()));
  // It has expired, and others have begun with another one.
  if (!begun) throw RetryableFailure();
  return *begun;
}

std::int64_t LegacyEtcdRendezvous::next_version() {
  const std::int64_t version = advance_counter();
  HOOKE_CHECK(version > 0, "the first version has the number 1");
  run_->create_version(version);
  return version;
}

std::int64_t LegacyEtcdRendezvous::advance_counter() {
  try {
    return run_->advance_counter();
  } catch (const EtcdError& error) {
    // What else etcd refuses, for want of a leader say, is tried again by barrier().
    if (!is_gone_or_changed(error)) throw;
    // Fatal by design, although it may only mean that this node was slow (S-L17).
    throw RendezvousError("the version counter cannot be advanced: this worker needs to die");
  }
}

// ---- joining ------------------------------------------------------------------------------------

LegacyEtcdRendezvous::Place LegacyEtcdRendezvous::join_phase(std::int64_t version) {
  std::int64_t rank = 0;
  const Active joined = join(version, rank);
  HOOKE_CHECK(rank >= 0, "ranks are numbered from 0");
  HOOKE_CHECK(joined.state != nullptr && joined.state->participants.has_value(),
              "a version that is joined has participants");
  ports_.trace.emit(events::rendezvous_added,
                    {settings_.run_id, version, "participants",
                     static_cast<std::int64_t>(joined.state->participants->size())});
  ports_.fault_point.reach("legacy.joined");
  if (rank == last_caller() && joined.state->status == Status::joinable) {
    last_call(version, rank, reading() + last_call_span());
  }
  wait_for_peers(version, rank);
  return confirm_phase(version, rank);
}

LegacyEtcdRun::Active LegacyEtcdRendezvous::join(std::int64_t version, std::int64_t& rank) {
  for (;;) {
    before_attempt();
    const Active seen = run_->read();
    if (seen.state->status != Status::joinable) throw RetryableFailure();
    if (seen.state->version != version) throw RetryImmediately();
    before_joining(seen);
    const auto& participants = seen.state->participants.value();
    rank = static_cast<std::int64_t>(participants.size());
    if (rank >= settings_.max_nodes) throw std::runtime_error("a full version is not joinable");
    LegacyState next = *seen.state;
    HOOKE_CHECK(next.participants.has_value(), "a version that can be joined has participants");
    next.participants->push_back(rank);
    std::int64_t ttl = 0;
    if (rank + 1 == settings_.max_nodes) {
      next.status = Status::frozen;
      next.keep_alives.emplace();
      ttl = kFrozenTtl;
    } else if (rank + 1 >= settings_.min_nodes) {
      ttl = kJoinableTtl;
    }  // below the minimum it lives for ever, and so do the dead in it (S-L7)
    if (!run_->replace(seen, next, ttl)) continue;
    after_joining(version, rank);
    return {std::make_shared<const LegacyState>(std::move(next)), seen.text, seen.index};
  }
}

void LegacyEtcdRendezvous::last_call(std::int64_t version, std::int64_t rank,
                                     sim::Duration deadline) {
  before_last_call();
  for (Active seen = run_->read();;) {
    check_place(*seen.state, rank);
    if (seen.state->status == Status::frozen && seen.state->version == version) return;
    if (seen.state->status != Status::joinable || seen.state->version != version) {
      throw RetryableFailure();
    }
    if (reading() >= deadline) {
      LegacyState frozen = *seen.state;
      frozen.status = Status::frozen;
      frozen.keep_alives.emplace();
      if (run_->replace(seen, frozen, kFrozenTtl)) return;
    } else if (const auto renewed = run_->replaced(seen, *seen.state, kJoinableTtl)) {
      seen = wait_for_change(renewed->index, run_->active_path(),
                             std::min<sim::Duration>(std::chrono::seconds(kJoinableTtl) / 2,
                                                     deadline - reading() + 1s));
      continue;
    }
    before_attempt();
    seen = run_->read();
  }
}

void LegacyEtcdRendezvous::wait_for_peers(std::int64_t version, std::int64_t rank) {
  for (Active seen = run_->read();;) {
    check_place(*seen.state, rank);
    if (seen.state->status == Status::frozen && seen.state->version == version) return;
    if (seen.state->status != Status::joinable || seen.state->version != version) {
      throw RetryableFailure();
    }
    seen = wait_for_change(seen.index, run_->active_path(), settings_.timeout);
  }
}

// ---- confirming ---------------------------------------------------------------------------------

LegacyEtcdRendezvous::Place LegacyEtcdRendezvous::confirm_phase(std::int64_t version,
                                                                std::int64_t rank) {
  HOOKE_CHECK(version >= 0 && rank >= 0, "a seat has a version and a rank");
  confirm(version, rank);
  ports_.fault_point.reach("legacy.confirmed");
  return {version, rank, wait_for_final(version)};
}

void LegacyEtcdRendezvous::confirm(std::int64_t version, std::int64_t rank) {
  for (;;) {
    before_attempt();
    const Active seen = run_->read();
    if (seen.state->status != Status::frozen || seen.state->version != version) {
      throw RetryImmediately();
    }
    before_confirming(version, rank);
    const std::string own = run_->keep_alive_path(version, rank);
    run_->put_keep_alive(own);
    LegacyState next = *seen.state;
    HOOKE_CHECK(next.keep_alives.has_value(), "a frozen version has keep-alives");
    next.keep_alives->push_back(own);
    const bool all = all_have_confirmed(next);
    if (all) {
      next.status = Status::final_;
      next.num_workers_waiting = 0;
    }
    if (!run_->replace(seen, next, all ? 0 : kFrozenTtl)) continue;
    own_keep_alive_ = own;
    rank_renewal_ = start_renewal(own);
    if (all) {
      ports_.trace.emit(
          events::rendezvous_completed,
          {settings_.run_id, version, static_cast<std::int64_t>(next.participants->size()),
           settings_.min_nodes, settings_.max_nodes});
    }
    return;
  }
}

bool LegacyEtcdRendezvous::all_have_confirmed(const LegacyState& state) const {
  HOOKE_CHECK(state.keep_alives.has_value() && state.participants.has_value(),
              "a version that is confirmed has both lists");
  return state.keep_alives->size() >= state.participants->size();
}

std::unique_ptr<LegacyEtcdRenewal> LegacyEtcdRendezvous::start_renewal(
    const std::string& keep_alive) {
  return std::make_unique<LegacyEtcdRenewal>(
      ports_, client_, LegacyEtcdRenewal::Of{keep_alive, kLegacyKeepAlive, renewal_interval()});
}

std::int64_t LegacyEtcdRendezvous::wait_for_final(std::int64_t version) {
  for (Active seen = run_->read();;) {
    if (seen.state->status == Status::final_ && seen.state->version == version) {
      HOOKE_CHECK(seen.state->participants.has_value(), "a final version has participants");
      return static_cast<std::int64_t>(seen.state->participants->size());
    }
    if (seen.state->status != Status::frozen || seen.state->version != version) {
      throw RetryableFailure();
    }
    seen = wait_for_change(seen.index, run_->active_path(), settings_.timeout);
  }
}

// ---- a version that is running ------------------------------------------------------------------

void LegacyEtcdRendezvous::handle_existing(std::int64_t version) {
  static_cast<void>(announce_waiting(version));
  ports_.fault_point.reach("legacy.waiting");
  wait_to_be_free(version);
}

LegacyState LegacyEtcdRendezvous::announce_waiting(std::int64_t version) {
  for (;;) {
    before_attempt();
    const Active seen = run_->read();
    if (seen.state->status != Status::final_ || seen.state->version != version) {
      throw RetryImmediately();
    }
    LegacyState next = *seen.state;
    HOOKE_CHECK(next.num_workers_waiting.has_value(), "a final version counts the nodes that wait");
    ++*next.num_workers_waiting;
    if (!run_->replace(seen, next)) continue;
    ports_.trace.emit(events::rendezvous_added,
                      {settings_.run_id, version, "wait_list", *next.num_workers_waiting});
    return next;
  }
}

void LegacyEtcdRendezvous::wait_to_be_free(std::int64_t version) {
  for (;;) {
    before_look();
    const Active seen = run_->read();
    if (seen.state->status != Status::final_ || seen.state->version != version) return;
    HOOKE_CHECK(seen.state->keep_alives.has_value(), "a final version has keep-alives");
    const auto missing = run_->expired(version, *seen.state->keep_alives);
    const std::optional<sim::Duration> stay = stay_of(seen, missing);
    if (!stay) {
      if (set_free(seen, missing)) return;
      continue;
    }
    static_cast<void>(wait_for_change(seen.index, run_->rendezvous_path(), *stay));
    if (reading() > deadline_) {
      throw RendezvousTimeoutError("no seat became free in time");
    }
  }
}

std::optional<sim::Duration> LegacyEtcdRendezvous::stay_of(
    const Active& /*seen*/, const std::vector<std::string>& missing) {
  return missing.empty() ? std::optional(settings_.timeout) : std::nullopt;
}

/// A node of the version is dead: the version goes, whichever others are in it (incident 4).
bool LegacyEtcdRendezvous::set_free(const Active& seen, const std::vector<std::string>& missing) {
  HOOKE_CHECK(!missing.empty(), "a version goes for a member that is gone");
  HOOKE_CHECK(seen.state->version.has_value(), "a version that goes has a number");
  run_->remove(seen);
  ports_.trace.emit(events::rendezvous_evicted,
                    {settings_.run_id, *seen.state->version, missing.front(), 0, true});
  return true;
}

// ---- waiting ------------------------------------------------------------------------------------

LegacyEtcdRun::Active LegacyEtcdRendezvous::wait_for_change(std::uint64_t index,
                                                            const std::string& path,
                                                            sim::Duration at_most) {
  watch(index, path, at_most);
  require_time();
  return run_->read();
}

void LegacyEtcdRendezvous::watch(std::uint64_t index, const std::string& path,
                                 sim::Duration at_most) {
  const sim::Duration timeout = std::max(deadline_ - reading() + 1s, sim::Duration::zero());
  try {
    static_cast<void>(
        client_->watch(path, index + 1, ports_.clock.monotonic_now() + std::min(at_most, timeout)));
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kIndexCleared) throw;
  }
}

void LegacyEtcdRendezvous::require_time() const {
  if (reading() > deadline_) {
    throw RendezvousTimeoutError("the rendezvous did not come about in time");
  }
}

void LegacyEtcdRendezvous::cas_delay() {
  interruptible_sleep(
      ports_, ports_.random.between("legacy.cas_delay", sim::Duration::zero(), kCasDelayMax));
}

sim::Duration LegacyEtcdRendezvous::reading() const {
  return ports_.clock.wall_now().time_since_epoch();
}

}  // namespace hooke::model
