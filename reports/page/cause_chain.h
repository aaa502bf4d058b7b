#pragma once
// The causes of a finding, drawn across the lanes of the nodes.

#include <cstddef>
#include <map>
#include <pugixml.hpp>
#include <string>
#include <vector>

#include "reports/explanation.h"
#include "reports/findings.h"

namespace hooke::report {

/// Where things are on a chart of lanes.
struct LanePlaces {
  sim::WorldTime end{};                     ///< of the axis, which begins at zero
  std::size_t lanes = 0;                    ///< how many are shown, all of one height
  std::map<std::string, std::size_t> lane;  ///< by node; one without has no place
};

/// One chain for each finding that is explained: a dot for each cause that a node of the chart had,
/// and a line through them in the order of time. All but the first are hidden; `data-chain` is the
/// number of the finding.
void add_cause_chains(pugi::xml_node lanes, const std::vector<Finding>& findings,
                      const std::vector<Explanation>& explanations, const LanePlaces& places);

/// The explanation of a finding; null: none.
const Explanation* explanation_of(const Finding& finding,
                                  const std::vector<Explanation>& explanations);

}  // namespace hooke::report
