#pragma once
// One world, played by hooke's agents and by PyTorch's with the same draws, and where the two first
// do something else: what no judge of hooke's could see, because it judges both alike.

#include <optional>
#include <string>
#include <vector>

#include "properties/invariants/invariant.h"
#include "scenarios/guest/agent_steps.h"
#include "scenarios/outcome/report.h"
#include "scenarios/simulated/runner.h"
#include "sim/guest/zygote.h"

namespace hooke::scenario {

/// The first step of a node that the other run does not have there.
struct StepDifference {
  std::string node;
  bool decision = false;                  ///< else a request
  std::size_t number = 0;                 ///< from 1, among the node's requests or decisions
  std::optional<AgentStep> ours, theirs;  ///< hooke's, PyTorch's; nullopt: nothing more
  std::vector<AgentStep> before;          ///< what both have done just before, as hooke had it
};

struct Comparison {
  std::size_t requests = 0;   ///< that are equal, before the first difference
  std::size_t decisions = 0;  ///< likewise
  std::optional<StepDifference> first;
};

/// Equal are steps of the same text and size at the same nanosecond, with the same times in their
/// values: the agents draw from the same streams, so that nothing of the world puts them apart.
/// What is compared ends at the earliest difference, and before `end`.
Comparison compare(AgentSteps ours, AgentSteps theirs, sim::WorldTime end = sim::WorldTime::max());

struct Differential {
  std::string unsupported;  ///< not empty: what of it PyTorch's agents cannot play; nothing was run
  RunReport ours, theirs;
  Comparison comparison;
};

/// Plays `scenario` with both, each once. `options` are those of both; their agent and sinks are
/// replaced. Defects of the protocol are hooke's alone: so it is seen which of them are seen.
Differential play_both(kernel::Kernel& kernel, const Scenario& given, RunOptions options,
                       const properties::InvariantRegistry& invariants, guest::Zygote& zygote);

/// The difference in lines of a terminal: what both have done before, then each run's step.
std::string side_by_side(const StepDifference& difference);

}  // namespace hooke::scenario
