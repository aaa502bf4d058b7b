#pragma once
// What a person at the terminal of a running agent is told: rounds, restarts, failures.

#include <ostream>

#include "sim/kernel/trace_recorder.h"

namespace hooke::report {

class AgentConsole final : public kernel::TraceSink {
 public:
  /// Writes whole lines to `out`, which must outlive the run.
  explicit AgentConsole(std::ostream& out) : out_(out) {}
  void on_event(const sim::Event& event) override;

 private:
  std::ostream& out_;
};

}  // namespace hooke::report
