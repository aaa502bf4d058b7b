#pragma once
// The trace as JSON Lines: one object per event, fields in the order the event type declares.

#include <ostream>
#include <string>
#include <vector>

#include "sim/kernel/trace_recorder.h"

namespace hooke::report {

class TraceFile final : public kernel::TraceSink {
 public:
  /// Writes to `out`, which must outlive the run. `node_names[i]` is the name of node i.
  TraceFile(std::ostream& out, std::vector<std::string> node_names)
      : out_(out), node_names_(std::move(node_names)) {}
  void on_event(const sim::Event& event) override;
  /// After the last event of a whole run: as of when it is judged. Without this line a reader knows
  /// only when the last event was.
  void finish(sim::WorldTime judged_at);

 private:
  std::ostream& out_;
  std::vector<std::string> node_names_;
};

}  // namespace hooke::report
