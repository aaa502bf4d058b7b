#pragma once
// The violations of a run as a person reads them: one finding per invariant, the worst first.

#include <string>
#include <vector>

#include "reports/summary.h"

namespace hooke::report {

enum class Weight : unsigned char { unexpected, allowed, unavoidable };

struct Finding {
  std::string invariant;
  std::string meaning{};  ///< what holds in a job without it; empty where none was asked for
  Weight weight{};
  std::string limit;  ///< why no agent could have avoided it; empty: one could
  std::size_t count = 0;
  properties::Violation first;
};

/// Unexpected findings before those that the scenario allows, and those before the unavoidable
/// ones; safety before liveness; then by time.
std::vector<Finding> findings_of(const scenario::RunReport& run);
/// Likewise, with what each invariant of `invariants` means.
std::vector<Finding> findings_of(const scenario::RunReport& run,
                                 const properties::InvariantRegistry& invariants);

}  // namespace hooke::report
