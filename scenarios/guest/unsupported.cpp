// What PyTorch's agents cannot play in the simulated world, and of which invariants they show
// enough.
#include <algorithm>
#include <array>
#include <set>

#include "scenarios/format/vocabulary.h"
#include "scenarios/guest/guest_runner.h"

namespace hooke::scenario {
namespace {

/// Each thing once, in order of discovery.
class Reasons {
 public:
  void say(const std::string& what) {
    if (std::find(list.begin(), list.end(), what) == list.end()) list.push_back(what);
  }
  std::vector<std::string> list;
};

/// Hooke's hardened agents, and those of other releases that share the job, play beside PyTorch's:
/// one of these is enough.
void look_at_variants(const Scenario& scenario, model::Variant release, Reasons& reasons) {
  bool any = false;
  std::string missing, alone = "variant hardened alone";
  for (const NodePlan& node : scenario.cluster.nodes) {
    const model::Variant variant = scenario.variant_of(node);
    any = any || variant == release;
    if (!model::share_a_job(variant, release))
      missing = "variant " + std::string(to_string(variant));
    else if (variant != model::Variant::hardened)
      alone = "variant " + std::string(to_string(variant));
  }
  if (!missing.empty()) reasons.say(missing);
  if (!any && missing.empty()) reasons.say(alone);
}

void look_at_settings(const Scenario& scenario, model::Variant release, Reasons& reasons) {
  const AgentPlan& agent = scenario.protocol.agent;
  const AgentPlan usual;
  const RendezvousPlan& plan = scenario.protocol.rendezvous;
  if (plan.backend != "c10d" && plan.backend != "file") reasons.say("backend " + plan.backend);
  if (!scenario.protocol.defects.empty()) reasons.say("protocol.defects");
  if (agent.kind != usual.kind) reasons.say("agent.kind");
  if (agent.restart_policy != usual.restart_policy) reasons.say("agent.restart_policy");
  if (agent.timer != usual.timer) reasons.say("agent.timer");
  if (agent.process_launcher != usual.process_launcher) reasons.say("agent.process_launcher");
  if (agent.shutdown != usual.shutdown) reasons.say("agent.shutdown");
  if (agent.heartbeats) reasons.say("agent.heartbeats");
  if (agent.environment.contains("TORCHELASTIC_HEALTH_CHECK_PORT"))
    reasons.say("TORCHELASTIC_HEALTH_CHECK_PORT");
  look_at_variants(scenario, release, reasons);
  for (const Duration span :
       {plan.join, plan.last_call, plan.close, plan.heartbeat, plan.keep_alive_interval,
        plan.read_timeout, agent.shutdown_timeout}) {
    if (span % 1s != Duration::zero()) reasons.say("time-outs of parts of a second");
  }
}

/// The guests' error files are on no disk of the simulated world.
void look_at_workers(const Scenario& scenario, Reasons& reasons) {
  const auto look = [&](const WorkerProgram& program) {
    for (const WorkerStep& step : program) {
      if (step.kind == WorkerStep::Kind::error) reasons.say("worker step error");
    }
  };
  look(scenario.workers.program);
  for (const auto& [key, program] : scenario.workers.overrides) look(program);
}

void look_at_timeline(const Scenario& scenario, Reasons& reasons) {
  const std::span<const std::string_view> points = fault_points_of_torchrun();
  // Hooke's own background tasks, a disk that the guests do not use, starts of workers by the
  // launcher that tries again, and errors of hooke's classes.
  static const std::set<std::string, std::less<>> kWords{
      "thread.dies",       "disk.full",          "disk.short_write", "disk.stall",
      "sched.health_kill", "worker.start_fails", "agent.raise"};
  for (const TimelineEntry& entry : scenario.timeline) {
    if (kWords.contains(entry.what)) reasons.say(entry.what);
    const auto& point = entry.trigger.fault_point;
    if (point && std::find(points.begin(), points.end(), *point) == points.end())
      reasons.say("fault point " + *point);
  }
}

}  // namespace

std::vector<std::string> unsupported_by_guests(const Scenario& scenario, model::Variant release) {
  Reasons reasons;
  look_at_settings(scenario, release, reasons);
  look_at_workers(scenario, reasons);
  look_at_timeline(scenario, reasons);
  return std::move(reasons.list);
}

bool is_judged_of_guests(std::string_view invariant) {
  static_cast<void>(invariant);
  return true;
}

}  // namespace hooke::scenario
