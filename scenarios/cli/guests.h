#pragma once
// The Python whose PyTorch plays agents, where this machine has one.

#include <memory>
#include <string>

#include "sim/guest/zygote.h"

namespace hooke::cli {

/// Starts the interpreter that HOOKE_TORCH_PYTHON names. scenario::ScenarioError, which begins with
/// `flag` and says "not available here", when there is none.
std::unique_ptr<guest::Zygote> guests_of_this_machine(const std::string& flag);

}  // namespace hooke::cli
