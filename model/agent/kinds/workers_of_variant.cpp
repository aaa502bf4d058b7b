#include "model/agent/kinds/workers_of_variant.h"

#include <utility>

#include "model/hardened/worker/hardened_failures.h"
#include "model/hardened/worker/hardened_process_context.h"
#include "model/planted/planted_process_context.h"

namespace hooke::model {
namespace {

template <class Context>
std::unique_ptr<ProcessContext> make_context(sim::Ports& ports, ProcessLauncher& launcher,
                                             const WorkerSpec& spec, sim::Duration grace,
                                             std::vector<WorkerStart> workers) {
  if (spec.planted == PlantedSet()) {
    return std::make_unique<Context>(ports, launcher, spec.variant, grace, std::move(workers),
                                     spec.waits_without_limit_for_the_killed);
  }
  return std::make_unique<PlantedProcessContext<Context>>(spec.planted, ports, launcher,
                                                          spec.variant, grace, std::move(workers),
                                                          spec.waits_without_limit_for_the_killed);
}

}  // namespace

std::unique_ptr<ProcessContext> make_process_context(sim::Ports& ports, ProcessLauncher& launcher,
                                                     const WorkerSpec& spec,
                                                     std::vector<WorkerStart> workers) {
  return spec.variant == Variant::hardened
             ? make_context<HardenedProcessContext>(ports, launcher, spec, spec.shutdown_timeout,
                                                    std::move(workers))
             : make_context<ProcessContext>(ports, launcher, spec, kGrace, std::move(workers));
}

const ProcessFailure& root_failure(const ProcessFailures& failures, Variant variant) {
  return variant == Variant::hardened ? first_own_failure(failures) : first_failure(failures);
}

}  // namespace hooke::model
