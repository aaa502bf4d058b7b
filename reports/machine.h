#pragma once
// The same results for programs: JSON and JUnit XML.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/summary.h"

namespace hooke::report {

/// One JSON document: {"passed", "failed", "inconclusive", "results": [...]}; spans in nanoseconds,
/// hashes in hexadecimal.
std::string to_json(const std::vector<Result>& results);

/// One of the results.
nlohmann::ordered_json result_json(const Result& result);

/// JUnit XML as CI systems read it: one test case per scenario, failures with their reasons. A
/// failure of the harness and an inconclusive run are errors, what a world cannot play is skipped.
std::string to_junit(const std::vector<Result>& results);

}  // namespace hooke::report
