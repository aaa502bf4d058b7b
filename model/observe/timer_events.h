#pragma once
// What workers that measure their work against the limit of their group add to the trace (see
// trace_events.h).

#include "sim/port/trace.h"

namespace hooke::model::events {

inline constexpr sim::EventType work_measured{"work.measured",
                                              {"scope", "took", "limit"},
                                              "A worker's piece of work is done; it took so long, "
                                              "and longer than limit would have ended the worker."};

}  // namespace hooke::model::events
