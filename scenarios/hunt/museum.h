#pragma once
// Known failures to look for: scenarios that say what they break. A world has met one when it broke
// the same promises in the same way.

#include <string>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/hunt/failure.h"

namespace hooke::hunt {

struct Exhibit {
  std::string name;
  std::vector<FailureKind> kinds;  ///< sorted; of the promises that the scenario says it breaks
  [[nodiscard]] bool is_met_by(const std::vector<FailureKind>& sorted_kinds) const;
};
using Museum = std::vector<Exhibit>;

/// Plays `scenario`; what it says it breaks, and how it breaks it, is the exhibit. It has no kinds
/// when it breaks nothing of the sort.
Exhibit exhibit_of(kernel::Kernel& kernel, const scenario::Scenario& scenario,
                   const properties::InvariantRegistry& invariants);

}  // namespace hooke::hunt
