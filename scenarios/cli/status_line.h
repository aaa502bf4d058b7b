#pragma once
// One line on a terminal that says how far long work is; rewritten in place, and gone at the end.
// In a log there is none: what a command prints there stays as it is.

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <string>

#include "sim/kernel/host_limits.h"

namespace hooke::cli {

class StatusLine {
 public:
  StatusLine() = default;
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine&) = delete;
  StatusLine& operator=(const StatusLine&) = delete;

  /// Shows what `text()` returns, a few times in a second at most, and not in the first one.
  template <class Text>
  void show(Text text) {
    if (!terminal_ || watch_.elapsed() < next_) return;
    next_ = watch_.elapsed() + kPause;
    std::fprintf(stderr, "\r\x1b[K%s", std::string(text()).c_str());
    shown_ = true;
  }
  void clear() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
    shown_ = false;
  }
  [[nodiscard]] std::chrono::nanoseconds elapsed() const { return watch_.elapsed(); }

 private:
  static constexpr std::chrono::nanoseconds kPause = std::chrono::milliseconds(200);

  bool terminal_ = isatty(STDERR_FILENO) != 0, shown_ = false;
  kernel::Stopwatch watch_;
  std::chrono::nanoseconds next_ = std::chrono::seconds(1);
};

}  // namespace hooke::cli
