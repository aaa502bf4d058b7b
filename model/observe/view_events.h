#pragma once
// What workers see of their own job, where a program looks (see trace_events.h).

#include "sim/port/trace.h"

namespace hooke::model::events {

/// A worker has been told by its agent how another one of its group is. `life`: alive, silent, ended,
/// unknown.
inline constexpr sim::EventType worker_peer_seen{"worker.peer_seen", {"rank", "peer", "life"}};

}  // namespace hooke::model::events
