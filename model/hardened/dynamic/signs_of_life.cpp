#include "model/hardened/dynamic/signs_of_life.h"

#include <algorithm>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {

void SignsOfLife::observe(const RendezvousState& state) {
  const sim::MonotonicTime now = clock_.monotonic_now();
  const sim::Duration deaf =
      std::max(now - looked_.value_or(now) - interval_, sim::Duration::zero());
  HOOKE_CHECK(!looked_ || *looked_ <= now, "one look comes after the other");
  looked_ = now;
  std::map<NodeDesc, Seen> listed;
  for (const Heartbeat& heartbeat : state.last_heartbeats) {
    const auto known = heartbeats_.find(*heartbeat.node);
    const bool is_new = known == heartbeats_.end() || known->second.at != heartbeat.at;
    const sim::Duration unheard = *heartbeat.node == self_ ? sim::Duration::zero() : deaf;
    listed[*heartbeat.node] = {heartbeat.at, is_new ? now : known->second.since + unheard};
  }
  heartbeats_ = std::move(listed);
  if (!state.deadline) {
    last_call_.reset();
  } else if (!last_call_ || last_call_->at != *state.deadline) {
    last_call_ = Seen{*state.deadline, now};
  }
}

sim::Duration SignsOfLife::silence(const NodeDesc& node) const {
  const auto known = heartbeats_.find(node);
  if (known == heartbeats_.end()) return sim::Duration::zero();
  return clock_.monotonic_now() - known->second.since;
}

sim::Duration SignsOfLife::last_call() const {
  return last_call_ ? clock_.monotonic_now() - last_call_->since : sim::Duration::zero();
}

}  // namespace hooke::model
