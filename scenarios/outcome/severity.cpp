// The verdict has told which violations it did not expect.
#include "scenarios/outcome/severity.h"

#include <algorithm>

namespace hooke::scenario {

Weight weight_of(const RunReport& run, std::size_t violation) {
  const bool unexpected =
      std::any_of(run.unmet.begin(), run.unmet.end(),
                  [violation](const Unmet& unmet) { return unmet.violation == violation; });
  if (unexpected) return Weight::unexpected;
  return run.violations.at(violation).limit.empty() ? Weight::allowed : Weight::unavoidable;
}

Severity severity_of(const RunReport& run, std::size_t violation) {
  const properties::Violation& what = run.violations.at(violation);
  // kNoEvent, 0, becomes the greatest.
  const std::uint64_t order = std::uint64_t{what.event.value} - 1;
  return {weight_of(run, violation), !what.invariant.starts_with("safety."), what.at, order};
}

}  // namespace hooke::scenario
