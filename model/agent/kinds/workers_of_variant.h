#pragma once
// PyTorch's worker processes, or what mends them: the variant says which.

#include <memory>
#include <vector>

#include "model/agent/worker_group.h"
#include "model/worker/process_context.h"

namespace hooke::model {

/// `launcher` outlives the context.
std::unique_ptr<ProcessContext> make_process_context(sim::Ports& ports, ProcessLauncher& launcher,
                                                     const WorkerSpec& spec,
                                                     std::vector<WorkerStart> workers);

/// Which of the failures is the cause of the others; there must be one.
const ProcessFailure& root_failure(const ProcessFailures& failures, Variant variant);

}  // namespace hooke::model
