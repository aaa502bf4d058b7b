#pragma once
// What hooke judge says of a job that has happened.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "reports/summary.h"
#include "scenarios/recorded/recorded_run.h"

namespace hooke::report {

/// "node-0.jsonl", or "3 traces".
std::string name_of_recording(const std::vector<std::string>& paths);

/// What the verdict rests on, and what it does not speak of.
struct Grounds {
  std::vector<std::string> assumptions;  ///< what was taken for granted, a sentence each
  std::vector<scenario::NotJudged> not_judged;
};

/// The verdict, how the job ended, each violation, what was taken for granted, and what the files
/// cannot judge.
std::string recorded_job_text(const Result& result, const Grounds& grounds, const Style& style);
/// Likewise, as hooke run --json has it of one run, with the members "assumptions" and "not_judged".
nlohmann::ordered_json recorded_job_json(const Result& result, const Grounds& grounds);

}  // namespace hooke::report
