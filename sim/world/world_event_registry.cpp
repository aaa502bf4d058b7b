// One table; a test compares it with the declarations.
#include "sim/world/world_event_registry.h"

#include <algorithm>
#include <array>

#include "sim/world/world_events.h"

namespace hooke::world {
namespace {

constexpr std::array kAll{
    &events::node_crashed,    &events::node_restarted,     &events::process_started,
    &events::process_ended,   &events::process_orphaned,   &events::process_signalled,
    &events::process_paused,  &events::process_resumed,    &events::listener_opened,
    &events::listener_closed, &events::fault_injected,     &events::fault_took_effect,
    &events::fault_ended,     &events::fault_point_passed, &events::request_arrived,
    &events::fiber_held_up,   &events::core_healed,        &events::process_asked,
};

}  // namespace

const sim::EventType* find_event_type(std::string_view name) {
  const auto found = std::find_if(kAll.begin(), kAll.end(),
                                  [&](const sim::EventType* type) { return type->name == name; });
  return found == kAll.end() ? nullptr : *found;
}

std::vector<const sim::EventType*> all_event_types() {
  return {kAll.begin(), kAll.end()};
}

}  // namespace hooke::world
