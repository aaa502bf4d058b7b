#include "scenarios/hunt/museum.h"

#include <algorithm>

#include "scenarios/hunt/explorer.h"

namespace hooke::hunt {

bool Exhibit::is_met_by(const std::vector<FailureKind>& sorted_kinds) const {
  return !kinds.empty() &&
         std::includes(sorted_kinds.begin(), sorted_kinds.end(), kinds.begin(), kinds.end());
}

Exhibit exhibit_of(kernel::Kernel& kernel, const scenario::Scenario& scenario,
                   const properties::InvariantRegistry& invariants) {
  Exhibit exhibit{scenario.name, {}};
  const auto& violates = scenario.expect.violates;
  if (violates.empty()) return exhibit;
  const std::vector<FailureKind> all =
      kinds_of(scenario::run(kernel, scenario, hunting_options(false), invariants));
  std::copy_if(all.begin(), all.end(), std::back_inserter(exhibit.kinds),
               [&](const FailureKind& kind) {
                 return std::any_of(violates.begin(), violates.end(), [&](const auto& pattern) {
                   return properties::matches(pattern, kind.invariant);
                 });
               });
  return exhibit;
}

}  // namespace hooke::hunt
