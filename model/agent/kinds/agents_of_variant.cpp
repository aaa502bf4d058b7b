#include "model/agent/kinds/agents_of_variant.h"

#include <utility>

#include "model/agent/elastic_agent.h"
#include "model/agent/kinds/workers_of_variant.h"
#include "model/hardened/agent/hardened_elastic_agent.h"
#include "model/hardened/agent/hardened_worker_starts.h"
#include "model/planted/planted_elastic_agent.h"
#include "model/planted/planted_exit_wait.h"
#include "model/planted/planted_heartbeats.h"
#include "model/planted/planted_membership_watch.h"
#include "model/planted/planted_restarts.h"
#include "model/planted/planted_worker_starts.h"

namespace hooke::model {
namespace {

/// The parts of one kind of agent.
struct Faithful {
  using Agent = ElasticAgent;
  using Starts = WorkerStarts;
  using Job = Restarts;
  using Wait = ExitWait;
};
struct Mended {
  using Agent = HardenedElasticAgent;
  using Starts = HardenedWorkerStarts;
  using Job = JobStanding;
  using Wait = HardenedExitWait;
  using Membership = HardenedMembershipWatch;
};
struct SpoiltFaithful {
  using Agent = PlantedElasticAgent<ElasticAgent>;
  using Starts = PlantedWorkerStarts<WorkerStarts>;
  using Job = PlantedRestarts<Restarts>;
  using Wait = PlantedExitWait<ExitWait>;
};
struct SpoiltMended {
  using Agent = PlantedElasticAgent<HardenedElasticAgent>;
  using Starts = PlantedWorkerStarts<HardenedWorkerStarts>;
  using Job = PlantedJobStanding;
  using Wait = PlantedHardenedExitWait;
  using Membership = PlantedHardenedMembershipWatch;
};

std::unique_ptr<HeartbeatWatch> make_heartbeats(sim::Ports& ports, const WorkerSpec& spec) {
  if (spec.planted == PlantedSet()) {
    return std::make_unique<HeartbeatWatch>(ports, spec.heartbeats, spec.monitor_interval);
  }
  return std::make_unique<PlantedHeartbeatWatch>(spec.planted, ports, spec.heartbeats,
                                                 spec.monitor_interval);
}

std::unique_ptr<MembershipWatch> make_membership(AgentCore& core, Restarts&) {
  return std::make_unique<MembershipWatch>(core);
}
std::unique_ptr<MembershipWatch> make_membership(AgentCore& core,
                                                 PlantedRestarts<Restarts>& restarts) {
  return std::make_unique<PlantedFaithfulMembershipWatch>(core, restarts);
}

/// What is made in the same way for all kinds.
template <class Kind>
ElasticAgentKit kit_of(const AgentParts& parts) {
  ElasticAgentKit kit;
  kit.core = std::make_unique<AgentCore>(parts);
  AgentCore& core = *kit.core;
  kit.heartbeats = make_heartbeats(core.ports, core.spec);
  kit.starts = std::make_unique<typename Kind::Starts>(core, *kit.heartbeats);
  kit.context = make_process_context;
  return kit;
}

template <class Kind>
std::unique_ptr<Agent> make_faithful(const AgentParts& parts) {
  ElasticAgentKit kit = kit_of<Kind>(parts);
  AgentCore& core = *kit.core;
  auto job = std::make_unique<typename Kind::Job>(core);
  kit.exit_wait = std::make_unique<typename Kind::Wait>(core);
  kit.membership = make_membership(core, *job);
  kit.restarts = std::move(job);
  return std::make_unique<typename Kind::Agent>(parts, std::move(kit));
}

template <class Kind>
std::unique_ptr<Agent> make_mended(const AgentParts& parts) {
  ElasticAgentKit kit = kit_of<Kind>(parts);
  AgentCore& core = *kit.core;
  auto job = std::make_unique<typename Kind::Job>(core);
  auto wait = std::make_unique<typename Kind::Wait>(core, *job);
  auto membership = std::make_unique<typename Kind::Membership>(core, *wait, *job);
  JobStanding& standing = *job;
  HardenedMembershipWatch& watch = *membership;
  kit.restarts = std::move(job);
  kit.exit_wait = std::move(wait);
  kit.membership = std::move(membership);
  return std::make_unique<typename Kind::Agent>(parts, std::move(kit), standing, watch);
}

}  // namespace

std::unique_ptr<Agent> make_elastic_agent(const AgentParts& parts) {
  const bool sound = parts.spec.planted == PlantedSet();
  if (parts.spec.variant == Variant::hardened)
    return sound ? make_mended<Mended>(parts) : make_mended<SpoiltMended>(parts);
  return sound ? make_faithful<Faithful>(parts) : make_faithful<SpoiltFaithful>(parts);
}

}  // namespace hooke::model
