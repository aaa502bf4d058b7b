#include "model/hardened/timer/hardened_queue_timer.h"

#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// What a machine has taken in for a process that stood still reaches it within this.
constexpr sim::Duration kOnTheWay = std::chrono::milliseconds(10);

}  // namespace

bool HardenedQueueTimerServer::hear_the_rest() {
  const auto life = life_;  // the server may end while we sleep
  HOOKE_CHECK(life != nullptr && queue_ != nullptr,
              "the timer server and its queue exist when a request comes");
  do {
    for (const TimerRequest& request : queue_->get(queue_->size(), ports_.clock.monotonic_now()))
      timers_->apply(request);
    ports_.executor.sleep_until(ports_.clock.monotonic_now() + kOnTheWay);
    if (life->stopping) return false;
  } while (queue_->size() > 0);
  return true;
}

}  // namespace hooke::model
