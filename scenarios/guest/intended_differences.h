#pragma once
// Which differences between hooke's agents and PyTorch's say nothing against either.

#include <string>

#include "scenarios/guest/differential.h"

namespace hooke::scenario {

/// "name: reason" of what explains `difference`; "" when nothing does. `drift`: the most that equal
/// steps before it are apart in time.
std::string explanation(const StepDifference& difference, const AgentSteps& ours,
                        const AgentSteps& theirs, sim::Duration drift);

}  // namespace hooke::scenario
