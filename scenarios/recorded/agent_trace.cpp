// The file of a hooke agent holds its events; their times are put on the machine's wall clock.
#include "scenarios/recorded/agent_trace.h"

#include <algorithm>
#include <map>

#include "model/observe/trace_events.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/recorded/trace_reader.h"

namespace hooke::scenario {
namespace {

namespace ev = model::events;

/// What its events say that matters for more than themselves.
void take_in(AgentTrace& agent, const RawEvent& event) {
  if (event.type == &ev::agent_settings) {
    agent.keep_alive = sim::Duration(event.number("keep_alive"));
  } else if (event.type == &ev::worker_started) {
    agent.workers.insert(sim::Pid{static_cast<std::int32_t>(event.number("worker_pid"))});
  } else if (event.type == &ev::worker_ended) {
    agent.workers.erase(sim::Pid{static_cast<std::int32_t>(event.number("worker_pid"))});
  } else if (event.type == &ev::agent_finished) {
    agent.exit_code = event.number("exit_code");
  }
}

}  // namespace

void add_event(AgentTrace& agent, RawEvent event) {
  if (!agent.events.empty()) event.at = std::max(event.at, agent.last());
  take_in(agent, event);
  agent.events.push_back(std::move(event));
}

AgentTrace read_agent_trace(const std::string& path, std::vector<std::string>& assumptions) {
  TraceReader reader(path);
  AgentTrace agent;
  agent.path = path;
  while (auto line = reader.next()) {
    RawEvent& event = line->event;
    if (agent.events.empty()) {
      agent.node = line->node;
      if (event.wall) agent.ahead = event.wall->time_since_epoch() - event.at.time_since_epoch();
    } else if (line->node != agent.node || event.pid != agent.pid()) {
      throw ScenarioError(path + ": event " + std::to_string(line->id) +
                          ": expected an event of the agent that began the trace (process " +
                          std::to_string(agent.pid().value) + " on " + agent.node +
                          "), got one of process " + std::to_string(event.pid.value) + " on " +
                          line->node);
    }
    event.at += agent.ahead;
    add_event(agent, std::move(event));
  }
  if (reader.cut_off()) assumptions.push_back(path + ": its last line is cut off and was not used");
  return agent;
}

void complete_rounds(std::vector<AgentTrace>& agents) {
  struct First {
    AgentTrace* agent = nullptr;
    sim::WorldTime at = sim::WorldTime::max();
    bool completed = false;
  };
  std::map<std::pair<std::string, std::int64_t>, First> rounds;
  for (AgentTrace& agent : agents) {
    for (const RawEvent& event : agent.events) {
      const bool joins = event.type == &ev::rendezvous_joined;
      if (!joins && event.type != &ev::rendezvous_completed) continue;
      First& first = rounds[{event.text("run_id"), event.number("round")}];
      first.completed = first.completed || !joins;
      if (joins && agent.is_log && event.at < first.at) {
        first.agent = &agent;
        first.at = event.at;
      }
    }
  }
  for (const auto& [round, first] : rounds) {
    if (first.completed || first.agent == nullptr) continue;
    const std::int64_t number = round.second;
    std::vector<RawEvent>& events = first.agent->events;
    const auto joined = std::find_if(events.begin(), events.end(), [&](const RawEvent& event) {
      return event.type == &ev::rendezvous_joined && event.number("round") == number;
    });
    RawEvent completed = *joined;
    const RawEvent& started = events.front();
    completed.type = &ev::rendezvous_completed;
    completed.fields = {round.first, number, joined->number("world_size"),
                        started.number("min_nodes"), started.number("max_nodes")};
    events.insert(joined, std::move(completed));
  }
}

}  // namespace hooke::scenario
