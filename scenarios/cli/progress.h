#pragma once
// The line that says how far long work is.

#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <iostream>
#include <optional>

#include "reports/exploration_table.h"
#include "reports/pace.h"
#include "sim/kernel/host_limits.h"

namespace hooke::cli {

/// Written to standard error: rewritten in place on a terminal, now and then in a log.
class Progress {
 public:
  explicit Progress(bool wanted) : wanted_(wanted), terminal_(isatty(STDERR_FILENO) != 0) {}
  /// `seconds`: the limit of --time; 0: none.
  void show(const hunt::Exploration& so_far, std::uint64_t done, std::uint64_t planned,
            double seconds) {
    const auto now = watch_.elapsed();
    if (!wanted_) return;
    if (now >= next_sample_) {
      pace_.see(now, done);
      next_sample_ = now + kBetweenSamples;
    }
    if (now < next_) return;
    next_ = now + (terminal_ ? kOnTerminal : kInLog);
    std::cerr << (terminal_ ? "\r\x1b[K" : "")
              << report::progress(so_far, done, planned, now,
                                  report::left_text(pace_.left(planned), until(seconds, now)))
              << (terminal_ ? "" : "\n") << std::flush;
  }
  void clear() const {
    if (wanted_ && terminal_) std::cerr << "\r\x1b[K" << std::flush;
  }
  [[nodiscard]] std::chrono::nanoseconds elapsed() const { return watch_.elapsed(); }

 private:
  static constexpr std::chrono::nanoseconds kOnTerminal = std::chrono::milliseconds(200);
  static constexpr std::chrono::nanoseconds kInLog = std::chrono::seconds(30);

  static std::optional<std::chrono::nanoseconds> until(double seconds,
                                                       std::chrono::nanoseconds now) {
    if (seconds == 0) return std::nullopt;
    return std::chrono::nanoseconds(static_cast<std::int64_t>(seconds * 1e9)) - now;
  }
  static constexpr std::chrono::nanoseconds kBetweenSamples = std::chrono::milliseconds(100);

  bool wanted_;
  bool terminal_;
  kernel::Stopwatch watch_;
  report::Pace pace_;
  std::chrono::nanoseconds next_sample_{};
  std::chrono::nanoseconds next_ = std::chrono::seconds(1);
};

}  // namespace hooke::cli
