#pragma once
// A run for Perfetto (https://ui.perfetto.dev) and chrome://tracing: the JSON form of their trace
// files. A process per node with a track per agent, one more track for what it did, and the faults
// and violations across all of them.

#include <string>
#include <vector>

#include "properties/invariants/invariant.h"
#include "reports/page/run_record.h"

namespace hooke::report {

/// `record`: finished. Times are those of the world, from the start of the run.
std::string perfetto_trace(const RunRecord& record,
                           const std::vector<properties::Violation>& violations);

}  // namespace hooke::report
