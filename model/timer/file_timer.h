#pragma once
// Timers over a FIFO, as torchrun's agents watch their workers
// (torch/distributed/elastic/timer/file_based_local_timer.py). One line is one
// request; there is no answer.

#include <functional>
#include <memory>
#include <string>

#include "model/timer/timer.h"
#include "model/variant/planted.h"
#include "model/variant/variant.h"
#include "sim/port/ports.h"

namespace hooke::model {

class FileTimerClient final : public TimerClient {
 public:
  /// `signal`: what the server shall send at the deadline; nullopt: nothing, the timer only tells.
  FileTimerClient(sim::Ports& ports, std::string path, Variant variant = Variant::torch_2_x,
                  std::optional<sim::Signal> signal = sim::Signal::kill);

  /// Both open the FIFO, write, and close it. EscapedPythonError: "BrokenPipeError" when no process
  /// reads it (after ten tries within a second, in 1.13 after one), "RuntimeError" when the request
  /// is longer than PIPE_BUF, "BlockingIOError" when the FIFO is full (T-6; hardened: tried again
  /// for ten seconds).
  void acquire(const std::string& scope_id, sim::WallTime expires) override;
  void release(const std::string& scope_id) override;

 private:
  void send(const TimerRequest& request);
  std::unique_ptr<sim::FifoWriter> open();

  sim::Ports& ports_;
  std::string path_;
  Variant variant_;
  int signal_;
};

/// What a watchdog tells (PyTorch's names): "watchdog started", "watchdog stopped", "timer
/// expired", "kill worker process".
struct WatchdogEvent {
  std::string_view name;
  const TimerRequest* timer = nullptr;  ///< null for the first two
};

struct FileTimerOptions {
  std::string path;
  std::string run_id;
  sim::Duration max_interval = std::chrono::seconds(10);
  Variant variant = Variant::torch_2_x;
  /// 2.x: after an expiry the server signals its own process too (T-9). Off for a server that is
  /// no agent.
  bool signals_itself = true;
  std::function<void(const WatchdogEvent&)> on_event;
  PlantedSet planted{};
};

class FileTimerServer final : public TimerServer {
 public:
  /// Replaces whatever lies at the path by a FIFO. std::runtime_error when that cannot be done.
  FileTimerServer(sim::Ports& ports, FileTimerOptions options);
  ~FileTimerServer() override;
  FileTimerServer(const FileTimerServer&) = delete;
  FileTimerServer& operator=(const FileTimerServer&) = delete;

  void start() override;
  /// Also removes the FIFO. A watch that no client ever reached, or that a client holds up, is left
  /// behind (T-10, T-11; not so when hardened).
  void stop() override;
  /// Reads what is pending, judges once, and ends. Blocks until a client has come.
  void run_once();
  /// Now while no client has come; stands still while the watch is held up (T-11).
  [[nodiscard]] sim::WallTime last_progress_time() const override;
  /// Requests taken in so far.
  [[nodiscard]] std::uint64_t request_count() const;

 private:
  class Watch;
  void tell(std::string_view name);

  sim::Ports& ports_;
  FileTimerOptions options_;
  std::shared_ptr<Watch> watch_;  ///< outlives us for as long as its fiber runs
  bool started_ = false;
};

}  // namespace hooke::model
