#pragma once
// Drives one operation to its end (dynamic_rendezvous.py:_DistributedRendezvousOpExecutor.run).

#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/dynamic/state_holder.h"
#include "sim/port/executor.h"

namespace hooke::model {

/// The store is asked at each look, however young the copy of its state is.
inline bool polls_too_often(const RendezvousSettings& settings) {
  return settings.planted.has(Planted::rendezvous_polls_without_pause) ||
         settings.planted.has(Planted::rendezvous_polls_ten_times);
}

inline sim::Duration poll_interval(const RendezvousSettings& settings) {
  if (settings.planted.has(Planted::rendezvous_polls_without_pause)) return kPollInterval / 1000;
  if (settings.planted.has(Planted::rendezvous_polls_ten_times)) return kPollInterval / 10;
  if (settings.planted.has(Planted::rendezvous_polls_seldom)) return kPollInterval * 10;
  return kPollInterval;
}

/// Exchanges the state and does what `operation` decides until it finishes. A rejected write is
/// retried at once, without back-off. With `extend_by`, an action that extends the deadline
/// sets it to now + that span. RendezvousClosedError, RendezvousTimeoutError,
/// RendezvousGracefulExitError; whatever the backend raises. `before_write` is called before each
/// exchange that will write, and must be brief: who writes long after reading loses every time.
template <class Sleep, class BeforeWrite>
void run_operation(Operation operation, StateHolder& holder, const RendezvousSettings& settings,
                   const NodeRef& node, sim::Clock& clock, sim::MonotonicTime deadline,
                   std::optional<sim::Duration> extend_by, Sleep sleep, BeforeWrite before_write) {
  // The planted mistake's; PyTorch tries for as long as it takes.
  constexpr int kTries = 4;
  int lost = 0;
  for (;;) {
    const std::optional<bool> written = holder.sync();
    lost = written == false ? lost + 1 : 0;
    if (lost == kTries && settings.planted.has(Planted::rendezvous_retries_end)) return;
    if (written == false && operation == &decide_exit &&
        settings.planted.has(Planted::rendezvous_leaving_believed)) {
      return;
    }
    const Situation situation{
        holder.state(),        settings,      node, truncate_to_microseconds(clock.wall_now()),
        clock.monotonic_now(), holder.signs()};
    const Action action = operation(situation, deadline);
    switch (action) {
      case Action::finish: return;
      case Action::error_closed: throw RendezvousClosedError("");
      case Action::error_timeout: throw RendezvousTimeoutError("");
      case Action::sync:
        if (polls_too_often(settings)) holder.forget_cache();
        sleep(poll_interval(settings));
        break;
      default:
        holder.change(action);
        if (extend_by && extends_deadline(action)) deadline = clock.monotonic_now() + *extend_by;
        before_write(action);
    }
  }
}

}  // namespace hooke::model
