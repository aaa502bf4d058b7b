#pragma once
// What workers that measure their work against the limit of their group add to the trace (see
// trace_events.h).

#include "sim/port/trace.h"

namespace hooke::model::events {

/// The work `scope` of a worker is done; it took so long, and longer than `limit` would have ended
/// the worker.
inline constexpr sim::EventType work_measured{"work.measured", {"scope", "took", "limit"}};

}  // namespace hooke::model::events
