#pragma once
// Mistakes about how often workers are started anew and about what the agents of a job tell each
// other, for tests of the oracle.

#include <algorithm>
#include <cstdint>
#include <vector>

#include "model/agent/restarts.h"
#include "model/hardened/agent/job_standing.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: Restarts or JobStanding.
template <class Base>
class PlantedRestarts : public Base {
 public:
  using Base::Base;

  /// All restarts are there again.
  void renew() { this->budget_ = nullptr; }
  /// One is spent for nothing.
  void lose_one() { static_cast<void>(this->take_one()); }
  RestartDecision decide(const RunResult& result, std::int64_t restart_count) override {
    RestartDecision decision = Base::decide(result, restart_count);
    const bool forbidden =
        decision.scope == RestartScope::none && decision.reason.starts_with("worker ");
    if (forbidden && has(Planted::agent_attempts_ignored) && this->take_one())
      decision.scope = RestartScope::group;
    if (has(Planted::agent_restart_pause_skipped)) decision.delay = {};
    if (has(Planted::agent_restart_pause_halved)) decision.delay /= 2;
    if (has(Planted::agent_restart_pause_doubled)) decision.delay *= 2;
    return decision;
  }

 protected:
  [[nodiscard]] std::int64_t allowed() const override {
    const std::int64_t allowed = Base::allowed();
    if (has(Planted::agent_restart_too_few)) return std::max<std::int64_t>(allowed - 1, 0);
    return allowed + (has(Planted::agent_restart_too_many) ? 1 : 0);
  }
  std::int64_t remaining_after(std::int64_t restart_count) override {
    if (restart_count == 0 && has(Planted::agent_gives_up_at_first_failure)) return 0;
    if (restart_count == 1 && has(Planted::agent_gives_up_at_second_failure)) return 0;
    return Base::remaining_after(restart_count);
  }
  [[nodiscard]] bool has(Planted mistake) const { return this->core_.spec.planted.has(mistake); }
};

/// Mistakes that only hardened agents can make.
class PlantedJobStanding final : public PlantedRestarts<JobStanding> {
 public:
  using PlantedRestarts::PlantedRestarts;

  bool may_restart_for_a_loss() override {
    if (has(Planted::agent_gives_up_at_loss)) return false;
    return has(Planted::agent_loss_costs_nothing) || PlantedRestarts::may_restart_for_a_loss();
  }
  void say_goodbye() override {
    if (!has(Planted::agent_goodbye_not_said)) PlantedRestarts::say_goodbye();
  }
  bool follows_a_departure(const std::vector<std::int64_t>& missing) override {
    return !has(Planted::agent_departure_costs_a_restart) &&
           PlantedRestarts::follows_a_departure(missing);
  }
  bool fails_for_a_departure() override {
    return !has(Planted::agent_departure_costs_a_restart) &&
           PlantedRestarts::fails_for_a_departure();
  }

 protected:
  [[nodiscard]] bool counts_for_the_job() const override {
    return !has(Planted::agent_budget_per_agent) && PlantedRestarts::counts_for_the_job();
  }
  bool have_said_goodbye(const std::vector<std::int64_t>& ranks) override {
    const bool is_believed = !ranks.empty() && has(Planted::agent_loss_called_departure);
    return is_believed || PlantedRestarts::have_said_goodbye(ranks);
  }
  bool tell_failure() override {
    return has(Planted::agent_failure_not_told) || PlantedRestarts::tell_failure();
  }
};

}  // namespace hooke::model
