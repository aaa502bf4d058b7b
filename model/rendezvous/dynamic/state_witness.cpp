// One event for each change of what this node knows.
#include "model/rendezvous/dynamic/state_witness.h"

#include <utility>

#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {

void StateWitness::read(const RendezvousState* stored, sim::MonotonicTime began) {
  HOOKE_CHECK(began <= clock_.monotonic_now(),
              "an exchange with the store does not end before it begins, nor in the future");
  const std::int64_t value = stored == nullptr ? 0 : stored->digest();
  const Span span{began, clock_.monotonic_now()};
  if (known_ == value) {
    last_look_ = span;
    return;
  }
  tell_last_look();
  known_ = value;
  tell("read", 0, value, span);
}

void StateWitness::lost(const RendezvousState& stored, sim::MonotonicTime began) {
  if (known_ != stored.digest()) read(&stored, began);
}

void StateWitness::offered(const RendezvousState& offered, bool certain, sim::MonotonicTime began) {
  const std::int64_t expected = known_.value_or(0);
  const Span span{began, clock_.monotonic_now()};
  if (!certain) return tell("attempt", expected, offered.digest(), span);
  tell_last_look();
  known_ = offered.digest();
  tell("write", expected, *known_, span);
}

void StateWitness::tell_last_look() {
  HOOKE_CHECK(!last_look_ || known_, "a last look exists only where a state is known");
  if (const auto look = std::exchange(last_look_, std::nullopt)) tell("read", 0, *known_, *look);
}

void StateWitness::tell(const char* kind, std::int64_t expected, std::int64_t value,
                        const Span& span) {
  const sim::MonotonicTime now = clock_.monotonic_now();
  HOOKE_CHECK(span.began <= span.ended && span.ended <= now,
              "an exchange with the store does not end before it begins, nor in the future");
  trace_.emit(events::rendezvous_exchanged,
              {run_id_, kind, expected, value, now - span.began, now - span.ended});
}

}  // namespace hooke::model
