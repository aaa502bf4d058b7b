#pragma once
// hooke explore --differential: random worlds, each played by hooke's agents and by PyTorch's.

#include "scenarios/cli/hunt.h"
#include "scenarios/swarm/swarm.h"

namespace hooke::cli {

/// Plays `shard` of `swarm`, tells of each difference that nothing explains, side by side, and what
/// was compared. With HuntOptions::reproducers the worlds of the first ones are shrunk and written
/// there. Returns the exit code. scenario::ScenarioError when there are no such agents here.
int hunt_differences(const hunt::Swarm& swarm, const hunt::Shard& shard,
                     const HuntOptions& options);

}  // namespace hooke::cli
