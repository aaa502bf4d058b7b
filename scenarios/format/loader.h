#pragma once
// Scenario files, version 1: JSON text to a checked Scenario.

#include <string>
#include <string_view>

#include "model/launch/plugins.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/node_names.h"
#include "scenarios/format/scenario.h"

namespace hooke::scenario {

/// Loads and checks. `source` names the text in messages. ScenarioError with one message that names
/// the JSON pointer or byte offset, what was expected there and, for a slip, the nearest known
/// word. `plugins`: what a scenario may choose agents' parts from.
Scenario load_scenario(std::string_view text, const std::string& source,
                       const model::Plugins& plugins = {});

/// Loads the scenario in a file; ScenarioError also when read_file refuses it.
Scenario load_scenario_file(const std::string& path, const model::Plugins& plugins = {});

}  // namespace hooke::scenario
