#pragma once
// A line of torchrun's log, taken apart, and what is found inside its words.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/port/ids.h"
#include "sim/port/time.h"

namespace hooke::scenario {

/// "I1128 09:17:25.406000 18964 torch/distributed/launcher/api.py:254] min_nodes : 1": the form of
/// PyTorch since 2.4 (torch/_logging/_internal.py:TorchLogsFormatter). Views into the line.
struct TorchrunLine {
  sim::WorldTime at{};  ///< in a leap year without a name, by the clock and zone of the writer
  sim::Pid pid{};
  std::string_view source;  ///< "torch/distributed/launcher/api.py", wherever PyTorch is installed
  std::string_view words;
};

/// nullopt: a line of another form, such as a worker's output.
std::optional<TorchrunLine> split_torchrun_line(std::string_view line);

/// The number that follows `before` in `words`, a fraction left out; nullopt when none does.
std::optional<std::int64_t> number_after(std::string_view words, std::string_view before);
/// What follows `before` up to `end`, or to the end of `words`; nullopt where `before` is not there.
std::optional<std::string> text_after(std::string_view words, std::string_view before,
                                      std::string_view end);
/// "[0, 1]"; at most `count_max` of them are read.
std::vector<std::int64_t> numbers_of(std::string_view list, std::size_t count_max);

}  // namespace hooke::scenario
