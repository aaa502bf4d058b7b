#pragma once
// What has become of the entries of a timeline: which of them have waited in vain, and for what. An
// entry that never happened is no fault of the run, but a verdict that does not mention it claims
// more than it has seen.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/outcome/report.h"

namespace hooke::scenario {

class TimelineLog {
 public:
  /// `entries` must outlive this.
  explicit TimelineLog(const std::vector<TimelineEntry>& entries)
      : entries_(entries), notes_(entries.size()) {}

  /// One more of the events or passages that the entry waits for.
  void met(std::size_t entry) { ++notes_.at(entry).met; }
  /// It is to happen then.
  void due(std::size_t entry, sim::WorldTime at) { notes_.at(entry).due = at; }
  /// It happens now.
  void acted(std::size_t entry) {
    ++notes_.at(entry).acted;
    notes_.at(entry).due.reset();
  }
  /// The entries that have not happened, or less often than they were to, by the end of the run.
  [[nodiscard]] std::vector<NeverHappened> never_happened(sim::WorldTime end) const;

 private:
  struct Note {
    std::int64_t met = 0;
    std::int64_t acted = 0;
    std::optional<sim::WorldTime> due;
  };
  const std::vector<TimelineEntry>& entries_;
  std::vector<Note> notes_;
};

}  // namespace hooke::scenario
