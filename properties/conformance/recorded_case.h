#pragma once
// A recorded case of real PyTorch, from JSON to values and back to text. Times in a case are
// seconds relative to its "now"; here they become whole microseconds around a fixed instant.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "model/rendezvous/dynamic/op_executor.h"

namespace hooke::model {

using nlohmann::json;
using sim::Duration;

inline constexpr sim::WallTime kWallNow{std::chrono::seconds(1'800'000'000)};
inline constexpr sim::MonotonicTime kMonoNow{std::chrono::seconds(1'000'000)};

/// A number of seconds.
Duration micros(const json& seconds);
NodeRef node_of(const json& in);
RendezvousState state_of(const json& in);
RendezvousSettings settings_of(const json& in, Variant variant);
/// std::invalid_argument for a name that is not PyTorch's.
Action action_named(const std::string& name);
Operation operation_named(const std::string& name);

/// A state as text with its lists in node order, which is how cases print them.
std::string text_of(const RendezvousState& state);
std::string token_text(const std::optional<Token>& token);
std::string token_text(const json& token);
std::string flag_text(std::optional<bool> flag);
/// Nodes in their order; cases list them so.
std::string dead_text(const std::vector<DeadNode>& dead);
std::string dead_text(const json& dead);

}  // namespace hooke::model
