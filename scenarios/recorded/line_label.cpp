// Labels are told by their form, and by what stands behind them.
#include "scenarios/recorded/line_label.h"

#include "scenarios/format/json_reader.h"
#include "scenarios/recorded/torchrun_line.h"

namespace hooke::scenario {
namespace {

constexpr std::size_t kLabelBytesMax = 400;

/// "0: " or "[pod/job-0/main] " at the begin of `line`; empty for none.
std::string_view label_of(std::string_view line) {
  const std::size_t digits = line.find_first_not_of("0123456789");
  if (digits == line.npos) return {};
  if (digits > 0)
    return line.substr(digits, 2) == ": " ? line.substr(0, digits + 2) : line.substr(0, 0);
  if (!line.starts_with("[pod/")) return {};
  const std::size_t end = line.substr(0, kLabelBytesMax).find("] ");
  return end == line.npos ? std::string_view{} : line.substr(0, end + 2);
}

}  // namespace

std::string_view LineLabel::without(std::string_view line, std::size_t number) {
  const std::string_view label = label_of(line);
  const std::string_view rest = line.substr(label.size());
  if (decided_ && (label_.empty() || label.empty())) return line;
  if (decided_ && label == label_) return rest;
  if (!split_torchrun_line(rest)) return line;
  if (!decided_) {
    decided_ = true;
    label_ = label;
    return rest;
  }
  throw ScenarioError(path_ + ": line " + std::to_string(number) +
                      ": expected the log of one agent, whose lines begin with \"" + label_ +
                      "\", got a line of \"" + std::string(label) +
                      "\"; give each agent a file of its own");
}

}  // namespace hooke::scenario
