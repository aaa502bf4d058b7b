// A wait opens with one event of an agent and is over with another.
#include "reports/page/deadlines.h"

#include <fmt/format.h>

#include "model/observe/trace_events.h"
#include "reports/explanation.h"
#include "reports/text.h"
#include "sim/world/world_events.h"

namespace hooke::report {
namespace {

namespace ev = model::events;
namespace wev = world::events;

sim::Duration span_of(const sim::Event& event, std::string_view field) {
  return sim::Duration(event.field(field).number());
}

Deadline wait_of(const char* what, sim::WorldTime from, sim::Duration span) {
  return {from, from + span, {}, fmt::format("{} of {}", what, short_time(span))};
}

}  // namespace

void DeadlineRecord::see(const sim::Event& event, const std::string& node_name) {
  const Process process{event.node, event.pid};
  if (event.type == &ev::agent_started) {
    Agent& agent = agents_[process] = {};
    agent.run_id = event.field("run_id").text();
    agent.min_nodes = event.field("min_nodes").number();
  }
  if (event.type == &ev::rendezvous_evicted) evicted(event, node_name);
  if (event.type == &ev::rendezvous_completed)
    completed(std::string(event.field("run_id").text()), event.at);
  if (event.type == &wev::node_crashed) {
    for (auto& [each, agent] : agents_) {
      if (each.first == event.node) gone(event, each, agent);
    }
    return;
  }
  const auto found = agents_.find(process);
  if (found == agents_.end()) return;
  if (event.type == &wev::process_ended) return gone(event, process, found->second);
  follow(event, found->second);
}

void DeadlineRecord::follow(const sim::Event& event, Agent& agent) {
  if (event.type == &ev::agent_settings) {
    agent.settings = Settings{span_of(event, "join"), span_of(event, "last_call"),
                              span_of(event, "keep_alive"), span_of(event, "exit_barrier")};
  }
  const bool beats = event.type == &ev::keep_alive_tick && event.field("result").text() == "ok";
  if (beats || event.type == &ev::rendezvous_write) agent.sign_of_life = event.at;
  if (!agent.settings) return;
  follow_joins(event, agent);
  if (event.type == &ev::exit_barrier_entered) {
    agent.exit_barrier = wait_of("exit barrier's time-out", event.at, agent.settings->exit_barrier);
  } else if (event.type == &ev::exit_barrier_left) {
    close(event.node, agent.exit_barrier, event.at, std::string(event.field("result").text()));
  } else if (event.type == &ev::agent_finished) {
    agent.sign_of_life = {};  // it says goodbye: its silence is none
  }
}

void DeadlineRecord::follow_joins(const sim::Event& event, Agent& agent) {
  if (event.type == &ev::rendezvous_joining) {
    descriptors_[std::string(event.field("descriptor").text())] = {event.node, event.pid};
    agent.join = wait_of("join time-out", event.at, agent.settings->join);
  } else if (event.type == &ev::rendezvous_joined) {
    close(event.node, agent.join, event.at, "joined");
  } else if (event.type == &ev::rendezvous_failed) {
    close(event.node, agent.join, event.at, std::string(event.field("error").text()));
  } else if (event.type == &ev::rendezvous_added && !agent.last_call &&
             event.field("list").text() == "participants" &&
             event.field("size").number() == agent.min_nodes) {
    agent.last_call = wait_of("last call", event.at, agent.settings->last_call);
  }
}

void DeadlineRecord::completed(const std::string& run_id, sim::WorldTime at) {
  for (auto& [process, agent] : agents_) {
    if (agent.run_id == run_id) close(process.first, agent.last_call, at, "the round is complete");
  }
}

void DeadlineRecord::evicted(const sim::Event& event, const std::string& by) {
  const auto known = descriptors_.find(std::string(event.field("descriptor").text()));
  const auto judge = agents_.find({event.node, event.pid});
  if (known == descriptors_.end() || judge == agents_.end() || !judge->second.settings) return;
  std::optional<Deadline>& silence = agents_[known->second].silence;
  silence = wait_of("keep-alive", event.at - span_of(event, "heartbeat_age"),
                    judge->second.settings->keep_alive);
  silence->of_silence = true;
  close(known->second.first, silence, event.at, "dropped by " + by);
}

void DeadlineRecord::gone(const sim::Event& event, const Process& process, Agent& agent) {
  for (std::optional<Deadline>* const open : {&agent.join, &agent.last_call, &agent.exit_barrier}) {
    close(process.first, *open, event.at, "the agent is gone");
  }
  if (agent.settings && agent.sign_of_life != sim::WorldTime{}) {
    agent.silence = wait_of("keep-alive", agent.sign_of_life, agent.settings->keep_alive);
    agent.silence->of_silence = true;
  }
  agent.sign_of_life = {};
}

void DeadlineRecord::close(sim::NodeId node, std::optional<Deadline>& open, sim::WorldTime at,
                           std::string end) {
  if (!open) return;
  open->over = at;
  open->end = std::move(end);
  over_[node].push_back(std::move(*open));
  open.reset();
}

std::vector<Deadline> DeadlineRecord::of(sim::NodeId node) const {
  std::vector<Deadline> all;
  if (const auto found = over_.find(node); found != over_.end()) all = found->second;
  for (const auto& [process, agent] : agents_) {
    if (process.first != node) continue;
    for (const auto* const open :
         {&agent.join, &agent.last_call, &agent.exit_barrier, &agent.silence}) {
      if (*open) all.push_back(**open);
    }
  }
  return all;
}

std::string text_of(const Deadline& deadline) {
  const std::string span = fmt::format("{}: from {} to {}; ", deadline.what, at_text(deadline.from),
                                       at_text(deadline.at));
  if (!deadline.over) return span + "not over in this run";
  return fmt::format("{}{} at {}", span, deadline.end, at_text(*deadline.over));
}

}  // namespace hooke::report
