#pragma once
// How long a span a setting of a rendezvous or of an agent may be.

#include <chrono>

#include "sim/port/time.h"

namespace hooke::model {

/// A wall clock of today and as long a span fit into 63 bits of nanoseconds.
inline constexpr sim::Duration kLongestSpan = std::chrono::hours(24) * 36'525;

}  // namespace hooke::model
