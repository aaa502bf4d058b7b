#pragma once
// What came of one entry of the timeline, in whichever world.

#include <cstdint>
#include <vector>

#include "sim/world/fault_id.h"

namespace hooke::scenario {

struct Effect {
  std::vector<world::FaultId> faults;  ///< of the simulated world: each counts where it was felt
  std::uint64_t felt = 0;              ///< what was done without the world's fault engine
};

}  // namespace hooke::scenario
