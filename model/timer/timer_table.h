#pragma once
// The armed timers of a machine's workers, as a server knows them.

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "model/timer/timer_request.h"
#include "model/variant/planted.h"

namespace hooke::model {

class TimerTable {
 public:
  explicit TimerTable(PlantedSet planted = {}) : planted_(planted) {}

  /// Arms, moves or releases; a release of what is not armed changes nothing. The timer does not
  /// expire before `not_before`, whatever the wall clock says.
  void apply(const TimerRequest& request, sim::MonotonicTime not_before = {});
  /// What has expired at `now`, by worker, each worker's earliest deadline first.
  [[nodiscard]] std::map<std::int64_t, std::vector<TimerRequest>> expired(
      sim::WallTime now, sim::MonotonicTime monotonic_now = sim::MonotonicTime::max()) const;
  /// Forgets all timers of a worker, expired or not.
  void clear(std::int64_t worker_id);
  /// The workers that have a timer armed, ascending.
  [[nodiscard]] std::vector<std::int64_t> workers() const;
  [[nodiscard]] std::size_t size() const { return timers_.size(); }

 private:
  PlantedSet planted_;
  struct Armed {
    TimerRequest request;
    sim::MonotonicTime not_before{};
  };
  std::map<std::pair<std::int64_t, std::string>, Armed> timers_;
};

}  // namespace hooke::model
