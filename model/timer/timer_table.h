#pragma once
// The armed timers of a machine's workers, as a server knows them.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "model/timer/timer_request.h"

namespace hooke::model {

class TimerTable {
 public:
  TimerTable() = default;
  virtual ~TimerTable() = default;
  TimerTable(const TimerTable&) = delete;
  TimerTable& operator=(const TimerTable&) = delete;

  /// Arms, moves or releases; a release of what is not armed changes nothing. The timer does not
  /// expire before `not_before`, whatever the wall clock says.
  virtual void apply(const TimerRequest& request, sim::MonotonicTime not_before = {});
  /// What has expired at `now`, by worker, each worker's earliest deadline first.
  [[nodiscard]] virtual std::map<std::int64_t, std::vector<TimerRequest>> expired(
      sim::WallTime now, sim::MonotonicTime monotonic_now = sim::MonotonicTime::max()) const;
  /// Forgets all timers of a worker, expired or not.
  virtual void clear(std::int64_t worker_id);
  /// The workers that have a timer armed, ascending.
  [[nodiscard]] std::vector<std::int64_t> workers() const;
  [[nodiscard]] std::size_t size() const { return timers_.size(); }

 protected:
  void forget_all() { timers_.clear(); }
  /// Whether a timer of this worker and scope is armed.
  [[nodiscard]] bool is_armed(const TimerRequest& request) const {
    return timers_.contains(key_of(request));
  }
  /// The worker whose scope this is.
  [[nodiscard]] virtual std::int64_t owner_of(const TimerRequest& request) const {
    return request.worker_id;
  }

 private:
  using Key = std::pair<std::int64_t, std::string>;
  [[nodiscard]] Key key_of(const TimerRequest& request) const {
    return {owner_of(request), request.scope_id};
  }
  struct Armed {
    TimerRequest request;
    sim::MonotonicTime not_before{};
  };
  std::map<Key, Armed> timers_;
};

using TimerTableMaker = std::function<std::unique_ptr<TimerTable>()>;
std::unique_ptr<TimerTable> make_timer_table();

}  // namespace hooke::model
