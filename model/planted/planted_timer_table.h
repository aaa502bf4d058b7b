#pragma once
// Mistakes of a table of timers, for tests of the oracle.

#include <chrono>
#include <cstdint>
#include <map>
#include <vector>

#include "model/timer/timer_table.h"
#include "model/variant/planted.h"

namespace hooke::model {

class PlantedTimerTable final : public TimerTable {
 public:
  explicit PlantedTimerTable(PlantedSet planted) : planted_(planted) {}

  void apply(const TimerRequest& request, sim::MonotonicTime not_before) override {
    if (!request.expires && has(Planted::timer_release_ignored)) return;
    if (request.expires && has(Planted::timer_move_ignored) && is_armed(request)) return;
    TimerTable::apply(request, not_before);
  }
  [[nodiscard]] std::map<std::int64_t, std::vector<TimerRequest>> expired(
      sim::WallTime now, sim::MonotonicTime monotonic_now) const override {
    if (has(Planted::timer_expiry_overlooked)) return {};
    if (has(Planted::timer_expires_early)) now += std::chrono::seconds(1);
    if (has(Planted::timer_expires_late)) now -= std::chrono::seconds(10);
    return TimerTable::expired(now, monotonic_now);
  }
  void clear(std::int64_t worker_id) override {
    has(Planted::timer_clears_all_workers) ? forget_all() : TimerTable::clear(worker_id);
  }

 protected:
  [[nodiscard]] std::int64_t owner_of(const TimerRequest& request) const override {
    return has(Planted::timer_scope_shared) ? 0 : TimerTable::owner_of(request);
  }

 private:
  [[nodiscard]] bool has(Planted mistake) const { return planted_.has(mistake); }

  PlantedSet planted_;
};

}  // namespace hooke::model
