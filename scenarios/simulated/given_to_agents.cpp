#include "scenarios/simulated/given_to_agents.h"

#include <algorithm>

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

}  // namespace

properties::Given given_to_agents(const Scenario& scenario, model::Variant variant) {
  const WorkersPlan& workers = scenario.workers;
  const bool all_meet = std::ranges::all_of(
      workers.overrides, [](const auto& entry) { return meets_first(entry.second); });
  return {spans_of(scenario, variant), all_meet && meets_first(workers.program)};
}

}  // namespace hooke::scenario
