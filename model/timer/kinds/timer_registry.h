#pragma once
// Which timers there are, by name. This is above the timers themselves, because only here it is
// known what mends them.

#include "model/plugin/registry.h"
#include "model/timer/worker_timers.h"

namespace hooke::model {

/// with_builtins has:
/// * "file": PyTorch's (watchdog.h), the default; where the agent's environment asks for it;
/// * "queue:interval=100ms": over connections to a port of the machine (queue_timer.h), always on;
///   workers find it through HOOKE_TIMER_SERVER (HOST:PORT).
/// With "limit=10m" both tell the workers that they watch one limit for all of them (group_timer.h).
class TimerRegistry : public Registry<TimerKind> {
 public:
  TimerRegistry() : Registry("timer") {}
  static TimerRegistry with_builtins();
};

}  // namespace hooke::model
