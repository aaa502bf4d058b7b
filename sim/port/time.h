#pragma once
// Three kinds of time that must never be mixed: what a node's monotonic clock says, what its wall
// clock says, and the true time of the world that only the harness knows. PyTorch stores wall-clock
// instants of one machine and compares them on another; distinct types keep each such place
// visible.

#include <chrono>
#include <cstdint>

namespace hooke::sim {

/// All spans of time, in whole nanoseconds: decisions never depend on floating point.
using Duration = std::chrono::duration<std::int64_t, std::nano>;

/// Tag clock of a node's monotonic time; epoch: an arbitrary instant of that node, never negative.
struct MonotonicTag {
  using duration = Duration;
};
/// Tag clock of a node's wall-clock time; epoch: 1970-01-01T00:00:00Z, as that node believes.
struct WallTag {
  using duration = Duration;
};
/// Tag clock of the world's true time; epoch: the start of the run.
struct WorldTag {
  using duration = Duration;
};

using MonotonicTime = std::chrono::time_point<MonotonicTag, Duration>;
using WallTime = std::chrono::time_point<WallTag, Duration>;
using WorldTime = std::chrono::time_point<WorldTag, Duration>;

}  // namespace hooke::sim
