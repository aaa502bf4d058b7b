// What PyTorch's agents cannot play in the simulated world, and of which invariants they show
// enough.
#include <algorithm>
#include <array>

#include "model/observe/background_tasks.h"
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

/// Why these agents do not feel it; "" when they do.
std::string missing_for(const TimelineEntry& entry) {
  if (entry.what == "sched.health_kill") return entry.what;  // the health check is hooke's
  if (entry.what == "thread.dies" && entry.text != model::tasks::kKeepAlive &&
      entry.text != model::tasks::kWatchdog)
    return "thread.dies of " + entry.text.value_or("");
  // At another time it is raised at the next fault point, which need not be the same one.
  const bool there = entry.trigger.fault_point && entry.trigger.after == Duration::zero();
  return entry.what == "agent.raise" && !there ? "agent.raise away from a fault point" : "";
}

void look_at_timeline(const Scenario& scenario, Reasons& reasons) {
  const std::span<const std::string_view> points = fault_points_of_torchrun();
  for (const TimelineEntry& entry : scenario.timeline) {
    if (const std::string missing = missing_for(entry); !missing.empty()) reasons.say(missing);
    const auto& point = entry.trigger.fault_point;
    if (point && std::find(points.begin(), points.end(), *point) == points.end())
      reasons.say("fault point " + *point);
  }
}

}  // namespace

std::vector<std::string> unsupported_by_guests(const Scenario& scenario, model::Variant release) {
  Reasons reasons;
  look_at_settings(scenario, release, reasons);
  look_at_timeline(scenario, reasons);
  return std::move(reasons.list);
}

bool is_judged_of_guests(std::string_view invariant) {
  static_cast<void>(invariant);
  return true;
}

}  // namespace hooke::scenario
