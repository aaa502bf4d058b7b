#pragma once
// The JSON Schemas of scenario files, and of what commands print and read, as text.

#include <span>
#include <string_view>

namespace hooke::scenario {

/// JSON Schema draft 7 of the scenario format, version 1: scenarios/scenario.schema.json.
std::string_view schema_text();

/// A file of scenarios/schemas/, draft 7: what a command prints with --json, or a file.
struct OutputSchema {
  std::string_view name;  ///< "exploration"
  std::string_view text;
};
/// All of them, by name.
std::span<const OutputSchema> output_schemas();

}  // namespace hooke::scenario
