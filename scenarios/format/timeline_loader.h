#pragma once
// One entry of a scenario's timeline: JSON to a checked value.

#include "model/launch/plugins.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/node_names.h"
#include "scenarios/format/scenario.h"

namespace hooke::scenario {

/// The largest number of nodes that all entries of a timeline may select together: a whole cluster
/// is the role "all", and a range of thousands in each of thousands of entries is a slip.
inline constexpr std::size_t kSelectedNodesMax = 1'000'000;

/// The names an entry may use.
struct TimelineNames {
  const NodeNames& nodes;
  std::int64_t workers_per_node = 1;
  bool external_store = false;
  bool etcd = false;  ///< that store is one
  Duration time_limit{};
  const model::Plugins& plugins;  ///< with coverage points and background tasks of their own
};

/// ScenarioError for an unknown word, event, field, fault point, node, coverage point or background
/// task, for parameters that the word lacks, does not have, or cannot take, and for a time beyond
/// the time limit.
/// What the numbers of certain events must add up to. ScenarioError likewise, and for a field that the
/// event does not have, or no limit.
ExpectedSum load_sum(const Place& place, const TimelineNames& names);
TimelineEntry load_timeline_entry(const Place& place, const TimelineNames& names);
/// An event of the trace: its type, the fields it must carry, its node, and "passage".
/// ScenarioError for an unknown type, field, node or coverage point.
Trigger load_event_pattern(const Place& place, const TimelineNames& names);
/// The name of a coverage point. ScenarioError for one that nothing sets.
std::string load_coverage_point(const Place& place, const model::Plugins& plugins);

}  // namespace hooke::scenario
