#pragma once
// Compares what a run showed with what its scenario expects.

#include "scenarios/format/scenario.h"
#include "scenarios/outcome/report.h"

namespace hooke::scenario {

/// Fills `report.unmet`, the harness failure of a run that is not deterministic, `report.passed`
/// and `report.inconclusive`. `all_over`: every agent that was started has ended. Of a run that a
/// limit of the harness has cut only what no later event could have changed counts: broken
/// invariants, rounds beyond rounds.max, events of `never`, agents that outlast `within`.
void judge(const Scenario& scenario, bool all_over, RunReport& report);

/// Which limit of the harness itself, not of the scenario, has stopped the run, and when; empty:
/// none.
std::string limit_reached(const RunReport& report);

}  // namespace hooke::scenario
