#pragma once
// The JSON Schema of scenario files, as text.

#include <string_view>

namespace hooke::scenario {

/// JSON Schema draft 7 of the scenario format, version 1: scenarios/scenario.schema.json.
std::string_view schema_text();

}  // namespace hooke::scenario
