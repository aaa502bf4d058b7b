#include "model/hardened/dynamic/signs_of_life.h"

#include <algorithm>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {

void SignsOfLife::observe(const RendezvousState& state) {
  const sim::MonotonicTime now = clock_.monotonic_now();
  HOOKE_CHECK(listed_.empty(), "the list of listed nodes is empty when a look begins");
  const sim::Duration deaf =
      std::max(now - looked_.value_or(now) - interval_, sim::Duration::zero());
  HOOKE_CHECK(!looked_ || *looked_ <= now, "the time of a look is not before the look before it");
  looked_ = now;
  listed_.reserve(state.last_heartbeats.size());
  for (const Heartbeat& heartbeat : state.last_heartbeats) {
    const Heard* const known = find(heartbeat.node);
    const bool is_new = known == nullptr || known->last.at != heartbeat.at;
    const sim::Duration unheard = heartbeat.node == self_ ? sim::Duration::zero() : deaf;
    listed_.push_back({heartbeat.node, {heartbeat.at, is_new ? now : known->last.since + unheard}});
  }
  heartbeats_.swap(listed_);
  listed_.clear();
  if (!state.deadline) {
    last_call_.reset();
  } else if (!last_call_ || last_call_->at != *state.deadline) {
    last_call_ = Seen{*state.deadline, now};
  }
}

sim::Duration SignsOfLife::silence(const NodeRef& node) const {
  const Heard* const known = find(node);
  HOOKE_CHECK(known == nullptr || known->last.since <= clock_.monotonic_now(),
              "the begin of the silence is not in the future");
  return known == nullptr ? sim::Duration::zero() : clock_.monotonic_now() - known->last.since;
}

/// At once for those that follow one another in a state: it keeps its order from one to the next.
const SignsOfLife::Heard* SignsOfLife::find(const NodeRef& node) const {
  const std::size_t size = heartbeats_.size();
  std::size_t next = expected_ < size ? expected_ : 0;
  for (std::size_t tried = 0; tried < size; ++tried) {
    if (heartbeats_[next].node == node) {
      expected_ = next + 1;
      return &heartbeats_[next];
    }
    if (++next == size) next = 0;
  }
  return nullptr;
}

sim::Duration SignsOfLife::last_call() const {
  HOOKE_CHECK(!last_call_ || last_call_->since <= clock_.monotonic_now(),
              "the begin of the last call is not in the future");
  return last_call_ ? clock_.monotonic_now() - last_call_->since : sim::Duration::zero();
}

}  // namespace hooke::model
