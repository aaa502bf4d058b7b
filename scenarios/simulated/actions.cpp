// A word acts on what its descriptor names as its target; words that are more than one fault of the
// world have a method of their own, here or in CommonActions.
#include "scenarios/simulated/actions.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>

#include "sim/port/check.h"
#include "sim/world/fault_log.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {

using world::FaultKind;

namespace {

constexpr Duration kHealthPeriodMin = 1s;

/// The kind that the world calls by that name.
FaultKind kind_named(std::string_view name) {
  for (int i = 0; i <= static_cast<int>(FaultKind::process_raise); ++i) {
    if (to_string(static_cast<FaultKind>(i)) == name) return static_cast<FaultKind>(i);
  }
  HOOKE_CHECK(false, "a word with a target has the kind of one of the world's faults");
  return {};
}

/// "etcd_late_expiry"
model::EtcdMisbehaviour::Mode mode_of_kind(std::string_view kind) {
  using Mode = model::EtcdMisbehaviour::Mode;
  for (int i = 0; i <= static_cast<int>(Mode::duplicate_events); ++i) {
    if (kind == "etcd_" + std::string(to_string(static_cast<Mode>(i)))) return static_cast<Mode>(i);
  }
  HOOKE_CHECK(false, "a word of etcd has the kind of one of its modes");
  return {};
}

world::Fault fault_of(const Word& word, const TimelineEntry& entry) {
  constexpr std::int64_t kPartsPerBillion = 1'000;  // in one part per million
  world::Fault fault;
  fault.kind = kind_named(word.kind);
  fault.duration = entry.duration.value_or(Duration::zero());
  fault.span = entry.span.value_or(Duration::zero());
  fault.amount = entry.amount.value_or(0);
  fault.ratio_ppm = fault.amount;
  fault.text = entry.text.value_or("");
  if (entry.signal) fault.signal = *signal_named(*entry.signal);
  if (fault.kind == FaultKind::clock_drift) fault.amount *= kPartsPerBillion;
  if (fault.kind == FaultKind::port_busy) {
    fault.port = sim::PortNumber{static_cast<std::uint16_t>(fault.amount)};
  }
  return fault;
}

world::Fault killing(sim::NodeId node, sim::Pid pid) {
  HOOKE_CHECK(pid.value > 0, "what is killed is one process");
  world::Fault fault;
  fault.kind = FaultKind::process_signal;
  fault.signal = sim::Signal::kill;
  fault.node = node;
  fault.pid = pid;
  return fault;
}

}  // namespace

/// One entry that is being carried out.
struct Actions::Call {
  const Word& word;
  const TimelineEntry& entry;
  const std::vector<sim::NodeId>& nodes;  ///< resolved `from`
  Effect& effect;
};

struct Actions::Handler {
  std::string_view word;
  Method method;
};

const Actions::Handler* Actions::find_own(std::string_view word) {
  using A = Actions;
  static constexpr std::array kHandlers{
      Handler{"worker.slow_stop", &A::worker_slow_stop},
      Handler{"worker.children", &A::worker_children},
      Handler{"store.backlog", &A::store_backlog},
      Handler{"lease.expire", &A::lease_expire},
      Handler{"dns.unresolvable", &A::dns_unresolvable},
      Handler{"sched.health_kill", &A::sched_health_kill},
  };
  const auto* const found =
      std::find_if(kHandlers.begin(), kHandlers.end(),
                   [&](const Handler& handler) { return handler.word == word; });
  return found == kHandlers.end() ? nullptr : found;
}

bool Actions::can_be_done(const Word& word) {
  return word.target != Target::own || CommonActions::knows(word.name) ||
         find_own(word.name) != nullptr;
}

Actions::Actions(world::World& world, Cluster& cluster, const Roster& roster, Agenda& agenda)
    : world_(world),
      cluster_(cluster),
      roster_(roster),
      agenda_(agenda),
      names_(cluster.nodes(), cluster.store_machine(), roster,
             [&world](const std::string& name) { return world.find_node(name); }),
      common_(*this, roster) {}

void Actions::check(const TimelineEntry& entry) const {
  const Word* const word = find_word(entry.what);
  const auto refuse = [&](const std::string& why) {
    throw std::invalid_argument("timeline: \"" + entry.what + "\" " + why);
  };
  if (word == nullptr || !can_be_done(*word)) {
    refuse("is unknown, or unsupported in the simulated world");
  }
  if (word->needs(kBy) && !entry.span) refuse("needs \"by\"");
  if (word->needs(kAmount) && !entry.amount) refuse("needs \"amount\"");
  if (word->needs(kText) && !entry.text) refuse("needs \"text\"");
  if (word->needs(kPaths) && entry.from.empty()) refuse("needs \"from\"");
  if (word->needs(kNode) && entry.from.empty() && entry.trigger.at) refuse("needs \"node\"");
  if (entry.signal && !signal_named(*entry.signal)) refuse("has an unknown signal");
  if (word->external_store && !cluster_.store_is_external()) {
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

void Actions::act(const TimelineEntry& entry, std::optional<sim::NodeId> there, Effect& effect) {
  HOOKE_CHECK(find_word(entry.what) != nullptr, "an entry that was checked has a word");
  const Word& word = *find_word(entry.what);
  std::vector<sim::NodeId> nodes = names_.resolve(entry.from);
  if (entry.from.empty() && there) nodes.push_back(*there);
  const TimelineEntry whole = with_usual(word, entry);
  const Call call{word, whole, nodes, effect};
  switch (word.target) {
    case Target::own: break;
    case Target::nodes: return inject_at_nodes(call);
    case Target::agents: return inject_at_agents(call);
    case Target::workers: return inject_at_workers(call);
    case Target::paths: return inject_on_paths(call);
    case Target::store: return inject_at_store(call);
    case Target::etcd: return begin_etcd_mode(call);
  }
  if (CommonActions::knows(word.name)) return common_.act(whole, nodes, effect);
  const Handler* const own = find_own(word.name);
  HOOKE_CHECK(own != nullptr, "a word that was checked can be done");
  (this->*own->method)(call);
}

void Actions::on_event(const sim::Event& event) {
  if (event.type != &world::events::process_ended) return;
  if (roster_.agents(event.node) != std::vector<sim::Pid>{event.pid}) return;  // not its last agent
  common_.last_agent_ended(event.node, event.field("status").number());
}

void Actions::leave_to(const std::vector<sim::NodeId>& core) {
  left_alone_ = true;
  common_.leave_to(core);
  while (!misbehaving_.empty()) end_misbehaviour(misbehaving_.begin()->first);
}

// ---- one fault of the world ---------------------------------------------------------------------

void Actions::inject(world::Fault fault, Effect& effect) {
  effect.faults.push_back(world_.inject(fault));
}

void Actions::inject_at_nodes(const Call& call) {
  world::Fault fault = fault_of(call.word, call.entry);
  for (const sim::NodeId node : call.nodes) {
    fault.node = node;
    inject(fault, call.effect);
  }
}

void Actions::inject_at_agents(const Call& call) {
  world::Fault fault = fault_of(call.word, call.entry);
  for (const sim::NodeId node : call.nodes) {
    for (const sim::Pid pid : roster_.agents(node)) {
      fault.node = node;
      fault.pid = pid;
      inject(fault, call.effect);
    }
  }
}

void Actions::inject_at_workers(const Call& call) {
  world::Fault fault = fault_of(call.word, call.entry);
  for (const sim::NodeId node : call.nodes) {
    for (const sim::Pid pid : roster_.workers(node, call.entry.local_rank)) {
      fault.node = node;
      fault.pid = pid;
      inject(fault, call.effect);
    }
  }
}

/// Without a `from` every path is meant, wherever the trigger fired.
void Actions::inject_on_paths(const Call& call) {
  world::Fault fault = fault_of(call.word, call.entry);
  if (!call.entry.from.empty()) fault.paths.from = call.nodes;
  fault.paths.to = names_.resolve(call.entry.to);
  // A role that no node holds must not come to mean all nodes.
  if (fault.paths.from.empty() != call.entry.from.empty()) return;
  if (fault.paths.to.empty() != call.entry.to.empty()) return;
  fault.paths.one_way = call.entry.one_way;
  fault.paths.loopback = call.entry.from == call.entry.to && call.entry.to.size() == 1;
  inject(fault, call.effect);
}

void Actions::inject_at_store(const Call& call) {
  world::Fault fault = fault_of(call.word, call.entry);
  fault.node = cluster_.store_machine();
  fault.port = kStorePort;
  inject(fault, call.effect);
}

/// Without a node the name is lost to all of them, wherever the trigger fired.
void Actions::dns_unresolvable(const Call& call) {
  if (!call.entry.from.empty()) return inject_at_nodes(call);
  inject(fault_of(call.word, call.entry), call.effect);
}

// ---- what the common words need -----------------------------------------------------------------

bool Actions::start_agent(sim::NodeId node, const std::string& run_id) {
  return cluster_.start_agent(node, run_id);
}

void Actions::crash(sim::NodeId node, Effect& effect) {
  world::Fault fault;
  fault.kind = FaultKind::node_crash;
  fault.node = node;
  inject(fault, effect);
}

bool Actions::boot(sim::NodeId node, Effect& effect) {
  world::Fault fault;
  fault.kind = FaultKind::node_restart;
  fault.node = node;
  const bool was_down = !world_.node_up(node);
  inject(fault, effect);
  return was_down;
}

void Actions::kill_store(Effect& effect) {
  const std::optional<sim::Pid> server = cluster_.store_process();
  if (server) inject(killing(cluster_.store_machine(), *server), effect);
}

void Actions::start_store() {
  cluster_.start_store();
}

bool Actions::is_external_store(sim::NodeId node) const {
  return node == cluster_.store_machine() && cluster_.store_is_external();
}

void Actions::later(Duration after, std::function<void()> action) {
  agenda_.later(after, std::move(action));
}

// ---- the store and etcd -------------------------------------------------------------------------

void Actions::store_backlog(const Call& call) {
  HOOKE_CHECK(call.entry.amount.has_value(), "a word that was checked has what it needs");
  world::ServiceModel model = cluster_.store_service();
  model.backlog = static_cast<std::size_t>(*call.entry.amount);
  world_.set_service(cluster_.store_machine(), kStorePort, model);
  ++call.effect.felt;
}

/// What etcd itself does is no fault of the world's engine, but the invariants must know of it.
std::int64_t Actions::announce(const std::string& kind, Duration lasts) {
  const std::int64_t fault = -++announced_;
  HOOKE_CHECK(fault < 0, "what etcd does has numbers beside those of the world's faults");
  world_.emit(world::events::fault_injected,
              {fault, kind, world_.node_name(cluster_.store_machine()), lasts});
  return fault;
}

void Actions::lease_expire(const Call& call) {
  static_cast<void>(announce(std::string(call.word.kind), {}));
  cluster_.etcd_misbehaviour()->expire(call.effect.felt);
}

void Actions::begin_etcd_mode(const Call& call) {
  HOOKE_CHECK(cluster_.etcd_misbehaviour() != nullptr, "a word of etcd acts on an etcd");
  model::EtcdMisbehaviour& etcd = *cluster_.etcd_misbehaviour();
  const model::EtcdMisbehaviour::Mode mode = mode_of_kind(call.word.kind);
  const std::string kind(call.word.kind);
  const std::int64_t fault = announce(kind, call.entry.duration.value_or(Duration::zero()));
  etcd.begin(mode, call.effect.felt);
  HOOKE_CHECK(!misbehaving_.contains(fault), "what is announced has a number of its own");
  misbehaving_[fault] = {mode, kind};
  if (!call.entry.duration) return;
  agenda_.later(*call.entry.duration, [this, fault] { end_misbehaviour(fault); });
}

void Actions::end_misbehaviour(std::int64_t fault) {
  const auto over = misbehaving_.extract(fault);
  if (!over) return;
  cluster_.etcd_misbehaviour()->end(over.mapped().mode);
  world_.emit(world::events::fault_ended, {fault, over.mapped().kind, std::int64_t{0}});
}

// ---- workers and schedulers ---------------------------------------------------------------------

void Actions::worker_slow_stop(const Call& call) {
  HOOKE_CHECK(call.entry.span.has_value(), "a word that was checked has what it needs");
  for (const sim::NodeId node : call.nodes) {
    const auto workers = roster_.workers(node, call.entry.local_rank);
    cluster_.stop_slowly(node, call.entry.local_rank, *call.entry.span, workers);
    call.effect.felt += workers.size();
  }
}

void Actions::worker_children(const Call& call) {
  HOOKE_CHECK(call.entry.amount.has_value(), "a word that was checked has what it needs");
  for (const sim::NodeId node : call.nodes) {
    for (const sim::Pid pid : roster_.workers(node, call.entry.local_rank)) {
      call.effect.felt +=
          static_cast<std::uint64_t>(cluster_.spawn_children(node, pid, *call.entry.amount));
    }
  }
}

void Actions::sched_health_kill(const Call& call) {
  HOOKE_CHECK(call.entry.span.has_value(), "a word that was checked has what it needs");
  const Duration period = std::max<Duration>(*call.entry.span, kHealthPeriodMin);
  for (const sim::NodeId node : call.nodes) {
    const bool watched = cluster_.watch_health(node, period, [this, node, effect = &call.effect] {
      if (left_alone_) return;
      for (const sim::Pid pid : roster_.agents(node)) {
        inject(killing(node, pid), *effect);
      }
    });
    call.effect.felt += watched ? 1 : 0;
  }
}

}  // namespace hooke::scenario
