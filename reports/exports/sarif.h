#pragma once
// Results as SARIF 2.1.0, which code hosts show beside the lines of a file: one result per violated
// invariant or unmet expectation of each scenario that failed.

#include <string>
#include <vector>

#include "properties/invariants/invariant.h"
#include "reports/summary.h"

namespace hooke::report {

/// `invariants` say what each rule means.
std::string to_sarif(const std::vector<Result>& results,
                     const properties::InvariantRegistry& invariants, const std::string& version);

}  // namespace hooke::report
