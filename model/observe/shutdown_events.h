#pragma once
// What manners of shutting a rendezvous down other than PyTorch's add to the trace (see
// trace_events.h).

#include "sim/port/trace.h"

namespace hooke::model::events {

/// This agent closes its rendezvous in the manner of that name, and may wait `limit` for the others
/// before. Told behind agent.settings.
inline constexpr sim::EventType shutdown_settings{"shutdown.settings", {"manner", "limit"}};
/// Before it closes the rendezvous it waits for others, of which so many are at work.
inline constexpr sim::EventType shutdown_waiting{"shutdown.waiting", {"run_id", "others", "limit"}};
/// The wait is over; `others`: those that are at work still, the limit being over.
inline constexpr sim::EventType shutdown_waited{"shutdown.waited", {"run_id", "others", "waited"}};

}  // namespace hooke::model::events
