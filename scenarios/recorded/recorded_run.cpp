// There is no scenario, so nothing is expected but that every invariant holds.
#include "scenarios/recorded/recorded_run.h"

#include <algorithm>
#include <array>

#include "properties/invariants/invariant_set.h"
#include "scenarios/outcome/outcomes.h"
#include "scenarios/outcome/verdict.h"

namespace hooke::scenario {
namespace {

/// What an agent does to its own processes, and what it makes of its own ranks, rounds and settings.
constexpr std::array<std::string_view, 16> kJudgedByThemselves{
    "safety.rank_sanity",           "safety.env_contract",    "safety.round_monotonic",
    "safety.exit_code_truth",       "safety.restart_budget",  "safety.no_escaped_error",
    "safety.kill_safety",           "safety.no_orphans",      "safety.close_authority",
    "safety.timer_safety",          "liveness.timer_expiry",  "safety.heartbeat_safety",
    "liveness.heartbeat_loss_seen", "liveness.restart_stops", "liveness.signals_take_effect",
    "liveness.join_timeout"};

class Counter final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event&) override { ++count_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
};

}  // namespace

bool is_judged_by_itself(std::string_view invariant) {
  return std::find(kJudgedByThemselves.begin(), kJudgedByThemselves.end(), invariant) !=
         kJudgedByThemselves.end();
}

RunReport judge_recording(RecordedEvents& events, const properties::InvariantRegistry& invariants,
                          const std::vector<kernel::TraceSink*>& sinks,
                          std::optional<sim::WorldTime> end) {
  const Scenario nothing_expected;
  const std::vector<std::string>& names = events.node_names();
  properties::InvariantSet judges(invariants);
  for (std::uint32_t i = 0; i < names.size(); ++i) judges.call(sim::NodeId{i}, names[i]);
  Outcomes outcomes(names, nothing_expected.expect);
  Counter counter;
  std::vector<kernel::TraceSink*> all{&outcomes, &judges, &counter};
  all.insert(all.end(), sinks.begin(), sinks.end());
  events.play(all);

  const sim::WorldTime its_end = events.end();
  RunReport report;
  report.end = kernel::RunEnd::stopped;
  report.judged_at = std::max(its_end, end.value_or(sim::WorldTime()));
  report.world_time = its_end.time_since_epoch();
  report.agents = outcomes.agents();
  report.jobs = jobs_of(report.agents);
  report.coverage = outcomes.coverage();
  report.rounds = outcomes.rounds();
  report.events = counter.count();
  const bool all_over = outcomes.all_over();
  report.violations = judges.finish({report.judged_at, all_over, outcomes.last_fault()});
  report.accounts = judges.accounts();
  if (!events.complete()) {
    std::erase_if(report.violations, [](const properties::Violation& violation) {
      return !is_judged_by_itself(violation.invariant);
    });
    std::erase_if(report.accounts,
                  [](const auto& account) { return !is_judged_by_itself(account.first); });
  }
  judge(nothing_expected, all_over, report);
  return report;
}

}  // namespace hooke::scenario
