// A world is drawn part by part, each from a stream of its own: adding a fault changes nothing in
// the others.
#include "scenarios/swarm/swarm.h"

#include <algorithm>
#include <array>

#include "properties/invariants/core.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/simulated/given_to_agents.h"
#include "scenarios/simulated/healed_core.h"
#include "scenarios/swarm/draws.h"
#include "scenarios/swarm/swarm_parts.h"

namespace hooke::hunt {
namespace {

using namespace std::chrono_literals;
using kernel::Stream;
using scenario::NodePlan;
using scenario::Scenario;

std::string seconds_text(Duration span) {
  return std::to_string(std::chrono::duration_cast<std::chrono::seconds>(span).count()) + "s";
}

/// Pauses of some seconds, or that grow to a minute.
std::string pauses(Stream& draws) {
  const Duration first = one_of(draws, std::array<Duration, 3>{1s, 5s, 20s});
  const Duration longest = one_of(draws, std::array<Duration, 2>{20s, 60s});
  return "first=" + seconds_text(first) + ",factor=" + std::to_string(between(draws, {1, 5})) +
         ",longest=" + seconds_text(longest);
}

/// Of its own accord, whatever else befalls it.
bool one_fails(const scenario::WorkersPlan& workers) {
  using Kind = scenario::WorkerStep::Kind;
  return std::ranges::any_of(workers.overrides, [](const auto& entry) {
    return std::ranges::any_of(entry.second, [](const scenario::WorkerStep& step) {
      return step.kind == Kind::signal || (step.kind == Kind::exit && step.code != 0);
    });
  });
}

/// Workers that train together: one that is started again alone cannot join the others.
bool is_common_work(const scenario::WorkerProgram& program) {
  return std::ranges::any_of(program, [](const scenario::WorkerStep& step) {
    return step.kind == scenario::WorkerStep::Kind::init;
  });
}

/// Draws one world.
class Drawing {
 public:
  Drawing(const Swarm& swarm, std::uint64_t seed) : swarm_(swarm), source_(seed) {
    world_.name = "world-" + std::to_string(seed);
    world_.seed = seed;
    world_.time_limit = swarm.time_limit;
  }

  Scenario drawn() {
    protocol();
    parts();
    cluster();
    draw_workers(swarm_, source_, world_);
    policies();
    pools();
    draw_faults(swarm_, source_, world_);
    if (swarm_.cores) core();
    return std::move(world_);
  }

 private:
  void protocol();
  void parts();
  void cluster();
  void policies();
  void pools();
  void mix(scenario::ClusterPlan& plan);
  void core();
  [[nodiscard]] Duration longest_end() const;

  const Swarm& swarm_;
  kernel::SeededSource source_;
  Scenario world_;
};

void Drawing::protocol() {
  Stream draws(source_, "swarm.protocol", 0);
  scenario::ProtocolPlan& plan = world_.protocol;
  plan.variant = one_of(draws, swarm_.variants);
  if (swarm_.mixed) plan.variant = swarm_.variants.front();
  plan.defects = swarm_.defects;
  scenario::RendezvousPlan& rendezvous = plan.rendezvous;
  rendezvous.backend = one_of(draws, swarm_.backends);
  rendezvous.max_nodes = between(draws, swarm_.nodes);
  const std::int64_t spare = between(draws, swarm_.spare_seats);
  rendezvous.min_nodes = std::max<std::int64_t>(1, rendezvous.max_nodes - spare);
  if (rendezvous.backend == "static") rendezvous.min_nodes = rendezvous.max_nodes;
  rendezvous.join = one_of(draws, std::array<Duration, 3>{30s, 60s, 600s});
  rendezvous.last_call = one_of(draws, std::array<Duration, 3>{1s, 5s, 30s});
  rendezvous.close = one_of(draws, std::array<Duration, 2>{5s, 30s});
  rendezvous.keep_alive_interval = one_of(draws, std::array<Duration, 3>{1s, 5s, 5s});
  rendezvous.read_timeout = one_of(draws, std::array<Duration, 3>{5s, 20s, 60s});
  scenario::AgentPlan& agent = plan.agent;
  agent.max_restarts = between(draws, swarm_.max_restarts);
  agent.monitor_interval = one_of(draws, std::array<Duration, 3>{100ms, 100ms, 5s});
  agent.exit_barrier_timeout = one_of(draws, std::array<Duration, 2>{60s, 300s});
  agent.shutdown_timeout = one_of(draws, std::array<Duration, 2>{5s, 30s});
  if (one_in(draws, 3)) agent.environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1";
}

void Drawing::parts() {
  Stream draws(source_, "swarm.parts", 0);
  scenario::AgentPlan& agent = world_.protocol.agent;
  const std::vector<std::string> usual{"torch"};
  const auto named = [&](const std::vector<std::string>& all) -> const std::string& {
    return one_of(draws, all.empty() ? usual : all);
  };
  agent.restart_policy = named(swarm_.restart_policies);
  agent.process_launcher = one_of(draws, swarm_.process_launchers);
  agent.shutdown = named(swarm_.shutdowns);
}

/// What PyTorch's agents do not have.
void Drawing::policies() {
  if (world_.protocol.variant != model::Variant::hardened) return;
  Stream draws(source_, "swarm.policy", 0);
  scenario::AgentPlan& agent = world_.protocol.agent;
  // Without a restart no policy says anything, and seldom where no worker is sure to fail.
  const bool drawn = one_in(draws, one_fails(world_.workers) ? 3 : 12) && agent.max_restarts > 0;
  if (drawn && swarm_.restart_policies.empty()) {
    const std::uint64_t kind = draws.below(8);
    if (kind < 3) {
      agent.restart_policy = "per-worker:attempts=" + std::to_string(one_in(draws, 3) ? 2 : 1);
    } else if (kind == 3) {
      agent.restart_policy = "rerun:runs=2";
    } else if (kind < 6 && !is_common_work(world_.workers.program)) {
      agent.restart_policy = "failed-only:" + pauses(draws) + ",rejoin=yes";
    } else {
      agent.restart_policy = "backoff:" + pauses(draws);
    }
  }
  Stream manner(source_, "swarm.manner", 0);
  if (one_in(manner, 8) && swarm_.shutdowns.empty()) {
    const Duration limit = one_of(manner, std::array<Duration, 3>{3s, 20s, 60s});
    agent.shutdown = one_in(manner, 4) ? "strict" : "graceful:limit=" + seconds_text(limit);
  }
}

/// A worker that is leased needs a pool on its machine. Mostly there is room for a group that has not
/// been given back yet beside the one that follows.
void Drawing::pools() {
  if (!world_.protocol.agent.process_launcher.starts_with("pool")) return;
  Stream draws(source_, "swarm.pools", 0);
  const std::int64_t group = world_.workers.per_node;
  world_.cluster.pool_slots = one_in(draws, 3) ? group : 2 * group;
}

/// Without it the world is that of a swarm whose only variant is the first.
void Drawing::mix(scenario::ClusterPlan& plan) {
  Stream draws(source_, "swarm.mixture", 0);
  for (NodePlan& node : plan.nodes) {
    const model::Variant own = one_of(draws, swarm_.variants);
    if (own != world_.protocol.variant) node.variant = own;
  }
}

void Drawing::cluster() {
  Stream draws(source_, "swarm.cluster", 0);
  const scenario::RendezvousPlan& rendezvous = world_.protocol.rendezvous;
  scenario::ClusterPlan& plan = world_.cluster;
  const std::int64_t surplus =
      rendezvous.backend == "static" ? 0 : between(draws, swarm_.surplus_nodes);
  const std::int64_t count = rendezvous.max_nodes + surplus;
  for (std::int64_t i = 0; i < count; ++i) {
    NodePlan node;
    node.id = count <= 26 ? std::string(1, static_cast<char>('a' + i)) : "n" + std::to_string(i);
    plan.nodes.push_back(node);
  }
  if (one_in(draws, 2)) {
    for (NodePlan& node : plan.nodes) {
      if (!one_in(draws, 3)) continue;
      node.start = std::min(moment(draws, 60), world_.time_limit);
      if (one_in(draws, 8)) node.start.reset();  // comes only if the timeline says so
    }
  }
  if (swarm_.mixed) mix(plan);
  if (one_in(draws, 4)) {
    NodePlan& node = plan.nodes[draws.below(plan.nodes.size())];
    node.clock_skew = one_of(draws, std::array<Duration, 4>{-60s, -7s, 7s, 60s});
  }
  if (rendezvous.backend.starts_with("etcd") || one_in(draws, 3)) {
    plan.store_host.clear();
  } else {
    plan.store_host = one_in(draws, 4) ? some_node(draws, world_) : plan.nodes.front().id;
  }
  // There the first node serves, wherever the others are sent to.
  if (rendezvous.backend == "static") plan.store_host = plan.nodes.front().id;
  if (one_in(draws, 4)) {
    plan.latency_median = one_of(draws, std::array<Duration, 3>{20us, 1ms, 20ms});
    // No slower than the shortest keep-alive can stand: a network on which a living node must look
    // dead shows nothing else.
    plan.latency_p99 = plan.latency_median * between(draws, {1, 10});
  }
}

/// Enough nodes for a round in most worlds, healed when what the timeline does at a time is over.
void Drawing::core() {
  Stream draws(source_, "swarm.core", 0);
  if (one_in(draws, 2)) return;
  const auto count = static_cast<std::int64_t>(world_.cluster.nodes.size());
  const bool enough = !one_in(draws, 6);
  const std::int64_t least = enough ? world_.protocol.rendezvous.min_nodes : 1;
  const std::int64_t size = between(draws, {least, count});
  scenario::CorePlan& plan = world_.core.emplace();
  plan.at = seconds(draws, 60, 150);
  // Each node in turn, as likely as there are places left for it.
  for (std::int64_t i = 0, left = size; i < count && left > 0; ++i) {
    if (static_cast<std::int64_t>(draws.below(static_cast<std::uint64_t>(count - i))) >= left)
      continue;
    plan.nodes.push_back(world_.cluster.nodes[static_cast<std::size_t>(i)].id);
    --left;
  }
  // Twice, for what befalls the core once more.
  world_.time_limit = std::max(world_.time_limit, plan.at + 2 * longest_end());
}

/// How long a core may take to end.
Duration Drawing::longest_end() const {
  const scenario::RendezvousPlan& rendezvous = world_.protocol.rendezvous;
  const scenario::AgentPlan& agent = world_.protocol.agent;
  properties::Timeouts with;
  with.join = rendezvous.join;
  with.last_call = rendezvous.last_call;
  with.close = rendezvous.close;
  with.keep_alive = rendezvous.keep_alive_interval * rendezvous.keep_alive_max_attempts;
  with.read_timeout = rendezvous.read_timeout;
  with.monitor = agent.monitor_interval;
  with.exit_barrier = agent.exit_barrier_timeout;
  with.shutdown = agent.shutdown_timeout;
  const properties::Timeouts given = given_to_agents(world_, world_.protocol.variant).spans;
  with.pause = given.pause;
  with.parting = given.parting;
  const Duration work = scenario::work_needed(world_.workers).longest +
                        scenario::wait_for_peers(world_).value_or(Duration::zero());
  return properties::core_bound(rendezvous.backend, with, work) + with.join + with.read_timeout;
}

}  // namespace

Scenario draw(const Swarm& swarm, std::uint64_t seed) {
  return Drawing(swarm, seed).drawn();
}

Swarm differential_swarm() {
  Swarm swarm;
  swarm.backends = {"c10d"};
  const auto points = scenario::fault_points_of_torchrun();
  swarm.fault_points.assign(points.begin(), points.end());
  swarm.strategies = {kernel::Strategy::fifo};
  return swarm;
}

}  // namespace hooke::hunt
