// Settings, then the timeline, then what torchrun in particular cannot be told.
#include "scenarios/real/unsupported.h"

#include <algorithm>

#include "model/plugin/plugin_choice.h"
#include "scenarios/format/vocabulary.h"

namespace hooke::scenario {
namespace {

/// Each thing once.
class Reasons {
 public:
  void say(std::string what) {
    if (std::find(list.begin(), list.end(), what) == list.end()) list.push_back(std::move(what));
  }
  std::vector<std::string> list;
};

/// What it disturbs is the network.
bool is_network_word(const Word& word) {
  return word.target == Target::paths || (word.target == Target::store && word.real);
}

bool uses_a_group_store(const Scenario& scenario) {
  const auto uses = [](const WorkerProgram& program) {
    return std::any_of(program.begin(), program.end(), [](const WorkerStep& step) {
      return step.kind == WorkerStep::Kind::init || step.kind == WorkerStep::Kind::collective;
    });
  };
  return uses(scenario.workers.program) ||
         std::any_of(scenario.workers.overrides.begin(), scenario.workers.overrides.end(),
                     [&](const auto& entry) { return uses(entry.second); });
}

/// Ports of workers: all nodes share those of one machine.
void look_at_workers(const Scenario& scenario, Reasons& reasons) {
  const auto look = [&](const WorkerProgram& program) {
    for (const WorkerStep& step : program) {
      if (step.kind == WorkerStep::Kind::serve) reasons.say("worker step serve");
      if (step.kind == WorkerStep::Kind::child) reasons.say("worker step child");
    }
  };
  look(scenario.workers.program);
  for (const auto& [key, program] : scenario.workers.overrides) look(program);
}

void look_at_settings(const Scenario& scenario, AgentKind kind, Reasons& reasons) {
  const AgentPlan& agent = scenario.protocol.agent;
  const std::string& backend = scenario.protocol.rendezvous.backend;
  if (backend != "c10d") reasons.say("backend " + backend);
  if (!scenario.protocol.defects.empty()) reasons.say("protocol.defects");
  if (agent.exit_barrier_timeout != AgentPlan().exit_barrier_timeout)
    reasons.say("agent.exit_barrier_timeout");
  if (!scenario.cluster.store_name.empty()) reasons.say("cluster.store_name");
  if (scenario.tape) reasons.say("tape");
  if (scenario.core) reasons.say("core");
  if (scenario.schedule.strategy != kernel::Strategy::fifo) reasons.say("schedule");
  if (agent.kind != AgentPlan().kind) reasons.say("agent.kind");
  // No pool runs on the machines, and no plug-in is loaded by their agents.
  const std::string launcher = model::PluginChoice::parse(agent.process_launcher).name;
  const bool patient = launcher == "patient" && kind == AgentKind::hooke;
  if (launcher != AgentPlan().process_launcher && !patient) reasons.say("agent.process_launcher");
  if (scenario.workers.slow_stop != Duration::zero()) reasons.say("workers.slow_stop");
  for (const NodePlan& node : scenario.cluster.nodes) {
    if (!node.local_addr.empty()) reasons.say("local_addr");
    if (node.clock_drift_ppm != 0) reasons.say("clock.drift_ppm");
    if (node.clock_skew != Duration::zero() && kind == AgentKind::torchrun)
      reasons.say("clock.skew");
  }
}

void look_at_timeline(const Scenario& scenario, Reasons& reasons) {
  for (const TimelineEntry& entry : scenario.timeline) {
    const Word* const word = find_word(entry.what);
    if (word == nullptr || !word->real) reasons.say(entry.what);
    if (entry.what == "worker.start_fails" && entry.amount)
      reasons.say("worker.start_fails so many times");
    if (entry.trigger.fault_point) reasons.say("fault points");
    // The links of a cluster lead to the rendezvous store; the workers' own lie bare.
    if (word != nullptr && is_network_word(*word) && !joins_a_node_to_itself(entry) &&
        uses_a_group_store(scenario)) {
      reasons.say(entry.what + " between workers");
    }
  }
}

void look_at_torchrun(const Scenario& scenario, Reasons& reasons) {
  const RendezvousPlan& plan = scenario.protocol.rendezvous;
  const AgentPlan& agent = scenario.protocol.agent;
  if (agent.heartbeats) reasons.say("agent.heartbeats");
  if (agent.restart_policy != AgentPlan().restart_policy) reasons.say("agent.restart_policy");
  if (agent.timer != AgentPlan().timer) reasons.say("agent.timer");
  if (agent.shutdown != AgentPlan().shutdown) reasons.say("agent.shutdown");
  for (const NodePlan& node : scenario.cluster.nodes) {
    const model::Variant variant = scenario.variant_of(node);
    if (variant != model::Variant::torch_2_x) {
      reasons.say("variant " + std::string(to_string(variant)));
    }
  }
  for (const Duration span : {plan.join, plan.last_call, plan.close, plan.heartbeat,
                              plan.keep_alive_interval, plan.read_timeout}) {
    if (span % 1s != Duration::zero()) reasons.say("time-outs of parts of a second");
  }
}

}  // namespace

std::vector<std::string> unsupported(const Scenario& scenario, AgentKind kind) {
  Reasons reasons;
  look_at_settings(scenario, kind, reasons);
  look_at_workers(scenario, reasons);
  look_at_timeline(scenario, reasons);
  if (kind == AgentKind::torchrun) look_at_torchrun(scenario, reasons);
  return std::move(reasons.list);
}

}  // namespace hooke::scenario
