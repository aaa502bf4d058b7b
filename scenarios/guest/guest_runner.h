#pragma once
// Runs one scenario in the simulated world with PyTorch's own agents, and judges it by the same
// invariants.

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "properties/invariants/invariant.h"
#include "scenarios/format/scenario.h"
#include "scenarios/outcome/report.h"
#include "scenarios/simulated/runner.h"
#include "sim/guest/zygote.h"

namespace hooke::scenario {

/// Starts the interpreter whose PyTorch is to play the agents; its greeting is PyTorch's version.
/// `planted`: modules that are executed before the agent's own, so that a test can spoil PyTorch.
/// guest::GuestError.
std::unique_ptr<guest::Zygote> start_torch(const std::string& python,
                                           const std::vector<guest::Module>& planted = {});

/// What of this scenario PyTorch's agents cannot play here, a few words each; empty: all of it.
std::vector<std::string> unsupported_by_guests(const Scenario& scenario);

/// True if the events that agents can be seen to cause without a change of theirs are enough to
/// judge that invariant.
bool is_judged_of_guests(std::string_view invariant);

/// Like run(), with guests of `zygote` as the agents. A scenario of which something is unsupported
/// is not run: RunReport::unsupported says what.
/// `watch` is given the agents and returns what is run in their place; empty: they themselves are.
RunReport run_with_guests(kernel::Kernel& kernel, const Scenario& scenario, RunOptions options,
                          const properties::InvariantRegistry& invariants, guest::Zygote& zygote,
                          const std::function<AgentBody(AgentBody)>& watch = {});

}  // namespace hooke::scenario
