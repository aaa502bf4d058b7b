#pragma once
// The number of a fault of the simulated world, by which its effects are counted.

#include <cstdint>

#include "sim/port/ids.h"

namespace hooke::world {

using FaultId = sim::Id<struct FaultTag, std::uint32_t>;

}  // namespace hooke::world
