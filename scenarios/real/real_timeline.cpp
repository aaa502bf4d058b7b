// What is the same in both worlds is in CommonActions; here is what signals, orders and links do. A
// word that a real machine cannot carry out is refused before anything runs.
#include "scenarios/real/real_timeline.h"

#include <algorithm>
#include <array>

#include "model/observe/restart_events.h"
#include "scenarios/format/fixed_names.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/outcome/trigger.h"
#include "scenarios/real/unsupported.h"
#include "sim/world/world_events.h"

namespace hooke::scenario {
namespace {

namespace wev = world::events;

constexpr const char* kLinks = "the links to the store";

std::vector<sim::NodeId> agent_machines(const Scenario& scenario) {
  std::vector<sim::NodeId> nodes;
  for (std::uint32_t i = 0; i < scenario.cluster.nodes.size(); ++i) nodes.push_back({i});
  return nodes;
}

std::optional<sim::NodeId> node_named(const std::vector<std::string>& names,
                                      const std::string& name) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found == names.end()) return std::nullopt;
  return sim::NodeId{static_cast<std::uint32_t>(found - names.begin())};
}

}  // namespace

/// One entry that is being carried out.
struct RealTimeline::Call {
  const Word& word;
  const TimelineEntry& entry;
  const Nodes& nodes;
  Effect& effect;
};

struct RealTimeline::Handler {
  std::string_view word;
  Method method;
};

const RealTimeline::Handler* RealTimeline::find(std::string_view word) {
  using T = RealTimeline;
  static constexpr std::array kHandlers{
      Handler{"agent.kill", &T::signal_agents},
      Handler{"agent.signal", &T::signal_agents},
      Handler{"agent.pause", &T::pause_agents},
      Handler{"worker.signal", &T::signal_workers},
      Handler{"worker.exit", &T::end_workers},
      Handler{"net.reset", &T::reset_links},
      Handler{"net.partition", &T::disturb_links},
      Handler{"net.clog", &T::disturb_links},
      Handler{"net.delay", &T::disturb_links},
      Handler{"net.bandwidth", &T::disturb_links},
      Handler{"store.slow", &T::disturb_links},
      Handler{"store.stop", &T::disturb_links},
      Handler{"worker.start_fails", &T::hide_programs},
  };
  const auto* const found =
      std::find_if(kHandlers.begin(), kHandlers.end(),
                   [&](const Handler& handler) { return handler.word == word; });
  return found == kHandlers.end() ? nullptr : found;
}

bool RealTimeline::can_do(std::string_view word) {
  return CommonActions::knows(word) || find(word) != nullptr;
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
      log_(scenario.timeline),
      names_(agent_machines(scenario), cluster.store_machine(), roster,
             [&node_names](const std::string& name) { return node_named(node_names, name); }),
      common_(*this, roster),
      waiting_(scenario.timeline, log_) {
  for (std::uint32_t i = 0; i < scenario.cluster.nodes.size(); ++i) {
    const auto& start = scenario.cluster.nodes[i].start;
    if (!start) continue;
    agenda_.emplace(begin_ + *start,
                    [this, i] { cluster_.start_agent(sim::NodeId{i}, std::string(kRunId)); });
  }
  for (std::size_t i = 0; i < scenario.timeline.size(); ++i) {
    const TimelineEntry& entry = scenario.timeline[i];
    if (entry.trigger.event) {
      waiting_.add(i);
    } else {
      log_.due(i, sim::WorldTime(*entry.trigger.at + entry.trigger.after));
      agenda_.emplace(begin_ + *entry.trigger.at + entry.trigger.after,
                      [this, i, &entry] { act_on(i, std::nullopt, entry.times); });
    }
  }
}

sim::WorldTime RealTimeline::now() const {
  return sim::WorldTime(ports_.clock.monotonic_now().time_since_epoch());
}

void RealTimeline::later(Duration after, std::function<void()> action) {
  agenda_.emplace(now() + after, std::move(action));
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
  const auto met =
      waiting_.take_met([&](const Trigger& trigger) { return fires(trigger, event, node); });
  for (const std::size_t number : met) {
    const TimelineEntry& entry = scenario_.timeline[number];
    log_.due(number, sim::WorldTime(now() - begin_ + entry.trigger.after));
    later(entry.trigger.after,
          [this, number, there = event.node, &entry] { act_on(number, there, entry.times); });
  }
  if (event.type == &model::events::worker_start_failed) failed_to_start_.insert(event.node);
  if (event.type != &wev::process_ended) return;
  // The roster, which is told first, knows no living agent of this node any more.
  if (!roster_.agents(event.node).empty()) return;
  common_.last_agent_ended(event.node, event.field("status").number());
}

void RealTimeline::act_on(std::size_t number, std::optional<sim::NodeId> there,
                          std::int64_t times_left) {
  const TimelineEntry& entry = scenario_.timeline[number];
  log_.acted(number);
  Nodes nodes = names_.resolve(entry.from);
  if (entry.from.empty() && there) nodes.push_back(*there);
  std::string target;
  for (const sim::NodeId node : nodes) {
    target += (target.empty() ? "" : ",") + node_names_[node.value];
  }
  cluster_.note(sim::kNoNode, sim::Pid{0}, events::timeline_acted,
                {static_cast<std::int64_t>(number), entry.what, target});
  done_.push_back({number, sim::WorldTime(now() - begin_)});
  const Word& word = *find_word(entry.what);
  const TimelineEntry whole = with_usual(word, entry);
  if (CommonActions::knows(entry.what)) {
    common_.act(whole, nodes, done_.back().effect);
  } else {
    (this->*find(entry.what)->method)({word, whole, nodes, done_.back().effect});
  }
  if (entry.every && times_left > 1) {
    log_.due(number, sim::WorldTime(now() - begin_ + *entry.every));
    later(*entry.every,
          [this, number, there, times_left] { act_on(number, there, times_left - 1); });
  }
}

// ---- what the common words need -----------------------------------------------------------------

bool RealTimeline::start_agent(sim::NodeId node, const std::string& run_id) {
  return cluster_.start_agent(node, run_id);
}

void RealTimeline::crash(sim::NodeId node, Effect& effect) {
  at_once("node_crash", node_names_[node.value], true, effect);
  cluster_.crash(node);
}

bool RealTimeline::boot(sim::NodeId node, Effect& effect) {
  at_once("node_restart", node_names_[node.value], true, effect);
  return cluster_.boot(node);
}

void RealTimeline::kill_store(Effect& effect) {
  const auto store = cluster_.store_process();
  if (!store) return;
  at_once("process_signal", "store",
          cluster_.signal(cluster_.store_machine(), *store, sim::Signal::kill), effect);
}

bool RealTimeline::is_external_store(sim::NodeId node) const {
  return node == cluster_.store_machine() && cluster_.store_is_external();
}

// ---- processes ----------------------------------------------------------------------------------

void RealTimeline::signal_agents(const Call& call) {
  for (const sim::NodeId node : call.nodes) {
    for (const sim::Pid pid : roster_.agents(node)) {
      at_once(call.word.kind, node_names_[node.value],
              cluster_.signal(node, pid, *signal_named(*call.entry.signal)), call.effect);
    }
  }
}

void RealTimeline::pause_agents(const Call& call) {
  const Duration span = call.entry.duration.value_or(Duration::zero());
  for (const sim::NodeId node : call.nodes) {
    for (const sim::Pid pid : roster_.agents(node)) {
      if (!cluster_.signal(node, pid, sim::Signal::stop)) continue;  // gone: no end to wait for
      const std::int64_t fault = begins(call.word.kind, node_names_[node.value], span);
      cluster_.note(node, pid, wev::process_paused, {});
      later(span, [this, node, pid, fault, kind = call.word.kind, &effect = call.effect] {
        static_cast<void>(cluster_.signal(node, pid, sim::Signal::cont));
        cluster_.note(node, pid, wev::process_resumed, {});
        ends(fault, kind, true, effect);
      });
    }
  }
}

void RealTimeline::signal_workers(const Call& call) {
  for (const sim::NodeId node : call.nodes) {
    for (const sim::Pid pid : roster_.workers(node, call.entry.local_rank)) {
      at_once(call.word.kind, node_names_[node.value],
              cluster_.signal(node, pid, *signal_named(*call.entry.signal)), call.effect);
    }
  }
}

void RealTimeline::end_workers(const Call& call) {
  for (const sim::NodeId node : call.nodes) {
    for (const sim::Pid pid : roster_.workers(node, call.entry.local_rank)) {
      at_once(call.word.kind, node_names_[node.value], true, call.effect);
      cluster_.order_exit(pid, *call.entry.amount);
    }
  }
}

void RealTimeline::hide_programs(const Call& call) {
  const Duration span = call.entry.duration.value_or(Duration::zero());
  for (const sim::NodeId node : call.nodes) {
    const std::int64_t fault = begins(call.word.kind, node_names_[node.value], span);
    failed_to_start_.erase(node);
    cluster_.let_workers_start(node, false);
    if (span == Duration::zero()) continue;
    later(span, [this, node, fault, kind = call.word.kind, &effect = call.effect] {
      cluster_.let_workers_start(node, true);
      ends(fault, kind, failed_to_start_.contains(node), effect);
    });
  }
}

// ---- links --------------------------------------------------------------------------------------

RealTimeline::Nodes RealTimeline::linked(const TimelineEntry& entry, const Nodes& from) const {
  if (find_word(entry.what)->target == Target::store) return names_.resolve({"all"});
  const Nodes to = names_.resolve(entry.to);
  const auto has_store = [&](const Nodes& nodes) {
    return std::find(nodes.begin(), nodes.end(), cluster_.store_machine()) != nodes.end();
  };
  if (entry.from.empty() || has_store(from)) return to.empty() ? names_.resolve({"all"}) : to;
  return to.empty() || has_store(to) ? from : Nodes();
}

std::vector<real::LinkProxy*> RealTimeline::links(const Call& call) {
  return joins_a_node_to_itself(call.entry) ? cluster_.heartbeat_links(call.nodes)
                                            : cluster_.links(linked(call.entry, call.nodes));
}

void RealTimeline::reset_links(const Call& call) {
  bool felt = false;
  for (real::LinkProxy* const link : links(call)) {
    static_cast<void>(link->was_felt());
    link->reset();
    felt = link->was_felt() || felt;
  }
  at_once(call.word.kind, kLinks, felt, call.effect);
}

void RealTimeline::disturb_links(const Call& call) {
  using Way = real::LinkProxy::Way;
  const TimelineEntry& entry = call.entry;
  const std::vector<real::LinkProxy*> links = this->links(call);
  const Duration span = entry.duration.value_or(Duration::zero());
  const std::int64_t fault = begins(call.word.kind, kLinks, span);
  // One way only: the origin is said first.
  const bool from_store =
      entry.from.empty() ||
      std::find(call.nodes.begin(), call.nodes.end(), cluster_.store_machine()) != call.nodes.end();
  std::vector<Way> ways{Way::there, Way::back};
  if (entry.one_way) ways = {from_store ? Way::back : Way::there};
  const bool cuts = !entry.amount && !entry.span;
  for (real::LinkProxy* const link : links) {
    static_cast<void>(link->was_felt());
    if (cuts) {
      for (const Way way : ways) link->cut(way);
    } else if (entry.amount) {
      constexpr std::int64_t kBitsPerByte = 8;
      link->limit(std::max<std::int64_t>(1, *entry.amount / kBitsPerByte));
    } else {
      link->delay(*entry.span);
    }
  }
  if (span == Duration::zero()) return;
  later(span, [this, links, ways, kind = call.word.kind, fault, cuts, &effect = call.effect] {
    bool felt = false;
    for (real::LinkProxy* const link : links) {
      if (cuts) {
        for (const Way way : ways) link->mend(way);
      }
      link->delay(Duration::zero());
      link->limit(0);
      felt = link->was_felt() || felt;
    }
    ends(fault, kind, felt, effect);
  });
}

std::int64_t RealTimeline::begins(std::string_view kind, const std::string& target, Duration span) {
  const std::int64_t fault = faults_++;
  cluster_.note(sim::kNoNode, sim::Pid{0}, wev::fault_injected,
                {fault, std::string(kind), target, span.count()});
  return fault;
}

void RealTimeline::at_once(std::string_view kind, const std::string& target, bool felt,
                           Effect& effect) {
  const std::int64_t fault = begins(kind, target, {});
  if (!felt) return;
  ++effect.felt;
  cluster_.note(sim::kNoNode, sim::Pid{0}, wev::fault_took_effect, {fault, std::string(kind)});
}

void RealTimeline::ends(std::int64_t fault, std::string_view kind, bool felt, Effect& effect) {
  if (felt) {
    ++effect.felt;
    cluster_.note(sim::kNoNode, sim::Pid{0}, wev::fault_took_effect, {fault, std::string(kind)});
  }
  cluster_.note(sim::kNoNode, sim::Pid{0}, wev::fault_ended,
                {fault, std::string(kind), std::int64_t{0}});
}

std::vector<InjectedFault> RealTimeline::done() const {
  std::vector<InjectedFault> faults;
  for (const Injection& injection : done_) {
    faults.push_back({scenario_.timeline[injection.entry].what, injection.at, injection.effect.felt,
                      injection.entry});
  }
  return faults;
}

}  // namespace hooke::scenario
