#pragma once
// Entries of a timeline that wait for the n-th event or passage of a kind.

#include <cstddef>
#include <vector>

#include "scenarios/outcome/timeline_log.h"

namespace hooke::scenario {

class WaitingEntries {
 public:
  /// `entries` and `log` must outlive this.
  WaitingEntries(const std::vector<TimelineEntry>& entries, TimelineLog& log)
      : entries_(entries), log_(log) {}

  void add(std::size_t entry) { waiting_.push_back({entry}); }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }
  void clear() { waiting_.clear(); }

  /// Something has happened that `matches(trigger)` says of: counts it, and takes out the entries
  /// whose turn it is, in their order.
  template <class Matches>
  std::vector<std::size_t> take_met(Matches matches) {
    std::vector<std::size_t> met;
    for (std::size_t i = 0; i < waiting_.size();) {
      const Trigger& trigger = entries_[waiting_[i].entry].trigger;
      if (!matches(trigger)) {
        ++i;
        continue;
      }
      log_.met(waiting_[i].entry);
      if (++waiting_[i].seen < trigger.passage) {
        ++i;
        continue;
      }
      met.push_back(waiting_[i].entry);
      waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
    }
    return met;
  }

 private:
  struct Waiting {
    std::size_t entry;
    std::int64_t seen = 0;  ///< matching events or passages so far
  };
  const std::vector<TimelineEntry>& entries_;
  TimelineLog& log_;
  std::vector<Waiting> waiting_;
};

}  // namespace hooke::scenario
