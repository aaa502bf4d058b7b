#pragma once
// What torchrun says in its log of what neither its workers nor its end can show. Lines are those
// of PyTorch 2.x: torch/distributed/elastic/agent/server/api.py, multiprocessing/api.py and
// rendezvous/dynamic_rendezvous.py, with LOGLEVEL and TORCH_LOGS as below.

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "sim/port/clock.h"

namespace hooke::scenario {

/// Environment that makes torchrun say enough.
const std::map<std::string, std::string>& torchrun_log_environment();

/// What a line can tell.
enum class Logged : unsigned char {
  worker_failed,         ///< the agent has found a worker of its own failed
  exit_barrier_entered,  ///< its workers are done
  exit_barrier_left,     ///< …, and so are the others', or it waits no more
  closed,                ///< it was this agent that closed the rendezvous
};

/// A line that matters.
struct LogLine {
  Logged what{};
  std::optional<sim::Duration> time_of_day;  ///< UTC, as the line says it; in milliseconds
};

/// When a line was written that is read at `now`, when the node's clock shows `wall`: the latest
/// instant at that time of day. `now` for a line without a time, and for one of more than an hour
/// ago: then the clock has been set since.
sim::WorldTime written_at(const LogLine& line, sim::WorldTime now, sim::WallTime wall);

/// The log of one agent, line by line.
class TorchrunLog {
 public:
  /// nullopt: nothing that matters here.
  std::optional<LogLine> read(std::string_view line);

 private:
  std::optional<Logged> what_it_says(std::string_view line);
  bool closing_ = false;  ///< has written "closed", and does not know yet whether it was accepted
};

}  // namespace hooke::scenario
