#pragma once
// A run for ShiViz (https://bestchai.bitbucket.io/shiviz/), which draws which event came before
// which: a line of JSON with the vector clock of an event, and a line that says what happened.

#include <cstdint>
#include <map>
#include <ostream>
#include <string>
#include <vector>

#include "reports/timeline.h"
#include "sim/kernel/trace_recorder.h"

namespace hooke::report {

/// What ShiViz's parser is to be told of these lines, one of its regular expressions.
inline constexpr const char* kShivizPattern = "(?<host>\\S+) (?<clock>{.*})\\n(?<event>.*)";

class ShivizLog final : public kernel::TraceSink {
 public:
  /// Writes to `out`, which must outlive the run. `node_names` by NodeId.
  ShivizLog(std::ostream& out, std::vector<std::string> node_names);
  void on_event(const sim::Event& event) override;

  /// A browser draws no more; what comes after them is left out.
  static constexpr std::size_t kEventsMax = 10'000;

 private:
  /// By node, the world last: how many of its events came before.
  using VectorClock = std::vector<std::uint32_t>;

  std::ostream& out_;
  Phrases phrases_;
  std::vector<std::string> names_;
  std::vector<VectorClock> now_;  ///< by node
  std::map<sim::EventId, VectorClock> clocks_;
};

}  // namespace hooke::report
