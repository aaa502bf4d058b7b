#pragma once
// One node's agent, played by PyTorch itself.

#include <string>
#include <string_view>
#include <vector>

#include "model/launch/launch_agent.h"
#include "sim/guest/guest.h"
#include "sim/port/ports.h"

namespace hooke::scenario {

/// torchrun's command line for that configuration, without the program's name.
/// std::invalid_argument for what it cannot say.
std::vector<std::string> torchrun_arguments(const model::LaunchConfig& config);

/// The background task (model/observe/background_tasks.h) that PyTorch's thread of that name stands
/// for; "" for none.
std::string_view task_of(std::string_view thread);

/// Runs torchrun as a guest in the calling fiber and returns its exit code. `directory` is a real
/// one, of this agent alone. guest::GuestError.
int run_guest_agent(sim::Ports& ports, guest::Zygote& zygote, const model::LaunchConfig& config,
                    const std::string& directory);

}  // namespace hooke::scenario
