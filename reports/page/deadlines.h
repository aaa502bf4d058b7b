#pragma once
// The time-outs that something on a node waited for. Where a job stood still for ten minutes, the
// question is which of them was ten minutes long, whether it passed or was met in time. Those by
// which an invariant had to be kept are no time-outs of the job: they are the findings' marks.

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/port/trace.h"

namespace hooke::report {

struct Deadline {
  sim::WorldTime from{};               ///< the wait began
  sim::WorldTime at{};                 ///< it would end by itself
  std::optional<sim::WorldTime> over;  ///< it ended; nullopt: it did not in this run
  std::string what;                    ///< "join time-out of 600 s"
  std::string end{};                   ///< what ended it: "joined", "dropped by b"
  bool of_silence = false;             ///< the others waited for a sign of life of this node
};

/// Follows the time-outs of the rendezvous (join, last call, keep-alive) and of the exit barrier, as
/// agent.settings has them. The deadlines of heartbeats of workers are not among them.
class DeadlineRecord {
 public:
  /// `node_name`: of the node of the event.
  void see(const sim::Event& event, const std::string& node_name);
  /// In the order in which they were over; those that were not follow.
  [[nodiscard]] std::vector<Deadline> of(sim::NodeId node) const;

 private:
  using Process = std::pair<sim::NodeId, sim::Pid>;
  struct Settings {
    sim::Duration join{}, last_call{}, keep_alive{}, exit_barrier{};
  };
  struct Agent {
    std::string run_id;
    std::int64_t min_nodes = 0;
    std::optional<Settings> settings;
    sim::WorldTime sign_of_life{};  ///< its last write to the store
    std::optional<Deadline> join, last_call, exit_barrier, silence;
  };

  void follow(const sim::Event& event, Agent& agent);
  void follow_joins(const sim::Event& event, Agent& agent);
  void evicted(const sim::Event& event, const std::string& by);
  void completed(const std::string& run_id, sim::WorldTime at);
  /// The process is no more.
  void gone(const sim::Event& event, const Process& process, Agent& agent);
  void close(sim::NodeId node, std::optional<Deadline>& open, sim::WorldTime at, std::string end);

  std::map<Process, Agent> agents_;
  std::map<std::string, Process> descriptors_;
  std::map<sim::NodeId, std::vector<Deadline>> over_;
};

/// "join time-out of 600 s: from 0.000 s to 600.000 s; joined at 2.300 s".
std::string text_of(const Deadline& deadline);

}  // namespace hooke::report
