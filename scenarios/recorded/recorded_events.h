#pragma once
// What happened in a job, as files tell it.

#include <memory>
#include <string>
#include <vector>

#include "scenarios/recorded/trace_reader.h"
#include "sim/kernel/trace_recorder.h"

namespace hooke::scenario {

class RecordedEvents {
 public:
  virtual ~RecordedEvents() = default;
  /// By NodeId.
  [[nodiscard]] virtual const std::vector<std::string>& node_names() const = 0;
  /// Shows every event to each sink, in order of time. Once. ScenarioError as TraceReader has it.
  virtual void play(const std::vector<kernel::TraceSink*>& sinks) = 0;
  /// After play(): until when it was watched, since its beginning.
  [[nodiscard]] virtual sim::WorldTime end() const = 0;
  /// Every agent that had a part in the job is told of. False: only what an agent shows of itself
  /// can be judged.
  [[nodiscard]] virtual bool complete() const = 0;
  /// After play(): what was taken for granted because no file says it, a sentence each.
  [[nodiscard]] virtual const std::vector<std::string>& assumptions() const = 0;
};

/// The trace of a whole run, or the traces of the agents of one job. ScenarioError when one of the
/// files cannot be read, has no event, or does not belong to the others.
std::unique_ptr<RecordedEvents> open_recording(const std::vector<std::string>& paths);

/// The trace of a whole run (hooke run --trace): played as it stands.
std::unique_ptr<RecordedEvents> open_run_trace(const std::string& path);
/// The traces of agents (hooke agent --trace), a file for each agent of each machine: put on one
/// axis of time, with the processes that they imply.
std::unique_ptr<RecordedEvents> open_agent_traces(const std::vector<std::string>& paths);

}  // namespace hooke::scenario
