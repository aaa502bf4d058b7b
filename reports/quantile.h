#pragma once
// The one definition of p50 and p99 in every report.

#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/port/time.h"

namespace hooke::report {

/// The smallest of `sorted` that at least `percent` of 100 do not exceed; zero when there are none.
inline sim::Duration quantile(const std::vector<sim::Duration>& sorted, std::size_t percent) {
  if (sorted.empty()) return {};
  return sorted[std::min(sorted.size() - 1, sorted.size() * percent / 100)];
}

}  // namespace hooke::report
