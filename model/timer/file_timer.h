#pragma once
// Timers over a FIFO, as torchrun's agents watch their workers
// (torch/distributed/elastic/timer/file_based_local_timer.py). One line is one
// request; there is no answer.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "model/timer/file_timer_watch.h"
#include "model/timer/timer.h"
#include "model/variant/variant.h"
#include "sim/port/ports.h"

namespace hooke::model {

class FileTimerClient : public TimerClient {
 public:
  /// `signal`: what the server shall send at the deadline; nullopt: nothing, the timer only tells.
  FileTimerClient(sim::Ports& ports, std::string path, Variant variant = Variant::torch_2_x,
                  std::optional<sim::Signal> signal = sim::Signal::kill);

  /// Both open the FIFO, write, and close it. EscapedPythonError: "BrokenPipeError" when no process
  /// reads it (after ten tries within a second, in 1.13 after one), "RuntimeError" when the request
  /// is longer than PIPE_BUF, "BlockingIOError" when the FIFO is full (T-6).
  void acquire(const std::string& scope_id, sim::WallTime expires) override;
  void release(const std::string& scope_id) override;

 protected:
  static constexpr std::size_t kPipeBufBytes = 4096;

  /// Without the newline, which PyTorch forgets: the longest line is not written in one piece
  /// (T-5).
  [[nodiscard]] virtual std::size_t request_bytes_max() const { return kPipeBufBytes; }
  /// The FIFO is full, and has been tried since `begun`. True when it shall be tried again now.
  virtual bool waits_for_room(sim::MonotonicTime /*begun*/) { return false; }

  sim::Ports& ports_;

 private:
  void send(const TimerRequest& request);
  std::unique_ptr<sim::FifoWriter> open();

  std::string path_;
  Variant variant_;
  int signal_;
};

class FileTimerServer final : public TimerServer {
 public:
  /// Replaces whatever lies at the path by a FIFO. std::runtime_error when that cannot be done.
  FileTimerServer(sim::Ports& ports, FileTimerOptions options);
  /// Likewise, with another watch than PyTorch's.
  FileTimerServer(sim::Ports& ports, FileTimerOptions options,
                  std::shared_ptr<FileTimerWatch> watch);
  ~FileTimerServer() override;
  FileTimerServer(const FileTimerServer&) = delete;
  FileTimerServer& operator=(const FileTimerServer&) = delete;

  void start() override;
  /// Also removes the FIFO. A watch that no client ever reached, or that a client holds up, is left
  /// behind (T-10, T-11).
  void stop() override;
  /// Reads what is pending, judges once, and ends. Blocks until a client has come.
  void run_once();
  /// Now while no client has come; stands still while the watch is held up (T-11).
  [[nodiscard]] sim::WallTime last_progress_time() const override;
  /// Requests taken in so far.
  [[nodiscard]] std::uint64_t request_count() const;

 private:
  void tell(std::string_view name);

  sim::Ports& ports_;
  FileTimerOptions options_;
  std::shared_ptr<FileTimerWatch> watch_;  ///< outlives us for as long as its fiber runs
  bool started_ = false;
};

}  // namespace hooke::model
