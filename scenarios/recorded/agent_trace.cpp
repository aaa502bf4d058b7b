// The file of a hooke agent holds its events; their times are put on the machine's wall clock.
#include "scenarios/recorded/agent_trace.h"

#include <algorithm>

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

}  // namespace hooke::scenario
