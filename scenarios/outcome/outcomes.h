#pragma once
// How each agent incarnation ended, what was counted on the way: read off the trace.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/outcome/report.h"
#include "sim/kernel/trace_recorder.h"

namespace hooke::scenario {

/// The jobs of these agents, which are in order of start.
std::vector<JobResult> jobs_of(const std::vector<AgentResult>& agents);

class Outcomes final : public kernel::TraceSink {
 public:
  /// `node_names` by NodeId, `expect` for the events that are to be counted; both must outlive
  /// this.
  Outcomes(const std::vector<std::string>& node_names, const Expectation& expect)
      : node_names_(node_names),
        met_(expect.events.size() + expect.never.size()),
        nearest_(expect.events.size()),
        expected_sums_(expect.sums),
        sums_(expect.sums.size()),
        nearest_of_sums_(expect.sums.size()) {
    for (const auto* patterns : {&expect.events, &expect.never}) {
      for (const Trigger& pattern : *patterns) counted_.push_back(&pattern);
    }
  }
  void on_event(const sim::Event& event) override;

  /// In order of start. `ended` of an agent that still runs is the epoch.
  [[nodiscard]] const std::vector<AgentResult>& agents() const { return agents_; }
  [[nodiscard]] const std::map<std::string, std::uint64_t>& coverage() const { return coverage_; }
  /// How often each expected event was met, then each of those that must never happen.
  [[nodiscard]] const std::vector<std::int64_t>& met() const { return met_; }
  /// Of each expected event the one that was most like it, while none was met: "at 12.300 s with
  /// round 1"; empty when there was none of its type.
  [[nodiscard]] std::vector<std::string> nearest() const;
  /// What the events of each expected sum have shown.
  [[nodiscard]] std::vector<SumSeen> sums() const;
  /// Completed rounds. Several nodes may complete one and the same round; rounds of a store
  /// that came up anew are others.
  [[nodiscard]] std::int64_t rounds() const { return rounds_; }
  /// When the world's fault engine last began or ended a fault; the epoch when never.
  [[nodiscard]] sim::WorldTime last_fault() const { return last_fault_; }
  [[nodiscard]] bool all_over() const { return living_.empty(); }

 private:
  /// An event of the type that was expected.
  struct NearMiss {
    std::size_t differences = 0;  ///< 0: there is none
    std::string text;
  };

  void count(std::size_t pattern, const sim::Event& event, const std::string& node);
  void add_up(std::size_t sum, const sim::Event& event, const std::string& node);
  static void miss(NearMiss& nearest, const Trigger& trigger, const sim::Event& event,
                   const std::string& node);
  void agent_finished(const sim::Event& event);
  void process_ended(const sim::Event& event);

  const std::vector<std::string>& node_names_;
  std::vector<const Trigger*> counted_;
  std::vector<std::int64_t> met_;
  std::vector<NearMiss> nearest_;
  const std::vector<ExpectedSum>& expected_sums_;
  std::vector<SumSeen> sums_;
  std::vector<NearMiss> nearest_of_sums_;
  std::vector<AgentResult> agents_;
  std::map<std::pair<sim::NodeId, sim::Pid>, std::size_t> living_;  ///< index into agents_
  std::set<std::string> down_;                                      ///< crashed nodes
  std::map<std::string, std::uint64_t> coverage_;
  std::int64_t rounds_ = 0;
  std::set<std::pair<std::string, std::int64_t>> completed_;  ///< run id and round, of this store
  sim::WorldTime last_fault_{};
};

}  // namespace hooke::scenario
