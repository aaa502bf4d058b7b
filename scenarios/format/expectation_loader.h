#pragma once
// What a scenario expects of its run: JSON to checked values.

#include "scenarios/format/json_reader.h"
#include "scenarios/format/scenario.h"
#include "scenarios/format/timeline_loader.h"

namespace hooke::scenario {

/// A scenario's "expect". ScenarioError for a node, outcome, invariant, event or coverage point
/// that does not exist, and for what is out of range.
Expectation load_expectation(const Place& place, const TimelineNames& names);

}  // namespace hooke::scenario
