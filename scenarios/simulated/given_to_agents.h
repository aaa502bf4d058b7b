#pragma once
// What a scenario's agents are started with, for the judges of its runs: what an agent says of itself
// may be wrong.

#include "properties/invariants/job_view.h"
#include "scenarios/format/scenario.h"

namespace hooke::scenario {

/// Of agents of that release: an early one goes by its own spans where it knows no such setting.
properties::Given given_to_agents(const Scenario& scenario, model::Variant variant);

}  // namespace hooke::scenario
