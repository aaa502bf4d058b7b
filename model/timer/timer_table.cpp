// Ordered by worker and scope: the order in which workers are ended is part of the behaviour.
#include "model/timer/timer_table.h"

#include <algorithm>

#include "sim/port/check.h"

namespace hooke::model {

void TimerTable::apply(const TimerRequest& request, sim::MonotonicTime not_before) {
  if (request.expires) {
    timers_[key_of(request)] = {request, not_before};
  } else {
    timers_.erase(key_of(request));
  }
}

std::map<std::int64_t, std::vector<TimerRequest>> TimerTable::expired(
    sim::WallTime now, sim::MonotonicTime monotonic_now) const {
  std::map<std::int64_t, std::vector<TimerRequest>> out;
  for (const auto& [key, timer] : timers_) {
    HOOKE_CHECK(timer.request.expires.has_value(), "a timer of the table has a time");
    if (*timer.request.expires > now || timer.not_before > monotonic_now) continue;
    out[timer.request.worker_id].push_back(timer.request);
  }
  for (auto& [worker, timers] : out) {
    HOOKE_CHECK(!timers.empty(), "a worker that is late has a timer that is over");
    std::stable_sort(
        timers.begin(), timers.end(),
        [](const TimerRequest& a, const TimerRequest& b) { return *a.expires < *b.expires; });
  }
  return out;
}

void TimerTable::clear(std::int64_t worker_id) {
  std::erase_if(timers_,
                [&](const auto& entry) { return entry.second.request.worker_id == worker_id; });
}

std::vector<std::int64_t> TimerTable::workers() const {
  std::vector<std::int64_t> out;
  for (const auto& [key, timer] : timers_) {
    if (out.empty() || out.back() != timer.request.worker_id)
      out.push_back(timer.request.worker_id);
  }
  return out;
}

std::unique_ptr<TimerTable> make_timer_table() {
  return std::make_unique<TimerTable>();
}

}  // namespace hooke::model
