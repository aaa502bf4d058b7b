#pragma once
// A run as a person would tell it: one line per thing that matters, in a column per node.

#include <ostream>
#include <string>
#include <vector>

#include "sim/kernel/trace_recorder.h"

namespace hooke::report {

/// A short phrase for an event, empty for events that only machines care about.
std::string phrase(const sim::Event& event);

class Timeline final : public kernel::TraceSink {
 public:
  /// `width`: columns of the terminal. With more nodes than fit, the node's name is written on each
  /// line instead of giving it a column.
  Timeline(std::ostream& out, std::vector<std::string> node_names, std::size_t width);
  void on_event(const sim::Event& event) override;

 private:
  std::ostream& out_;
  std::vector<std::string> node_names_;
  std::size_t column_width_;
  bool columns_;
};

}  // namespace hooke::report
