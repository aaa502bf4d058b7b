// Triggers. An entry that waits for an event acts from the agenda, never inside the sink; one that
// waits for a fault point acts right there, while the process stands at it.
#include "scenarios/simulated/timeline.h"

#include <stdexcept>
#include <string>

#include "sim/port/check.h"

namespace hooke::scenario {
namespace {

std::string target_of(const TimelineEntry& entry) {
  std::string target;
  for (const std::string& name : entry.from) target += (target.empty() ? "" : ",") + name;
  if (entry.local_rank) target += "/" + std::to_string(*entry.local_rank);
  if (!entry.to.empty()) target += entry.one_way ? " to " : " and ";
  for (std::size_t i = 0; i < entry.to.size(); ++i) target += (i == 0 ? "" : ",") + entry.to[i];
  return target;
}

}  // namespace

Timeline::Timeline(world::World& world, Actions& actions, Agenda& agenda,
                   const std::vector<TimelineEntry>& entries)
    : world_(world),
      actions_(actions),
      agenda_(agenda),
      entries_(entries),
      log_(entries),
      for_events_(entries, log_),
      for_passages_(entries, log_) {
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const TimelineEntry& entry = entries[i];
    const Trigger& trigger = entry.trigger;
    const int triggers =
        (trigger.at ? 1 : 0) + (trigger.event ? 1 : 0) + (trigger.fault_point ? 1 : 0);
    if (triggers != 1) {
      throw std::invalid_argument("timeline: \"" + entry.what +
                                  "\" needs exactly one of a time, an event or a fault point");
    }
    if (!trigger.on_node.empty() && !world.find_node(trigger.on_node)) {
      throw std::invalid_argument("timeline: no node \"" + trigger.on_node + "\"");
    }
    actions.check(entry);
    if (trigger.event) for_events_.add(i);
    if (trigger.fault_point) for_passages_.add(i);
  }
}

void Timeline::arm() {
  for (std::size_t i = 0; i < entries_.size(); ++i) {
    const Trigger& trigger = entries_[i].trigger;
    if (!trigger.at) continue;
    later(*trigger.at + trigger.after, i, std::nullopt, sim::kNoEvent, entries_[i].times);
  }
  if (for_passages_.empty()) return;
  world_.on_fault_point([this](sim::NodeId node, sim::Pid pid, std::string_view name,
                               std::uint64_t) { on_fault_point(node, pid, name); });
}

void Timeline::on_event(const sim::Event& event) {
  if (for_events_.empty()) return;
  const bool somewhere = event.node != sim::kNoNode;
  const std::string node = somewhere ? world_.node_name(event.node) : "";
  const auto met =
      for_events_.take_met([&](const Trigger& trigger) { return fires(trigger, event, node); });
  for (const std::size_t entry : met) {
    later(entries_[entry].trigger.after, entry,
          somewhere ? std::optional(event.node) : std::nullopt, event.id, entries_[entry].times);
  }
}

void Timeline::on_fault_point(sim::NodeId node, sim::Pid, std::string_view name) {
  const auto met = for_passages_.take_met([&](const Trigger& trigger) {
    const bool here = trigger.on_node.empty() || world_.find_node(trigger.on_node) == node;
    return here && *trigger.fault_point == name;
  });
  for (const std::size_t number : met) {
    const TimelineEntry& entry = entries_[number];
    if (entry.trigger.after > Duration::zero()) {
      later(entry.trigger.after, number, node, world_.kernel().cause(), entry.times);
    } else {
      act(number, node, entry.times);
    }
  }
}

void Timeline::later(Duration after, std::size_t entry, std::optional<sim::NodeId> there,
                     sim::EventId cause, std::int64_t times_left) {
  HOOKE_CHECK(after >= Duration::zero(), "what acts later acts in the future");
  HOOKE_CHECK(entry < entries_.size(), "what acts later is an entry of the timeline");
  log_.due(entry, world_.kernel().now() + after);
  agenda_.later(after, [this, entry, there, cause, times_left] {
    world_.kernel().cause() = cause;
    act(entry, there, times_left);
  });
}

void Timeline::stop() {
  stopped_ = true;
  for_events_.clear();
  for_passages_.clear();
}

void Timeline::act(std::size_t number, std::optional<sim::NodeId> there, std::int64_t times_left) {
  if (stopped_) return;
  HOOKE_CHECK(number < entries_.size(), "what acts is an entry of the timeline");
  const TimelineEntry& entry = entries_[number];
  log_.acted(number);
  std::string target = target_of(entry);
  if (target.empty() && there) target = world_.node_name(*there);
  const sim::EventId acted =
      world_.emit(events::timeline_acted, {static_cast<std::uint64_t>(number), entry.what, target});
  HOOKE_CHECK(done_.empty() || done_.back().at <= world_.kernel().now(),
              "what acts, acts after what acted before");
  done_.push_back({number, world_.kernel().now(), {}});
  actions_.act(entry, there, done_.back().effect);
  if (entry.every && times_left > 1) later(*entry.every, number, there, acted, times_left - 1);
}

std::vector<InjectedFault> Timeline::done() const {
  std::vector<InjectedFault> faults;
  for (const Injection& injection : done_) {
    std::uint64_t felt = injection.effect.felt;
    for (const world::FaultId fault : injection.effect.faults) felt += world_.felt(fault);
    faults.push_back({entries_[injection.entry].what, injection.at, felt, injection.entry});
  }
  return faults;
}

}  // namespace hooke::scenario
