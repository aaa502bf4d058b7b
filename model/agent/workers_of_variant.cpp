#include "model/agent/workers_of_variant.h"

#include <utility>

#include "model/hardened/worker/hardened_failures.h"
#include "model/hardened/worker/hardened_process_context.h"

namespace hooke::model {

std::unique_ptr<ProcessContext> make_process_context(sim::Ports& ports, ProcessLauncher& launcher,
                                                     const WorkerSpec& spec,
                                                     std::vector<WorkerStart> workers) {
  if (spec.variant == Variant::hardened) {
    return std::make_unique<HardenedProcessContext>(ports, launcher, spec.variant, spec.grace(),
                                                    std::move(workers), spec.planted,
                                                    spec.waits_without_limit_for_the_killed);
  }
  return std::make_unique<ProcessContext>(ports, launcher, spec.variant, spec.grace(),
                                          std::move(workers), spec.planted,
                                          spec.waits_without_limit_for_the_killed);
}

const ProcessFailure& root_failure(const ProcessFailures& failures, Variant variant) {
  return variant == Variant::hardened ? first_own_failure(failures) : first_failure(failures);
}

}  // namespace hooke::model
