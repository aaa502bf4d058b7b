#pragma once
// The clocks of one machine: a monotonic one with its own rate, and a wall clock that is an offset
// to it.

#include "sim/port/clock.h"

namespace hooke::world {

class NodeClock {
 public:
  /// `wall_at_start`: what the wall clock says at world time 0. `drift_ppb` lies in (-1e9, 1e9]: no
  /// clock stands still or goes back by drifting.
  NodeClock(sim::WallTime wall_at_start, std::int64_t drift_ppb);

  [[nodiscard]] static bool can_drift(std::int64_t ppb) {
    return ppb > -1'000'000'000 && ppb <= 1'000'000'000;
  }

  [[nodiscard]] sim::MonotonicTime monotonic(sim::WorldTime now) const;
  [[nodiscard]] sim::WallTime wall(sim::WorldTime now) const;
  /// World time at which the monotonic clock will show `local`, not before `now`.
  [[nodiscard]] sim::WorldTime world_time_of(sim::MonotonicTime local, sim::WorldTime now) const;

  [[nodiscard]] std::int64_t drift_ppb() const { return drift_ppb_; }
  /// From `now` on a span of it is as long as in the world, as long as no fault changes that.
  [[nodiscard]] bool is_even(sim::WorldTime now) const {
    return drift_ppb_ == 0 && base_world_ <= now;
  }

  void set_drift(std::int64_t ppb, sim::WorldTime now);
  /// Moves the wall clock only.
  void jump(sim::Duration span) { wall_offset_ += span; }
  /// Makes the wall clock show `wall` at `now`.
  void set_wall(sim::WallTime wall, sim::WorldTime now);
  /// Both clocks stand still from `now` until `until`; a time that has passed lets them run again.
  void hold_until(sim::WorldTime until, sim::WorldTime now);

 private:
  void rebase(sim::WorldTime now);

  sim::WorldTime base_world_{};     ///< the clock runs at drift_ppb_ from here on …
  sim::Duration base_monotonic_{};  ///< … where it shows this
  sim::Duration wall_offset_;       ///< wall clock minus monotonic clock
  std::int64_t drift_ppb_;
};

}  // namespace hooke::world
