// The two kinds of traces are told apart by what only a world says: that a process has started.
#include "scenarios/recorded/recorded_events.h"

#include "scenarios/format/json_reader.h"

namespace hooke::scenario {
namespace {

/// A world says it before any process can say anything.
bool tells_of_a_world(const std::string& path) {
  TraceReader reader(path);
  const std::optional<TraceLine> first = reader.next();
  if (!first) throw ScenarioError(path + ": line 1: expected an event, got none");
  return first->event.type->name != "agent.started";
}

}  // namespace

std::unique_ptr<RecordedEvents> open_recording(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (!tells_of_a_world(path)) continue;
    if (paths.size() == 1) return open_run_trace(path);
    throw ScenarioError(path +
                        ": line 1: expected agent.started, as the trace of one agent of several "
                        "begins, got the trace of a whole run, which is judged alone");
  }
  return open_agent_traces(paths);
}

}  // namespace hooke::scenario
