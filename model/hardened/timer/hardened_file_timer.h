#pragma once
// The problem: a client of file timers loses a request when the FIFO is full (T-6) or the line is
// as long as PIPE_BUF (T-5). The server believes a wall clock that is set ahead (T-1), loses what
// comes with a malformed line (T-7), forgets a worker that it cannot signal (T-8), signals its own
// agent (T-9), and stands still without a client (T-10) or while one holds the file open (T-11);
// what has come before it judges may stay unread (T-12).

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "model/timer/file_timer.h"

namespace hooke::model {

/// Tries a full FIFO for ten seconds.
class HardenedFileTimerClient final : public FileTimerClient {
 public:
  using FileTimerClient::FileTimerClient;

 protected:
  /// The newline is written in one piece with the rest.
  [[nodiscard]] std::size_t request_bytes_max() const override { return kPipeBufBytes - 1; }
  bool waits_for_room(sim::MonotonicTime begun) override;
};

class HardenedFileTimerWatch final : public FileTimerWatch {
 public:
  /// It never signals its own process, whatever `options` say.
  HardenedFileTimerWatch(sim::Ports& ports, FileTimerOptions options);

 protected:
  [[nodiscard]] std::optional<sim::MonotonicTime> client_deadline() const override;
  /// The span that was left of the deadline when it came must have gone by as well.
  [[nodiscard]] sim::MonotonicTime not_before(const TimerRequest& request) const override;
  /// Waits for no client, and reads all that is there before it judges.
  bool take_requests(sim::FifoReader& fifo, std::vector<TimerRequest>& requests) override;
  /// Only tells of it: the other lines count.
  void refuse_line(const std::string& why) override;
  [[nodiscard]] bool forgets_unreachable() const override { return false; }
};

/// std::runtime_error when the path cannot be made a FIFO.
std::unique_ptr<FileTimerServer> make_hardened_file_timer_server(sim::Ports& ports,
                                                                 FileTimerOptions options);

}  // namespace hooke::model
