#pragma once
// What one agent did, whatever kind of file tells it.

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/recorded/raw_event.h"
#include "sim/port/time.h"

namespace hooke::scenario {

struct AgentTrace {
  std::string path;
  std::string node;
  std::string descriptor;        ///< as the rendezvous calls it; of a trace: empty
  std::vector<RawEvent> events;  ///< by the wall clock of its machine, as that was at its first
  std::set<sim::Pid> workers;    ///< which it started and did not see end
  sim::Duration ahead{};         ///< its machine's wall clock, of the monotonic one
  sim::Duration keep_alive{};  ///< silence after which the others count it as dead; 0: they do not
  std::optional<std::int64_t> exit_code;  ///< it has said that it ends
  bool is_log = false;                    ///< torchrun's log: it tells less than a trace
  bool from_record = false;               ///< only a record of the store shows it
  bool ended_with_job = false;  ///< … until the rendezvous was closed; how it ended is not known
  bool tells_detail = true;     ///< which agent completed, closed, evicted
  /// Nothing is heard of it for longer than its keep-alive only when it is gone.
  bool shows_life = true;

  [[nodiscard]] sim::Pid pid() const { return events.front().pid; }
  [[nodiscard]] sim::WorldTime last() const { return events.back().at; }
};

/// Takes one more event of the agent. An earlier time than the last one's becomes that one.
void add_event(AgentTrace& agent, RawEvent event);

/// What `hooke agent --trace` wrote. Adds to `assumptions` what was taken for granted. ScenarioError
/// for what is no such file.
AgentTrace read_agent_trace(const std::string& path, std::vector<std::string>& assumptions);

/// The log of a torchrun agent, with LOGLEVEL=INFO or more. ScenarioError for what is no such file.
AgentTrace read_torchrun_log(const std::string& path);

/// Logs may not say which agent completed a round: it was complete when the first agent had joined it.
void complete_rounds(std::vector<AgentTrace>& agents);

}  // namespace hooke::scenario
