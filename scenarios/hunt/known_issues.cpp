#include "scenarios/hunt/known_issues.h"

#include <algorithm>

#include "scenarios/hunt/explorer.h"

namespace hooke::hunt {

bool KnownIssue::is_met_by(const std::vector<FailureKind>& sorted_kinds) const {
  return !kinds.empty() &&
         std::includes(sorted_kinds.begin(), sorted_kinds.end(), kinds.begin(), kinds.end());
}

KnownIssue known_issue_of(kernel::Kernel& kernel, const scenario::Scenario& scenario,
                          const properties::InvariantRegistry& invariants) {
  KnownIssue known_issue{scenario.name, {}, scenario.references};
  const auto& violates = scenario.expect.violates;
  if (violates.empty()) return known_issue;
  const std::vector<FailureKind> all =
      kinds_of(scenario::run(kernel, scenario, hunting_options(false), invariants));
  std::copy_if(all.begin(), all.end(), std::back_inserter(known_issue.kinds),
               [&](const FailureKind& kind) {
                 return std::any_of(violates.begin(), violates.end(), [&](const auto& pattern) {
                   return properties::matches(pattern, kind.invariant);
                 });
               });
  return known_issue;
}

}  // namespace hooke::hunt
