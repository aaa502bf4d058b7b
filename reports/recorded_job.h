#pragma once
// What hooke judge says of a job that has happened.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/summary.h"

namespace hooke::report {

/// "node-0.jsonl", or "3 traces".
std::string name_of_recording(const std::vector<std::string>& paths);

/// The verdict, how the job ended, each violation, and what was taken for granted.
std::string recorded_job_text(const Result& result, const std::vector<std::string>& assumptions,
                              const Style& style);
/// Likewise, as hooke run --json has it of one run, with the member "assumptions".
nlohmann::ordered_json recorded_job_json(const Result& result,
                                         const std::vector<std::string>& assumptions);

}  // namespace hooke::report
