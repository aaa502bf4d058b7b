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
constexpr std::array<std::string_view, 13> kOfEachAgent{
    "safety.rank_sanity",           "safety.env_contract",
    "safety.round_monotonic",       "safety.exit_code_truth",
    "safety.restart_budget",        "safety.no_escaped_error",
    "safety.kill_safety",           "safety.no_orphans",
    "safety.heartbeat_safety",      "liveness.restart_stops",
    "liveness.heartbeat_loss_seen", "liveness.join_timeout",
    "liveness.signals_take_effect"};
/// What has a bound of several seconds.
constexpr std::array<std::string_view, 8> kWithinSeconds{
    "liveness.formation",      "liveness.admission",   "liveness.free_seat",
    "liveness.loss_detection", "liveness.no_livelock", "liveness.barrier_opens",
    "liveness.exit",           "safety.eviction"};
/// What follows from workers' own words, from the moment of a death, which an agent sees later, or
/// from how the store fared, which need not be an agent's.
constexpr std::array<std::string_view, 3> kOfTheWholeWorld{
    "safety.timer_safety", "safety.first_cause", "liveness.blip_tolerance"};

template <std::size_t kSize>
bool has(const std::array<std::string_view, kSize>& all, std::string_view one) {
  return std::find(all.begin(), all.end(), one) != all.end();
}

/// What torchrun's log says nothing of, whatever its level.
constexpr std::array<std::string_view, 16> kNotInLogs{
    "safety.round_isolation", "safety.kill_safety",      "safety.no_orphans",
    "safety.first_cause",     "safety.exit_code_truth",  "safety.claims_are_true",
    "safety.store_lifetime",  "safety.bootstrap",        "safety.store_linearizable",
    "safety.polling",         "safety.last_call",        "safety.timer_safety",
    "liveness.timer_expiry",  "safety.heartbeat_safety", "liveness.heartbeat_loss_seen",
    "liveness.blip_tolerance"};
/// What depends on which agent completed, closed or evicted.
constexpr std::array<std::string_view, 3> kInDetail{"safety.close_authority", "safety.eviction",
                                                    "safety.closed_is_final"};

/// What a record of the store shows of a member of which nothing else tells.
constexpr std::array<std::string_view, 6> kInRecords{
    "safety.one_world",        "safety.rank_sanity", "safety.round_monotonic",
    "liveness.loss_detection", "liveness.admission", "liveness.no_livelock"};

/// What follows from what a simulated world says of the agents that it starts: no trace has that.
constexpr std::array<std::string_view, 5> kWithItsWorldAlone{
    "safety.settings", "safety.meeting", "safety.restart_policy", "safety.restart_pause",
    "safety.shutdown_waits"};

bool is_shown(Extent extent, std::string_view invariant) {
  switch (extent) {
    case Extent::each_agent: return has(kOfEachAgent, invariant);
    case Extent::several_clocks:
      return has(kOfEachAgent, invariant) || has(kWithinSeconds, invariant);
    case Extent::one_clock: return !has(kOfTheWholeWorld, invariant);
    case Extent::whole_world: return true;
  }
  return true;
}

/// Empty: it is judged.
std::string_view why_not(const Evidence& evidence, std::string_view invariant) {
  if (has(kWithItsWorldAlone, invariant)) {
    return "needs what only a simulated world tells while it plays: what its agents are started "
           "with";
  }
  if (evidence.has_logs && has(kNotInLogs, invariant)) {
    return "torchrun's log says nothing of it; traces of hooke agents do";
  }
  if (evidence.has_members_of_a_record && !has(kInRecords, invariant)) {
    return "a record of the store says nothing of it; the log of every agent does";
  }
  if (evidence.without_detail && has(kInDetail, invariant)) {
    return "needs torchrun's log with "
           "TORCH_LOGS=+torch.distributed.elastic.rendezvous.dynamic_rendezvous";
  }
  if (is_shown(evidence.extent, invariant)) return {};
  switch (evidence.extent) {
    case Extent::each_agent: return "needs a trace or log of every agent, and clocks that agree";
    case Extent::several_clocks: return "needs an order that is known to less than a second";
    default:
      return "needs what only the trace of a whole run tells: faults, and workers' own words";
  }
}

class Counter final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event&) override { ++count_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  std::uint64_t count_ = 0;
};

}  // namespace

bool is_judged(const Evidence& evidence, std::string_view invariant) {
  return why_not(evidence, invariant).empty();
}

std::vector<NotJudged> not_judged(const Evidence& evidence,
                                  const properties::InvariantRegistry& invariants) {
  std::vector<NotJudged> out;
  for (const std::string& invariant : invariants.ids()) {
    const std::string_view reason = why_not(evidence, invariant);
    if (reason.empty()) continue;
    const auto same = std::find_if(out.begin(), out.end(),
                                   [&](const NotJudged& each) { return each.reason == reason; });
    if (same != out.end()) {
      same->invariants.push_back(invariant);
    } else {
      out.push_back({std::string(reason), {invariant}});
    }
  }
  return out;
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
  std::erase_if(report.violations, [&](const properties::Violation& violation) {
    return !is_judged(events.evidence(), violation.invariant);
  });
  std::erase_if(report.accounts,
                [&](const auto& account) { return !is_judged(events.evidence(), account.first); });
  judge(nothing_expected, all_over, report);
  return report;
}

}  // namespace hooke::scenario
