// The two kinds of traces are told apart by what only a world says: that a process has started. A log
// is what begins with anything but a JSON object.
#include "scenarios/recorded/recorded_events.h"

#include <filesystem>
#include <fstream>

#include "scenarios/format/json_reader.h"
#include "scenarios/recorded/state_record.h"

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

bool is_trace(const std::string& path) {
  std::error_code ignored;
  std::ifstream in(path, std::ios::binary);
  if (!in || std::filesystem::is_directory(path, ignored)) return true;  // TraceReader refuses it
  std::string first;
  in >> std::ws;
  std::getline(in, first, '\n');
  return first.empty() ||
         (first[0] == '{' && first.find("torchelastic.worker.status") == first.npos);
}

std::unique_ptr<RecordedEvents> open_recording(const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    if (!is_trace(path) || is_state_record(path) || !tells_of_a_world(path)) continue;
    if (paths.size() == 1) return open_run_trace(path);
    throw ScenarioError(path +
                        ": line 1: expected agent.started, as the trace of one agent of several "
                        "begins, got the trace of a whole run, which is judged alone");
  }
  return open_agent_traces(paths);
}

}  // namespace hooke::scenario
