#pragma once
// Random whole worlds as scenarios: cluster, settings, worker programs and a timeline of faults.
// RapidCheck shrinks the plan towards fewer nodes, fewer faults and quieter settings; the world
// itself is only ever run outside.

#include <rapidcheck.h>

#include "scenarios/format/scenario.h"

namespace hooke::scenario {

/// Worlds in which nothing goes wrong: every invariant must hold.
rc::Gen<Scenario> quiet_world();

/// Worlds with up to four faults of every kind the timeline knows.
rc::Gen<Scenario> faulty_world();

}  // namespace hooke::scenario

namespace rc {

/// How RapidCheck shows a counterexample: as the scenario file it would be.
void showValue(const hooke::scenario::Scenario& scenario, std::ostream& out);

}  // namespace rc
