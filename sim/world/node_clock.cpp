// Integer arithmetic only: a run must not depend on how a compiler rounds.
#include "sim/world/node_clock.h"

#include <algorithm>

#include "sim/port/check.h"

namespace hooke::world {
namespace {

constexpr std::int64_t kBillion = 1'000'000'000;
/// A century: what a clock needs that hardly moves at all.
constexpr std::int64_t kLongestSpan = 100LL * 365 * 24 * 3600 * kBillion;
/// Machines have been up for a while when a run starts; PyTorch's code treats small monotonic times
/// specially.
constexpr sim::Duration kUptimeAtStart = std::chrono::seconds(1000);

/// span * factor / 1e9 without overflow for spans up to centuries and factors up to 1e9.
std::int64_t scaled(std::int64_t span, std::int64_t factor) {
  if (factor == 0) return 0;  // the usual case, without three divisions
  return span / kBillion * factor + span % kBillion * factor / kBillion;
}

/// The shortest span of true time in which a clock of that drift advances by `local` at least: the
/// inverse of t + scaled(t, drift), whose remainder is cut off towards t.
std::int64_t world_span(std::int64_t local, std::int64_t drift_ppb) {
  if (drift_ppb == 0) return local;
  const std::int64_t rate =
      kBillion + drift_ppb;  // in (0, 2e9], so that a remainder times 1e9 fits
  HOOKE_CHECK(rate > 0 && local >= 0, "a clock moves forwards");
  if (local / rate >= kLongestSpan / kBillion) return kLongestSpan;
  if (drift_ppb > 0) {  // local * 1e9 / rate, rounded up
    return local / rate * kBillion + (local % rate * kBillion + rate - 1) / rate;
  }
  return (local - 1) / rate * kBillion + (local - 1) % rate * kBillion / rate + 1;
}

}  // namespace

NodeClock::NodeClock(sim::WallTime wall_at_start, std::int64_t drift_ppb)
    : base_monotonic_(kUptimeAtStart),
      wall_offset_(wall_at_start.time_since_epoch() - kUptimeAtStart),
      drift_ppb_(drift_ppb) {}

sim::MonotonicTime NodeClock::monotonic(sim::WorldTime now) const {
  const std::int64_t elapsed = std::max<std::int64_t>((now - base_world_).count(), 0);
  HOOKE_CHECK(can_drift(drift_ppb_), "a clock goes on");
  return sim::MonotonicTime(base_monotonic_ + sim::Duration(elapsed + scaled(elapsed, drift_ppb_)));
}

sim::WallTime NodeClock::wall(sim::WorldTime now) const {
  return sim::WallTime(monotonic(now).time_since_epoch() + wall_offset_);
}

sim::WorldTime NodeClock::world_time_of(sim::MonotonicTime local, sim::WorldTime now) const {
  if (local <= monotonic(now)) return now;
  const std::int64_t span = (local.time_since_epoch() - base_monotonic_).count();
  HOOKE_CHECK(span > 0, "a time that is to come lies after the last change of the clock");
  return std::max(base_world_ + sim::Duration(world_span(span, drift_ppb_)), now);
}

void NodeClock::rebase(sim::WorldTime now) {
  base_monotonic_ = monotonic(now).time_since_epoch();
  base_world_ = std::max(base_world_, now);
  HOOKE_CHECK(base_monotonic_ >= sim::Duration::zero(), "a monotonic clock is never negative");
}

void NodeClock::set_drift(std::int64_t ppb, sim::WorldTime now) {
  HOOKE_CHECK(can_drift(ppb), "no clock stands still or goes back by drifting");
  rebase(now);
  drift_ppb_ = ppb;
}

void NodeClock::set_wall(sim::WallTime wall_time, sim::WorldTime now) {
  wall_offset_ += wall_time - wall(now);
}

void NodeClock::hold_until(sim::WorldTime until, sim::WorldTime now) {
  base_monotonic_ = monotonic(now).time_since_epoch();
  base_world_ = std::max(until, now);
}

}  // namespace hooke::world
