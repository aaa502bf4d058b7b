#include "model/hardened/dynamic/hardened_state_holder.h"

#include <algorithm>

#include "model/rendezvous/state/state_codec.h"
#include "sim/port/check.h"

namespace hooke::model {

std::shared_ptr<RendezvousState> HardenedStateHolder::fresh_state() const {
  auto state = StateHolder::fresh_state();
  state->round = first_round_;
  return state;
}

void HardenedStateHolder::begin_at(std::int64_t round) {
  HOOKE_CHECK(round >= 0, "the number of a round is not negative");
  first_round_ = round;
  if (!known_) edit().round = round;
}

/// A store may have come up empty, and others have begun again in it with rounds this node has been
/// in: a node that enters one that is not complete takes it to where the rounds go on.
void HardenedStateHolder::change(Action action) {
  if (action == Action::add_to_participants && !state_->complete && !is_new_round())
    edit().round = first_round_;
  StateHolder::change(action);
}

std::optional<bool> HardenedStateHolder::sync() {
  std::optional<bool> has_set;
  if (dirty_) {
    has_set = write();
    if (!token_) return give_back();
  } else if (cache_is_fresh()) {
    return std::nullopt;
  } else if (!read()) {
    if (last_seen_ != nullptr) return give_back();
    start_afresh();
  }
  settle();
  HOOKE_CHECK(!dirty_ && pending_.empty(), "no change of the state waits to be written");
  last_seen_ = state_;
  editable_.reset();
  return has_set;
}

/// What the backend had is gone: it is given back what this node last saw there. Of a
/// round that was not complete it cannot tell whether others have completed it since, and what they
/// told in that round's store may have outlived the state: the next one begins. What was to
/// be written belongs to what is gone.
std::optional<bool> HardenedStateHolder::give_back() {
  pending_.clear();
  token_.reset();
  last_sync_.reset();
  dirty_ = last_seen_ != nullptr;  // otherwise it is read what there is
  if (dirty_) {
    state_ = last_seen_;
    editable_.reset();
    if (!state_->complete) edit().round = round_after(state_->round);
  }
  return sync();
}

/// A write that fails is forgotten, and the next sync reads.
bool HardenedStateHolder::write() {
  HOOKE_CHECK(state_ != nullptr && first_round_ >= 0, "the number of a round is not negative");
  dirty_ = false;
  last_sync_.reset();
  return StateHolder::write();
}

void HardenedStateHolder::nothing_answered(const sim::Value& offered) {
  if (last_seen_ == nullptr) return StateHolder::nothing_answered(offered);
  state_ = last_seen_;
}

StateRef HardenedStateHolder::decoded(const sim::Value& bytes) const {
  return decode_state(bytes, settings_.variant, Foreign::refused);
}

}  // namespace hooke::model
