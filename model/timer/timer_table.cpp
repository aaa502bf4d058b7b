// Ordered by worker and scope: the order in which workers are ended is part of the behaviour.
#include "model/timer/timer_table.h"

#include <algorithm>

namespace hooke::model {

void TimerTable::apply(const TimerRequest& request, sim::MonotonicTime not_before) {
  const auto key = std::pair(request.worker_id, request.scope_id);
  if (request.expires) {
    timers_[key] = {request, not_before};
  } else {
    timers_.erase(key);
  }
}

std::map<std::int64_t, std::vector<TimerRequest>> TimerTable::expired(
    sim::WallTime now, sim::MonotonicTime monotonic_now) const {
  std::map<std::int64_t, std::vector<TimerRequest>> out;
  for (const auto& [key, timer] : timers_) {
    if (*timer.request.expires > now || timer.not_before > monotonic_now) continue;
    out[key.first].push_back(timer.request);
  }
  for (auto& [worker, timers] : out) {
    std::stable_sort(
        timers.begin(), timers.end(),
        [](const TimerRequest& a, const TimerRequest& b) { return *a.expires < *b.expires; });
  }
  return out;
}

void TimerTable::clear(std::int64_t worker_id) {
  std::erase_if(timers_, [&](const auto& entry) { return entry.first.first == worker_id; });
}

std::vector<std::int64_t> TimerTable::workers() const {
  std::vector<std::int64_t> out;
  for (const auto& [key, timer] : timers_) {
    if (out.empty() || out.back() != key.first) out.push_back(key.first);
  }
  return out;
}

}  // namespace hooke::model
