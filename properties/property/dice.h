#pragma once
// Small random numbers of a seed, for worlds that are drawn without RapidCheck: equal everywhere.

#include <cstdint>
#include <random>

#include "sim/port/time.h"

namespace hooke::scenario {

class Dice {
 public:
  explicit Dice(std::uint32_t seed) : random_(seed * 2654435761U + 1) {}
  /// A number from 0 to bound - 1.
  std::int64_t below(std::int64_t bound) {
    return static_cast<std::int64_t>(random_() / 16 % static_cast<std::uint32_t>(bound));
  }
  /// From `low` to just below `high`.
  sim::Duration span(sim::Duration low, sim::Duration high) {
    return low + (high - low) / 1000 * below(1000);
  }
  bool one_in(std::int64_t bound) { return below(bound) == 0; }

 private:
  std::minstd_rand random_;
};

}  // namespace hooke::scenario
