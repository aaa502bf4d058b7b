#pragma once
// Which events an entry of the timeline, or an expectation, waits for.

#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/scenario.h"
#include "sim/port/trace.h"

namespace hooke::scenario {

namespace events {
/// An entry of the timeline is carried out now; `entry` counts from 0 as in the file.
inline constexpr sim::EventType timeline_acted{"timeline.acted", {"entry", "what", "target"}};
}  // namespace events

/// True if `event`, which happened on the node of that name, is one `trigger` waits for. In the text
/// of a field `*` stands for any characters.
bool fires(const Trigger& trigger, const sim::Event& event, std::string_view node);

/// What tells `event`, of the type that `trigger` waits for, from one that it waits for: "on b",
/// "too early", "round 1". Empty when it fires.
std::vector<std::string> differences(const Trigger& trigger, const sim::Event& event,
                                     std::string_view node);

}  // namespace hooke::scenario
