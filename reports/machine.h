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

/// JUnit XML as CI systems read it, by the schema of Jenkins (junit-10.xsd, with its `file` and `line`
/// of a test case). A suite for each result, as only suites have properties there: seed, trace hash,
/// variant, virtual time and the like; in it one test case. A failure has the broken invariant as
/// its type, or the unmet expectation. A failure of the harness and an inconclusive run are errors,
/// what a world cannot play is skipped.
std::string to_junit(const std::vector<Result>& results);

}  // namespace hooke::report
