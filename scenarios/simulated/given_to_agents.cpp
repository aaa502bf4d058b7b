#include "scenarios/simulated/given_to_agents.h"

#include <algorithm>
#include <optional>

#include "model/plugin/plugin_choice.h"
#include "sim/port/check.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;

/// How long a member's key lives in the legacy rendezvous (PyTorch: elastic/rendezvous/
/// etcd_rendezvous.py, CONST_WORKER_KEEPALIVE_TTL).
constexpr Duration kLegacyKeepAlive = 10s;
/// What releases go by that do not read it (dynamic_rendezvous.py, RendezvousTimeout and
/// RendezvousSettings.keep_alive_interval).
constexpr Duration kHeartbeat = 5s, kKeepAlive = 3 * 5s;
/// The grace that they give workers (multiprocessing/api.py, PContext.close).
constexpr Duration kGrace = 30s;

properties::Timeouts spans_of(const Scenario& scenario, model::Variant variant) {
  const RendezvousPlan& rendezvous = scenario.protocol.rendezvous;
  const AgentPlan& agent = scenario.protocol.agent;
  properties::Timeouts given;
  given.join = rendezvous.join;
  given.last_call = rendezvous.last_call;
  given.close = rendezvous.close;
  given.read_timeout = rendezvous.read_timeout;
  given.heartbeat = kHeartbeat;
  given.keep_alive = kKeepAlive;
  if (model::reads_keep_alive_settings(variant)) {
    given.heartbeat = rendezvous.heartbeat;
    given.keep_alive = rendezvous.keep_alive_interval * rendezvous.keep_alive_max_attempts;
  }
  if (rendezvous.backend == "etcd") given.keep_alive = kLegacyKeepAlive;
  given.monitor = agent.monitor_interval;
  given.exit_barrier = agent.exit_barrier_timeout;
  given.shutdown = model::has_a_shutdown_timeout(variant) ? agent.shutdown_timeout : kGrace;
  // PyTorch's agents give that at the end alone.
  given.stop = variant == model::Variant::hardened ? given.shutdown : kGrace;
  HOOKE_CHECK(given.shutdown >= Duration::zero(), "a grace does not end before it begins");
  return given;
}

/// Work alone fails by nothing.
bool meets_first(const WorkerProgram& program) {
  const auto first = std::ranges::find_if(program, [](const WorkerStep& step) {
    return step.kind != WorkerStep::Kind::run && step.kind != WorkerStep::Kind::beat;
  });
  return first != program.end() && first->kind == WorkerStep::Kind::init;
}

/// What the built-in policies are told; nullopt: a policy of a project's own does as it likes.
std::optional<properties::Pauses> pauses_of(const model::PluginChoice& policy) {
  const bool alone = policy.name == "failed-only";
  if (policy.name == "backoff" || alone)
    return properties::Pauses{policy.span("first", alone ? 0s : 1s),
                              policy.integer("factor", 1, 1000, 2), policy.span("longest", 60s)};
  if (policy.name == "torch" || policy.name == "per-worker" || policy.name == "rerun")
    return properties::Pauses{};
  return std::nullopt;
}

std::optional<std::int64_t> attempts_of(const model::PluginChoice& policy) {
  constexpr std::int64_t kMost = 1'000'000'000, kUsual = 3;
  if (policy.name != "per-worker") return std::nullopt;
  return policy.integer("attempts", 1, kMost, kUsual);
}

/// For others at work before the closing.
Duration wait_of(const model::PluginChoice& shutdown) {
  if (shutdown.name == "strict") return properties::Given::kForEver;
  return shutdown.name == "graceful" ? shutdown.span("limit", 30s) : Duration::zero();
}

}  // namespace

properties::Given given_to_agents(const Scenario& scenario, model::Variant variant) {
  const WorkersPlan& workers = scenario.workers;
  const bool all_meet = std::ranges::all_of(
      workers.overrides, [](const auto& entry) { return meets_first(entry.second); });
  const auto policy = model::PluginChoice::parse(scenario.protocol.agent.restart_policy);
  const auto shutdown = model::PluginChoice::parse(scenario.protocol.agent.shutdown);
  properties::Given given{spans_of(scenario, variant), all_meet && meets_first(workers.program),
                          pauses_of(policy),           policy.name == "failed-only",
                          attempts_of(policy),         wait_of(shutdown)};
  if (given.pauses) given.spans.pause = given.pauses->after(scenario.protocol.agent.max_restarts);
  // The agent says that it is done, and the first and the last look at the others take as long as
  // the store does.
  if (given.waits > Duration::zero()) {
    const bool waits = given.waits != properties::Given::kForEver;
    given.spans.parting = (waits ? given.waits : Duration::zero()) + 3 * given.spans.read_timeout;
  }
  return given;
}

}  // namespace hooke::scenario
