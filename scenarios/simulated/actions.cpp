// One table of words; each names the method that carries it out.
#include "scenarios/simulated/actions.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "scenarios/format/vocabulary.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {

using world::FaultKind;
using EtcdMode = model::EtcdMisbehaviour::Mode;

namespace {

constexpr Duration kRebootTime = 30s;
constexpr Duration kRelaunchDelay = 10s;
constexpr Duration kHealthPeriod = 10s;
constexpr Duration kHealthPeriodMin = 1s;

world::Fault fault_of(FaultKind kind, const TimelineEntry& entry) {
  world::Fault fault;
  fault.kind = kind;
  fault.duration = entry.duration.value_or(Duration::zero());
  fault.span = entry.span.value_or(Duration::zero());
  fault.amount = entry.amount.value_or(0);
  fault.text = entry.text.value_or("");
  return fault;
}

}  // namespace

/// One entry that is being carried out.
struct Actions::Call {
  const TimelineEntry& entry;
  FaultKind kind;
  EtcdMode mode;
  const std::vector<sim::NodeId>& nodes;  ///< resolved `from`
  Effect& effect;
};

/// How a word is carried out, and by which of the world's faults if by one.
struct Actions::Handler {
  std::string_view name;
  Method method;
  FaultKind kind = FaultKind::process_signal;
  EtcdMode mode{};  ///< of etcd, with etcd_mode
};

const Actions::Handler* Actions::find(std::string_view word) {
  using A = Actions;
  using K = FaultKind;
  static constexpr std::array handlers{
      Handler{"agent.start", &A::agent_start},
      Handler{"agent.restart", &A::agent_restart},
      Handler{"agent.kill", &A::agent_signal},
      Handler{"agent.signal", &A::agent_signal},
      Handler{"agent.pause", &A::agent_fault, K::process_pause},
      Handler{"node.crash", &A::node_crash, K::node_crash},
      Handler{"node.restart", &A::node_restart, K::node_restart},
      Handler{"node.reboot", &A::node_crash, K::node_crash},
      Handler{"worker.exit", &A::worker_fault, K::process_exit},
      Handler{"worker.signal", &A::worker_fault, K::process_signal},
      Handler{"worker.hang", &A::worker_fault, K::process_hang},
      Handler{"worker.unkillable", &A::worker_fault, K::process_unkillable},
      Handler{"worker.slow_stop", &A::worker_slow_stop, K::process_signal},
      Handler{"worker.children", &A::worker_children},
      Handler{"pid.reuse", &A::worker_fault, K::pid_reuse},
      Handler{"net.partition", &A::inject_on_paths, K::net_partition},
      Handler{"net.delay", &A::inject_on_paths, K::net_delay},
      Handler{"net.loss", &A::inject_on_paths, K::net_loss},
      Handler{"net.reset", &A::inject_on_paths, K::net_reset},
      Handler{"net.clog", &A::inject_on_paths, K::net_clog},
      Handler{"net.bandwidth", &A::inject_on_paths, K::net_bandwidth},
      Handler{"store.slow", &A::inject_at_store, K::service_slow},
      Handler{"store.stop", &A::inject_at_store, K::service_stop},
      Handler{"store.error", &A::inject_at_store, K::service_error},
      Handler{"store.reply_lost", &A::inject_at_store, K::service_reply_lost},
      Handler{"store.backlog", &A::store_backlog, K::service_stop},
      Handler{"store.restart", &A::store_restart},
      Handler{"clock.skew", &A::node_fault, K::clock_skew},
      Handler{"clock.jump", &A::node_fault, K::clock_jump},
      Handler{"clock.drift", &A::node_fault, K::clock_drift},
      Handler{"clock.freeze", &A::node_fault, K::clock_freeze},
      Handler{"dns.alias", &A::dns_fault, K::dns_alias},
      Handler{"dns.unresolvable", &A::dns_fault, K::dns_unresolvable},
      Handler{"port.busy", &A::node_fault, K::port_busy},
      Handler{"port.steal", &A::node_fault, K::port_steal},
      Handler{"job.collide", &A::job_collide},
      Handler{"disk.full", &A::node_fault, K::disk_full},
      Handler{"disk.short_write", &A::node_fault, K::disk_short_write},
      Handler{"thread.dies", &A::agent_fault, K::fiber_dies},
      Handler{"sched.relaunch", &A::sched_relaunch},
      Handler{"sched.health_kill", &A::sched_health_kill},
      Handler{"lease.expire", &A::lease_expire},
      Handler{"lease.late", &A::etcd_mode, {}, EtcdMode::late_expiry},
      Handler{"store.stale_read", &A::etcd_mode, {}, EtcdMode::stale_read},
      Handler{"store.compact", &A::etcd_mode, {}, EtcdMode::compaction},
      Handler{"store.leader_change", &A::etcd_mode, {}, EtcdMode::leader_loss},
      Handler{"store.unknown_outcome", &A::etcd_mode, {}, EtcdMode::unknown_outcome},
      Handler{"store.duplicate_events", &A::etcd_mode, {}, EtcdMode::duplicate_events},
  };
  const auto found = std::find_if(handlers.begin(), handlers.end(),
                                  [&](const Handler& handler) { return handler.name == word; });
  return found == handlers.end() ? nullptr : &*found;
}

Actions::Actions(world::World& world, Cluster& cluster, const Roster& roster, Agenda& agenda)
    : world_(world), cluster_(cluster), roster_(roster), agenda_(agenda) {}

void Actions::check(const TimelineEntry& entry) const {
  const Word* const word = find_word(entry.what);
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("timeline: \"" + entry.what + "\" " + why);
  };
  if (word == nullptr || find(entry.what) == nullptr) {
    refuse("is unknown, or unsupported in the simulated world");
  }
  const auto needs = [&](Parameter parameter) { return (word->required & parameter) != 0; };
  if (needs(kBy) && !entry.span) refuse("needs \"by\"");
  if (needs(kAmount) && !entry.amount) refuse("needs \"amount\"");
  if (needs(kText) && !entry.text) refuse("needs \"text\"");
  if (needs(kPaths) && entry.from.empty()) refuse("needs \"from\"");
  if (needs(kNode) && entry.from.empty() && entry.trigger.at) refuse("needs \"node\"");
  if (entry.signal && !signal_named(*entry.signal)) refuse("has an unknown signal");
  if (entry.what == "store.restart" && !cluster_.store_is_external()) {
    refuse("needs an external store: here the store lives and dies with its agent");
  }
  if (word->etcd && cluster_.etcd_misbehaviour() == nullptr) {
    refuse("needs a rendezvous backend of etcd");
  }
  for (const auto* names : {&entry.from, &entry.to}) {
    for (const std::string& name : *names) {
      const bool role = std::find(roles().begin(), roles().end(), name) != roles().end();
      if (!role && !world_.find_node(name)) refuse("names no node: \"" + name + "\"");
    }
  }
}

std::vector<sim::NodeId> Actions::resolve(const std::vector<std::string>& names) const {
  std::vector<sim::NodeId> nodes;
  const auto add = [&](sim::NodeId node) {
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  };
  for (const std::string& name : names) {
    if (name == "all") {
      for (const sim::NodeId node : cluster_.nodes()) add(node);
    } else if (name == "store_host") {
      add(cluster_.store_machine());
    } else if (name == "rank0") {
      if (roster_.rank0()) add(*roster_.rank0());
    } else {
      add(*world_.find_node(name));
    }
  }
  return nodes;
}

void Actions::act(const TimelineEntry& entry, std::optional<sim::NodeId> there, Effect& effect) {
  const Handler& handler = *find(entry.what);
  std::vector<sim::NodeId> nodes = resolve(entry.from);
  if (entry.from.empty() && there) nodes.push_back(*there);
  (this->*handler.method)({entry, handler.kind, handler.mode, nodes, effect});
}

// ---- faults of the world ------------------------------------------------------------------------

void Actions::inject_at_nodes(const Call& call, world::Fault fault) {
  for (const sim::NodeId node : call.nodes) {
    fault.node = node;
    call.effect.faults.push_back(world_.inject(fault));
  }
}

void Actions::inject_at_agents(const Call& call, world::Fault fault) {
  for (const sim::NodeId node : call.nodes) {
    for (const sim::Pid pid : roster_.agents(node)) {
      fault.node = node;
      fault.pid = pid;
      call.effect.faults.push_back(world_.inject(fault));
    }
  }
}

void Actions::inject_at_workers(const Call& call, world::Fault fault) {
  for (const sim::NodeId node : call.nodes) {
    for (const sim::Pid pid : roster_.workers(node, call.entry.local_rank)) {
      fault.node = node;
      fault.pid = pid;
      call.effect.faults.push_back(world_.inject(fault));
    }
  }
}

/// Without a `from` every path is meant, wherever the trigger fired.
void Actions::inject_on_paths(const Call& call) {
  world::Fault fault = fault_of(call.kind, call.entry);
  if (!call.entry.from.empty()) fault.paths.from = call.nodes;
  fault.paths.to = resolve(call.entry.to);
  // A role that nobody holds must not come to mean everybody.
  if (fault.paths.from.empty() != call.entry.from.empty()) return;
  if (fault.paths.to.empty() != call.entry.to.empty()) return;
  fault.paths.one_way = call.entry.one_way;
  fault.paths.loopback = call.entry.from == call.entry.to && call.entry.to.size() == 1;
  fault.ratio_ppm = fault.amount;
  call.effect.faults.push_back(world_.inject(fault));
}

void Actions::inject_at_store(const Call& call) {
  world::Fault fault = fault_of(call.kind, call.entry);
  fault.node = cluster_.store_machine();
  fault.port = kStorePort;
  call.effect.faults.push_back(world_.inject(fault));
}

void Actions::node_fault(const Call& call) {
  world::Fault fault = fault_of(call.kind, call.entry);
  if (call.kind == FaultKind::clock_drift) fault.amount *= 1000;  // ppm to ppb
  if (call.kind == FaultKind::port_busy) {
    fault.port = sim::PortNumber{static_cast<std::uint16_t>(fault.amount)};
  }
  inject_at_nodes(call, fault);
}

void Actions::dns_fault(const Call& call) {
  if (call.kind == FaultKind::dns_unresolvable && call.entry.from.empty()) {
    // For everybody, wherever the trigger fired.
    call.effect.faults.push_back(world_.inject(fault_of(call.kind, call.entry)));
  } else {
    inject_at_nodes(call, fault_of(call.kind, call.entry));
  }
}

void Actions::store_backlog(const Call& call) {
  world::ServiceModel model = cluster_.store_service();
  model.backlog = static_cast<std::size_t>(*call.entry.amount);
  world_.set_service(cluster_.store_machine(), kStorePort, model);
  ++call.effect.felt;
}

// ---- agents -------------------------------------------------------------------------------------

void Actions::agent_fault(const Call& call) {
  inject_at_agents(call, fault_of(call.kind, call.entry));
}

void Actions::agent_signal(const Call& call) {
  world::Fault fault = fault_of(call.kind, call.entry);
  const char* const usual = call.entry.what == "agent.kill" ? "KILL" : "TERM";
  fault.signal = *signal_named(call.entry.signal.value_or(usual));
  inject_at_agents(call, fault);
}

void Actions::agent_start(const Call& call) {
  for (const sim::NodeId node : call.nodes) call.effect.felt += cluster_.start_agent(node) ? 1 : 0;
}

void Actions::job_collide(const Call& call) {
  for (const sim::NodeId node : call.nodes) {
    const std::string run_id = call.entry.text.value_or(std::string(kRunId));
    call.effect.felt += cluster_.start_agent(node, run_id) ? 1 : 0;
  }
}

void Actions::agent_restart(const Call& call) {
  for (const sim::NodeId node : call.nodes) {
    if (roster_.agents(node).empty()) {
      call.effect.felt += cluster_.start_agent(node) ? 1 : 0;
    } else {
      restart_when_ended_[node] = &call.effect;
    }
  }
}

void Actions::sched_relaunch(const Call& call) {
  for (const sim::NodeId node : call.nodes) {
    relaunches_[node] = {call.entry.span.value_or(kRelaunchDelay), call.entry.amount.value_or(1),
                         &call.effect};
  }
}

void Actions::sched_health_kill(const Call& call) {
  const Duration period =
      std::max<Duration>(call.entry.span.value_or(kHealthPeriod), kHealthPeriodMin);
  for (const sim::NodeId node : call.nodes) {
    const bool watched = cluster_.watch_health(node, period, [this, node, effect = &call.effect] {
      if (left_alone_) return;
      world::Fault kill;
      kill.kind = FaultKind::process_signal;
      kill.signal = sim::Signal::kill;
      kill.node = node;
      for (const sim::Pid pid : roster_.agents(node)) {
        kill.pid = pid;
        effect->faults.push_back(world_.inject(kill));
      }
    });
    call.effect.felt += watched ? 1 : 0;
  }
}

void Actions::on_event(const sim::Event& event) {
  if (event.type != &world::events::process_ended) return;
  const sim::NodeId node = event.node;
  if (roster_.agents(node) != std::vector<sim::Pid>{event.pid}) return;  // not its last agent
  if (const auto waiting = restart_when_ended_.extract(node)) {
    agenda_.later(Duration::zero(), [this, node, effect = waiting.mapped()] {
      effect->felt += cluster_.start_agent(node) ? 1 : 0;
    });
  }
  const auto relaunch = relaunches_.find(node);
  if (relaunch == relaunches_.end() || relaunch->second.left == 0) return;
  if (event.field("status").number() == 0) return;
  --relaunch->second.left;
  agenda_.later(relaunch->second.after, [this, node, effect = relaunch->second.effect] {
    if (!relaunches_.contains(node)) return;
    if (roster_.agents(node).empty()) effect->felt += cluster_.start_agent(node) ? 1 : 0;
  });
}

// ---- nodes and the store ------------------------------------------------------------------------

void Actions::node_crash(const Call& call) {
  world::Fault crash;
  crash.kind = FaultKind::node_crash;
  inject_at_nodes(call, crash);
  std::optional<Duration> down = call.entry.duration;
  if (!down && call.entry.what == "node.reboot") down = kRebootTime;
  if (!down) return;
  for (const sim::NodeId node : call.nodes) {
    agenda_.later(*down, [this, node, effect = &call.effect] { start_again(node, *effect); });
  }
}

void Actions::start_again(sim::NodeId node, Effect& effect) {
  if (left_alone_) return;
  world::Fault fault;
  fault.kind = FaultKind::node_restart;
  fault.node = node;
  const bool was_down = !world_.node_up(node);
  effect.faults.push_back(world_.inject(fault));
  if (!was_down) return;
  if (node == cluster_.store_machine() && cluster_.store_is_external()) {
    cluster_.start_store();
  } else {
    cluster_.start_agent(node);
  }
}

void Actions::node_restart(const Call& call) {
  for (const sim::NodeId node : call.nodes) start_again(node, call.effect);
}

void Actions::store_restart(const Call& call) {
  if (const std::optional<sim::Pid> server = cluster_.store_process()) {
    world::Fault fault;
    fault.kind = FaultKind::process_signal;
    fault.signal = sim::Signal::kill;
    fault.node = cluster_.store_machine();
    fault.pid = server;
    call.effect.faults.push_back(world_.inject(fault));
  }
  agenda_.later(call.entry.duration.value_or(Duration::zero()), [this] { cluster_.start_store(); });
}

/// What etcd itself does is no fault of the world's engine, but whoever judges must know of it.
std::int64_t Actions::announce(const std::string& kind, Duration lasts) {
  const std::int64_t fault = -++announced_;
  world_.emit(world::events::fault_injected,
              {fault, kind, world_.node_name(cluster_.store_machine()), lasts});
  return fault;
}

void Actions::lease_expire(const Call& call) {
  static_cast<void>(announce("etcd_expiry", {}));
  cluster_.etcd_misbehaviour()->expire(call.effect.felt);
}

void Actions::etcd_mode(const Call& call) {
  model::EtcdMisbehaviour& etcd = *cluster_.etcd_misbehaviour();
  const std::string kind = "etcd_" + std::string(to_string(call.mode));
  const std::int64_t fault = announce(kind, call.entry.duration.value_or(Duration::zero()));
  etcd.begin(call.mode, call.effect.felt);
  misbehaving_[fault] = {call.mode, kind};
  if (!call.entry.duration) return;
  agenda_.later(*call.entry.duration, [this, fault] { end_misbehaviour(fault); });
}

void Actions::end_misbehaviour(std::int64_t fault) {
  const auto over = misbehaving_.extract(fault);
  if (!over) return;
  cluster_.etcd_misbehaviour()->end(over.mapped().mode);
  world_.emit(world::events::fault_ended, {fault, over.mapped().kind, std::int64_t{0}});
}

void Actions::leave_to(const std::vector<sim::NodeId>& core) {
  left_alone_ = true;
  const auto lost = [&](const auto& entry) {
    return std::find(core.begin(), core.end(), entry.first) == core.end();
  };
  std::erase_if(restart_when_ended_, lost);
  std::erase_if(relaunches_, lost);
  while (!misbehaving_.empty()) end_misbehaviour(misbehaving_.begin()->first);
}

// ---- workers ------------------------------------------------------------------------------------

void Actions::worker_fault(const Call& call) {
  world::Fault fault = fault_of(call.kind, call.entry);
  if (call.kind == FaultKind::process_exit) fault.amount = call.entry.amount.value_or(1);
  fault.signal = *signal_named(call.entry.signal.value_or("KILL"));
  inject_at_workers(call, fault);
}

void Actions::worker_slow_stop(const Call& call) {
  for (const sim::NodeId node : call.nodes) {
    const auto workers = roster_.workers(node, call.entry.local_rank);
    cluster_.stop_slowly(node, call.entry.local_rank, *call.entry.span, workers);
    call.effect.felt += workers.size();
  }
}

void Actions::worker_children(const Call& call) {
  for (const sim::NodeId node : call.nodes) {
    for (const sim::Pid pid : roster_.workers(node, call.entry.local_rank)) {
      call.effect.felt += static_cast<std::uint64_t>(
          cluster_.spawn_children(node, pid, call.entry.amount.value_or(1)));
    }
  }
}

}  // namespace hooke::scenario
