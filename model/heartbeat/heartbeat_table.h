#pragma once
// When each worker has beaten: the judgement of a heartbeat server as a value, without clock or
// network.
// Times are of one machine's monotonic clock, so that no step of a wall clock makes a worker late
// (what file timers suffer from, T-1).

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/heartbeat/beat.h"
#include "model/heartbeat/peers.h"
#include "sim/port/time.h"

namespace hooke::model {

/// When a worker counts as lost.
struct HeartbeatTerms {
  sim::Duration deadline = std::chrono::seconds(10);  ///< silence after which it does; > 0
  /// Span from expect() to the first beat; nullopt: a worker is watched from its first beat on, for
  /// it is unknown how long a program takes to start.
  std::optional<sim::Duration> first_beat;
  sim::Duration looks = std::chrono::milliseconds(100);  ///< from one look to the next, as a rule
};

/// A worker that is lost, and for how long nothing has come from it.
struct SilentWorker {
  std::string worker;
  sim::Duration silent{};
  friend bool operator==(const SilentWorker&, const SilentWorker&) = default;
};

class HeartbeatTable {
 public:
  explicit HeartbeatTable(HeartbeatTerms terms) : terms_(terms) {}
  virtual ~HeartbeatTable() = default;
  [[nodiscard]] const HeartbeatTerms& terms() const { return terms_; }

  /// Beats of this worker count from now on.
  void expect(const std::string& worker, sim::MonotonicTime now);
  /// It is not to be missed any more: it has ended.
  void forget(const std::string& worker) { workers_.erase(worker); }

  enum class Reception : unsigned char {
    counted,
    returned,  ///< counted, of a worker that was lost
    old,       ///< not later than one seen: of a connection that has been replaced
    unknown,   ///< no agent expects this worker
  };
  Reception take(const Beat& beat, sim::MonotonicTime now);
  /// Judges silence at `now`; returns those that are lost since this look, by name. An agent that
  /// looks half a deadline later than usual has not listened either: each worker gets a deadline anew
  /// then, for what it sent meanwhile may still be unread.
  std::vector<SilentWorker> look(sim::MonotonicTime now);
  /// All that are lost as of the latest look, by name.
  [[nodiscard]] std::vector<SilentWorker> lost(sim::MonotonicTime now) const;
  /// Since when nothing has come from a worker; nullopt when no agent expects it.
  [[nodiscard]] std::optional<sim::MonotonicTime> heard(const std::string& worker) const;
  /// How a worker is as of the latest look; unknown when no agent expects it.
  [[nodiscard]] WorkerLife life(const std::string& worker) const;

 protected:
  struct Worker {
    sim::MonotonicTime heard;  ///< its latest beat, else when it was expected
    std::optional<std::uint64_t> count;
    bool ended = false;  ///< it has sent its last beat
    bool lost = false;
    /// Silence counts from here: later than `heard` when nothing listened in between.
    sim::MonotonicTime since;
  };
  /// Whether a beat of a worker that is lost ends its loss.
  [[nodiscard]] virtual bool comes_back() const { return true; }
  /// Whether the loss of this worker has been returned by an earlier look.
  [[nodiscard]] virtual bool is_told(const Worker& worker) const { return worker.lost; }

 private:
  std::map<std::string, Worker> workers_;
  HeartbeatTerms terms_;
  std::optional<sim::MonotonicTime> looked_;
};

}  // namespace hooke::model
