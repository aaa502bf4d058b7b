#pragma once
// Carries out a scenario's timeline on a cluster: the same words as in the simulated world, put
// into injections with signals, links and restarts.

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/outcome/common_actions.h"
#include "scenarios/outcome/node_resolver.h"
#include "scenarios/outcome/report.h"
#include "scenarios/outcome/roster.h"
#include "scenarios/outcome/timeline_log.h"
#include "scenarios/outcome/waiting_entries.h"
#include "scenarios/real/real_cluster.h"
#include "sim/kernel/trace_recorder.h"

namespace hooke::scenario {

class RealTimeline final : public kernel::TraceSink, private Machines {
 public:
  /// References must outlive the timeline.
  RealTimeline(sim::Ports& ports, RealCluster& cluster, const Scenario& scenario,
               const Roster& roster, const std::vector<std::string>& node_names,
               sim::WorldTime begin);

  /// Sees what entries wait for, and agents that end.
  void on_event(const sim::Event& event) override;
  /// Does what is due.
  void act(sim::WorldTime now);
  /// The word can be carried out here; its descriptor says so too.
  [[nodiscard]] static bool can_do(std::string_view word);
  /// Nothing is left to come but what waits for an event.
  [[nodiscard]] bool idle() const { return agenda_.empty(); }
  /// What has been done so far, in order, and how often it was felt.
  [[nodiscard]] std::vector<InjectedFault> done() const;
  /// What has not, by the end of the run, counted from its beginning.
  [[nodiscard]] std::vector<NeverHappened> never_happened(sim::WorldTime end) const {
    return log_.never_happened(end);
  }

 private:
  struct Injection {
    std::size_t entry = 0;
    sim::WorldTime at{};
    Effect effect{};
  };
  struct Call;
  using Method = void (RealTimeline::*)(const Call&);
  struct Handler;
  static const Handler* find(std::string_view word);
  using Nodes = std::vector<sim::NodeId>;

  // Machines
  bool start_agent(sim::NodeId node, const std::string& run_id) override;
  void crash(sim::NodeId node, Effect& effect) override;
  bool boot(sim::NodeId node, Effect& effect) override;
  void kill_store(Effect& effect) override;
  void start_store() override { cluster_.start_store(); }
  [[nodiscard]] bool is_external_store(sim::NodeId node) const override;
  void later(Duration after, std::function<void()> action) override;

  void act_on(std::size_t entry, std::optional<sim::NodeId> there, std::int64_t times_left);
  void signal_agents(const Call& call);
  void pause_agents(const Call& call);
  void signal_workers(const Call& call);
  void end_workers(const Call& call);
  /// The links by which agents find the program of their workers are taken away.
  void hide_programs(const Call& call);
  void reset_links(const Call& call);
  void disturb_links(const Call& call);
  /// The links to the store, or to workers' heartbeats, that the entry means.
  [[nodiscard]] std::vector<real::LinkProxy*> links(const Call& call);
  /// The nodes whose link to the store lies between these.
  [[nodiscard]] Nodes linked(const TimelineEntry& entry, const Nodes& from) const;
  /// Notes a fault that takes no time.
  void at_once(std::string_view kind, const std::string& target, bool felt, Effect& effect);
  /// Notes that a fault begins; its number.
  std::int64_t begins(std::string_view kind, const std::string& target, Duration span);
  void ends(std::int64_t fault, std::string_view kind, bool felt, Effect& effect);
  [[nodiscard]] sim::WorldTime now() const;

  sim::Ports& ports_;
  RealCluster& cluster_;
  const Scenario& scenario_;
  const Roster& roster_;
  const std::vector<std::string>& node_names_;
  sim::WorldTime begin_;
  TimelineLog log_;
  std::multimap<sim::WorldTime, std::function<void()>> agenda_;
  NodeResolver names_;
  CommonActions common_;
  WaitingEntries waiting_;
  std::deque<Injection> done_;  ///< references into it stay valid
  std::int64_t faults_ = 0;
  std::set<sim::NodeId> failed_to_start_;  ///< a worker there, since its program was taken away
};

}  // namespace hooke::scenario
