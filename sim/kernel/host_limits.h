#pragma once
// The only look at the real machine that the kernel takes: has a run used up the real time or
// memory it was given? The answer can end a run, never change its order.

#include <chrono>
#include <cstddef>
#include <optional>

namespace hooke::kernel {

class HostLimits {
 public:
  /// Starts counting now. nullopt: no limit.
  HostLimits(std::optional<std::chrono::milliseconds> wall_time_max,
             std::optional<std::size_t> memory_bytes_max);
  [[nodiscard]] bool time_is_up() const;
  /// Resident memory of this process is above the limit.
  [[nodiscard]] bool memory_is_up() const;

 private:
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  std::optional<std::size_t> memory_bytes_max_;
};

/// Real time since its construction: for reports of how long something took, never for a decision.
class Stopwatch {
 public:
  Stopwatch();
  [[nodiscard]] std::chrono::nanoseconds elapsed() const;

 private:
  std::chrono::steady_clock::time_point start_;
};

}  // namespace hooke::kernel
