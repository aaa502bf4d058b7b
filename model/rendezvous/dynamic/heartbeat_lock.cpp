#include "model/rendezvous/dynamic/heartbeat_lock.h"

#include "sim/port/check.h"

namespace hooke::model {

void HeartbeatLock::lock() {
  if (!locked_) {
    HOOKE_CHECK(waiting_.empty(), "no fiber waits while the lock is free");
    locked_ = true;
    return;
  }
  Place mine(*this);
  HOOKE_CHECK(waiting_.back() == &mine, "this fiber is the last in the queue for the lock");
  static_cast<void>(executor_.park(mine.ticket));
  HOOKE_CHECK(mine.granted && locked_, "the lock is still locked when it is handed over");
  mine.taken = true;
}

void HeartbeatLock::lock_in_main_thread(sim::Ports& ports) {
  if (!locked_) {
    HOOKE_CHECK(waiting_.empty(), "no fiber waits while the lock is free");
    locked_ = true;
    return;
  }
  Place mine(*this);
  const bool signalled = ports.processes.wait_signal(std::nullopt);
  HOOKE_CHECK(mine.granted || signalled, "only a signal ends the wait for the lock early");
  if (signalled) check_signals(ports);  // which may raise: a lock that came with it is given back
  mine.taken = mine.granted;
}

void HeartbeatLock::unlock() {
  HOOKE_CHECK(locked_, "only a locked lock can be unlocked");
  while (!waiting_.empty()) {
    Place& next = *waiting_.front();
    waiting_.pop_front();
    HOOKE_CHECK(!next.granted, "the next fiber in the queue does not have the lock yet");
    next.granted = executor_.wake(next.ticket);
    if (next.granted) return;
    // A signal has woken it, and it has not run yet: it will raise.
  }
  locked_ = false;
}

}  // namespace hooke::model
