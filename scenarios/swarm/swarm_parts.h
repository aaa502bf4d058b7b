#pragma once
// The parts of a world that have a file of their own. Each draws from streams of its own and adds
// to what has been drawn before: protocol, cluster, workers, faults. Internal to swarm.cpp.

#include "scenarios/swarm/swarm.h"
#include "sim/kernel/choice.h"

namespace hooke::hunt {

/// What the workers do, and whether agents watch them by more than their ends.
void draw_workers(const Swarm& swarm, kernel::SeededSource& source, scenario::Scenario& world);
/// The schedule, and what happens to the job when.
void draw_faults(const Swarm& swarm, kernel::SeededSource& source, scenario::Scenario& world);

}  // namespace hooke::hunt
