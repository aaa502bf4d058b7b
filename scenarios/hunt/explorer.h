#pragma once
// Plays worlds of a space, one after the other, each twice.

#include <cstdint>

#include "properties/invariants/invariant.h"
#include "scenarios/hunt/exploration.h"
#include "scenarios/hunt/swarm.h"
#include "sim/kernel/kernel.h"

namespace hooke::hunt {

/// A world that has not ended after so many steps is judged as it stands.
inline constexpr std::uint64_t kStepsMax = 5'000'000;

/// How a hunt plays a world: `twin` as scenario::RunOptions has it.
scenario::RunOptions hunting_options(bool twin);

/// Draws world number `seed` and plays it on `kernel`.
WorldResult play(kernel::Kernel& kernel, const Swarm& swarm, std::uint64_t seed,
                 const properties::InvariantRegistry& invariants);

}  // namespace hooke::hunt
