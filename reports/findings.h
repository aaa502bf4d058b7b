#pragma once
// The violations of a run as a person reads them: one finding per invariant, the worst first.

#include <string>
#include <vector>

#include "reports/summary.h"
#include "scenarios/outcome/severity.h"

namespace hooke::report {

using scenario::Weight;

struct Finding {
  std::string invariant;
  std::string meaning{};  ///< what holds in a job without it; empty where none was asked for
  Weight weight{};
  std::string limit;  ///< why no agent could have avoided it; empty: one could
  std::size_t count = 0;
  properties::Violation first;
};

/// In the order of scenario::severity_of.
std::vector<Finding> findings_of(const scenario::RunReport& run);
/// Likewise, with what each invariant of `invariants` means.
std::vector<Finding> findings_of(const scenario::RunReport& run,
                                 const properties::InvariantRegistry& invariants);

}  // namespace hooke::report
