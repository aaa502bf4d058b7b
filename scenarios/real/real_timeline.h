#pragma once
// Carries out a scenario's timeline on a cluster: the same words as in the simulated world, put
// into injections with signals, links and restarts.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/outcome/report.h"
#include "scenarios/outcome/roster.h"
#include "scenarios/outcome/timeline_log.h"
#include "scenarios/real/real_cluster.h"
#include "sim/kernel/trace_recorder.h"

namespace hooke::scenario {

/// What of this scenario cannot be played with these agents on a real machine, a sentence each;
/// empty: all of it can.
std::vector<std::string> unsupported(const Scenario& scenario, AgentKind kind);

class RealTimeline final : public kernel::TraceSink {
 public:
  /// References must outlive the timeline.
  RealTimeline(sim::Ports& ports, RealCluster& cluster, const Scenario& scenario,
               const Roster& roster, const std::vector<std::string>& node_names,
               sim::WorldTime begin);

  /// Sees what entries wait for, and agents that end.
  void on_event(const sim::Event& event) override;
  /// Does what is due.
  void act(sim::WorldTime now);
  /// Nothing is left to come but what waits for an event.
  [[nodiscard]] bool idle() const { return agenda_.empty(); }
  /// What has been done so far, in order, and how often it was felt.
  [[nodiscard]] std::vector<InjectedFault> done() const;
  /// What has not, by the end of the run, counted from its beginning.
  [[nodiscard]] std::vector<NeverHappened> never_happened(sim::WorldTime end) const {
    return log_.never_happened(end);
  }

 private:
  struct Waiting {
    std::size_t entry;
    std::int64_t seen = 0;
  };
  struct Injection {
    std::size_t entry = 0;
    sim::WorldTime at{};
    std::uint64_t felt = 0;
  };
  struct Relaunch {
    Duration after{};
    std::int64_t left = 0;
  };
  using Nodes = std::vector<sim::NodeId>;

  void later(sim::WorldTime at, std::function<void()> action);
  void act_on(std::size_t entry, std::optional<sim::NodeId> there, std::int64_t times_left);
  void perform(const TimelineEntry& entry, const Nodes& nodes, Injection& injection);
  [[nodiscard]] Nodes resolve(const std::vector<std::string>& names) const;
  /// The nodes whose link to the store lies between these.
  [[nodiscard]] Nodes linked(const TimelineEntry& entry, const Nodes& from) const;
  void disturb(const TimelineEntry& entry, const Nodes& nodes, Injection& injection);
  void pause(sim::NodeId node, sim::Pid pid, const TimelineEntry& entry, const char* kind,
             Injection& injection);
  void start_again(sim::NodeId node, Injection& injection);
  /// Notes a fault that takes no time.
  void at_once(const std::string& kind, const std::string& target, bool felt, Injection& injection);
  /// Notes that a fault begins; its number.
  std::int64_t begins(const std::string& kind, const std::string& target, Duration span);
  void ends(std::int64_t fault, const std::string& kind, bool felt, Injection& injection);
  [[nodiscard]] sim::WorldTime now() const;

  sim::Ports& ports_;
  RealCluster& cluster_;
  const Scenario& scenario_;
  const Roster& roster_;
  const std::vector<std::string>& node_names_;
  sim::WorldTime begin_;
  TimelineLog log_;
  std::multimap<sim::WorldTime, std::function<void()>> agenda_;
  std::vector<Waiting> waiting_;
  std::deque<Injection> done_;  ///< references into it stay valid
  std::map<sim::NodeId, Relaunch> relaunches_;
  std::vector<sim::NodeId> restart_when_ended_;
  std::int64_t faults_ = 0;
};

}  // namespace hooke::scenario
