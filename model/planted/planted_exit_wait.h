#pragma once
// Mistakes about the wait for the other agents at the end of a job, for tests of the oracle.

#include <algorithm>
#include <cstdint>

#include "model/agent/exit_wait.h"
#include "model/hardened/agent/hardened_exit_wait.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: ExitWait or HardenedExitWait.
template <class Base>
class PlantedExitWait : public Base {
 public:
  using Base::Base;

 protected:
  [[nodiscard]] std::int64_t size() const override {
    if (has(Planted::agent_exit_barrier_of_workers)) return this->core_.group.ranks.world_size;
    std::int64_t size = Base::size();
    if (has(Planted::agent_exit_barrier_one_short)) --size;
    if (has(Planted::agent_exit_barrier_one_more)) ++size;
    if (has(Planted::agent_exit_barrier_of_present))
      size -= static_cast<std::int64_t>(this->core_.handler.missing_ranks().size());
    return std::max<std::int64_t>(size, 1);
  }
  [[nodiscard]] sim::Duration longest() const override {
    if (has(Planted::agent_exit_barrier_half_as_long)) return Base::longest() / 2;
    if (has(Planted::agent_exit_barrier_twice_as_long)) return Base::longest() * 2;
    return has(Planted::agent_exit_barrier_not_waited) ? sim::Duration::zero() : Base::longest();
  }
  [[nodiscard]] bool has(Planted mistake) const { return this->core_.spec.planted.has(mistake); }
};

/// Mistakes that only a hardened agent can make.
class PlantedHardenedExitWait final : public PlantedExitWait<HardenedExitWait> {
 public:
  using PlantedExitWait::PlantedExitWait;

 protected:
  [[nodiscard]] sim::Duration look_interval() const override {
    return has(Planted::agent_exit_barrier_without_pause) ? sim::Duration::zero()
                                                          : PlantedExitWait::look_interval();
  }
  bool is_counted(ExitBarrier& own, bool again) override {
    return !has(Planted::agent_exit_barrier_counted_twice) &&
           PlantedExitWait::is_counted(own, again);
  }
  void go_back(ExitBarrier& own) override {
    if (!has(Planted::agent_exit_barrier_left_silently)) PlantedExitWait::go_back(own);
  }
};

}  // namespace hooke::model
