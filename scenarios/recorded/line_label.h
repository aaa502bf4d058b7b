#pragma once
// A launcher of clusters puts a label before each line of the logs that it collects: "0: " of
// srun --label, "[pod/job-0/main] " of kubectl logs --prefix. A log of one agent keeps its meaning
// without it.

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

namespace hooke::scenario {

class LineLabel {
 public:
  explicit LineLabel(std::string path) : path_(std::move(path)) {}

  /// `line`, which is the `number`-th from 1, without the label that the first line of torchrun has.
  /// ScenarioError for a line of torchrun with another label: such a file holds several agents' logs.
  std::string_view without(std::string_view line, std::size_t number);

 private:
  std::string path_;
  bool decided_ = false;  ///< a line of torchrun has come
  std::string label_;     ///< of that line; empty for none
};

}  // namespace hooke::scenario
