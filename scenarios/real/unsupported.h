#pragma once
// What a real machine cannot play of a scenario.

#include <string>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/real/real_cluster.h"

namespace hooke::scenario {

/// What of this scenario cannot be played with these agents on a real machine, a few words each;
/// empty: all of it can.
std::vector<std::string> unsupported(const Scenario& scenario, AgentKind kind);

/// The node's own link, over which its workers' heartbeats go.
inline bool joins_a_node_to_itself(const TimelineEntry& entry) {
  return entry.to.size() == 1 && entry.from == entry.to;
}

}  // namespace hooke::scenario
