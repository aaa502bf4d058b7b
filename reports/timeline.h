#pragma once
// A run as a person would tell it: one line per thing that matters, in a column per node.

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "reports/fault_words.h"
#include "sim/kernel/trace_recorder.h"

namespace hooke::report {

/// Short phrases for the events of one run, each of which it is given, in order. Empty for events
/// that only machines care about.
class Phrases {
 public:
  std::string operator()(const sim::Event& event);
  [[nodiscard]] const FaultWords& faults() const { return faults_; }

 private:
  FaultWords faults_;
};

/// What of a run is told.
struct TimelineFilter {
  std::vector<bool> nodes;  ///< by NodeId; empty: all. What happens to the world is told always
  std::optional<sim::WorldTime> from{}, to{};
};

class Timeline final : public kernel::TraceSink {
 public:
  /// As a width: lines are as long as they are, and every node has a column.
  static constexpr std::size_t kUncut = 0;
  /// `width`: columns of the terminal. With more nodes than fit, the node's name is written on each
  /// line instead of giving it a column.
  Timeline(std::ostream& out, std::vector<std::string> node_names, std::size_t width,
           TimelineFilter filter = {});
  void on_event(const sim::Event& event) override;
  /// Writes what is held back: a line waits for the one after it, with which it may be one.
  void finish();
  Timeline(Timeline&&) = default;  ///< before the first event
  Timeline(const Timeline&) = delete;
  Timeline& operator=(const Timeline&) = delete;
  ~Timeline() override { finish(); }

 private:
  /// Workers of a node that do the same one after the other, told in one line: "worker rank 0..3 …".
  struct Held {
    const sim::EventType* type = nullptr;
    std::string at;  ///< as it is written
    std::size_t node = 0;
    std::string before;  ///< what stands before the number
    std::int64_t first = 0, last = 0;
    std::string after;
  };
  void write(const std::string& at, std::size_t node, const std::string& text);

  FaultWords faults_;
  std::optional<Held> held_;
  std::ostream& out_;
  std::vector<std::string> node_names_;
  TimelineFilter filter_;
  std::vector<std::size_t> columns_before_;  ///< by NodeId: how many nodes have theirs further left
  std::size_t shown_ = 0;                    ///< nodes with a column
  bool uncut_;
  std::size_t column_width_;
  bool columns_;
};

}  // namespace hooke::report
