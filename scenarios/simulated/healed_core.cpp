// First what hinders is taken away, then what is missing is started.
#include "scenarios/simulated/healed_core.h"

#include <algorithm>
#include <set>

#include "model/store/tcp_store.h"
#include "sim/port/check.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {
namespace {

using world::FaultKind;

/// A wait for others ends at the latest when the worker gives them up, if it ever does.
bool may_wait_for_ever(const WorkersPlan& plan, const WorkerStep& step) {
  const bool waits = step.kind == WorkerStep::Kind::await || step.kind == WorkerStep::Kind::sees ||
                     step.kind == WorkerStep::Kind::job;
  return step.kind == WorkerStep::Kind::hang || (waits && !plan.peer_abort);
}

Duration time_of(const WorkersPlan& plan, const WorkerStep& step) {
  switch (step.kind) {
    case WorkerStep::Kind::run:
    case WorkerStep::Kind::hold_timer: return step.span;
    case WorkerStep::Kind::collective: return step.span * step.count;
    case WorkerStep::Kind::await:
    case WorkerStep::Kind::sees:
    case WorkerStep::Kind::job: return plan.peer_abort.value_or(Duration::zero());
    default: return {};
  }
}

/// A worker of that program gets as far as its init, or ends well before.
enum class Beginning : unsigned char { joins, ends_well, other };
Beginning beginning_of(const WorkerProgram& program) {
  for (const WorkerStep& step : program) {
    if (step.kind == WorkerStep::Kind::init) return Beginning::joins;
    if (step.kind == WorkerStep::Kind::exit && step.code == 0) return Beginning::ends_well;
    const bool ends = step.kind == WorkerStep::Kind::exit || step.kind == WorkerStep::Kind::signal;
    if (ends || step.kind == WorkerStep::Kind::hang) return Beginning::other;
  }
  return Beginning::ends_well;
}

/// As the agents tell their workers (RendezvousHandler::use_agent_store): rank 0 serves the store
/// of its group itself.
bool a_worker_serves(const ProtocolPlan& protocol) {
  const std::string& backend = protocol.rendezvous.backend;
  if (backend == "static") return false;
  if (backend == "etcd" || !model::serves_the_workers_store(protocol.variant)) return true;
  const auto& environment = protocol.agent.environment;
  const auto found = environment.find("TORCH_DISABLE_SHARE_RDZV_TCP_STORE");
  return found != environment.end() && found->second == "1";
}

std::string names_of(const world::World& world, const std::vector<sim::NodeId>& nodes) {
  std::string names;
  for (const sim::NodeId node : nodes) names += (names.empty() ? "" : ",") + world.node_name(node);
  return names;
}

/// The latest agent of a node was taken from it, or there has been none and none is to come.
bool lacks_an_agent(const NodePlan& plan, Duration now, const Outcomes& outcomes) {
  const std::vector<AgentResult>& agents = outcomes.agents();
  const auto is_here = [&](const AgentResult& agent) { return agent.node == plan.id; };
  const bool lives = std::any_of(agents.begin(), agents.end(), [&](const AgentResult& agent) {
    return is_here(agent) && agent.ended == sim::WorldTime();
  });
  if (lives) return false;
  const auto latest = std::find_if(agents.rbegin(), agents.rend(), is_here);
  if (latest == agents.rend()) return !plan.start || *plan.start <= now;
  return latest->outcome == "killed" || latest->outcome == "crashed";
}

}  // namespace

WorkNeeded work_needed(const WorkersPlan& plan) {
  WorkNeeded needed;
  const auto look_at = [&](const std::string& name, const WorkerProgram& program) {
    Duration time{};
    bool endless = false;
    for (const WorkerStep& step : program) {
      if (step.kind == WorkerStep::Kind::exit || step.kind == WorkerStep::Kind::signal) break;
      endless = endless || may_wait_for_ever(plan, step);
      time += time_of(plan, step);
    }
    needed.longest = std::max(needed.longest, time);
    if (endless) needed.endless += (needed.endless.empty() ? "" : ",") + name;
  };
  look_at("*", plan.program);
  for (const auto& [name, program] : plan.overrides) look_at(name, program);
  return needed;
}

std::optional<Duration> wait_for_peers(const Scenario& scenario) {
  const WorkersPlan& plan = scenario.workers;
  if (!plan.peer_abort || !a_worker_serves(scenario.protocol)) return plan.peer_abort;
  std::set<Beginning> beginnings{beginning_of(plan.program)};
  for (const auto& [name, program] : plan.overrides) beginnings.insert(beginning_of(program));
  const bool in_vain =
      beginnings.contains(Beginning::joins) && beginnings.contains(Beginning::ends_well);
  return in_vain ? std::max(*plan.peer_abort, model::TcpStoreOptions().timeout) : plan.peer_abort;
}

void heal_core(const Scenario& scenario, world::World& world, Cluster& cluster, Actions& actions,
               Timeline& timeline, const Outcomes& outcomes) {
  HOOKE_CHECK(scenario.core.has_value(), "a core that is healed was asked for");
  const sim::NodeId store = cluster.store_machine();
  std::vector<sim::NodeId> core;
  for (const NodePlan& node : scenario.cluster.nodes) {
    const std::vector<std::string>& names = scenario.core->nodes;
    const sim::NodeId id = *world.find_node(node.id);
    if (id == store || std::find(names.begin(), names.end(), node.id) != names.end())
      core.push_back(id);
  }
  if (cluster.store_is_external()) core.push_back(store);

  HOOKE_CHECK(!core.empty(), "the machine of the store is in the core");
  timeline.stop();
  const WorkNeeded work = work_needed(scenario.workers);
  const Duration peers = wait_for_peers(scenario).value_or(Duration(-1));
  world.emit(world::events::core_healed,
             {names_of(world, core), work.longest, peers, work.endless});
  world.heal_core(core);
  actions.leave_to(core);
  world.set_service(store, kStorePort, cluster.store_service());
  if (const std::string& name = scenario.cluster.store_name;
      !name.empty() && !world.find_node(name)) {
    world::Fault found;
    found.kind = FaultKind::dns_alias;
    found.node = store;
    found.text = name;
    world.inject(found);
  }

  for (const sim::NodeId node : core) {
    if (world.node_up(node)) continue;
    world::Fault restart;
    restart.kind = FaultKind::node_restart;
    restart.node = node;
    world.inject(restart);
  }
  cluster.start_store();
  const Duration now = world.kernel().now().time_since_epoch();
  for (const NodePlan& node : scenario.cluster.nodes) {
    const sim::NodeId id = *world.find_node(node.id);
    const bool in_core = std::find(core.begin(), core.end(), id) != core.end();
    if (in_core && lacks_an_agent(node, now, outcomes)) cluster.start_agent(id);
  }
}

}  // namespace hooke::scenario
