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
/// `module_path`: its PYTHONPATH. guest::GuestError.
std::unique_ptr<guest::Zygote> start_torch(const std::string& python,
                                           const std::vector<guest::Module>& planted = {},
                                           const std::string& module_path = "");

/// What the model calls the PyTorch of that version ("2.13.0+cpu"): the latest of its variants that
/// is no newer. guest::GuestError for one before 1.13.
model::Variant release_of(const std::string& version);
/// The scenario with that release in place of "torch-2.x", which stands for whichever plays.
Scenario played_by(model::Variant release, Scenario scenario);

/// What of this scenario PyTorch's agents of that release cannot play here, a few words each;
/// empty: all of it.
std::vector<std::string> unsupported_by_guests(const Scenario& scenario,
                                               model::Variant release = model::Variant::torch_2_x);

/// True if the events that agents can be seen to cause without a change of theirs are enough to
/// judge that invariant.
bool is_judged_of_guests(std::string_view invariant);

/// Like run(), with guests of `zygote` as the agents, of its release. A scenario of which something is unsupported
/// is not run: RunReport::unsupported says what.
/// `watch` is given the agents and returns what is run in their place; empty: they themselves are.
RunReport run_with_guests(kernel::Kernel& kernel, const Scenario& scenario, RunOptions options,
                          const properties::InvariantRegistry& invariants, guest::Zygote& zygote,
                          const std::function<AgentBody(AgentBody)>& watch = {});

}  // namespace hooke::scenario
