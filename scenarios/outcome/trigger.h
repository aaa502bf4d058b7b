#pragma once
// Which events an entry of the timeline, or an expectation, waits for.

#include <string_view>

#include "scenarios/format/scenario.h"
#include "sim/port/trace.h"

namespace hooke::scenario {

namespace events {
/// An entry of the timeline is carried out now; `entry` counts from 0 as in the file.
inline constexpr sim::EventType timeline_acted{"timeline.acted", {"entry", "what", "target"}};
}  // namespace events

/// True if `event`, which happened on the node of that name, is one `trigger` waits for.
bool fires(const Trigger& trigger, const sim::Event& event, std::string_view node);

}  // namespace hooke::scenario
