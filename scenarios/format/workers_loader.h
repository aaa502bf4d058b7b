#pragma once
// What a scenario says of its workers and their programs: JSON to checked values.

#include "scenarios/format/json_reader.h"
#include "scenarios/format/node_names.h"
#include "scenarios/format/scenario.h"

namespace hooke::scenario {

/// A scenario's "workers". ScenarioError for what is unknown or out of range, and for programs of
/// workers that the cluster does not have.
WorkersPlan load_workers(const Place& place, const NodeNames& names);

}  // namespace hooke::scenario
