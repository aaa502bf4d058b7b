#pragma once
// How a node of a dynamic rendezvous stays alive to the others.

#include <memory>
#include <optional>
#include <utility>

#include "model/rendezvous/dynamic/handler_core.h"
#include "sim/port/sync.h"

namespace hooke::model {

/// The background task that renews the heartbeat (utils.py:_PeriodicTimer): first tick one interval
/// after the start, never two at once, missed ticks are not made up, an unexpected exception ends
/// it silently.
class KeepAlive {
 public:
  explicit KeepAlive(std::shared_ptr<HandlerCore> core)
      : core_(std::move(core)), task_(std::make_shared<Task>(core_->ports.executor)) {}
  ~KeepAlive() { dismiss(); }
  KeepAlive(const KeepAlive&) = delete;
  KeepAlive& operator=(const KeepAlive&) = delete;
  /// Begins the task, once. It shares the core and ends with the object, which waits for no running
  /// tick: in PyTorch a finalizer does that (utils.py:_PeriodicTimer.start). As every thread of
  /// Python, it is waited for until it runs; a caught signal ends that wait with SignalException,
  /// and the task goes on.
  void start();
  /// A running tick is the last one.
  void dismiss() { task_->stop.set(); }
  /// Waits for a running tick to end, as Python's main thread does: a caught signal ends the wait
  /// with SignalException, and the tick goes on.
  void cancel();

  /// Renews the heartbeat if it is due, with the lock held. False when the task must end.
  static bool tick(HandlerCore& core);

 private:
  /// What the task shares with this object, which may be gone before it.
  struct Task {
    explicit Task(sim::Executor& executor) : stop(executor) {}
    sim::Flag stop;
    bool over = false;
    std::optional<sim::ParkTicket> awaits_end;
  };
  /// However the task ends: a thread that dies is waited for no longer, too.
  struct End {
    ~End() {
      task.over = true;
      if (task.awaits_end) executor.wake(*task.awaits_end);
    }
    Task& task;
    sim::Executor& executor;
  };
  static void run(HandlerCore& core, sim::Flag& stop);

  std::shared_ptr<HandlerCore> core_;
  std::shared_ptr<Task> task_;
};

}  // namespace hooke::model
