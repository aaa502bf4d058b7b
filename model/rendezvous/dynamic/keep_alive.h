#pragma once
// How a node of a dynamic rendezvous stays alive to the others.

#include <memory>

#include "model/rendezvous/dynamic/handler_core.h"
#include "sim/port/sync.h"

namespace hooke::model {

/// The background task that renews the heartbeat (utils.py:_PeriodicTimer): first tick one interval
/// after the start, never two at once, missed ticks are not made up, an unexpected exception ends
/// it silently.
class KeepAlive {
 public:
  /// Begins the task. It shares `core` and ends with the object, which waits for no running tick:
  /// in PyTorch a finalizer does that (utils.py:_PeriodicTimer.start).
  static std::unique_ptr<KeepAlive> start(const std::shared_ptr<HandlerCore>& core);
  explicit KeepAlive(const std::shared_ptr<HandlerCore>& core)
      : executor_(core->ports.executor), stop_(std::make_shared<sim::Flag>(core->ports.executor)) {}
  ~KeepAlive() { dismiss(); }
  KeepAlive(const KeepAlive&) = delete;
  KeepAlive& operator=(const KeepAlive&) = delete;
  /// A running tick is the last one.
  void dismiss() { stop_->set(); }
  /// Waits for a running tick to end.
  void cancel() {
    stop_->set();
    executor_.join(fiber_);
  }

  /// Renews the heartbeat if it is due, with the lock held. False when the task must end.
  static bool tick(HandlerCore& core);

 private:
  static void run(HandlerCore& core, sim::Flag& stop);

  sim::Executor& executor_;
  std::shared_ptr<sim::Flag> stop_;
  sim::FiberId fiber_;
};

}  // namespace hooke::model
