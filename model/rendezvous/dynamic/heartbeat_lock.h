#pragma once
// The lock that a handler of the dynamic rendezvous and its keep-alive share
// (dynamic_rendezvous.py:DynamicRendezvousHandler._heartbeat_lock). It is held across store calls,
// so that the agent may wait for it as long as the store is silent to the keep-alive. In the
// main thread that wait hears signals, which one for the store itself would not.

#include <deque>

#include "model/signals/signal_gate.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// First come, first served. Unlocking hands the lock to the fiber that has waited longest.
class HeartbeatLock {
 public:
  explicit HeartbeatLock(sim::Executor& executor) : executor_(executor) {}

  /// In the fiber of the keep-alive.
  void lock();
  /// In the fiber that stands for Python's main thread: a caught signal ends the wait with
  /// SignalException, and the lock is not held then.
  void lock_in_main_thread(sim::Ports& ports);
  void unlock();
  [[nodiscard]] bool locked() const { return locked_; }

  /// Holds it in the main thread, as long as the object lives.
  class Held {
   public:
    Held(HeartbeatLock& lock, sim::Ports& ports) : lock_(lock) { lock_.lock_in_main_thread(ports); }
    ~Held() { lock_.unlock(); }
    Held(const Held&) = delete;
    Held& operator=(const Held&) = delete;

   private:
    HeartbeatLock& lock_;
  };

 private:
  /// One fiber's place, which it gives up with the object, and the lock, where it has been given to
  /// the fiber and this dies before it knows.
  struct Place {
    explicit Place(HeartbeatLock& in) : lock(in), ticket(in.executor_.ticket()) {
      lock.waiting_.push_back(this);
    }
    ~Place() {
      std::erase(lock.waiting_, this);
      if (granted && !taken) lock.unlock();
    }
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    HeartbeatLock& lock;
    sim::ParkTicket ticket;
    bool granted = false;
    bool taken = false;
  };

  sim::Executor& executor_;
  std::deque<Place*> waiting_;
  bool locked_ = false;
};

}  // namespace hooke::model
