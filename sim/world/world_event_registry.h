#pragma once
// The world's own events by name: for code that reads a name (a scenario's trigger, a trace file)
// and needs the event type that stands behind it.

#include <string_view>
#include <vector>

#include "sim/port/trace.h"

namespace hooke::world {

/// The event type of the world named `name` ("node.crashed"); nullptr when there is none.
const sim::EventType* find_event_type(std::string_view name);

/// All event types of the world in the order of world_events.h.
std::vector<const sim::EventType*> all_event_types();

}  // namespace hooke::world
