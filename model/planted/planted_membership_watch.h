#pragma once
// Mistakes about nodes that come and members that go, for tests of the oracle.

#include <cstdint>
#include <string_view>
#include <utility>

#include "model/agent/membership_watch.h"
#include "model/hardened/agent/hardened_membership_watch.h"
#include "model/planted/planted_restarts.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: MembershipWatch or HardenedMembershipWatch; `Spent`: PlantedRestarts of either.
template <class Base, class Spent>
class PlantedMembershipWatch : public Base {
 public:
  /// `restarts` outlives it.
  template <class... Arguments>
  explicit PlantedMembershipWatch(Spent& restarts, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), restarts_(restarts) {}

  const char* cause_to_follow() override {
    const char* const cause = Base::cause_to_follow();
    const bool is_growth = std::string_view(cause) == "membership_change";
    return is_growth && has(Planted::agent_growth_called_loss) ? "member_lost" : cause;
  }

 protected:
  std::int64_t nodes_waiting() override {
    const std::int64_t waiting = Base::nodes_waiting();
    const bool after_failure = this->core_.attempt.restart_count > 0;
    if (waiting == 1 && has(Planted::agent_lone_newcomer_overlooked)) return 0;
    if (after_failure && has(Planted::agent_newcomers_overlooked_after_failure)) return 0;
    if (!after_failure && has(Planted::agent_newcomers_only_after_failure)) return 0;
    return waiting;
  }
  /// Nodes wait, and are followed.
  void spoil_restarts() {
    if (has(Planted::agent_budget_renewed_by_newcomers)) {
      restarts_.renew();
      this->core_.attempt.restart_count = 0;
    }
    if (has(Planted::agent_newcomer_costs_a_restart)) restarts_.lose_one();
  }
  [[nodiscard]] bool has(Planted mistake) const { return this->core_.spec.planted.has(mistake); }

 private:
  Spent& restarts_;
};

class PlantedFaithfulMembershipWatch final
    : public PlantedMembershipWatch<MembershipWatch, PlantedRestarts<Restarts>> {
 public:
  PlantedFaithfulMembershipWatch(AgentCore& core, PlantedRestarts<Restarts>& restarts)
      : PlantedMembershipWatch(restarts, core) {}

  const char* cause_to_restart() override {
    const char* const cause = PlantedMembershipWatch::cause_to_restart();
    if (cause != nullptr) spoil_restarts();
    return cause;
  }
};

class PlantedHardenedMembershipWatch final
    : public PlantedMembershipWatch<HardenedMembershipWatch, PlantedJobStanding> {
 public:
  PlantedHardenedMembershipWatch(AgentCore& core, const HardenedExitWait& exit_wait,
                                 PlantedJobStanding& job)
      : PlantedMembershipWatch(job, core, exit_wait, job) {}

  AfterBarrier after_barrier(std::string_view how_it_ended) override {
    const AfterBarrier after = PlantedMembershipWatch::after_barrier(how_it_ended);
    const bool stays = after == AfterBarrier::others_return && has(Planted::agent_stays_behind);
    return stays ? AfterBarrier::others_went_on : after;
  }

 protected:
  const char* follow_newcomers() override {
    const char* const cause = PlantedMembershipWatch::follow_newcomers();
    spoil_restarts();  // behind the look at the job's count
    return cause;
  }
  [[nodiscard]] bool looks_for_losses() const override {
    if (has(Planted::agent_loss_overlooked)) return false;
    return core_.attempt.incarnation == 0 || !has(Planted::agent_second_loss_overlooked);
  }
  [[nodiscard]] const char* cause_of_loss() const override {
    return has(Planted::agent_loss_called_growth) ? "membership_change"
                                                  : PlantedMembershipWatch::cause_of_loss();
  }
};

}  // namespace hooke::model
