#include "model/hardened/dynamic/retrying_backend.h"

#include <algorithm>

#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/core/settings.h"
#include "model/signals/signal_gate.h"
#include "sim/port/check.h"

namespace hooke::model {

sim::MonotonicTime RetryingBackend::end_of(sim::MonotonicTime felt) const {
  HOOKE_CHECK(endures.limit >= sim::Duration::zero(),
              "the longest outage that is endured is not negative");
  const sim::MonotonicTime end = felt + endures.limit;
  if (!endures.deadline) return end;
  return std::min(end, std::max(*endures.deadline, felt + endures.short_one));
}

template <class Call>
auto RetryingBackend::persistently(Call call) -> decltype(call()) {
  const sim::MonotonicTime begin = ports_.clock.monotonic_now();
  std::optional<sim::MonotonicTime> give_up;
  for (;;) {
    try {
      return call();
    } catch (const RendezvousConnectionError&) {
      const sim::MonotonicTime now = ports_.clock.monotonic_now();
      // The outage may have begun when the answer was all but there.
      if (!give_up) give_up = end_of(std::min(now, begin + kPollInterval));
      if (now >= *give_up) throw;
    }
    const sim::Duration left = *give_up - ports_.clock.monotonic_now();
    interruptible_sleep(ports_, std::min<sim::Duration>(left, kPollInterval));
  }
}

std::optional<StoredState> RetryingBackend::get_state() {
  HOOKE_CHECK(backend_ != nullptr, "the retrying backend has an inner backend");
  return persistently([&] { return backend_->get_state(); });
}

std::optional<SetStateResult> RetryingBackend::set_state(const sim::Value& bytes,
                                                         const std::optional<Token>& token) {
  HOOKE_CHECK(bytes.size() > 0, "the bytes of the state are not empty");
  std::uint64_t attempts = 0;
  auto result = persistently([&] {
    ++attempts;
    return backend_->set_state(bytes, token);
  });
  // What had no answer may have been carried out.
  if (result && !result->has_set && attempts > 1) result->in_doubt = true;
  return result;
}

}  // namespace hooke::model
