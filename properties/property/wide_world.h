#pragma once
// Small random worlds over the whole surface: every backend and variant, late and surplus nodes,
// workers that fail, guard themselves by timers or beat, and faults of every kind.

#include "scenarios/scenario.h"

namespace hooke::scenario {

/// The same for the same seed.
Scenario wide_world(std::uint32_t seed);

}  // namespace hooke::scenario
