#pragma once
// The two clocks of one node. PyTorch writes heartbeats and deadlines as wall-clock times of the
// writer and judges them with the wall clock of the reader; operation deadlines are monotonic. Both
// may drift, and the wall clock may jump: nothing here is shared between nodes.

#include "sim/port/time.h"

namespace hooke::sim {

class Clock {
 public:
  virtual ~Clock() = default;
  /// Never goes back. Advances at the node's own rate.
  [[nodiscard]] virtual MonotonicTime monotonic_now() const = 0;
  /// May be wrong, may jump either way. Microseconds matter (PyTorch stores them).
  [[nodiscard]] virtual WallTime wall_now() const = 0;
};

}  // namespace hooke::sim
