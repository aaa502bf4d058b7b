#pragma once
// Plays the worlds of a hunt, each twice.

#include <cstdint>

#include "properties/invariants/invariant.h"
#include "scenarios/hunt/exploration.h"
#include "sim/kernel/kernel.h"

namespace hooke::hunt {

/// A world that has not ended after so many steps is judged as it stands.
inline constexpr std::uint64_t kStepsMax = 400'000;
/// Nor does a job that has met so often show anything new: no swarm has so many faults.
inline constexpr std::int64_t kRoundsMax = 30;

/// How a hunt plays a world: `determinism check` as scenario::RunOptions has it.
scenario::RunOptions hunting_options(bool determinism_check);

/// What a run has shown; goes by `number`.
WorldResult result_of(const scenario::RunReport& report, std::uint64_t number);

/// Plays `world` on `kernel`; the result goes by `number`.
WorldResult play(kernel::Kernel& kernel, const scenario::Scenario& world, std::uint64_t number,
                 const properties::InvariantRegistry& invariants);

}  // namespace hooke::hunt
