#pragma once
// Scenario files, version 1: JSON text to a checked Scenario.

#include <string>
#include <string_view>

#include "scenarios/json_reader.h"
#include "scenarios/scenario.h"

namespace hooke::scenario {

/// Loads and checks. `source` names the text in messages. ScenarioError with one message that names
/// the JSON pointer or byte offset, what was expected there and, for a slip, the nearest known
/// word.
Scenario load_scenario(std::string_view text, const std::string& source);

/// Reads a file of at most 16 MiB and loads it. ScenarioError also when it cannot be read.
Scenario load_scenario_file(const std::string& path);

/// Node ids that a selector names: an id, or a range "b..d" or "n1..n32" (last letter or last
/// number counts up). Empty when the text is no range of that kind.
std::vector<std::string> expand_range(const std::string& text);

}  // namespace hooke::scenario
