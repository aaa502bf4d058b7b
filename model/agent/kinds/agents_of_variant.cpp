#include "model/agent/kinds/agents_of_variant.h"

#include "model/agent/elastic_agent.h"
#include "model/agent/kinds/workers_of_variant.h"
#include "model/hardened/agent/hardened_worker_starts.h"
#include "model/planted/planted_heartbeats.h"
#include "model/planted/planted_worker_starts.h"

namespace hooke::model {
namespace {

std::unique_ptr<HeartbeatWatch> make_heartbeats(sim::Ports& ports, const WorkerSpec& spec) {
  if (spec.planted == PlantedSet()) {
    return std::make_unique<HeartbeatWatch>(ports, spec.heartbeats, spec.monitor_interval);
  }
  return std::make_unique<PlantedHeartbeatWatch>(spec.planted, ports, spec.heartbeats,
                                                 spec.monitor_interval);
}

template <class Starts>
std::unique_ptr<WorkerStarts> make_starts(const WorkerStartParts& parts) {
  if (parts.spec.planted == PlantedSet()) return std::make_unique<Starts>(parts);
  return std::make_unique<PlantedWorkerStarts<Starts>>(parts);
}

std::unique_ptr<WorkerStarts> make_worker_starts(const WorkerStartParts& parts) {
  return parts.spec.variant == Variant::hardened ? make_starts<HardenedWorkerStarts>(parts)
                                                 : make_starts<WorkerStarts>(parts);
}

}  // namespace

std::unique_ptr<Agent> make_elastic_agent(const AgentParts& parts) {
  return std::make_unique<ElasticAgent>(
      parts, ElasticAgentMakers{make_heartbeats, make_worker_starts, make_process_context});
}

}  // namespace hooke::model
