#pragma once
// The protocol's events by name: for code that reads a name (a scenario's trigger, a trace file)
// and needs the event type that stands behind it.

#include <string_view>
#include <vector>

#include "sim/port/trace.h"

namespace hooke::model {

/// The event type of the protocol named `name` ("rendezvous.completed"); nullptr when there is
/// none.
const sim::EventType* find_event_type(std::string_view name);

/// All event types of the protocol in the order of trace_events.h.
std::vector<const sim::EventType*> all_event_types();

}  // namespace hooke::model
