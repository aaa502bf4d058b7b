#pragma once
// Named streams of integers. A stream is keyed by where the draw is made (node, process, purpose),
// not by when: taking away one fault or one node leaves all other draws as they were, which is what
// makes shrinking work. There are no floats and no <random> distributions: those differ between
// libraries.

#include <cstdint>
#include <string_view>

#include "sim/port/check.h"
#include "sim/port/time.h"

namespace hooke::sim {

class Random {
 public:
  virtual ~Random() = default;
  /// A number in [0, bound); bound >= 1. `purpose` names the stream and must be a string literal. 0
  /// is always the quiet choice (no delay, no loss, the first of equals).
  virtual std::uint64_t below(std::string_view purpose, std::uint64_t bound) = 0;
  /// A span in [low, high], whole nanoseconds; `low` is the quiet choice.
  Duration between(std::string_view purpose, Duration low, Duration high) {
    HOOKE_CHECK(low <= high, "a span is drawn from one that is not empty");
    const auto span = static_cast<std::uint64_t>((high - low).count());
    return low + Duration(static_cast<std::int64_t>(below(purpose, span + 1)));
  }
};

}  // namespace hooke::sim
