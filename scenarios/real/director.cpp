// One branch per word. A word that is not here is said to be unsupported before anything runs.
#include "scenarios/real/director.h"

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
    // The links of a stage lead to the rendezvous store; the workers' own lie bare.
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

Director::Director(sim::Ports& ports, Stage& stage, const Scenario& scenario, const Roster& roster,
                   const std::vector<std::string>& node_names, sim::WorldTime begin)
    : ports_(ports),
      stage_(stage),
      scenario_(scenario),
      roster_(roster),
      node_names_(node_names),
      begin_(begin),
      log_(scenario.timeline) {
  for (std::uint32_t i = 0; i < scenario.cluster.nodes.size(); ++i) {
    const auto& start = scenario.cluster.nodes[i].start;
    if (!start) continue;
    later(begin_ + *start, [this, i] { stage_.start_agent(sim::NodeId{i}, std::string(kRunId)); });
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

sim::WorldTime Director::now() const {
  return sim::WorldTime(ports_.clock.monotonic_now().time_since_epoch());
}

void Director::later(sim::WorldTime at, std::function<void()> action) {
  agenda_.emplace(at, std::move(action));
}

void Director::act(sim::WorldTime now) {
  while (!agenda_.empty() && agenda_.begin()->first <= now) {
    const auto action = std::move(agenda_.extract(agenda_.begin()).mapped());
    action();
  }
}

void Director::on_event(const sim::Event& event) {
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
    later(now(), [this, ended] { stage_.start_agent(ended, std::string(kRunId)); });
  }
  const auto relaunch = relaunches_.find(ended);
  if (relaunch == relaunches_.end() || relaunch->second.left == 0) return;
  if (event.field("status").number() == 0) return;
  --relaunch->second.left;
  later(now() + relaunch->second.after, [this, ended] {
    if (roster_.agents(ended).empty()) stage_.start_agent(ended, std::string(kRunId));
  });
}

Director::Nodes Director::resolve(const std::vector<std::string>& names) const {
  Nodes nodes;
  const auto add = [&](sim::NodeId node) {
    if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
  };
  for (const std::string& name : names) {
    if (name == "all") {
      for (std::uint32_t i = 0; i < scenario_.cluster.nodes.size(); ++i) add(sim::NodeId{i});
    } else if (name == "store_host") {
      add(stage_.store_machine());
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

void Director::act_on(std::size_t number, std::optional<sim::NodeId> there,
                      std::int64_t times_left) {
  const TimelineEntry& entry = scenario_.timeline[number];
  log_.acted(number);
  Nodes nodes = resolve(entry.from);
  if (entry.from.empty() && there) nodes.push_back(*there);
  std::string target;
  for (const sim::NodeId node : nodes) {
    target += (target.empty() ? "" : ",") + node_names_[node.value];
  }
  stage_.note(sim::kNoNode, sim::Pid{0}, events::timeline_acted,
              {static_cast<std::int64_t>(number), entry.what, target});
  done_.push_back({number, sim::WorldTime(now() - begin_), 0});
  perform(entry, nodes, done_.back());
  if (entry.every && times_left > 1) {
    log_.due(number, sim::WorldTime(now() - begin_ + *entry.every));
    later(now() + *entry.every,
          [this, number, there, times_left] { act_on(number, there, times_left - 1); });
  }
}

void Director::perform(const TimelineEntry& entry, const Nodes& nodes, Deed& deed) {
  const std::string& word = entry.what;
  if (word.starts_with("net.") || word == "store.slow" || word == "store.stop") {
    return disturb(entry, nodes, deed);
  }
  if (word == "store.restart") {
    if (const auto store = stage_.store_process()) {
      at_once("process_signal", "store",
              stage_.signal(stage_.store_machine(), *store, sim::Signal::kill), deed);
    }
    return later(now() + entry.duration.value_or(Duration::zero()),
                 [this] { stage_.start_store(); });
  }
  for (const sim::NodeId node : nodes) {
    const std::string& name = node_names_[node.value];
    if (word == "agent.start") {
      deed.felt += stage_.start_agent(node, std::string(kRunId)) ? 1 : 0;
    } else if (word == "job.collide") {
      deed.felt += stage_.start_agent(node, entry.text.value_or(std::string(kRunId))) ? 1 : 0;
    } else if (word == "agent.restart") {
      if (roster_.agents(node).empty()) {
        deed.felt += stage_.start_agent(node, std::string(kRunId)) ? 1 : 0;
      } else {
        restart_when_ended_.push_back(node);
      }
    } else if (word == "agent.kill" || word == "agent.signal") {
      const sim::Signal signal =
          *signal_named(entry.signal.value_or(word == "agent.kill" ? "KILL" : "TERM"));
      for (const sim::Pid pid : roster_.agents(node)) {
        at_once("process_signal", name, stage_.signal(node, pid, signal), deed);
      }
    } else if (word == "agent.pause") {
      for (const sim::Pid pid : roster_.agents(node)) {
        pause(node, pid, entry, "process_pause", deed);
      }
    } else if (word == "worker.signal") {
      for (const sim::Pid pid : roster_.workers(node, entry.local_rank)) {
        at_once("process_signal", name,
                stage_.signal(node, pid, *signal_named(entry.signal.value_or("KILL"))), deed);
      }
    } else if (word == "worker.exit") {
      for (const sim::Pid pid : roster_.workers(node, entry.local_rank)) {
        at_once("process_exit", name, true, deed);
        stage_.order_exit(pid, entry.amount.value_or(1));
      }
    } else if (word == "node.crash" || word == "node.reboot") {
      at_once("node_crash", name, true, deed);
      stage_.crash(node);
      std::optional<Duration> down = entry.duration;
      if (!down && word == "node.reboot") down = kRebootTime;
      if (down) later(now() + *down, [this, node, &deed] { start_again(node, deed); });
    } else if (word == "node.restart") {
      start_again(node, deed);
    } else if (word == "sched.relaunch") {
      relaunches_[node] = {entry.span.value_or(kRelaunchDelay), entry.amount.value_or(1)};
      ++deed.felt;
    }
  }
}

void Director::start_again(sim::NodeId node, Deed& deed) {
  at_once("node_restart", node_names_[node.value], true, deed);
  if (stage_.boot(node)) stage_.start_agent(node, std::string(kRunId));
}

void Director::pause(sim::NodeId node, sim::Pid pid, const TimelineEntry& entry, const char* kind,
                     Deed& deed) {
  const Duration span = entry.duration.value_or(Duration::zero());
  if (!stage_.signal(node, pid, sim::Signal::stop)) return;  // and nothing is to be waited for
  const std::int64_t fault = begins(kind, node_names_[node.value], span);
  stage_.note(node, pid, wev::process_paused, {});
  later(now() + span, [this, node, pid, fault, kind, &deed] {
    static_cast<void>(stage_.signal(node, pid, sim::Signal::cont));
    stage_.note(node, pid, wev::process_resumed, {});
    ends(fault, kind, true, deed);
  });
}

Director::Nodes Director::linked(const TimelineEntry& entry, const Nodes& from) const {
  if (entry.what.starts_with("store.")) return resolve({"all"});
  const Nodes to = resolve(entry.to);
  const auto has_store = [&](const Nodes& nodes) {
    return std::find(nodes.begin(), nodes.end(), stage_.store_machine()) != nodes.end();
  };
  if (entry.from.empty() || has_store(from)) return to.empty() ? resolve({"all"}) : to;
  return to.empty() || has_store(to) ? from : Nodes();
}

void Director::disturb(const TimelineEntry& entry, const Nodes& nodes, Deed& deed) {
  using Way = real::LinkProxy::Way;
  const std::vector<real::LinkProxy*> links = joins_a_node_to_itself(entry)
                                                  ? stage_.heartbeat_links(nodes)
                                                  : stage_.links(linked(entry, nodes));
  const std::string kind(find_word(entry.what)->kind);
  const Duration span = entry.duration.value_or(Duration::zero());
  if (entry.what == "net.reset") {
    bool felt = false;
    for (real::LinkProxy* const link : links) {
      static_cast<void>(link->was_felt());
      link->reset();
      felt = link->was_felt() || felt;
    }
    return at_once(kind, "the links to the store", felt, deed);
  }
  const std::int64_t fault = begins(kind, "the links to the store", span);
  // One way only: from whom is said first.
  const bool from_store = entry.from.empty() || std::find(nodes.begin(), nodes.end(),
                                                          stage_.store_machine()) != nodes.end();
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
  const auto stop = [this, links, ways, kind, fault, cuts, &deed] {
    bool felt = false;
    for (real::LinkProxy* const link : links) {
      if (cuts) {
        for (const Way way : ways) link->mend(way);
      }
      link->delay(Duration::zero());
      link->limit(0);
      felt = link->was_felt() || felt;
    }
    ends(fault, kind, felt, deed);
  };
  if (span > Duration::zero()) {
    later(now() + span, stop);
  }
}

std::int64_t Director::begins(const std::string& kind, const std::string& target, Duration span) {
  const std::int64_t fault = faults_++;
  stage_.note(sim::kNoNode, sim::Pid{0}, wev::fault_injected, {fault, kind, target, span.count()});
  return fault;
}

void Director::at_once(const std::string& kind, const std::string& target, bool felt, Deed& deed) {
  const std::int64_t fault = begins(kind, target, {});
  if (!felt) return;
  ++deed.felt;
  stage_.note(sim::kNoNode, sim::Pid{0}, wev::fault_felt, {fault, kind});
}

void Director::ends(std::int64_t fault, const std::string& kind, bool felt, Deed& deed) {
  if (felt) {
    ++deed.felt;
    stage_.note(sim::kNoNode, sim::Pid{0}, wev::fault_felt, {fault, kind});
  }
  stage_.note(sim::kNoNode, sim::Pid{0}, wev::fault_ended, {fault, kind, std::int64_t{0}});
}

std::vector<InjectedFault> Director::done() const {
  std::vector<InjectedFault> faults;
  for (const Deed& deed : done_) {
    faults.push_back({scenario_.timeline[deed.entry].what, deed.at, deed.felt, deed.entry});
  }
  return faults;
}

}  // namespace hooke::scenario
