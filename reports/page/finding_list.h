#pragma once
// What was violated, in words, with what is known of its cause and of what averts it.

#include <pugixml.hpp>
#include <vector>

#include "reports/explanation.h"
#include "reports/findings.h"

namespace hooke::report {

/// One item per finding, numbered as on the chart. Nothing when there is none.
void add_finding_list(pugi::xml_node parent, const std::vector<Finding>& findings,
                      const std::vector<Explanation>& explanations);

}  // namespace hooke::report
