// One branch per word. A word that is not here is said to be unsupported before anything runs.
#include "scenarios/real/real_timeline.h"

#include <algorithm>
#include <array>

#include "scenarios/format/fixed_names.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/outcome/trigger.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {
namespace {

namespace wev = world::events;

constexpr Duration kRebootTime = 30s;
constexpr Duration kRelaunchDelay = 10s;

constexpr std::array<std::string_view, 20> kWords{
    "agent.start",   "agent.restart", "agent.kill",    "agent.signal", "agent.pause",
    "node.crash",    "node.restart",  "node.reboot",   "worker.exit",  "worker.signal",
    "net.partition", "net.delay",     "net.reset",     "net.clog",     "net.bandwidth",
    "store.slow",    "store.stop",    "store.restart", "job.collide",  "sched.relaunch"};

bool is_network_word(std::string_view word) {
  return word.starts_with("net.") || word == "store.slow" || word == "store.stop";
}

/// The node's own link, over which its workers' heartbeats go.
bool joins_a_node_to_itself(const TimelineEntry& entry) {
  return entry.to.size() == 1 && entry.from == entry.to;
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

bool is_whole_seconds(Duration span) {
  return span % 1s == Duration::zero();
}

}  // namespace

std::vector<std::string> unsupported(const Scenario& scenario, AgentKind kind) {
  std::vector<std::string> out;
  const auto say = [&](std::string what) {
    if (std::find(out.begin(), out.end(), what) == out.end()) out.push_back(std::move(what));
  };
  const RendezvousPlan& plan = scenario.protocol.rendezvous;
  if (plan.backend != "c10d") say("backend " + plan.backend);
  if (!scenario.protocol.defects.empty()) say("protocol.defects");
  if (scenario.protocol.agent.exit_barrier_timeout != 300s) say("agent.exit_barrier_timeout");
  if (!scenario.cluster.store_name.empty()) say("cluster.store_name");
  if (scenario.tape) say("tape");
  if (scenario.core) say("core");
  if (scenario.schedule.strategy != kernel::Strategy::fifo) say("schedule");
  if (scenario.protocol.agent.kind != AgentPlan().kind) say("agent.kind");
  if (scenario.protocol.agent.process_launcher != AgentPlan().process_launcher)
    say("agent.process_launcher");
  if (scenario.workers.slow_stop != Duration::zero()) say("workers.slow_stop");
  for (const NodePlan& node : scenario.cluster.nodes) {
    if (node.clock_drift_ppm != 0) say("clock.drift_ppm");
    if (node.clock_skew != Duration::zero() && kind == AgentKind::torchrun) say("clock.skew");
  }
  for (const TimelineEntry& entry : scenario.timeline) {
    if (std::find(kWords.begin(), kWords.end(), entry.what) == kWords.end()) say(entry.what);
    if (entry.trigger.fault_point) say("fault points");
    // The links of a cluster lead to the rendezvous store; the workers' own lie bare.
    if (is_network_word(entry.what) && !joins_a_node_to_itself(entry) &&
        uses_a_group_store(scenario)) {
      say(entry.what + " between workers");
    }
  }
  if (kind == AgentKind::torchrun) {
    if (scenario.protocol.agent.heartbeats) say("agent.heartbeats");
    if (scenario.protocol.agent.restart_policy != AgentPlan().restart_policy)
      say("agent.restart_policy");
    if (scenario.protocol.agent.timer != AgentPlan().timer) say("agent.timer");
    for (const NodePlan& node : scenario.cluster.nodes) {
      const model::Variant variant = scenario.variant_of(node);
      if (variant != model::Variant::torch_2_x) say("variant " + std::string(to_string(variant)));
    }
    for (const Duration span : {plan.join, plan.last_call, plan.close, plan.heartbeat,
                                plan.keep_alive_interval, plan.read_timeout}) {
      if (!is_whole_seconds(span)) say("time-outs of parts of a second");
    }
  }
  return out;
}

RealTimeline::RealTimeline(sim::Ports& ports, RealCluster& cluster, const Scenario& scenario,
                           const Roster& roster, const std::vector<std::string>& node_names,
                           sim::WorldTime begin)
    : ports_(ports),
      cluster_(cluster),
      scenario_(scenario),
      roster_(roster),
      node_names_(node_names),
      begin_(begin),
      log_(scenario.timeline) {
  for (std::uint32_t i = 0; i < scenario.cluster.nodes.size(); ++i) {
    const auto& start = scenario.cluster.nodes[i].start;
    if (!start) continue;
    later(begin_ + *start,
          [this, i] { cluster_.start_agent(sim::NodeId{i}, std::string(kRunId)); });
  }
  for (std::size_t i = 0; i < scenario.timeline.size(); ++i) {
    const TimelineEntry& entry = scenario.timeline[i];
    if (entry.trigger.event) {
      waiting_.push_back({i});
    } else {
      log_.due(i, sim::WorldTime(*entry.trigger.at + entry.trigger.after));
      later(begin_ + *entry.trigger.at + entry.trigger.after,
            [this, i, &entry] { act_on(i, std::nullopt, entry.times); });
    }
  }
}

sim::WorldTime RealTimeline::now() const {
  return sim::WorldTime(ports_.clock.monotonic_now().time_since_epoch());
}

void RealTimeline::later(sim::WorldTime at, std::function<void()> action) {
  agenda_.emplace(at, std::move(action));
}

void RealTimeline::act(sim::WorldTime now) {
  while (!agenda_.empty() && agenda_.begin()->first <= now) {
    const auto action = std::move(agenda_.extract(agenda_.begin()).mapped());
    action();
  }
}

void RealTimeline::on_event(const sim::Event& event) {
  const std::string node =
      event.node.value < node_names_.size() ? node_names_[event.node.value] : std::string();
  for (std::size_t i = 0; i < waiting_.size();) {
    Waiting& waiting = waiting_[i];
    const std::size_t number = waiting.entry;
    const TimelineEntry& entry = scenario_.timeline[number];
    if (!fires(entry.trigger, event, node)) {
      ++i;
      continue;
    }
    log_.met(number);
    if (++waiting.seen < entry.trigger.passage) {
      ++i;
      continue;
    }
    log_.due(number, sim::WorldTime(now() - begin_ + entry.trigger.after));
    later(now() + entry.trigger.after,
          [this, number, there = event.node, &entry] { act_on(number, there, entry.times); });
    waiting_.erase(waiting_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (event.type != &wev::process_ended) return;
  // The roster, which is told first, knows no living agent of this node any more.
  const sim::NodeId ended = event.node;
  if (!roster_.agents(ended).empty()) return;
  if (std::erase(restart_when_ended_, ended) > 0) {
    later(now(), [this, ended] { cluster_.start_agent(ended, std::string(kRunId)); });
  }
  const auto relaunch = relaunches_.find(ended);
  if (relaunch == relaunches_.end() || relaunch->second.left == 0) return;
  if (event.field("status").number() == 0) return;
  --relaunch->second.left;
  later(now() + relaunch->second.after, [this, ended] {
    if (roster_.agents(ended).empty()) cluster_.start_agent(ended, std::string(kRunId));
  });
}

RealTimeline::Nodes RealTimeline::resolve(const std::vector<std::string>& names) const {
  Nodes nodes;
  const auto add = [&](sim::NodeId node) {
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  };
  for (const std::string& name : names) {
    if (name == "all") {
      for (std::uint32_t i = 0; i < scenario_.cluster.nodes.size(); ++i) add(sim::NodeId{i});
    } else if (name == "store_host") {
      add(cluster_.store_machine());
    } else if (name == "rank0") {
      if (roster_.rank0()) add(*roster_.rank0());
    } else {
      const auto found = std::find(node_names_.begin(), node_names_.end(), name);
      if (found != node_names_.end()) {
        add(sim::NodeId{static_cast<std::uint32_t>(found - node_names_.begin())});
      }
    }
  }
  return nodes;
}

void RealTimeline::act_on(std::size_t number, std::optional<sim::NodeId> there,
                          std::int64_t times_left) {
  const TimelineEntry& entry = scenario_.timeline[number];
  log_.acted(number);
  Nodes nodes = resolve(entry.from);
  if (entry.from.empty() && there) nodes.push_back(*there);
  std::string target;
  for (const sim::NodeId node : nodes) {
    target += (target.empty() ? "" : ",") + node_names_[node.value];
  }
  cluster_.note(sim::kNoNode, sim::Pid{0}, events::timeline_acted,
                {static_cast<std::int64_t>(number), entry.what, target});
  done_.push_back({number, sim::WorldTime(now() - begin_), 0});
  perform(entry, nodes, done_.back());
  if (entry.every && times_left > 1) {
    log_.due(number, sim::WorldTime(now() - begin_ + *entry.every));
    later(now() + *entry.every,
          [this, number, there, times_left] { act_on(number, there, times_left - 1); });
  }
}

void RealTimeline::perform(const TimelineEntry& entry, const Nodes& nodes, Injection& injection) {
  const std::string& word = entry.what;
  if (word.starts_with("net.") || word == "store.slow" || word == "store.stop") {
    return disturb(entry, nodes, injection);
  }
  if (word == "store.restart") {
    if (const auto store = cluster_.store_process()) {
      at_once("process_signal", "store",
              cluster_.signal(cluster_.store_machine(), *store, sim::Signal::kill), injection);
    }
    return later(now() + entry.duration.value_or(Duration::zero()),
                 [this] { cluster_.start_store(); });
  }
  for (const sim::NodeId node : nodes) {
    const std::string& name = node_names_[node.value];
    if (word == "agent.start") {
      injection.felt += cluster_.start_agent(node, std::string(kRunId)) ? 1 : 0;
    } else if (word == "job.collide") {
      injection.felt +=
          cluster_.start_agent(node, entry.text.value_or(std::string(kRunId))) ? 1 : 0;
    } else if (word == "agent.restart") {
      if (roster_.agents(node).empty()) {
        injection.felt += cluster_.start_agent(node, std::string(kRunId)) ? 1 : 0;
      } else {
        restart_when_ended_.push_back(node);
      }
    } else if (word == "agent.kill" || word == "agent.signal") {
      const sim::Signal signal =
          *signal_named(entry.signal.value_or(word == "agent.kill" ? "KILL" : "TERM"));
      for (const sim::Pid pid : roster_.agents(node)) {
        at_once("process_signal", name, cluster_.signal(node, pid, signal), injection);
      }
    } else if (word == "agent.pause") {
      for (const sim::Pid pid : roster_.agents(node)) {
        pause(node, pid, entry, "process_pause", injection);
      }
    } else if (word == "worker.signal") {
      for (const sim::Pid pid : roster_.workers(node, entry.local_rank)) {
        at_once("process_signal", name,
                cluster_.signal(node, pid, *signal_named(entry.signal.value_or("KILL"))),
                injection);
      }
    } else if (word == "worker.exit") {
      for (const sim::Pid pid : roster_.workers(node, entry.local_rank)) {
        at_once("process_exit", name, true, injection);
        cluster_.order_exit(pid, entry.amount.value_or(1));
      }
    } else if (word == "node.crash" || word == "node.reboot") {
      at_once("node_crash", name, true, injection);
      cluster_.crash(node);
      std::optional<Duration> down = entry.duration;
      if (!down && word == "node.reboot") down = kRebootTime;
      if (down) later(now() + *down, [this, node, &injection] { start_again(node, injection); });
    } else if (word == "node.restart") {
      start_again(node, injection);
    } else if (word == "sched.relaunch") {
      relaunches_[node] = {entry.span.value_or(kRelaunchDelay), entry.amount.value_or(1)};
      ++injection.felt;
    }
  }
}

void RealTimeline::start_again(sim::NodeId node, Injection& injection) {
  at_once("node_restart", node_names_[node.value], true, injection);
  if (cluster_.boot(node)) cluster_.start_agent(node, std::string(kRunId));
}

void RealTimeline::pause(sim::NodeId node, sim::Pid pid, const TimelineEntry& entry,
                         const char* kind, Injection& injection) {
  const Duration span = entry.duration.value_or(Duration::zero());
  if (!cluster_.signal(node, pid, sim::Signal::stop)) return;  // and nothing is to be waited for
  const std::int64_t fault = begins(kind, node_names_[node.value], span);
  cluster_.note(node, pid, wev::process_paused, {});
  later(now() + span, [this, node, pid, fault, kind, &injection] {
    static_cast<void>(cluster_.signal(node, pid, sim::Signal::cont));
    cluster_.note(node, pid, wev::process_resumed, {});
    ends(fault, kind, true, injection);
  });
}

RealTimeline::Nodes RealTimeline::linked(const TimelineEntry& entry, const Nodes& from) const {
  if (entry.what.starts_with("store.")) return resolve({"all"});
  const Nodes to = resolve(entry.to);
  const auto has_store = [&](const Nodes& nodes) {
    return std::find(nodes.begin(), nodes.end(), cluster_.store_machine()) != nodes.end();
  };
  if (entry.from.empty() || has_store(from)) return to.empty() ? resolve({"all"}) : to;
  return to.empty() || has_store(to) ? from : Nodes();
}

void RealTimeline::disturb(const TimelineEntry& entry, const Nodes& nodes, Injection& injection) {
  using Way = real::LinkProxy::Way;
  const std::vector<real::LinkProxy*> links = joins_a_node_to_itself(entry)
                                                  ? cluster_.heartbeat_links(nodes)
                                                  : cluster_.links(linked(entry, nodes));
  const std::string kind(find_word(entry.what)->kind);
  const Duration span = entry.duration.value_or(Duration::zero());
  if (entry.what == "net.reset") {
    bool felt = false;
    for (real::LinkProxy* const link : links) {
      static_cast<void>(link->was_felt());
      link->reset();
      felt = link->was_felt() || felt;
    }
    return at_once(kind, "the links to the store", felt, injection);
  }
  const std::int64_t fault = begins(kind, "the links to the store", span);
  // One way only: from whom is said first.
  const bool from_store = entry.from.empty() || std::find(nodes.begin(), nodes.end(),
                                                          cluster_.store_machine()) != nodes.end();
  std::vector<Way> ways{Way::there, Way::back};
  if (entry.one_way) ways = {from_store ? Way::back : Way::there};
  const bool cuts =
      entry.what == "net.partition" || entry.what == "net.clog" || entry.what == "store.stop";
  for (real::LinkProxy* const link : links) {
    static_cast<void>(link->was_felt());
    if (cuts) {
      for (const Way way : ways) link->cut(way);
    } else if (entry.what == "net.bandwidth") {
      constexpr std::int64_t kBitsPerByte = 8;
      link->limit(std::max<std::int64_t>(1, *entry.amount / kBitsPerByte));
    } else {
      link->delay(*entry.span);
    }
  }
  const auto stop = [this, links, ways, kind, fault, cuts, &injection] {
    bool felt = false;
    for (real::LinkProxy* const link : links) {
      if (cuts) {
        for (const Way way : ways) link->mend(way);
      }
      link->delay(Duration::zero());
      link->limit(0);
      felt = link->was_felt() || felt;
    }
    ends(fault, kind, felt, injection);
  };
  if (span > Duration::zero()) {
    later(now() + span, stop);
  }
}

std::int64_t RealTimeline::begins(const std::string& kind, const std::string& target,
                                  Duration span) {
  const std::int64_t fault = faults_++;
  cluster_.note(sim::kNoNode, sim::Pid{0}, wev::fault_injected,
                {fault, kind, target, span.count()});
  return fault;
}

void RealTimeline::at_once(const std::string& kind, const std::string& target, bool felt,
                           Injection& injection) {
  const std::int64_t fault = begins(kind, target, {});
  if (!felt) return;
  ++injection.felt;
  cluster_.note(sim::kNoNode, sim::Pid{0}, wev::fault_felt, {fault, kind});
}

void RealTimeline::ends(std::int64_t fault, const std::string& kind, bool felt,
                        Injection& injection) {
  if (felt) {
    ++injection.felt;
    cluster_.note(sim::kNoNode, sim::Pid{0}, wev::fault_felt, {fault, kind});
  }
  cluster_.note(sim::kNoNode, sim::Pid{0}, wev::fault_ended, {fault, kind, std::int64_t{0}});
}

std::vector<InjectedFault> RealTimeline::done() const {
  std::vector<InjectedFault> faults;
  for (const Injection& injection : done_) {
    faults.push_back(
        {scenario_.timeline[injection.entry].what, injection.at, injection.felt, injection.entry});
  }
  return faults;
}

}  // namespace hooke::scenario
