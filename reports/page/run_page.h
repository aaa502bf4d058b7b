#pragma once
// One run as one HTML file that needs nothing else: no network, no other file, no script for what
// matters. First what happened and what to do about it, then the evidence.

#include <string>
#include <vector>

#include "reports/explanation.h"
#include "reports/page/run_record.h"
#include "reports/recorded_job.h"
#include "reports/summary.h"
#include "scenarios/hunt/cause_recorder.h"

namespace hooke::report {

struct PageContent {
  const Result* result = nullptr;
  const scenario::Scenario* scenario = nullptr;  ///< null: none is known, as of a recorded job
  const RunRecord* record = nullptr;             ///< finished
  const properties::InvariantRegistry* invariants = nullptr;
  std::vector<Explanation> explanations{};  ///< of some or all of its violations
  Grounds grounds{};                        ///< of a recorded job
};

/// Of each violated invariant how it came about, from a recorder that has seen the run; what averts
/// it is not asked.
std::vector<Explanation> causes_of(const scenario::RunReport& run,
                                   const hunt::CauseRecorder& causes);

/// The whole file, UTF-8. At most 2 MiB for a run of which RunRecord keeps all lines.
std::string run_page(const PageContent& content);

}  // namespace hooke::report
