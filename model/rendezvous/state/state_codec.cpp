// A state as a payload that turns into bytes only when a reader looks.
#include "model/rendezvous/state/state_codec.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "model/rendezvous/state/pickle_writer.h"
#include "model/store/stored_text.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// Certain only where a list or a flag differs that every variant writes; what changes most often
/// comes first.
bool are_other_bytes(const RendezvousState& a, const RendezvousState& b) {
  return a.last_heartbeats != b.last_heartbeats || a.participants != b.participants ||
         a.wait_list != b.wait_list || a.round != b.round || a.complete != b.complete ||
         a.closed != b.closed || a.deadline != b.deadline;
}

/// Both are written with the same bytes but for their times, all of which have the same size: the
/// same numbers, and the same objects at the same places.
bool are_alike(const RendezvousState& a, const RendezvousState& b) {
  const auto same_object = [](const NodeRef& one, const NodeRef& other) {
    return one.is_same_object(other);
  };
  return a.round == b.round && a.complete == b.complete && a.closed == b.closed &&
         a.deadline.has_value() == b.deadline.has_value() && a.aware_times == b.aware_times &&
         a.participants.equals(b.participants,
                               [&](const Participant& one, const Participant& other) {
                                 return same_object(one.node, other.node) && one.rank == other.rank;
                               }) &&
         a.wait_list.equals(b.wait_list, same_object) &&
         a.redundancy_list.equals(b.redundancy_list, same_object) &&
         a.last_heartbeats.equals(b.last_heartbeats,
                                  [&](const Heartbeat& one, const Heartbeat& other) {
                                    return same_object(one.node, other.node);
                                  });
}

class PickledState final : public sim::Payload {
 public:
  PickledState(StateRef state, Variant variant) : state_(std::move(state)), variant_(variant) {
    HOOKE_CHECK(state_ != nullptr, "what is written is a state");
  }
  [[nodiscard]] std::size_t size() const override {
    if (!size_) size_ = pickled_state_bytes(*state_, variant_);
    return *size_;
  }
  [[nodiscard]] const std::string& bytes() const override {
    if (!bytes_) bytes_ = pickle_state(*state_, variant_);
    HOOKE_CHECK(!size_ || *size_ == bytes_->size(), "a state is as long as was said before");
    return *bytes_;
  }
  /// Other states are other bytes. Equal states need not be equal bytes: a pickle also shows which
  /// nodes are one and the same object.
  [[nodiscard]] std::optional<bool> same_bytes(const sim::Payload& other) const override {
    const auto* pickled = dynamic_cast<const PickledState*>(&other);
    if (pickled == nullptr || pickled->variant_ != variant_) return std::nullopt;
    if (state_ == pickled->state_) return true;
    if (are_other_bytes(*state_, *pickled->state_)) return false;
    return std::nullopt;
  }
  /// Has the size of `other` if only times differ.
  void resemble(const PickledState& other) {
    if (other.size_ && other.variant_ == variant_ && are_alike(*state_, *other.state_)) {
      size_ = other.size_;
    }
  }
  [[nodiscard]] const StateRef& state() const { return state_; }
  [[nodiscard]] Variant variant() const { return variant_; }

 private:
  StateRef state_;
  Variant variant_;
  mutable std::optional<std::size_t> size_;
  mutable std::optional<std::string> bytes_;
};

/// A pickle without times does not say in which form they were: reading it gives the variant's.
bool looks_the_same_when_read(const RendezvousState& state, Variant variant) {
  return state.deadline || !state.last_heartbeats.empty() ||
         state.aware_times == writes_times_with_a_zone(variant);
}

}  // namespace

sim::Value encode_state(StateRef state, Variant variant, const sim::Value& like) {
  const auto pickled = std::make_shared<PickledState>(std::move(state), variant);
  const auto* const other = dynamic_cast<const PickledState*>(like.payload().get());
  if (other != nullptr) pickled->resemble(*other);
  return sim::Value(pickled);
}

StateRef decode_state(const sim::Value& value, Variant variant, Foreign foreign) {
  if (const auto* ours = dynamic_cast<const PickledState*>(value.payload().get());
      ours != nullptr && ours->variant() == variant) {
    if (looks_the_same_when_read(*ours->state(), variant)) return ours->state();
  }
  const auto read = [&] {
    return std::make_shared<const RendezvousState>(unpickle_state(value.bytes(), variant, foreign));
  };
  const auto* const stored = dynamic_cast<const StoredText*>(value.payload().get());
  if (stored == nullptr) return read();
  const int way = static_cast<int>(variant) * 2 + (foreign == Foreign::read ? 1 : 0);
  std::shared_ptr<const void>& kept = stored->reading(StoredText::kAsState + way);
  if (kept == nullptr) kept = read();
  return std::static_pointer_cast<const RendezvousState>(kept);
}

sim::Value decode_stored(const sim::Value& text) {
  try {
    return base64_decode(text);
  } catch (const Base64Error& error) {
    throw RendezvousStateError(std::string("the stored state is ") + error.what());
  }
}

}  // namespace hooke::model
