// A world is drawn part by part, each from a stream of its own: adding a fault changes nothing in
// the others.
#include "scenarios/hunt/swarm.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "properties/invariants/core.h"
#include "properties/invariants/invariant.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/simulated/healed_core.h"
#include "sim/port/process_host.h"

namespace hooke::hunt {
namespace {

using namespace std::chrono_literals;
using kernel::Stream;
using scenario::NodePlan;
using scenario::Scenario;
using scenario::TimelineEntry;
using scenario::Word;
using scenario::WorkerProgram;
using scenario::WorkerStep;

std::int64_t between(Stream& draws, Range range) {
  return range.low + static_cast<std::int64_t>(
                         draws.below(static_cast<std::uint64_t>(range.high - range.low) + 1));
}

bool one_in(Stream& draws, std::uint64_t n) {
  return draws.below(n) == n - 1;
}

template <class Items>
const auto& one_of(Stream& draws, const Items& items) {
  return items[draws.below(items.size())];
}

Duration seconds(Stream& draws, std::int64_t low, std::int64_t high) {
  return std::chrono::seconds(between(draws, {low, high}));
}

Duration milliseconds(Stream& draws, std::int64_t low, std::int64_t high) {
  return std::chrono::milliseconds(between(draws, {low, high}));
}

/// Some moment, to the second or to the millisecond.
Duration moment(Stream& draws, std::int64_t seconds_max) {
  const Duration whole = seconds(draws, 0, seconds_max - 1);
  if (one_in(draws, 2)) return whole;
  return whole + std::chrono::milliseconds(between(draws, {0, 999}));
}

/// Short ones are as likely as long ones.
Duration span(Stream& draws) {
  constexpr std::array<std::int64_t, 4> kMilliseconds{10, 100, 1'000, 10'000};
  return std::chrono::milliseconds(one_of(draws, kMilliseconds) * between(draws, {1, 9}));
}

bool matches_any(const std::vector<std::string>& patterns, std::string_view name) {
  return std::any_of(patterns.begin(), patterns.end(), [&](const std::string& pattern) {
    return properties::matches(pattern, name);
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
    cluster();
    workers();
    faults();
    if (swarm_.cores) core();
    return std::move(world_);
  }

 private:
  Stream stream(std::string_view purpose, std::uint64_t owner = 0) {
    return {source_, purpose, owner};
  }
  const std::string& some_node(Stream& draws) { return one_of(draws, world_.cluster.nodes).id; }

  void protocol();
  void cluster();
  void mix(scenario::ClusterPlan& plan);
  void workers();
  void watches(Stream& draws);
  WorkerProgram common_work(Stream& draws) const;
  WorkerProgram program(Stream& draws, const WorkerProgram& work) const;
  void odd_worker(Stream& draws);
  void faults();
  void core();
  [[nodiscard]] Duration longest_end() const;
  std::vector<const Word*> words();
  TimelineEntry fault(Stream& draws, const Word& word);
  scenario::Trigger trigger(Stream& draws);
  void parameters(Stream& draws, const Word& word, TimelineEntry& entry);

  const Swarm& swarm_;
  kernel::SeededSource source_;
  Scenario world_;
  bool timers_ = false;  ///< an agent's watchdog ends workers that let a timer expire
  bool beats_ = false;   ///< agents wait for their workers' heartbeats
};

void Drawing::protocol() {
  Stream draws = stream("swarm.protocol");
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

/// Without it the world is that of a swarm whose only variant is the first.
void Drawing::mix(scenario::ClusterPlan& plan) {
  Stream draws = stream("swarm.mixture");
  for (NodePlan& node : plan.nodes) {
    const model::Variant own = one_of(draws, swarm_.variants);
    if (own != world_.protocol.variant) node.variant = own;
  }
}

void Drawing::cluster() {
  Stream draws = stream("swarm.cluster");
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
      node.start = moment(draws, 60);
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
    plan.store_host = one_in(draws, 4) ? some_node(draws) : plan.nodes.front().id;
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

WorkerStep step(WorkerStep::Kind kind) {
  WorkerStep out;
  out.kind = kind;
  return out;
}

WorkerStep step(WorkerStep::Kind kind, Duration span, std::int64_t code = 0) {
  WorkerStep out = step(kind);
  out.span = span;
  out.code = code;
  return out;
}

WorkerStep beat(std::string_view what) {
  WorkerStep out = step(WorkerStep::Kind::beat);
  out.text = what;
  return out;
}

void Drawing::workers() {
  Stream draws = stream("swarm.workers");
  scenario::WorkersPlan& plan = world_.workers;
  plan.per_node = between(draws, swarm_.workers_per_node);
  watches(draws);
  const WorkerProgram work = common_work(draws);
  plan.program = program(draws, work);
  // What a timer guards and when a worker pauses its heartbeats are its own affair.
  for (const NodePlan& node : world_.cluster.nodes) {
    for (std::int64_t rank = 1; (timers_ || beats_) && rank < plan.per_node; ++rank) {
      plan.overrides[node.id + "/" + std::to_string(rank)] = program(draws, work);
    }
  }
  plan.peer_abort = seconds(draws, 5, 60);
  if (one_in(draws, 6)) plan.peer_abort.reset();
  if (one_in(draws, 6)) plan.slow_stop = seconds(draws, 1, 60);
  if (one_in(draws, 2)) odd_worker(draws);
}

/// Whether agents watch their workers by more than their ends.
void Drawing::watches(Stream& draws) {
  scenario::AgentPlan& agent = world_.protocol.agent;
  timers_ = one_in(draws, 6);
  if (timers_) {
    agent.environment["TORCHELASTIC_ENABLE_FILE_TIMER"] = "1";
    if (one_in(draws, 3)) agent.timer = "queue";
  }
  beats_ = one_in(draws, 6);
  if (beats_) {
    model::HeartbeatPlan& plan = agent.heartbeats.emplace();
    plan.interval = milliseconds(draws, 300, 1'500);
    plan.deadline = plan.interval * 2 + milliseconds(draws, 500, 5'000);
    if (one_in(draws, 4)) plan.first_beat = seconds(draws, 5, 30);
    plan.policy =
        one_of(draws, std::array{model::HeartbeatPolicy::mark, model::HeartbeatPolicy::restart,
                                 model::HeartbeatPolicy::stop});
  }
}

/// What every worker does: most train together, some work each for itself, for long or not. Those
/// that are watched do so more often: together they end together, whatever a watchdog forgets.
WorkerProgram Drawing::common_work(Stream& draws) const {
  if (one_in(draws, timers_ || beats_ ? 2 : 4)) {
    const bool long_work = one_in(draws, 3);
    return {step(WorkerStep::Kind::run, seconds(draws, 1, long_work ? 300 : 60))};
  }
  WorkerStep train = step(WorkerStep::Kind::collective, span(draws));
  train.count = between(draws, {1, 6});
  return {step(WorkerStep::Kind::init), train};
}

/// A step that a timer guards: done just in time or too late, or renewed half way.
void guarded_step(Stream& draws, const std::string& scope, WorkerProgram& program) {
  const Duration limit = milliseconds(draws, 1'000, 12'000);
  WorkerStep acquire =
      step(WorkerStep::Kind::acquire, limit, static_cast<std::int64_t>(sim::Signal::kill));
  WorkerStep release = step(WorkerStep::Kind::release);
  acquire.text = release.text = scope;
  program.push_back(acquire);
  if (one_in(draws, 3)) {
    program.push_back(step(WorkerStep::Kind::run, limit / 2));
    program.push_back(acquire);
  }
  const bool late = one_in(draws, 4);
  program.push_back(step(WorkerStep::Kind::run, late ? limit + seconds(draws, 1, 8)
                                                     : limit - milliseconds(draws, 5, 900)));
  program.push_back(release);
}

/// The common work, beside steps that timers guard and between heartbeats where there are any.
WorkerProgram Drawing::program(Stream& draws, const WorkerProgram& work) const {
  WorkerProgram out;
  for (std::int64_t i = timers_ ? between(draws, {1, 4}) : 0; i > 0; --i) {
    guarded_step(draws, one_in(draws, 3) ? "shared" : "step " + std::to_string(i), out);
  }
  out.insert(one_in(draws, 2) ? out.begin() : out.end(), work.begin(), work.end());
  if (beats_) {
    out.insert(out.begin(), beat("start"));
    if (one_in(draws, 2)) {
      out.push_back(beat("pause"));
      out.push_back(step(WorkerStep::Kind::run, seconds(draws, 1, 9)));
      out.push_back(beat("start"));
      out.push_back(step(WorkerStep::Kind::run, seconds(draws, 1, 9)));
    }
    if (!one_in(draws, 4)) out.push_back(beat("stop"));
  }
  out.push_back(step(WorkerStep::Kind::exit));
  return out;
}

/// One worker, or all of one node, does something else for once or always.
void Drawing::odd_worker(Stream& draws) {
  std::string key = some_node(draws);
  if (one_in(draws, 2)) {
    key += "/" + std::to_string(between(draws, {0, world_.workers.per_node - 1}));
  }
  if (one_in(draws, 3)) key += "/*";
  WorkerProgram program{step(WorkerStep::Kind::run, moment(draws, 30))};
  if (beats_) program.insert(program.begin(), beat("start"));
  switch (draws.below(4)) {
    case 0: program.push_back(step(WorkerStep::Kind::exit, {}, between(draws, {1, 3}))); break;
    case 1: program.push_back(step(WorkerStep::Kind::exit)); break;
    case 2: program.push_back(step(WorkerStep::Kind::hang)); break;
    default:
      program.push_back(
          step(WorkerStep::Kind::signal, {}, static_cast<std::int64_t>(sim::Signal::kill)));
  }
  world_.workers.overrides[key] = program;
}

/// What jobs meet every day may happen in half of the worlds, anything else in every fifth.
bool is_usual(const Word& word) {
  constexpr std::array<std::string_view, 6> kUsual{"agent.kill",  "agent.signal",  "node.crash",
                                                   "worker.exit", "net.partition", "agent.start"};
  return std::find(kUsual.begin(), kUsual.end(), word.name) != kUsual.end();
}

/// What may happen in this world at all.
std::vector<const Word*> Drawing::words() {
  const bool etcd = world_.protocol.rendezvous.backend.starts_with("etcd");
  std::vector<const Word*> possible;
  for (const Word& word : scenario::vocabulary()) {
    const bool here =
        (etcd || !word.etcd) && (word.name != "store.restart" || world_.cluster.store_host.empty());
    if (here && matches_any(swarm_.words, word.name)) possible.push_back(&word);
  }
  if (possible.empty()) return possible;
  Stream draws = stream("swarm.words");
  std::vector<const Word*> on;
  for (const Word* const word : possible) {
    if (one_in(draws, is_usual(*word) ? 2 : 5)) on.push_back(word);
  }
  if (on.empty()) on.push_back(one_of(draws, possible));
  return on;
}

void Drawing::faults() {
  Stream draws = stream("swarm.faults");
  world_.schedule = {one_of(draws, swarm_.strategies), between(draws, {1, 5})};
  if (world_.schedule.strategy != kernel::Strategy::pct &&
      world_.schedule.strategy != kernel::Strategy::delays) {
    world_.schedule.depth = kernel::Schedule().depth;
  }
  // A fiber may be delayed for eight seconds, and any request held for one, of which a heartbeat
  // takes several: in such a world no node can show every second that it lives, and no worker renew
  // a timer just in time by a request.
  const bool delays = world_.schedule.strategy == kernel::Strategy::delays;
  const bool holds = world_.schedule.strategy == kernel::Strategy::holds;
  if (delays || holds) world_.protocol.rendezvous.keep_alive_interval = 5s;
  if (holds) world_.protocol.agent.timer = scenario::AgentPlan().timer;
  const std::int64_t count = between(draws, swarm_.faults);
  const std::vector<const Word*> on = words();
  for (std::int64_t i = 0; i < count && !on.empty(); ++i) {
    Stream own = stream("swarm.fault", static_cast<std::uint64_t>(i));
    world_.timeline.push_back(fault(own, *one_of(own, on)));
  }
}

/// Enough nodes for a round in most worlds, healed when what the timeline does at a time is over.
void Drawing::core() {
  Stream draws = stream("swarm.core");
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
  const Duration work = scenario::work_needed(world_.workers).longest +
                        scenario::wait_for_peers(world_).value_or(Duration::zero());
  return properties::core_bound(rendezvous.backend, with, work) + with.join + with.read_timeout;
}

scenario::Trigger Drawing::trigger(Stream& draws) {
  constexpr std::array<std::string_view, 8> kEvents{
      "rendezvous.joining", "rendezvous.joined",    "rendezvous.completed", "worker.started",
      "worker.ended",       "exit_barrier.entered", "rendezvous.closed",    "group.restarting"};
  std::vector<std::string_view> points;
  for (const std::string_view point : scenario::fault_points()) {
    const bool legacy = world_.protocol.rendezvous.backend == "etcd";
    if (point.starts_with("legacy.") && !legacy) continue;
    if (matches_any(swarm_.fault_points, point)) points.push_back(point);
  }
  scenario::Trigger out;
  const std::uint64_t kind = draws.below(4);
  if (kind == 2) {
    out.event = one_of(draws, kEvents);
  } else if (kind == 3 && !points.empty()) {
    out.fault_point = one_of(draws, points);
  } else {
    out.at = std::min(moment(draws, 90), world_.time_limit);
    return out;
  }
  if (one_in(draws, 2)) out.on_node = some_node(draws);
  out.passage = 1 + static_cast<std::int64_t>(one_in(draws, 2) ? draws.below(4) : 0);
  if (out.event && one_in(draws, 2)) out.after = span(draws);
  return out;
}

TimelineEntry Drawing::fault(Stream& draws, const Word& word) {
  TimelineEntry entry;
  entry.what = word.name;
  entry.trigger = trigger(draws);
  parameters(draws, word, entry);
  if (one_in(draws, 10)) {
    entry.every = seconds(draws, 1, 20);
    entry.times = between(draws, {2, 4});
  }
  return entry;
}

void Drawing::parameters(Stream& draws, const Word& word, TimelineEntry& entry) {
  const unsigned taken = word.required | word.optional;
  const auto takes = [&](unsigned parameter) { return (taken & parameter) != 0; };
  const auto maybe = [&](unsigned parameter) {
    return (word.required & parameter) != 0 || (takes(parameter) && one_in(draws, 2));
  };
  if (takes(scenario::kNode)) {
    // A fault point's own node is meant where none is named.
    const bool implied = entry.trigger.fault_point && one_in(draws, 2);
    const bool by_role = one_in(draws, 4);
    if (by_role) {
      entry.from = {one_in(draws, 2) ? "store_host" : "rank0"};
    } else if (!implied) {
      entry.from = {some_node(draws)};
    }
  }
  if (takes(scenario::kPaths)) {
    entry.from = {one_in(draws, 4) ? std::string("store_host") : some_node(draws)};
    if (one_in(draws, 2)) entry.to = {one_in(draws, 4) ? "store_host" : some_node(draws)};
    if (entry.to == entry.from) entry.to.clear();  // no network cuts a machine off from itself
    entry.one_way = one_in(draws, 3);
  }
  if (maybe(scenario::kLocalRank))
    entry.local_rank = between(draws, {0, world_.workers.per_node - 1});
  if (maybe(scenario::kSignal)) {
    constexpr std::array<std::string_view, 5> kSignals{"SIGTERM", "SIGINT", "SIGHUP", "SIGQUIT",
                                                       "SIGKILL"};
    entry.signal = one_of(draws, kSignals);
  }
  // What lasts for ever is rarely what a job meets.
  if ((word.required & scenario::kFor) != 0 || (takes(scenario::kFor) && !one_in(draws, 4)))
    entry.duration = span(draws);
  if (maybe(scenario::kBy)) {
    entry.span = span(draws);
    if (word.negative_by && one_in(draws, 2)) entry.span = -*entry.span;
  }
  if (maybe(scenario::kAmount)) {
    const std::int64_t usual = entry.what == "port.busy"       ? 29'400
                               : entry.what == "net.loss"      ? between(draws, {1, 9}) * 10'000
                               : entry.what == "net.bandwidth" ? between(draws, {1, 9}) * 100'000
                               : entry.what == "clock.drift"   ? between(draws, {-9, 9}) * 10'000
                                                               : between(draws, {1, 9});
    entry.amount = std::clamp(usual, word.amount.min, word.amount.max);
  }
  if (maybe(scenario::kText)) {
    const bool thread = entry.what == "thread.dies";
    entry.text = !thread            ? some_node(draws)
                 : one_in(draws, 3) ? std::string("watchdog")
                                    : std::string("keep_alive");
  }
}

}  // namespace

Scenario draw(const Swarm& swarm, std::uint64_t seed) {
  return Drawing(swarm, seed).drawn();
}

}  // namespace hooke::hunt
