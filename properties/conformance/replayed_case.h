#pragma once
// Recorded decisions of real PyTorch, taken again by hooke.

#include <nlohmann/json.hpp>
#include <string>

#include "model/variant/variant.h"

namespace hooke::model {

/// Gives hooke's rendezvous what PyTorch's was given in this case, and compares what both did. What
/// differs, one line each; empty when nothing does.
std::string difference_from_recorded(const nlohmann::json& in, Variant variant);

}  // namespace hooke::model
