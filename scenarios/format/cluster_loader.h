#pragma once
// What a scenario says of its machines, network and store: JSON to checked values.

#include "scenarios/format/json_reader.h"
#include "scenarios/format/node_names.h"
#include "scenarios/format/scenario.h"

namespace hooke::scenario {

/// The most slots that a pool of workers, and the most workers that a node, may have.
inline constexpr std::int64_t kWorkersPerNodeMax = 1'024;

/// A scenario's "cluster"; declares its nodes in `names`. ScenarioError for what is unknown or out
/// of range, and for a node that starts after `time_limit`.
ClusterPlan load_cluster(const Place& place, NodeNames& names, Duration time_limit);

/// A cluster's "network" and "store", into `plan`. ScenarioError likewise.
void load_network(const Place& place, ClusterPlan& plan);
void load_store(const Place& place, ClusterPlan& plan);

}  // namespace hooke::scenario
