// The steps in the order of the class below; what they have in common, and what is asked from
// outside, comes last.
#include "model/hardened/legacy_etcd/hardened_rendezvous.h"

#include <algorithm>

#include "model/hardened/legacy_etcd/lasting_renewal.h"
#include "model/hardened/legacy_etcd/leaving.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/core/errors.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using Status = LegacyState::Status;

constexpr std::int64_t kClosedTtl = 2h / 1s;  // of one that outlives all else in etcd
/// How long a node waits to be told of a change before it looks itself: an etcd whose machine has
/// crashed breaks no connection.
constexpr sim::Duration kWatchMax = 5s;
/// So many watches may end without news sooner than that after they began, before the next waits.
constexpr std::int64_t kWithoutNews = 8;
constexpr sim::Duration kNews = 1s;
/// For how long a version that misses members is left to those that have not come back: they may
/// have to stop their workers, which is given 30 s.
constexpr sim::Duration kReturnMax = 30s;
/// For how long a node that sets a version up tries that again, of the 5 s for which it is left alone,
/// and the pause before each time.
constexpr sim::Duration kSetUpMax = 3s;
constexpr sim::Duration kSetUpAgain = 200ms;
/// What joining and confirming take beside the last call, at most.
constexpr sim::Duration kFormingMax = 5s;

}  // namespace

HardenedLegacyEtcdRendezvous::HardenedLegacyEtcdRendezvous(
    sim::Ports& ports, std::shared_ptr<EtcdV2Client> client, LegacyEtcdSettings settings,
    std::unique_ptr<HardenedLegacyEtcdRun> run)
    : LegacyEtcdRendezvous(ports, std::move(client), std::move(settings), std::move(run)),
      keys_(static_cast<HardenedLegacyEtcdRun&>(*run_)) {}

LegacyEtcdRendezvous::Place HardenedLegacyEtcdRendezvous::barrier() {
  is_spare_ = false;
  was_called_ = false;
  return LegacyEtcdRendezvous::barrier();
}

void HardenedLegacyEtcdRendezvous::begin_attempt() {
  LegacyEtcdRendezvous::begin_attempt();
  joining_ = waiting_ = 0;
}

void HardenedLegacyEtcdRendezvous::on_signal() {
  throw;
}

/// An agent that pauses for long while the others go on may miss the last call of what comes.
void HardenedLegacyEtcdRendezvous::pause(bool has_changed) {
  keys_.require_answers(ports_.clock.monotonic_now(), endures_, has_changed);
  has_changed ? cas_delay() : LegacyEtcdRendezvous::pause(has_changed);
}

void HardenedLegacyEtcdRendezvous::on_closed() {
  if (is_spare_) {
    throw RendezvousGracefulExitError("the rendezvous is closed: this spare leaves");
  }
}

/// A node that pauses now may miss the last call of what comes.
void HardenedLegacyEtcdRendezvous::wait_for_others(std::uint64_t index) {
  LegacyEtcdRendezvous::wait_for_others(index);
  throw RetryImmediately();
}

/// A node that loses its connection while it sets a version up goes on with that: no other node
/// can until the time of it is over, and then the same may happen again.
LegacyEtcdRun::Active HardenedLegacyEtcdRendezvous::begin_version() {
  const sim::Duration until = reading() + kSetUpMax;
  for (bool again = false;; again = true) {
    try {
      if (again && run_->read().state->status != Status::setup) throw RetryImmediately();
      return LegacyEtcdRendezvous::begin_version();
    } catch (const EtcdConnectionError&) {
      if (reading() >= until) throw;
    } catch (const RetryableFailure&) {
      if (reading() >= until) throw;
    }
    interruptible_sleep(ports_, kSetUpAgain);
    require_time();
  }
}

/// That another node was faster, or that etcd has lost the counter, is no reason to die (S-L17). A
/// version is begun with half a dozen questions.
std::int64_t HardenedLegacyEtcdRendezvous::advance_counter() {
  require_time();
  try {
    const std::int64_t version = run_->advance_counter();
    require_time();
    return version;
  } catch (const EtcdError&) {
    throw RetryableFailure();
  }
}

// ---- joining ------------------------------------------------------------------------------------

LegacyEtcdRun::Active HardenedLegacyEtcdRendezvous::join(std::int64_t version, std::int64_t& rank) {
  Active joined = LegacyEtcdRendezvous::join(version, rank);
  HOOKE_CHECK(0 <= rank && rank < settings_.max_nodes, "0 <= rank < max_nodes");
  joining_ = version;
  return joined;
}

/// A node that meets a version of before takes it to where the versions go on.
void HardenedLegacyEtcdRendezvous::before_joining(const Active& seen) {
  if (!was_before(*seen.state->version)) return;
  static_cast<void>(run_->replace(seen, joinable_legacy_state(next_version())));
  throw RetryImmediately();
}

/// An etcd that has lost its keys begins again with versions that there were.
bool HardenedLegacyEtcdRendezvous::was_before(std::int64_t version) const {
  HOOKE_CHECK(held_version_ >= 0, "the number of a version is not negative");
  return version <= held_version_ || version < keys_.latest_seen();
}

void HardenedLegacyEtcdRendezvous::after_joining(std::int64_t version, std::int64_t rank) {
  if (!keys_.claim(version, rank)) throw RetryableFailure();
}

/// However short it is, those that have waited for the same version come in time.
void HardenedLegacyEtcdRendezvous::before_last_call() {
  before_attempt();
}

/// Where a member died after the last call, the version that follows is not kept open for as long
/// again. All agents of the call that failed come at once.
sim::Duration HardenedLegacyEtcdRendezvous::last_call_span() const {
  const sim::Duration span = LegacyEtcdRendezvous::last_call_span();
  return was_called_ ? std::min(span, kFormingMax) : span;
}

/// Without this node's place it is another version of the same number, begun in an etcd that had
/// lost its data.
void HardenedLegacyEtcdRendezvous::check_place(const LegacyState& state, std::int64_t rank) {
  const bool is_lost =
      state.participants && static_cast<std::int64_t>(state.participants->size()) <= rank;
  if (is_lost) throw RetryableFailure();
}

// ---- confirming ---------------------------------------------------------------------------------

LegacyEtcdRendezvous::Place HardenedLegacyEtcdRendezvous::confirm_phase(std::int64_t version,
                                                                        std::int64_t rank) {
  const Place place = LegacyEtcdRendezvous::confirm_phase(version, rank);
  HOOKE_CHECK(place.version == version, "the node's place is in the version that it has confirmed");
  HOOKE_CHECK(joining_ == version, "the confirmed version is the one that the node has joined");
  HOOKE_CHECK(place.rank >= 0, "the rank of a seat is not negative");
  joining_ = 0;
  held_version_ = place.version;
  held_size_ = place.world_size;
  return place;
}

void HardenedLegacyEtcdRendezvous::before_confirming(std::int64_t version, std::int64_t rank) {
  was_called_ = true;
  if (!keys_.holds_claim(version, rank)) throw RetryableFailure();
}

std::unique_ptr<LegacyEtcdRenewal> HardenedLegacyEtcdRendezvous::start_renewal(
    const std::string& keep_alive) {
  return std::make_unique<LegacyEtcdRenewal>(
      ports_, client_, LegacyEtcdRenewal::Of{keep_alive, kLegacyKeepAlive, renewal_interval()},
      &renew_while_there);
}

std::int64_t HardenedLegacyEtcdRendezvous::wait_for_final(std::int64_t version) {
  const std::int64_t size = LegacyEtcdRendezvous::wait_for_final(version);
  HOOKE_CHECK(!own_keep_alive_.empty(), "a node that has confirmed a version has a keep-alive key");
  if (keys_.is_of_another(own_keep_alive_)) throw RetryableFailure();
  return size;
}

// ---- a version that is running ------------------------------------------------------------------

void HardenedLegacyEtcdRendezvous::handle_existing(std::int64_t version) {
  const bool returns = was_in(version);
  require_time();
  if (returns) {
    keys_.tell_return(version, own_keep_alive_);
  } else if (when_waiting_) {
    when_waiting_();
  }
  LegacyEtcdRendezvous::handle_existing(version);
}

/// A version of the same number that another node has begun in an etcd that had lost its data is
/// none of this node's: one that said to return to it would have its members make room for it.
bool HardenedLegacyEtcdRendezvous::was_in(std::int64_t version) {
  if (held_version_ != version) return false;
  if (keys_.is_of_another(own_keep_alive_)) held_version_ = 0;
  return held_version_ == version;
}

LegacyState HardenedLegacyEtcdRendezvous::announce_waiting(std::int64_t version) {
  LegacyState counted = LegacyEtcdRendezvous::announce_waiting(version);
  waiting_ = version;
  is_spare_ = version != held_version_ &&
              static_cast<std::int64_t>(counted.participants->size()) >= settings_.max_nodes;
  return counted;
}

void HardenedLegacyEtcdRendezvous::wait_to_be_free(std::int64_t version) {
  held_until_.reset();
  try {
    LegacyEtcdRendezvous::wait_to_be_free(version);
  } catch (const EtcdError& error) {
    // It is gone. PyTorch pauses, and may miss the last call of the version that follows.
    if (error.code() != EtcdV2Client::kKeyNotFound) throw;
  }
}

/// An agent that began the next version without members that will return would have to make room
/// for them again, and members that stop their workers for that would be left out in their turn.
std::optional<sim::Duration> HardenedLegacyEtcdRendezvous::stay_of(
    const Active& seen, const std::vector<std::string>& missing) {
  const std::optional<sim::Duration> stay = LegacyEtcdRendezvous::stay_of(seen, missing);
  HOOKE_CHECK(seen.state->version && seen.state->keep_alives,
              "a final version has a number and keep-alives");
  if (stay || !keys_.some_will_return(*seen.state->version, *seen.state->keep_alives)) return stay;
  if (!held_until_) {
    held_until_ = std::min<sim::Duration>(reading() + kReturnMax,
                                          deadline_ - settings_.last_call - kFormingMax);
  }
  const sim::Duration left = *held_until_ - reading();
  HOOKE_CHECK(left <= kReturnMax, "a version is kept for at most kReturnMax");
  return left > sim::Duration::zero() ? std::optional(left) : std::nullopt;
}

bool HardenedLegacyEtcdRendezvous::set_free(const Active& seen,
                                            const std::vector<std::string>& missing) {
  require_time();
  const std::int64_t version = *seen.state->version;
  if (version != held_version_ && was_the_end_ && was_the_end_(version)) {
    if (!replace_by_closed(seen)) return false;
    throw RendezvousGracefulExitError("the job has ended with the members of version " +
                                      std::to_string(version) + ": this spare leaves");
  }
  return LegacyEtcdRendezvous::set_free(seen, missing);
}

std::int64_t HardenedLegacyEtcdRendezvous::waiting_in(const LegacyState& state) {
  if (state.status == Status::joinable && successor_in(state) == Successor::begun) {
    return static_cast<std::int64_t>(state.participants->size());
  }
  const std::int64_t waiting = LegacyEtcdRendezvous::waiting_in(state);
  const bool is_full =
      waiting > 0 && static_cast<std::int64_t>(state.participants->size()) >= settings_.max_nodes;
  // No agent can be admitted beyond the last seat, as in R-42; but a member that is on its way back
  // counts itself in the same number.
  return is_full && !keys_.one_returns(*state.version) ? 0 : waiting;
}

// ---- closing and leaving ------------------------------------------------------------------------

bool HardenedLegacyEtcdRendezvous::try_close() {
  if (has_been_emptied()) return try_close_anew();
  const Active seen = run_->read();
  if (seen.state->status == Status::closed) return true;
  // What others have formed without this node is not its to close.
  return successor_in(*seen.state) == Successor::complete || replace_by_closed(seen);
}

/// In an etcd that has lost its keys, before another node begins anew there: no newcomer shall wait
/// for members that are done. False when another was faster.
bool HardenedLegacyEtcdRendezvous::try_close_anew() {
  if (when_closing_anew_) when_closing_anew_();
  HOOKE_CHECK(held_version_ != 0, "the node held a version before it closes anew");
  if (!run_->create({Status::closed, held_version_, {}, {}, {}}, kClosedTtl)) return false;
  ports_.trace.emit(events::rendezvous_closed, {settings_.run_id, held_version_});
  return true;
}

/// This node was in a version of which etcd knows nothing any more, nor of any other.
bool HardenedLegacyEtcdRendezvous::has_been_emptied() {
  return held_version_ != 0 && keys_.has_been_emptied();
}

void HardenedLegacyEtcdRendezvous::leave() {
  HOOKE_CHECK(joining_ >= 0 && waiting_ >= 0 && held_version_ >= 0,
              "the number of a version is not negative");
  const bool is_member = rank_renewal_ != nullptr && joining_ == 0 && held_version_ != 0;
  rank_renewal_ = nullptr;
  leave_legacy_run(ports_, keys_, settings_.run_id,
                   {joining_, waiting_, is_member ? held_version_ : 0, own_keep_alive_});
}

// ---- waiting ------------------------------------------------------------------------------------

LegacyEtcdRun::Active HardenedLegacyEtcdRendezvous::wait_for_change(std::uint64_t index,
                                                                    const std::string& path,
                                                                    sim::Duration at_most) {
  const sim::Duration began = reading();
  Active now = LegacyEtcdRendezvous::wait_for_change(index, path, at_most);
  pause_without_news(now.index <= index && reading() - began < kNews);
  // An etcd that has lost its data counts anew: this may be another version of the same number.
  if (now.index < index) throw RetryableFailure();
  return now;
}

/// An etcd that answers every watch at once, with what it has told before or because it has
/// forgotten that far back, is asked ever more rarely. One such answer is nothing: it may be of
/// another key of the directory.
void HardenedLegacyEtcdRendezvous::pause_without_news(bool at_once) {
  without_news_ = at_once ? without_news_ + 1 : 0;
  HOOKE_CHECK(without_news_ >= 0, "the count of answers without news is not negative");
  if (without_news_ < kWithoutNews) return;
  const sim::Duration pause = (without_news_ - kWithoutNews + 1) * 50ms;
  HOOKE_CHECK(pause > sim::Duration::zero(), "the pause before etcd is asked again is positive");
  interruptible_sleep(ports_, std::min<sim::Duration>(pause, kNews));
}

/// All agents that a change wakes come back at once, and some may be refused. PyTorch begins anew
/// then, and leaves a dead seat in the version. Whether etcd is gone is seen by looking, on the
/// connection that is kept.
void HardenedLegacyEtcdRendezvous::watch(std::uint64_t index, const std::string& path,
                                         sim::Duration at_most) {
  bool is_cut_off = false;
  try {
    LegacyEtcdRendezvous::watch(index, path, std::min<sim::Duration>(at_most, kWatchMax));
  } catch (const EtcdConnectionError&) {
    is_cut_off = true;
  }
  if (is_cut_off) cas_delay();  // never all at the same time again
}

/// There must be time for the attempt, too: behind a slow etcd each one takes seconds, and many may
/// follow each other. So it is wherever more than three questions would follow each other.
void HardenedLegacyEtcdRendezvous::before_attempt() {
  LegacyEtcdRendezvous::before_attempt();
  require_time();
}

sim::Duration HardenedLegacyEtcdRendezvous::reading() const {
  return ports_.clock.monotonic_now().time_since_epoch();
}

// ---- what has become of the version that barrier() returned -------------------------------------

Successor HardenedLegacyEtcdRendezvous::successor() {
  return successor_in(*run_->read().state);
}

Successor HardenedLegacyEtcdRendezvous::successor_in(const LegacyState& state) const {
  const bool is_another = held_version_ != 0 && state.version && *state.version != held_version_;
  if (!is_another) return Successor::none;
  const bool is_complete = state.status == Status::frozen || state.status == Status::final_;
  return is_complete ? Successor::complete : Successor::begun;
}

GroupState HardenedLegacyEtcdRendezvous::group_state() {
  missing_.clear();
  try {
    const Active seen = run_->read();
    // Closed after another round, it tells those of this one that they were left out.
    if (seen.state->version && *seen.state->version != held_version_) return GroupState::over;
    const bool closed = seen.state->status == Status::closed;
    if (closed && !seen.state->keep_alives) return GroupState::closed;
    if (!closed && seen.state->status != Status::final_) return GroupState::over;
    // An agent that has closed it could not always say why: it may miss members all the same.
    const auto gone =
        keys_.expired_beside(held_version_, *seen.state->keep_alives, own_keep_alive_);
    // Another node has begun a version of the same number in an etcd that had lost its data.
    if (!gone) return GroupState::over;
    HOOKE_CHECK(held_size_ >= 0, "the size of the held group is not negative");
    for (std::int64_t rank = 0; rank < held_size_; ++rank) {
      const bool is_gone = std::find(gone->begin(), gone->end(),
                                     run_->keep_alive_path(held_version_, rank)) != gone->end();
      if (is_gone) missing_.push_back(rank);
    }
    if (closed) return GroupState::closed;
    return gone->empty() ? GroupState::whole : GroupState::broken;
  } catch (const EtcdError& error) {
    if (error.code() == EtcdV2Client::kKeyNotFound) return GroupState::over;
    throw;
  }
}

}  // namespace hooke::model
