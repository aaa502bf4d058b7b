#pragma once
// One limit for the workers of a group: the agent says it (--timer queue:limit=10m, or file:limit=10m), and each worker
// measures a piece of its work against it. PyTorch's timers have a deadline per scope, which each
// caller chooses.

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "model/timer/timer.h"

namespace hooke::model {

/// What an agent with a limit tells its workers, in milliseconds.
inline constexpr const char* kTimerLimitVariable = "HOOKE_TIMER_LIMIT_MS";

/// The limit of the group of this process; nullopt where its agent has none. std::invalid_argument
/// for a text that is no number of milliseconds above 0.
std::optional<sim::Duration> group_limit(const std::map<std::string, std::string>& environment);

/// A stopwatch of one worker. A piece of work that takes longer than the limit has the worker ended
/// by the agent's server of timers.
class GroupTimer {
 public:
  /// `scope`: its name in what is told of it. The clock outlives it. std::invalid_argument for a
  /// limit that is not above 0.
  GroupTimer(sim::Clock& clock, std::shared_ptr<TimerClient> client, std::string scope,
             sim::Duration limit);

  /// The work begins, or begins anew. EscapedPythonError as of TimerClient::acquire: it has not
  /// begun then.
  void start();
  /// The work is done; returns how long it took. Zero, and nothing is disarmed, when none is under
  /// way. EscapedPythonError as of TimerClient::release: the limit still stands then.
  sim::Duration stop();
  /// How long the work has been under way, or took when it is done; zero before the first.
  [[nodiscard]] sim::Duration elapsed() const;
  [[nodiscard]] bool runs() const { return begun_.has_value(); }

 private:
  sim::Clock& clock_;
  std::shared_ptr<TimerClient> client_;
  std::string scope_;
  sim::Duration limit_;
  std::optional<sim::MonotonicTime> begun_;
  sim::Duration took_{};
};

}  // namespace hooke::model
