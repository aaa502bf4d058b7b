#pragma once
// What a person at the terminal of a running agent is told: what it waits for, rounds, restarts,
// failures.

#include <cstdint>
#include <ostream>
#include <string>

#include "sim/kernel/trace_recorder.h"

namespace hooke::report {

class AgentConsole final : public kernel::TraceSink {
 public:
  /// Writes whole lines to `out`, which must outlive the run.
  explicit AgentConsole(std::ostream& out) : out_(out) {}
  void on_event(const sim::Event& event) override;

 private:
  std::string waiting_for(const sim::Event& event);

  std::ostream& out_;
  std::int64_t min_nodes_ = 0, max_nodes_ = 0, join_seconds_ = 0;
};

}  // namespace hooke::report
