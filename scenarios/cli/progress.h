#pragma once
// The line that says how far long work is.

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <iostream>

#include "reports/exploration_table.h"
#include "sim/kernel/host_limits.h"

namespace hooke::cli {

/// Written to standard error: rewritten in place on a terminal, now and then in a log.
class Progress {
 public:
  explicit Progress(bool wanted) : wanted_(wanted), terminal_(isatty(STDERR_FILENO) != 0) {}
  void show(const hunt::Exploration& so_far, std::uint64_t done, std::uint64_t planned) {
    const auto now = watch_.elapsed();
    if (!wanted_ || now < next_) return;
    next_ = now + (terminal_ ? kOnTerminal : kInLog);
    std::cerr << (terminal_ ? "\r\x1b[K" : "") << report::progress(so_far, done, planned, now)
              << (terminal_ ? "" : "\n") << std::flush;
  }
  void clear() const {
    if (wanted_ && terminal_) std::cerr << "\r\x1b[K" << std::flush;
  }
  [[nodiscard]] std::chrono::nanoseconds elapsed() const { return watch_.elapsed(); }

 private:
  static constexpr std::chrono::nanoseconds kOnTerminal = std::chrono::milliseconds(200);
  static constexpr std::chrono::nanoseconds kInLog = std::chrono::seconds(30);

  bool wanted_;
  bool terminal_;
  kernel::Stopwatch watch_;
  std::chrono::nanoseconds next_ = std::chrono::seconds(1);
};

}  // namespace hooke::cli
