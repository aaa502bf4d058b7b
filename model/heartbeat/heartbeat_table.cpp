// Taking beats in, and judging silence.
#include "model/heartbeat/heartbeat_table.h"

#include <utility>

#include "sim/port/check.h"

namespace hooke::model {

void HeartbeatTable::expect(const std::string& worker, sim::MonotonicTime now) {
  HOOKE_CHECK(!worker.empty(), "a worker has a name");
  workers_[worker] = {now, std::nullopt, false, false, now};
}

HeartbeatTable::Reception HeartbeatTable::take(const Beat& beat, sim::MonotonicTime now) {
  const auto found = workers_.find(beat.worker);
  if (found == workers_.end()) return Reception::unknown;
  Worker& worker = found->second;
  HOOKE_CHECK(worker.heard <= now && worker.since <= now, "what was heard was heard before");
  if (worker.ended || (worker.count && beat.count <= *worker.count)) return Reception::old;
  worker.count = beat.count;
  worker.heard = worker.since = now;
  worker.ended = beat.last;
  const bool was_lost = std::exchange(worker.lost, worker.lost && !comes_back());
  return was_lost ? Reception::returned : Reception::counted;
}

std::vector<SilentWorker> HeartbeatTable::look(sim::MonotonicTime now) {
  const bool listened = !looked_ || now - *looked_ <= terms_.looks + terms_.deadline / 2;
  HOOKE_CHECK(!looked_ || *looked_ <= now, "one look comes after the other");
  looked_ = now;
  std::vector<SilentWorker> out;
  for (auto& [name, worker] : workers_) {
    HOOKE_CHECK(worker.heard <= worker.since && worker.since <= now,
                "a silence is counted from what was heard, or from a later time");
    if (!listened && !worker.lost) worker.since = now;
    const std::optional<sim::Duration> limit =
        worker.count ? std::optional(terms_.deadline) : terms_.first_beat;
    if (worker.ended || is_told(worker) || !limit || now - worker.since <= *limit) continue;
    worker.lost = true;
    HOOKE_CHECK(now - worker.heard > *limit,
                "a worker that is lost was silent for its whole limit");
    out.push_back({name, now - worker.heard});
  }
  return out;
}

std::vector<SilentWorker> HeartbeatTable::lost(sim::MonotonicTime now) const {
  std::vector<SilentWorker> out;
  for (const auto& [name, worker] : workers_) {
    HOOKE_CHECK(worker.heard <= now, "what was heard was heard before");
    if (worker.lost) out.push_back({name, now - worker.heard});
  }
  return out;
}

std::optional<sim::MonotonicTime> HeartbeatTable::heard(const std::string& worker) const {
  const auto found = workers_.find(worker);
  return found == workers_.end() ? std::nullopt : std::optional(found->second.heard);
}

WorkerLife HeartbeatTable::life(const std::string& worker) const {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return WorkerLife::unknown;
  if (found->second.ended) return WorkerLife::ended;
  if (found->second.lost) return WorkerLife::silent;
  return found->second.count ? WorkerLife::alive : WorkerLife::unknown;
}

}  // namespace hooke::model
