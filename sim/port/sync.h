#pragma once
// Blocking primitives for fibers of one process, built on park and wake alone and therefore
// identical in every world. Not thread-safe: fibers of a process share one thread.

#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/port/check.h"
#include "sim/port/executor.h"

namespace hooke::sim {

/// Fibers waiting for one condition, woken in order of arrival.
class WaitQueue {
 public:
  explicit WaitQueue(Executor& executor) : executor_(executor) {}
  /// Parks the caller until woken or until `deadline`.
  Wake wait(std::optional<MonotonicTime> deadline = std::nullopt) {
    const ParkTicket ticket = executor_.ticket();
    waiting_.push_back(ticket);
    const Wake wake = executor_.park(ticket, deadline);
    if (wake == Wake::timed_out) forget(ticket);
    return wake;
  }
  /// Wakes the longest-waiting fiber; false if no process waits.
  bool wake_one() {
    while (!waiting_.empty()) {
      const ParkTicket ticket = waiting_.front();
      waiting_.pop_front();
      if (executor_.wake(ticket)) return true;
    }
    return false;
  }
  void wake_all() {
    while (wake_one()) {
    }
  }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

 private:
  void forget(ParkTicket ticket) {
    std::erase_if(waiting_, [&](const ParkTicket& other) {
      return other.fiber == ticket.fiber && other.generation == ticket.generation;
    });
  }
  Executor& executor_;
  std::deque<ParkTicket> waiting_;
};

/// A condition that becomes true once and stays so.
class Flag {
 public:
  explicit Flag(Executor& executor) : waiting_(executor) {}
  [[nodiscard]] bool is_set() const { return set_; }
  void set() {
    set_ = true;
    waiting_.wake_all();
    HOOKE_CHECK(waiting_.empty(), "no fiber waits for what has happened");
  }
  /// Blocks until set (true) or until `deadline` (false).
  bool wait(std::optional<MonotonicTime> deadline = std::nullopt) {
    while (!set_) {
      if (waiting_.wait(deadline) == Wake::timed_out) return set_;
    }
    return true;
  }

 private:
  WaitQueue waiting_;
  bool set_ = false;
};

/// Mutual exclusion between fibers, first come first served. Usable with std::lock_guard.
/// Unlocking hands the lock to the longest waiter, so no fiber starves.
class Mutex {
 public:
  explicit Mutex(Executor& executor) : waiting_(executor) {}
  void lock() {
    if (!locked_) {
      locked_ = true;
      return;
    }
    static_cast<void>(waiting_.wait());
    HOOKE_CHECK(locked_, "a mutex is handed over locked");
  }
  void unlock() {
    HOOKE_CHECK(locked_, "only a locked mutex can be unlocked");
    if (!waiting_.wake_one()) locked_ = false;
  }
  [[nodiscard]] bool locked() const { return locked_; }

 private:
  WaitQueue waiting_;
  bool locked_ = false;
};

/// Unbounded first-in first-out queue between fibers.
template <class T>
class Channel {
 public:
  explicit Channel(Executor& executor) : waiting_(executor) {}
  void push(T item) {
    HOOKE_CHECK(!closed_, "nothing comes after the end of a channel");
    items_.push_back(std::move(item));
    static_cast<void>(waiting_.wake_one());
  }
  /// After close, pop returns what is left and then nullopt.
  void close() {
    closed_ = true;
    waiting_.wake_all();
  }
  /// Blocks for the next item; nullopt at `deadline` or when closed and empty.
  std::optional<T> pop(std::optional<MonotonicTime> deadline = std::nullopt) {
    while (items_.empty()) {
      if (closed_ || waiting_.wait(deadline) == Wake::timed_out) break;
    }
    if (items_.empty()) return std::nullopt;
    T item = std::move(items_.front());
    items_.pop_front();
    return item;
  }

 private:
  WaitQueue waiting_;
  std::deque<T> items_;
  bool closed_ = false;
};

/// Waits until a number of things have happened.
class Latch {
 public:
  Latch(Executor& executor, std::size_t count) : done_(executor), left_(count) {
    if (count == 0) done_.set();
  }
  void count_down() {
    HOOKE_CHECK(left_ > 0, "a latch cannot go below zero");
    if (--left_ == 0) done_.set();
  }
  bool wait(std::optional<MonotonicTime> deadline = std::nullopt) { return done_.wait(deadline); }

 private:
  Flag done_;
  std::size_t left_;
};

/// Owns the fibers it starts: leaving the scope joins them all. Nothing detached can be written.
class Scope {
 public:
  explicit Scope(Executor& executor) : executor_(executor) {}
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;
  /// Must have been joined: a destructor may run while unwinding and must not block.
  ~Scope() = default;
  void spawn(std::string name, std::function<void()> body) {
    HOOKE_CHECK(body != nullptr, "a fiber has something to do");
    fibers_.push_back(executor_.spawn(std::move(name), std::move(body)));
  }
  void join() {
    for (const FiberId fiber : fibers_) executor_.join(fiber);
    fibers_.clear();
  }

 private:
  Executor& executor_;
  std::vector<FiberId> fibers_;
};

}  // namespace hooke::sim
