#include "model/agent/restarts.h"

#include <optional>

#include "model/observe/restart_events.h"
#include "sim/port/check.h"

namespace hooke::model {

RestartDecision Restarts::decide(const RunResult& result, std::int64_t restart_count) {
  HOOKE_CHECK(restart_count >= 0, "the restart count is not negative");
  HOOKE_CHECK(allowed() >= 0, "the number of allowed restarts is not negative");
  for (const ProcessFailure& failure : result.failures) {
    HOOKE_CHECK(0 <= failure.local_rank && failure.local_rank < core_.spec.local_world_size,
                "local_rank is in range");
    if (!failure.stopped) ++attempts_failed_[failure.local_rank];
  }
  // The number that workers are told never passes the one that was configured for them.
  const bool own_left = restart_count < allowed();
  alone_ = result.failed() && core_.policy.restarts_single_workers();
  const std::int64_t remaining = own_left ? remaining_after(restart_count) : 0;
  HOOKE_CHECK(remaining >= 0, "the number of remaining restarts is not negative");
  RestartDecision decision =
      core_.policy.decide({result.failures, attempts_failed_, restart_count, remaining});
  HOOKE_CHECK(decision.delay >= sim::Duration::zero(), "the delay of a restart is not negative");
  HOOKE_CHECK(
      decision.scope != RestartScope::failed_workers || core_.policy.restarts_single_workers(),
      "a restart of failed workers alone comes from a policy that may do so");
  if (decision.scope != RestartScope::none) {
    HOOKE_CHECK(remaining > 0, "a restart is granted only while restarts remain");
    if (take_one(counted_round())) return decision;
    decision = {RestartScope::none, {}, ""};
  }
  if (own_left) {
    if (decision.reason.empty()) decision.reason = events::kRestartsSpent;
    core_.ports.trace.emit(events::restart_refused, {decision.reason, core_.group.round});
  }
  return decision;
}

std::int64_t Restarts::remaining_after(std::int64_t) {
  return budget().remaining(counted_round());
}

std::int64_t Restarts::counted_round() const {
  constexpr std::int64_t kNoRound = -1;
  return alone_ ? kNoRound : core_.group.round;
}

std::unique_ptr<RestartBudget> Restarts::make_budget() const {
  return make_own_budget(allowed());
}

RestartBudget& Restarts::budget() {
  if (budget_ == nullptr) budget_ = make_budget();
  HOOKE_CHECK(budget_ != nullptr, "there is a restart budget");
  return *budget_;
}

bool Restarts::take_one() {
  return take_one(core_.group.round);
}

bool Restarts::take_one(std::int64_t round) {
  const std::optional<std::int64_t> left = budget().spend(round);
  HOOKE_CHECK(left.value_or(0) >= 0, "the number of remaining restarts is not negative");
  if (left) remaining_ = *left;
  return left.has_value();
}

}  // namespace hooke::model
