#pragma once
// What the timer server of a Python agent does, in the vocabulary of the model: from what it tells
// its agent and its log (torch/distributed/elastic/timer/file_based_local_timer.py:
// FileTimerServer).

#include <optional>
#include <string>
#include <string_view>

#include "sim/guest/message.h"
#include "sim/port/ports.h"

namespace hooke::scenario {

class TimerWatch {
 public:
  /// `ports` must outlive this.
  explicit TimerWatch(sim::Ports& ports) : ports_(ports) {}

  /// What the server tells its agent: its word for it, its file, and of a timer the process, scope,
  /// deadline in microseconds and signal, which are 0 and "" of anything else.
  void on_told(const guest::Message& told);
  void on_line(std::string_view line);
  /// True when a signal to that process is the server's, and none of the agent's: it comes after a
  /// deadline was found passed, before anything else.
  bool sends(sim::Pid target);

 private:
  sim::Ports& ports_;
  std::string path_;
  std::optional<sim::Pid> expired_;  ///< is about to be signalled
  bool there_ = true;
};

}  // namespace hooke::scenario
