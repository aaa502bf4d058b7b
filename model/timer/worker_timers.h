#pragma once
// Which timers end the workers of an agent. PyTorch's are file timers, where the agent's
// environment asks for them; a project may bring its own, both sides of them.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "model/timer/file_timer_watch.h"
#include "model/timer/timer.h"
#include "model/variant/planted.h"
#include "model/variant/variant.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// The agent's side: what watches the workers of one incarnation after the other.
class WorkerTimers {
 public:
  virtual ~WorkerTimers() = default;
  /// Watches the workers that are about to be started; what they need to know of it is put into
  /// their environment. std::runtime_error when it cannot.
  virtual std::map<std::string, std::string> start(const std::string& run_id) = 0;
  /// Watches no more. Harmless when nothing was started.
  virtual void stop() = 0;
  /// The server while it runs, for the health check; null for none.
  [[nodiscard]] virtual const TimerServer* server() const = 0;
};

/// What the agent gives to its side of the timers.
struct TimerParts {
  sim::Ports& ports;
  Variant variant = Variant::torch_2_x;
  std::function<void(const WatchdogEvent&)> told;  ///< hears what is worth an event
  PlantedSet planted{};
};

/// Both sides of one kind of timers.
class TimerKind {
 public:
  virtual ~TimerKind() = default;
  [[nodiscard]] virtual std::unique_ptr<WorkerTimers> watch(const TimerParts& parts) const = 0;
  /// For a worker, by what its environment says. `signal`: what shall end it at the deadline, where
  /// the kind can choose. EscapedPythonError when there is no process to ask.
  [[nodiscard]] virtual std::unique_ptr<TimerClient> client(
      sim::Ports& ports, Variant variant, std::optional<sim::Signal> signal) const = 0;
};

}  // namespace hooke::model
