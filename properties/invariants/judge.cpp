// Following agents through the events they emit.
#include "properties/invariants/judge.h"

#include <fmt/format.h>

#include "model/observe/trace_events.h"
#include "sim/world/world_events.h"

namespace hooke::properties {

namespace ev = model::events;
namespace wev = world::events;

std::string seconds_text(sim::Duration span) {
  const std::int64_t ms = span.count() / 1'000'000;
  return fmt::format("{}.{:03} s", ms / 1000, ms % 1000);
}

std::string seconds_text(sim::WorldTime at) {
  return seconds_text(at.time_since_epoch());
}

void Roll::on_event(const sim::Event& event) {
  if (event.node == sim::kNoNode) return;
  const ProcessKey key = process_of(event);
  if (event.type == &ev::agent_started) {
    Agent agent;
    agent.run_id = text(event, "run_id");
    agent.min_nodes = number(event, "min_nodes");
    agent.max_nodes = number(event, "max_nodes");
    agent.max_restarts = number(event, "max_restarts");
    agent.since = event.at;
    agents_[key] = std::move(agent);
    return;
  }
  const auto found = agents_.find(key);
  if (found == agents_.end()) return;
  Agent& agent = found->second;
  const auto enter = [&](Phase phase) {
    agent.phase = phase;
    agent.since = event.at;
  };
  if (event.type == &ev::agent_settings) {
    agent.join = span(event, "join");
    agent.last_call = span(event, "last_call");
    agent.close = span(event, "close");
    agent.keep_alive = span(event, "keep_alive");
    agent.read_timeout = span(event, "read_timeout");
    agent.monitor = span(event, "monitor");
    agent.exit_barrier = span(event, "exit_barrier");
  } else if (event.type == &ev::rendezvous_joining) {
    const std::string descriptor = text(event, "descriptor");
    const std::size_t local_id = descriptor.rfind('_');
    agent.name = descriptor.substr(0, descriptor.rfind('_', local_id - 1));
    enter(Phase::joining);
  } else if (event.type == &ev::rendezvous_joined) {
    agent.round = number(event, "round");
    agent.rank = number(event, "rank");
  } else if (event.type == &ev::group_state) {
    agent.state = text(event, "state");
    if (agent.state == "HEALTHY") enter(Phase::running);
    if (agent.state == "STOPPED") enter(Phase::stopping);
  } else if (event.type == &ev::exit_barrier_entered) {
    enter(Phase::barrier);
  } else if (event.type == &ev::exit_barrier_left) {
    enter(Phase::stopping);
  } else if (event.type == &ev::agent_signalled) {
    agent.signalled = true;
  } else if (event.type == &ev::agent_finished) {
    agent.outcome = text(event, "outcome");
    enter(Phase::finished);
  } else if (event.type == &wev::process_ended) {
    enter(Phase::dead);
  }
}

const Roll::Agent* Roll::find(ProcessKey process) const {
  const auto found = agents_.find(process);
  return found == agents_.end() ? nullptr : &found->second;
}

std::string Roll::describe(ProcessKey process) const {
  const Agent* const agent = find(process);
  const std::string name =
      agent == nullptr || agent->name.empty() ? std::to_string(process.node.value) : agent->name;
  return fmt::format("the agent of node {} (pid {})", name, process.pid);
}

}  // namespace hooke::properties
