#pragma once
// JSON as people write it.

#include <nlohmann/json.hpp>
#include <string>

namespace hooke::scenario {

/// On one line what fits there, except for the outermost value; ends with a line break.
std::string laid_out(const nlohmann::ordered_json& json);

}  // namespace hooke::scenario
