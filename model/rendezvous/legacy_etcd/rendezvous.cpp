// The barrier first, then its phases in the order in which a node goes through them.
#include "model/rendezvous/legacy_etcd/rendezvous.h"

#include <algorithm>
#include <optional>
#include <stdexcept>
#include <utility>

#include "model/etcd/signature.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/legacy_etcd/leaving.h"
#include "model/signals/signal_gate.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using Status = LegacyState::Status;

constexpr std::int64_t kSetupTtl = 5;
constexpr std::int64_t kFrozenTtl = 10;
constexpr std::int64_t kJoinableTtl = 10;
constexpr std::int64_t kClosedTtl = 2h / 1s;  // of one that outlives all else in etcd
constexpr sim::Duration kRetryPause = 1s;
/// How long a hardened node waits to be told of a change before it looks itself: an etcd whose
/// machine has crashed breaks no connection.
constexpr sim::Duration kWatchMax = 5s;
constexpr sim::Duration kCasDelayMax = 100ms;
/// For how long hardened nodes leave a version that misses members to those who have not come back:
/// they may have to stop their workers, which is given 30 s.
constexpr sim::Duration kReturnMax = 30s;
/// What joining and confirming take beside the last call, at most.
constexpr sim::Duration kFormingMax = 5s;

/// A version that no agent has joined yet.
LegacyState joinable(std::int64_t version) {
  LegacyState state;
  state.status = Status::joinable;
  state.version = version;
  state.participants.emplace();
  return state;
}

/// Another node was faster, or what was read has expired.
bool is_gone_or_changed(const EtcdError& error) {
  return error.code() == EtcdV2Client::kKeyNotFound || error.code() == EtcdV2Client::kCompareFailed;
}

/// The phase did not come to its end; the barrier begins anew, at once or after a second.
struct RetryImmediately {};
struct RetryableFailure {};

}  // namespace

LegacyEtcdRendezvous::LegacyEtcdRendezvous(sim::Ports& ports, std::shared_ptr<EtcdV2Client> client,
                                           LegacyEtcdSettings settings)
    : ports_(ports),
      client_(std::move(client)),
      settings_(std::move(settings)),
      run_(ports_, client_, settings_.prefix, settings_.run_id, settings_.variant),
      owner_(hardened() ? draw_signature(ports_) : "") {}

LegacyEtcdRendezvous::~LegacyEtcdRendezvous() = default;

LegacyEtcdRendezvous::Place LegacyEtcdRendezvous::barrier() {
  deadline_ = reading() + settings_.timeout;
  is_spare_ = false;
  was_called_ = false;
  for (;;) {
    require_time();
    rank_renewal_ = nullptr;  // of the version before
    joining_ = waiting_ = 0;
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
      if (hardened()) throw;
    } catch (const std::exception&) {
      // Whatever else happens is tried again, an etcd that is gone too: the deadline ends it.
    }
    // An agent that pauses for long while the others go on may miss the last call of what comes.
    const bool at_once = settings_.planted.has(Planted::legacy_retries_without_pause);
    has_changed&& hardened() ? cas_delay() : sleep(at_once ? 0s : kRetryPause);
  }
}

LegacyEtcdRendezvous::Place LegacyEtcdRendezvous::init_phase() {
  LegacyState state{Status::joinable, {}, {}, {}, {}};
  std::uint64_t index = 0;
  if (!try_create()) {
    const Active seen = run_.read();
    state = seen.state;
    index = seen.index;
  } else {
    state = run_.read().state;
  }
  switch (state.status) {
    case Status::closed:
      if (is_spare_)
        throw RendezvousGracefulExitError("the rendezvous is closed: this spare leaves");
      throw RendezvousClosedError("the rendezvous is closed");
    case Status::joinable: return join_phase(*state.version);
    case Status::final_: handle_existing(*state.version); throw RetryImmediately();
    case Status::setup:
    case Status::frozen:
      static_cast<void>(wait_for_change(index, run_.active_path(), settings_.timeout));
      // Who pauses now may miss the last call of what comes.
      if (hardened()) throw RetryImmediately();
      throw RetryableFailure();
  }
  throw RetryableFailure();
}

bool LegacyEtcdRendezvous::try_create() {
  if (!run_.create({}, kSetupTtl)) return false;
  Active setup;
  setup.text = encode_legacy_state({});
  // It has expired, and others have begun with another one.
  if (!run_.replace(setup, joinable(next_version()))) throw RetryableFailure();
  return true;
}

std::int64_t LegacyEtcdRendezvous::next_version() {
  std::int64_t version = 0;
  try {
    version = run_.advance_counter();
  } catch (const EtcdError& error) {
    if (hardened()) throw RetryableFailure();
    // What else etcd refuses, for want of a leader say, is tried again by barrier().
    if (!is_gone_or_changed(error)) throw;
    // Fatal by design, although it may only mean that this node was slow (S-L17).
    throw RendezvousError("the version counter cannot be advanced: this worker needs to die");
  }
  run_.create_version(version);
  return version;
}

bool LegacyEtcdRendezvous::was_before(std::int64_t version) const {
  return hardened() && (version <= held_version_ || version < run_.latest_seen());
}

// ---- joining ------------------------------------------------------------------------------------

LegacyEtcdRendezvous::Place LegacyEtcdRendezvous::join_phase(std::int64_t version) {
  std::int64_t rank = 0;
  const Active joined = join(version, rank);
  joining_ = version;
  ports_.trace.emit(events::rendezvous_added,
                    {settings_.run_id, version, "participants",
                     static_cast<std::int64_t>(joined.state.participants->size())});
  ports_.fault_point.reach("legacy.joined");
  const bool too_soon = settings_.planted.has(Planted::legacy_last_call_too_soon);
  const std::int64_t caller = std::max<std::int64_t>(settings_.min_nodes - (too_soon ? 2 : 1), 0);
  if (rank == caller && joined.state.status == Status::joinable) {
    const bool skipped = settings_.planted.has(Planted::legacy_last_call_skipped);
    last_call(version, rank, reading() + (skipped ? sim::Duration() : span_of_call()));
  }
  wait_for_peers(version, rank);
  confirm(version, rank);
  ports_.fault_point.reach("legacy.confirmed");
  Place place;
  place.version = version;
  place.rank = rank;
  place.world_size = wait_for_final(version);
  if (hardened() && run_.is_of_another(own_keep_alive_, owner_)) throw RetryableFailure();
  joining_ = 0;
  held_version_ = place.version;
  held_size_ = place.world_size;
  return place;
}

LegacyEtcdRun::Active LegacyEtcdRendezvous::join(std::int64_t version, std::int64_t& rank) {
  for (;;) {
    before_attempt();
    const Active seen = run_.read();
    if (seen.state.status != Status::joinable) throw RetryableFailure();
    if (seen.state.version != version) throw RetryImmediately();
    if (was_before(version)) {
      static_cast<void>(run_.replace(seen, joinable(next_version())));
      throw RetryImmediately();
    }
    auto& participants = seen.state.participants.value();
    rank = static_cast<std::int64_t>(participants.size());
    if (rank >= settings_.max_nodes) throw std::runtime_error("a full version is not joinable");
    Active next = seen;
    next.state.participants->push_back(rank);
    std::int64_t ttl = 0;
    if (rank + 1 == settings_.max_nodes) {
      next.state.status = Status::frozen;
      next.state.keep_alives.emplace();
      ttl = kFrozenTtl;
    } else if (rank + 1 >= settings_.min_nodes) {
      ttl = kJoinableTtl;
    }  // below the minimum it lives for ever, and so do the dead in it (S-L7)
    if (!run_.replace(seen, next.state, ttl)) continue;
    if (hardened() && !run_.claim(version, rank, owner_)) throw RetryableFailure();
    return next;
  }
}

sim::Duration LegacyEtcdRendezvous::span_of_call() const {
  return hardened() && was_called_ ? std::min(settings_.last_call, kFormingMax)
                                   : settings_.last_call;
}

bool LegacyEtcdRendezvous::has_lost_place(const LegacyState& state, std::int64_t rank) const {
  return hardened() && state.participants &&
         static_cast<std::int64_t>(state.participants->size()) <= rank;
}

void LegacyEtcdRendezvous::last_call(std::int64_t version, std::int64_t rank,
                                     sim::Duration deadline) {
  for (;;) {
    before_attempt();
    const Active seen = run_.read();
    if (has_lost_place(seen.state, rank)) throw RetryableFailure();
    if (seen.state.status == Status::frozen && seen.state.version == version) return;
    if (seen.state.status != Status::joinable || seen.state.version != version) {
      throw RetryableFailure();
    }
    const sim::Duration now = reading();
    if (now >= deadline) {
      LegacyState frozen = seen.state;
      frozen.status = Status::frozen;
      frozen.keep_alives.emplace();
      if (run_.replace(seen, frozen, kFrozenTtl)) return;
      continue;
    }
    if (!run_.replace(seen, seen.state, kJoinableTtl)) continue;
    static_cast<void>(wait_for_change(
        run_.read().index, run_.active_path(),
        std::min<sim::Duration>(std::chrono::seconds(kJoinableTtl) / 2, deadline - now + 1s)));
  }
}

void LegacyEtcdRendezvous::wait_for_peers(std::int64_t version, std::int64_t rank) {
  for (Active seen = run_.read();;) {
    if (has_lost_place(seen.state, rank)) throw RetryableFailure();
    if (seen.state.status == Status::frozen && seen.state.version == version) return;
    if (seen.state.status != Status::joinable || seen.state.version != version) {
      throw RetryableFailure();
    }
    seen = wait_for_change(seen.index, run_.active_path(), settings_.timeout);
  }
}

void LegacyEtcdRendezvous::confirm(std::int64_t version, std::int64_t rank) {
  for (;;) {
    before_attempt();
    const Active seen = run_.read();
    if (seen.state.status != Status::frozen || seen.state.version != version) {
      throw RetryImmediately();
    }
    was_called_ = true;
    if (hardened() && !run_.holds_claim(version, rank, owner_)) throw RetryableFailure();
    const std::string own = run_.keep_alive_path(version, rank);
    run_.put_keep_alive(own, owner_);
    LegacyState next = seen.state;
    next.keep_alives->push_back(own);
    const std::size_t early = settings_.planted.has(Planted::legacy_final_one_short) ? 1 : 0;
    const bool all = next.keep_alives->size() + early >= next.participants->size();
    if (all) {
      next.status = Status::final_;
      next.num_workers_waiting = 0;
    }
    if (!run_.replace(seen, next, all ? 0 : kFrozenTtl)) continue;
    own_keep_alive_ = own;
    if (!settings_.planted.has(Planted::legacy_keep_alive_not_started)) {
      const bool too_late = settings_.planted.has(Planted::legacy_renewed_too_late);
      rank_renewal_ = std::make_unique<LegacyEtcdRenewal>(
          ports_, client_, LegacyEtcdRenewal::Of{own, kLegacyKeepAlive, false, too_late},
          settings_.variant);
    }
    if (all) {
      ports_.trace.emit(
          events::rendezvous_completed,
          {settings_.run_id, version, static_cast<std::int64_t>(next.participants->size()),
           settings_.min_nodes, settings_.max_nodes});
    }
    return;
  }
}

std::int64_t LegacyEtcdRendezvous::wait_for_final(std::int64_t version) {
  for (Active seen = run_.read();;) {
    if (seen.state.status == Status::final_ && seen.state.version == version) {
      return static_cast<std::int64_t>(seen.state.participants->size());
    }
    if (seen.state.status != Status::frozen || seen.state.version != version) {
      throw RetryableFailure();
    }
    seen = wait_for_change(seen.index, run_.active_path(), settings_.timeout);
  }
}

// ---- a version that is running ------------------------------------------------------------------

void LegacyEtcdRendezvous::handle_existing(std::int64_t version) {
  const bool was_in_it = was_in(version);
  if (hardened() && was_in_it) {
    run_.tell_return(version, own_keep_alive_);
  }
  if (hardened() && !was_in_it && when_waiting_) when_waiting_();
  announce_waiting(version);
  ports_.fault_point.reach("legacy.waiting");
  try {
    wait_to_be_free(version);
  } catch (const EtcdError& error) {
    // It is gone. PyTorch pauses, and may miss the last call of the version that follows.
    const bool gone = error.code() == EtcdV2Client::kKeyNotFound;
    if (!gone || !hardened()) throw;
  }
}

bool LegacyEtcdRendezvous::was_in(std::int64_t version) {
  if (held_version_ != version) return false;
  // One that said to return to it would have its members make room for it.
  if (hardened() && run_.is_of_another(own_keep_alive_, owner_)) held_version_ = 0;
  return held_version_ == version;
}

void LegacyEtcdRendezvous::announce_waiting(std::int64_t version) {
  for (;;) {
    before_attempt();
    const Active seen = run_.read();
    if (seen.state.status != Status::final_ || seen.state.version != version) {
      throw RetryImmediately();
    }
    LegacyState next = seen.state;
    ++*next.num_workers_waiting;
    if (!run_.replace(seen, next)) continue;
    waiting_ = version;
    is_spare_ = hardened() && version != held_version_ &&
                static_cast<std::int64_t>(next.participants->size()) >= settings_.max_nodes;
    ports_.trace.emit(events::rendezvous_added,
                      {settings_.run_id, version, "wait_list", *next.num_workers_waiting});
    return;
  }
}

void LegacyEtcdRendezvous::wait_to_be_free(std::int64_t version) {
  std::optional<sim::Duration> held_until;  // a reading()
  for (;;) {
    if (hardened()) require_time();
    const Active seen = run_.read();
    if (seen.state.status != Status::final_ || seen.state.version != version) return;
    const auto missing = run_.expired(version, *seen.state.keep_alives);
    const bool by_all = settings_.planted.has(Planted::legacy_freed_by_all);
    bool is_free = missing.size() >= (by_all ? seen.state.keep_alives->size() : 1);
    sim::Duration at_most = settings_.timeout;
    if (is_free && hardened() && run_.some_will_return(version, *seen.state.keep_alives)) {
      // Who began the next version without them would have to make room for them again, and those
      // who stop their workers for that would be left out in their turn.
      if (!held_until) {
        held_until = std::min<sim::Duration>(reading() + kReturnMax,
                                             deadline_ - settings_.last_call - kFormingMax);
      }
      at_most = *held_until - reading();
      is_free = at_most <= sim::Duration::zero();
    }
    if (is_free && version != held_version_ && was_the_end_ && was_the_end_(version)) {
      if (!replace_by_closed(seen)) continue;
      throw RendezvousGracefulExitError("the job has ended with the members of version " +
                                        std::to_string(version) + ": this spare leaves");
    }
    if (is_free) {
      // Somebody of the version is dead: the version goes, whichever others are in it (incident 4).
      run_.remove(seen);
      ports_.trace.emit(events::rendezvous_evicted,
                        {settings_.run_id, version, missing.front(), 0, true});
      return;
    }
    static_cast<void>(wait_for_change(seen.index, run_.rendezvous_path(), at_most));
    if (reading() > deadline_) {
      throw RendezvousTimeoutError("no seat became free in time");
    }
  }
}

Successor LegacyEtcdRendezvous::successor() {
  return successor_in(run_.read().state);
}

Successor LegacyEtcdRendezvous::successor_in(const LegacyState& state) const {
  const bool is_another = held_version_ != 0 && state.version && *state.version != held_version_;
  if (!is_another) return Successor::none;
  const bool is_complete = state.status == Status::frozen || state.status == Status::final_;
  return is_complete ? Successor::complete : Successor::begun;
}

bool LegacyEtcdRendezvous::is_closed() {
  try {
    return run_.read().state.status == Status::closed;
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return false;
    throw;
  }
}

std::int64_t LegacyEtcdRendezvous::num_workers_waiting() {
  try {
    const Active seen = run_.read();
    if (hardened() && seen.state.status == Status::joinable &&
        successor_in(seen.state) == Successor::begun) {
      return static_cast<std::int64_t>(seen.state.participants->size());
    }
    if (seen.state.status != Status::final_) return 0;
    const bool unseen = settings_.planted.has(Planted::legacy_newcomers_not_seen);
    const std::int64_t waiting = unseen ? 0 : *seen.state.num_workers_waiting;
    const auto members = static_cast<std::int64_t>(seen.state.participants->size());
    if (hardened() && waiting > 0 && members >= settings_.max_nodes) {
      // No agent can be admitted beyond the last seat, as in R-42; but a member that is on its way
      // back counts itself in the same number.
      run_.require_return(*seen.state.version);
    }
    return waiting;
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return 0;
    throw;
  }
}

std::int64_t LegacyEtcdRendezvous::others_alive() {
  const Active seen = run_.read();
  if (seen.state.status != Status::final_) return 0;
  std::vector<std::string> others = *seen.state.keep_alives;
  std::erase(others, own_keep_alive_);
  const auto gone = run_.expired(*seen.state.version, others);
  return static_cast<std::int64_t>(others.size() - gone.size());
}

GroupState LegacyEtcdRendezvous::group_state() {
  missing_.clear();
  try {
    const Active seen = run_.read();
    // Closed after another round, it tells those of this one that they were left out.
    if (seen.state.version && *seen.state.version != held_version_) return GroupState::over;
    const bool closed = seen.state.status == Status::closed;
    if (closed && !seen.state.keep_alives) return GroupState::closed;
    if (!closed && seen.state.status != Status::final_) return GroupState::over;
    // An agent that has closed it could not always say why: it may miss members all the same.
    const auto gone = run_.expired(held_version_, *seen.state.keep_alives);
    for (std::int64_t rank = 0; rank < held_size_; ++rank) {
      const bool is_gone = std::find(gone.begin(), gone.end(),
                                     run_.keep_alive_path(held_version_, rank)) != gone.end();
      if (is_gone) missing_.push_back(rank);
    }
    if (closed) return GroupState::closed;
    return gone.empty() ? GroupState::whole : GroupState::broken;
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return GroupState::over;
    throw;
  }
}

void LegacyEtcdRendezvous::set_closed() {
  for (;; cas_delay()) {
    if (has_been_emptied() ? try_close_anew() : try_close(run_.read())) return;
  }
}

void LegacyEtcdRendezvous::leave() {
  const bool is_member = rank_renewal_ != nullptr && joining_ == 0 && held_version_ != 0;
  rank_renewal_ = nullptr;
  leave_legacy_run(ports_, run_, settings_.run_id,
                   {joining_, waiting_, is_member ? held_version_ : 0, own_keep_alive_, owner_});
}

bool LegacyEtcdRendezvous::try_close(const Active& seen) {
  if (seen.state.status == Status::closed) return true;
  // Hardened: what others have formed without this node is not its to close.
  if (hardened() && successor_in(seen.state) == Successor::complete) return true;
  return replace_by_closed(seen);
}

bool LegacyEtcdRendezvous::replace_by_closed(const Active& seen) {
  LegacyState next = seen.state;
  next.status = Status::closed;
  if (!run_.replace(seen, next)) return false;
  ports_.trace.emit(events::rendezvous_closed, {settings_.run_id, next.version.value_or(0)});
  return true;
}

bool LegacyEtcdRendezvous::try_close_anew() {
  if (!run_.create({Status::closed, held_version_, {}, {}, {}}, kClosedTtl)) return false;
  ports_.trace.emit(events::rendezvous_closed, {settings_.run_id, held_version_});
  return true;
}

bool LegacyEtcdRendezvous::has_been_emptied() {
  return hardened() && held_version_ != 0 && run_.has_been_emptied();
}

// ---- waiting ------------------------------------------------------------------------------------

LegacyEtcdRun::Active LegacyEtcdRendezvous::wait_for_change(std::uint64_t index,
                                                            const std::string& path,
                                                            sim::Duration at_most) {
  if (hardened()) at_most = std::min<sim::Duration>(at_most, kWatchMax);
  const sim::Duration timeout = std::max(deadline_ - reading() + 1s, sim::Duration::zero());
  bool is_cut_off = false;
  try {
    static_cast<void>(
        client_->watch(path, index + 1, ports_.clock.monotonic_now() + std::min(at_most, timeout)));
  } catch (const EtcdError& error) {
    if (error.code() != EtcdV2Client::kIndexCleared) throw;
  } catch (const EtcdConnectionError&) {
    // All agents that a change wakes come back at once, and some may be refused. PyTorch begins
    // anew then, and leaves a dead seat in the version. Whether etcd is gone is seen by looking, on
    // the connection that is kept.
    if (!hardened()) throw;
    is_cut_off = true;
  }
  if (is_cut_off) cas_delay();  // never all at the same time again
  require_time();
  Active now = run_.read();
  // An etcd that has lost its data counts anew: this may be another version of the same number.
  if (hardened() && now.index < index) throw RetryableFailure();
  return now;
}

void LegacyEtcdRendezvous::require_time() const {
  if (reading() > deadline_) {
    throw RendezvousTimeoutError("the rendezvous did not come about in time");
  }
}

void LegacyEtcdRendezvous::before_attempt() {
  cas_delay();
  if (hardened()) require_time();
}

void LegacyEtcdRendezvous::cas_delay() {
  sleep(ports_.random.between("legacy.cas_delay", sim::Duration::zero(), kCasDelayMax));
}

sim::Duration LegacyEtcdRendezvous::reading() const {
  return hardened() ? ports_.clock.monotonic_now().time_since_epoch()
                    : ports_.clock.wall_now().time_since_epoch();
}

void LegacyEtcdRendezvous::sleep(sim::Duration span) {
  interruptible_sleep(ports_, span);
}

}  // namespace hooke::model
