#pragma once
// A trace file, line by line.

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <optional>
#include <string>

#include "scenarios/recorded/trace_line.h"

namespace hooke::scenario {

/// Longer lines are refused: no event has so much to say.
inline constexpr std::size_t kTraceLineBytesMax = 1024 * 1024;

class TraceReader {
 public:
  /// ScenarioError when there is no such file to read.
  explicit TraceReader(std::string path);
  /// The next event; nullopt after the last one. ScenarioError naming file, line and place for a
  /// line that is no event, and for anything after the line that ends a trace.
  std::optional<TraceLine> next();

  [[nodiscard]] const std::string& path() const { return path_; }
  /// The last line has no end and is no event: its writer was killed, or its disk was full.
  [[nodiscard]] bool cut_off() const { return cut_off_; }
  /// After the last event: as of when the run was judged, which the last line of its trace says.
  [[nodiscard]] const std::optional<sim::WorldTime>& end() const { return end_; }

 private:
  /// False at the end of the file.
  bool read_line(std::string& line);
  [[nodiscard]] std::string place() const;

  std::string path_;
  std::ifstream in_;
  std::uint64_t line_ = 0;
  bool whole_ = true;  ///< the line read last ended with a newline
  bool cut_off_ = false;
  std::optional<sim::WorldTime> end_;
};

}  // namespace hooke::scenario
