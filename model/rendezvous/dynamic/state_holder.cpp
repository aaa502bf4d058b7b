// Copy on write: a state that has been offered to the backend is shared and never changed again.
#include "model/rendezvous/dynamic/state_holder.h"

#include <algorithm>
#include <exception>

#include "model/observe/python_error.h"
#include "model/rendezvous/state/state_codec.h"
#include "model/rendezvous/state/undecodable_state.h"
#include "model/store/stored_text.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// Bytes that came over the wire as such, as etcd's do: reading them is costly. A state that is
/// handed on as itself need not be read.
bool are_the_same_text(const sim::Value& one, const sim::Value& other) {
  const auto is_text = [](const sim::Value& value) {
    const sim::Payload* const payload = value.payload().get();
    return dynamic_cast<const sim::BytesPayload*>(payload) != nullptr ||
           dynamic_cast<const StoredText*>(payload) != nullptr;
  };
  if (one.payload() == other.payload()) return is_text(one);
  return is_text(one) && is_text(other) && one.bytes() == other.bytes();
}

}  // namespace

StateHolder::StateHolder(sim::Clock& clock, RendezvousBackend& backend,
                         const RendezvousSettings& settings, Decisions& decisions, NodeRef node,
                         Observer* observer, sim::Duration cache_duration)
    : backend_(backend),
      settings_(settings),
      clock_(clock),
      decisions_(decisions),
      node_(std::move(node)),
      observer_(observer),
      cache_duration_(cache_duration) {
  HOOKE_CHECK(cache_duration_ >= sim::Duration::zero(), "the cache duration is not negative");
  state_ = StateHolder::fresh_state();
}

std::shared_ptr<RendezvousState> StateHolder::fresh_state() const {
  auto state = std::make_shared<RendezvousState>();
  state->aware_times = writes_times_with_a_zone(settings_.variant);
  return state;
}

RendezvousState& StateHolder::edit() {
  HOOKE_CHECK(state_ != nullptr, "the state holder has a state");
  HOOKE_CHECK(editable_ == nullptr || editable_ == state_,
              "the editable state is the state that is held");
  if (editable_ == nullptr) {
    editable_ = std::make_shared<RendezvousState>(*state_);
    state_ = editable_;
  }
  return *editable_;
}

void StateHolder::change(Action action) {
  HOOKE_CHECK(changes_the_state(action), "the action changes the state");
  const bool was_complete = state_->complete;
  const std::int64_t round = state_->round;
  RendezvousState& state = edit();
  // What came with the state is never this process' own object, not even where it is equal.
  decisions_.apply(action, state, node_.another_object(),
                   truncate_to_microseconds(clock_.wall_now()));
  dirty_ = true;
  std::size_t members = state.participants.size();
  if (action == Action::add_to_wait_list) members = state.wait_list.size();
  if (action == Action::add_to_redundancy_list) members = state.redundancy_list.size();
  HOOKE_CHECK(state.round >= round, "a change does not make the number of the round smaller");
  HOOKE_CHECK(action != Action::mark_rendezvous_closed || state.closed,
              "after mark_rendezvous_closed the state is closed");
  // The last one that leaves a round begins the next.
  const std::int64_t concerned = action == Action::remove_from_participants ? round : state.round;
  pending_.push_back({action, concerned, members, !was_complete && state.complete});
}

std::optional<bool> StateHolder::sync() {
  std::optional<bool> has_set;
  if (dirty_) {
    has_set = write();
  } else if (cache_is_fresh()) {
    return std::nullopt;
  } else if (!read()) {
    start_afresh();
  }
  settle();
  return has_set;
}

bool StateHolder::cache_is_fresh() const {
  if (cache_duration_ <= sim::Duration::zero() || !last_sync_) return false;
  HOOKE_CHECK(*last_sync_ <= clock_.monotonic_now(), "the elapsed monotonic time is not negative");
  return *last_sync_ >= std::max(clock_.monotonic_now() - cache_duration_, sim::MonotonicTime());
}

bool StateHolder::read() {
  HOOKE_CHECK(!dirty_, "no change waits to be written when the state is read");
  const sim::MonotonicTime began = clock_.monotonic_now();
  const auto stored = backend_.get_state();
  if (stored) adopt(stored->bytes);
  if (observer_ != nullptr) observer_->on_read(stored ? state_.get() : nullptr, began);
  if (!stored) return false;
  known_ = true;
  token_ = stored->token;
  return true;
}

void StateHolder::start_afresh() {
  state_ = fresh_state();
  adopted_ = {};
  adopted_state_.reset();
  editable_.reset();
  token_.reset();
}

void StateHolder::settle() {
  HOOKE_CHECK(!token_ || known_, "a token exists only where a state is known");
  dirty_ = false;
  pending_.clear();
  last_sync_ = clock_.monotonic_now();
  drop_dead_nodes();
}

std::optional<SetStateResult> StateHolder::offer(const sim::Value& bytes) {
  return backend_.set_state(bytes, token_);
}

/// What is held, published or not, stays in force, without a token.
void StateHolder::nothing_answered(const sim::Value& offered) {
  adopt(offered);
}

bool StateHolder::write() {
  const sim::MonotonicTime began = clock_.monotonic_now();
  const StateRef offered_state = state_;
  const sim::Value offered = encode_state(offered_state, settings_.variant, adopted_);
  HOOKE_CHECK(offered.size() > 0, "the bytes of the state are not empty");
  editable_.reset();
  std::optional<SetStateResult> response;
  try {
    response = offer(offered);
  } catch (const std::exception&) {
    if (observer_ != nullptr) observer_->on_offered(*offered_state, false, began);
    throw;
  }
  const bool has_set = response && response->has_set;
  const bool in_doubt = !has_set && (!response || response->in_doubt);
  if (observer_ != nullptr && (has_set || in_doubt))
    observer_->on_offered(*offered_state, has_set, began);
  HOOKE_CHECK(!response || !response->has_set || !response->in_doubt,
              "a write that has set the state is not in doubt");
  if (response) {
    adopt(response->bytes);
    known_ = true;
    token_ = response->token;
  } else {
    nothing_answered(offered);
    token_.reset();
  }
  if (observer_ == nullptr) return has_set;
  if (!response) {
    observer_->on_read(nullptr, began);
  } else if (!has_set) {
    observer_->on_lost(*state_, began);
  }
  const bool stands_there = in_doubt && response && state_->digest() == offered_state->digest();
  const bool accepted = has_set || stands_there || (in_doubt && has_landed());
  observer_->on_write(pending_, dead_, accepted, offered.size());
  return has_set;
}

/// A change whose answer was lost, and which has been overwritten since, is seen in what is there.
bool StateHolder::has_landed() const {
  if (pending_.size() != 1) return false;
  switch (pending_.back().action) {
    case Action::add_to_participants: return state_->participant(node_) != nullptr;
    case Action::add_to_wait_list: return state_->waits(node_);
    case Action::add_to_redundancy_list: return state_->is_redundant(node_);
    default: return false;
  }
}

void StateHolder::adopt(const sim::Value& bytes) {
  if (adopted_state_ == nullptr || !are_the_same_text(bytes, adopted_)) {
    adopted_state_ = decoded(bytes);
  }
  adopted_ = bytes;
  state_ = adopted_state_;
  editable_.reset();
  HOOKE_CHECK(state_ != nullptr, "decoding the stored bytes gave a state");
}

StateRef StateHolder::decoded(const sim::Value& bytes) const {
  try {
    return decode_state(bytes, settings_.variant, Foreign::refused);
  } catch (const UndecodableState& error) {
    if (error.escapes_as() == nullptr) throw;
    throw EscapedPythonError(error.escapes_as(), error.what());
  }
}

void StateHolder::drop_dead_nodes() {
  decisions_.observe(*state_);
  dead_ = decisions_.dead_nodes(*state_, truncate_to_microseconds(clock_.wall_now()));
  if (dead_.empty()) return;
  decisions_.sanitise(edit(), dead_);
  for (const DeadNode& dead : dead_) {
    if (dead.node == node_ && observer_ != nullptr) observer_->on_own_death();
  }
}

}  // namespace hooke::model
