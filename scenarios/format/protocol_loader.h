#pragma once
// What a scenario says of the protocol: JSON to checked values.

#include <string>

#include "model/launch/plugins.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/scenario.h"

namespace hooke::scenario {

/// A scenario's "protocol". ScenarioError for what is unknown, out of range, or no choice of
/// `plugins`.
ProtocolPlan load_protocol(const Place& place, const model::Plugins& plugins);
/// Why no agent with that rendezvous backend can be made with `text` as `part`; "" when one can.
std::string refusal_of(const std::string& text, model::PluginChoice model::LaunchConfig::*part,
                       const std::string& backend, const model::Plugins& plugins);
/// A protocol variant by its name. ScenarioError for another word.
model::Variant load_variant(const Place& place);

}  // namespace hooke::scenario
