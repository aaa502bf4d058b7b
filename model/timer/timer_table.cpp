// Ordered by worker and scope: the order in which workers are ended is part of the behaviour.
#include "model/timer/timer_table.h"

#include <algorithm>

#include "sim/port/check.h"

namespace hooke::model {

void TimerTable::apply(const TimerRequest& request, sim::MonotonicTime not_before) {
  const bool shared = planted_.has(Planted::timer_scope_shared);
  const auto key = std::pair(shared ? 0 : request.worker_id, request.scope_id);
  if (!request.expires) {
    if (!planted_.has(Planted::timer_release_ignored)) timers_.erase(key);
  } else if (!planted_.has(Planted::timer_move_ignored) || !timers_.contains(key)) {
    timers_[key] = {request, not_before};
  }
}

std::map<std::int64_t, std::vector<TimerRequest>> TimerTable::expired(
    sim::WallTime now, sim::MonotonicTime monotonic_now) const {
  std::map<std::int64_t, std::vector<TimerRequest>> out;
  if (planted_.has(Planted::timer_expiry_overlooked)) return out;
  if (planted_.has(Planted::timer_expires_early)) now += std::chrono::seconds(1);
  if (planted_.has(Planted::timer_expires_late)) now -= std::chrono::seconds(10);
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
  const bool all = planted_.has(Planted::timer_clears_all_workers);
  std::erase_if(timers_, [&](const auto& entry) {
    return all || entry.second.request.worker_id == worker_id;
  });
}

std::vector<std::int64_t> TimerTable::workers() const {
  std::vector<std::int64_t> out;
  for (const auto& [key, timer] : timers_) {
    if (out.empty() || out.back() != timer.request.worker_id)
      out.push_back(timer.request.worker_id);
  }
  return out;
}

}  // namespace hooke::model
