// Copy on write: a state that has been offered to the backend is shared and never changed again.
#include "model/rendezvous/dynamic/state_holder.h"

#include <algorithm>
#include <exception>

#include "model/rendezvous/state/state_codec.h"

namespace hooke::model {
StateHolder::StateHolder(sim::Clock& clock, RendezvousBackend& backend,
                         const RendezvousSettings& settings, NodeRef node, Observer* observer,
                         sim::Duration cache_duration)
    : clock_(clock),
      backend_(backend),
      settings_(settings),
      node_(std::move(node)),
      observer_(observer),
      cache_duration_(cache_duration),
      state_(fresh_state()) {
  if (settings.variant == Variant::hardened)
    signs_.emplace(clock, *node_, settings.keep_alive_interval);
}

std::shared_ptr<RendezvousState> StateHolder::fresh_state() const {
  auto state = std::make_shared<RendezvousState>();
  state->aware_times = settings_.variant != Variant::torch_1_13;
  state->round = first_round_;
  return state;
}

void StateHolder::begin_at(std::int64_t round) {
  first_round_ = round;
  if (!known_) edit().round = round;
}

RendezvousState& StateHolder::edit() {
  if (editable_ == nullptr) {
    editable_ = std::make_shared<RendezvousState>(*state_);
    state_ = editable_;
  }
  return *editable_;
}

void StateHolder::change(Action action) {
  const bool was_complete = state_->complete;
  RendezvousState& state = edit();
  // A store may have come up empty, and others have begun again in it with rounds this node has
  // been in: whoever enters one that is not complete takes it to where the rounds go on.
  if (signs_ && action == Action::add_to_participants && !state.complete)
    state.round = std::max(state.round, first_round_);
  // What came with the state is never this process' own object, not even where it is equal.
  apply(action, state, settings_, node_.another_object(),
        truncate_to_microseconds(clock_.wall_now()));
  dirty_ = true;
  std::size_t members = state.participants.size();
  if (action == Action::add_to_wait_list) members = state.wait_list.size();
  if (action == Action::add_to_redundancy_list) members = state.redundancy_list.size();
  pending_.push_back({action, state.round, members, !was_complete && state.complete});
}

std::optional<bool> StateHolder::sync() {
  std::optional<bool> has_set;
  if (dirty_) {
    has_set = write();
    if (signs_ && !token_) return give_back();
  } else {
    const sim::MonotonicTime now = clock_.monotonic_now();
    const bool fresh = cache_duration_ > sim::Duration::zero() && last_sync_ &&
                       *last_sync_ >= std::max(now - cache_duration_, sim::MonotonicTime());
    if (fresh) return std::nullopt;
    const auto stored = backend_.get_state();
    if (stored) adopt(stored->bytes);
    if (observer_ != nullptr) observer_->on_read(stored ? state_.get() : nullptr, now);
    if (stored) {
      known_ = true;
      token_ = stored->token;
    } else if (last_seen_ != nullptr) {
      return give_back();
    } else {
      state_ = fresh_state();
      editable_.reset();
      token_.reset();
    }
  }
  dirty_ = false;
  pending_.clear();
  last_sync_ = clock_.monotonic_now();
  drop_dead_nodes();
  if (signs_) {
    last_seen_ = state_;
    editable_.reset();
  }
  return has_set;
}

/// What the backend had is gone: it is given back what this node last saw there. Of a
/// round that was not complete it cannot tell whether others have completed it since, and what they
/// told in that round's store may have outlived the state: the next one begins. What was to
/// be written belongs to what is gone.
std::optional<bool> StateHolder::give_back() {
  pending_.clear();
  token_.reset();
  last_sync_.reset();
  dirty_ = last_seen_ != nullptr;  // otherwise it is read what there is
  if (dirty_) {
    state_ = last_seen_;
    editable_.reset();
    if (!state_->complete) ++edit().round;
  }
  return sync();
}

bool StateHolder::write() {
  const sim::MonotonicTime began = clock_.monotonic_now();
  const StateRef offer = state_;
  const sim::Value offered = encode_state(offer, settings_.variant);
  editable_.reset();
  if (signs_) {  // a write that fails is forgotten, and the next sync reads
    dirty_ = false;
    last_sync_.reset();
  }
  std::optional<SetStateResult> response;
  try {
    response = backend_.set_state(offered, token_);
    if (settings_.planted.has(Planted::rendezvous_refused_write_forced) && response &&
        !response->has_set)
      response = backend_.set_state(offered, response->token);
  } catch (const std::exception&) {
    if (observer_ != nullptr) observer_->on_offered(*offer, false, began);
    throw;
  }
  const bool believes = response && settings_.planted.has(Planted::rendezvous_lost_write_believed);
  const bool has_set = believes || (response && response->has_set);
  const bool in_doubt = !has_set && (!response || response->in_doubt);
  if (observer_ != nullptr && (has_set || in_doubt)) observer_->on_offered(*offer, has_set, began);
  if (response) {
    adopt(believes ? offered : response->bytes);
    known_ = true;
    token_ = response->token;
  } else {
    // No state could be produced: what is held, published or not, stays in force, without a token;
    // hardened, what was there before (give_back).
    if (signs_ && last_seen_ != nullptr) {
      state_ = last_seen_;
    } else {
      adopt(offered);
    }
    token_.reset();
  }
  if (observer_ == nullptr) return has_set;
  if (!response) {
    observer_->on_read(nullptr, began);
  } else if (!has_set) {
    observer_->on_lost(*state_, began);
  }
  observer_->on_write(pending_, dead_, has_set || (in_doubt && has_landed()), offered.size());
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
  state_ = decode_state(bytes, settings_.variant, Foreign::refused);
  editable_.reset();
}

void StateHolder::drop_dead_nodes() {
  if (signs_) signs_->observe(*state_);
  const bool by_signs = signs_ && !settings_.planted.has(Planted::rendezvous_silence_by_wall_clock);
  dead_ = by_signs ? hooke::model::dead_nodes(*state_, settings_, *signs_, node_)
                   : hooke::model::dead_nodes(*state_, settings_,
                                              truncate_to_microseconds(clock_.wall_now()));
  if (dead_.empty()) return;
  sanitise(edit(), settings_, dead_);
  for (const DeadNode& dead : dead_) {
    if (dead.node == node_ && observer_ != nullptr) observer_->on_own_death();
  }
}

}  // namespace hooke::model
