#pragma once
// What happened in a job, as files tell it.

#include <memory>
#include <string>
#include <vector>

#include "scenarios/recorded/trace_reader.h"
#include "sim/kernel/trace_recorder.h"

namespace hooke::scenario {

/// How much of what happened the files show, from least to most.
enum class Extent : unsigned char {
  each_agent,      ///< what an agent shows of itself: others have no trace, or clocks differ widely
  several_clocks,  ///< all agents, in an order that is known to about a second
  one_clock,       ///< all agents, in the order in which it happened
  whole_world,     ///< processes, faults and what workers say of themselves as well
};

/// What the files are, as far as that limits what can be judged.
struct Evidence {
  Extent extent = Extent::whole_world;
  bool has_logs = false;                 ///< some agents are known by torchrun's log alone
  bool has_members_of_a_record = false;  ///< some by a record of the store alone
  bool without_detail =
      false;  ///< … and one of the logs does not say which agent completed or closed
};

class RecordedEvents {
 public:
  virtual ~RecordedEvents() = default;
  /// Shows every event to each sink, in order of time. Once. ScenarioError as TraceReader has it.
  virtual void play(const std::vector<kernel::TraceSink*>& sinks) = 0;

  /// By NodeId.
  [[nodiscard]] const std::vector<std::string>& node_names() const { return names_; }
  [[nodiscard]] Extent extent() const { return evidence_.extent; }
  [[nodiscard]] const Evidence& evidence() const { return evidence_; }
  /// After play(): until when it was watched, since its beginning.
  [[nodiscard]] sim::WorldTime end() const { return end_; }
  /// After play(): what was taken for granted because no file says it, a sentence each.
  [[nodiscard]] const std::vector<std::string>& assumptions() const { return assumptions_; }

 protected:
  std::vector<std::string> names_;
  Evidence evidence_;
  sim::WorldTime end_{};
  std::vector<std::string> assumptions_;
};

/// The trace of a whole run, or the traces and logs of the agents of one job. ScenarioError when one of the
/// files cannot be read, has no event, or does not belong to the others.
std::unique_ptr<RecordedEvents> open_recording(const std::vector<std::string>& paths);

/// Whether the first line is a JSON object, as it is in a trace and not in a log.
bool is_trace(const std::string& path);
/// The trace of a whole run (hooke run --trace): played as it stands.
std::unique_ptr<RecordedEvents> open_run_trace(const std::string& path);
/// What tells of agents, a file for each agent of each machine (hooke agent --trace, or torchrun's
/// log), and a record of their store (hooke state --record): put on one axis of time, with the processes that they imply.
std::unique_ptr<RecordedEvents> open_agent_traces(const std::vector<std::string>& paths);

}  // namespace hooke::scenario
