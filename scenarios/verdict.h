#pragma once
// Compares what a run showed with what its scenario expects.

#include "scenarios/runner.h"

namespace hooke::scenario {

/// Fills `report.unmet`, the harness failure of a run that is not deterministic, and
/// `report.passed`. `all_over`: every agent that was started has ended.
void judge(const Scenario& scenario, bool all_over, RunReport& report);

/// Which limit of the harness itself, not of the scenario, has stopped the run, and when; empty:
/// none.
std::string limit_reached(const RunReport& report);

}  // namespace hooke::scenario
