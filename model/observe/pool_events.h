#pragma once
// What a worker pool does, on the trace.

#include "sim/port/trace.h"

namespace hooke::model::events {

/// Somebody has so many slots now; `free` are left.
inline constexpr sim::EventType pool_leased{"pool.leased", {"lease", "slots", "free"}};
/// A lease is over; `killed` of its workers were running still.
inline constexpr sim::EventType pool_reclaimed{"pool.reclaimed", {"lease", "slots", "killed"}};

}  // namespace hooke::model::events
