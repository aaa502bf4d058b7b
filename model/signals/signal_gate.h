#pragma once
// Signals as Python code sees them: a handler turns them into an exception, raised in the main
// thread at its next interpreter step. Sleeping and polling are such steps; waiting inside a store
// client is not.

#include <stdexcept>
#include <string>

#include "sim/port/check.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// A caught signal has become an exception
/// (torch/distributed/elastic/multiprocessing/api.py:SignalException).
class SignalException : public std::runtime_error {
 public:
  SignalException(sim::Pid pid, sim::Signal signal)
      : std::runtime_error("Process " + std::to_string(pid.value) +
                           " got signal: " + std::to_string(static_cast<int>(signal))),
        signal_(signal) {}
  [[nodiscard]] sim::Signal signal() const { return signal_; }

 private:
  sim::Signal signal_;
};

/// An interpreter step: raises the oldest caught signal, if there is one.
inline void check_signals(sim::Ports& ports) {
  if (const auto signal = ports.processes.take_signal()) {
    HOOKE_CHECK(*signal != sim::Signal::none, "a signal that was caught has a number");
    throw SignalException(ports.processes.self(), *signal);
  }
}

/// Sleeps like Python's time.sleep in the main thread: a caught signal ends it with
/// SignalException.
inline void interruptible_sleep_until(sim::Ports& ports, sim::MonotonicTime until) {
  static_cast<void>(ports.processes.wait_signal(until));
  check_signals(ports);
}
inline void interruptible_sleep(sim::Ports& ports, sim::Duration span) {
  interruptible_sleep_until(ports, ports.clock.monotonic_now() + span);
}
/// And sleeps on as long as `lookout` says, where the world asks it.
inline void interruptible_sleep(sim::Ports& ports, sim::Duration span, sim::Lookout& lookout) {
  static_cast<void>(ports.processes.wait_signal(ports.clock.monotonic_now() + span, lookout));
  check_signals(ports);
}

}  // namespace hooke::model
