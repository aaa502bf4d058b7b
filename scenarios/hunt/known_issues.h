#pragma once
// Known failures to look for: scenarios that say what they break. A world has met one when it broke
// the same invariants in the same way.

#include <string>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/hunt/failure.h"

namespace hooke::hunt {

struct KnownIssue {
  std::string name;
  std::vector<FailureKind> kinds;  ///< sorted; of the invariants that the scenario says it breaks
  std::vector<std::string> references{};  ///< as the scenario gives them
  [[nodiscard]] bool is_met_by(const std::vector<FailureKind>& sorted_kinds) const;
};
using KnownIssues = std::vector<KnownIssue>;

/// Plays `scenario`; what it says it breaks, and how it breaks it, is the known issue. It has no
/// kinds when it breaks nothing of the sort.
KnownIssue known_issue_of(kernel::Kernel& kernel, const scenario::Scenario& scenario,
                          const properties::InvariantRegistry& invariants);

}  // namespace hooke::hunt
