#pragma once
// What every node did, on one axis of time, with the faults and findings on it.

#include <pugixml.hpp>
#include <string>
#include <vector>

#include "reports/explanation.h"
#include "reports/findings.h"
#include "reports/page/run_record.h"
#include "reports/page/time_split.h"

namespace hooke::report {

/// Nodes that did the same at the same times (to a thousandth of the run) stand in one lane where
/// there are more nodes than this.
inline constexpr std::size_t kLanesUnfolded = 12;
/// Of so many lanes those that differ from the most common one come first; the rest are counted.
inline constexpr std::size_t kLanesShown = 40;

/// The axis, a row per node, and a key to the colours. A finding is numbered as in the list. What is
/// explained has its causes as a chain across the lanes; that of the first one is shown until the
/// reader chooses another (finding_list.h). At the foot of a lane run the time-outs that its node,
/// or the others because of it, waited for, whether they passed or were met in time.
void add_lane_chart(pugi::xml_node parent, const RunRecord& record,
                    const std::vector<Finding>& findings,
                    const std::vector<Explanation>& explanations = {});

/// One bar per job: where its time went, with the share of each in words.
void add_time_bar(pugi::xml_node parent, const TimeSplit& split, sim::WorldTime end,
                  bool name_the_job);

}  // namespace hooke::report
