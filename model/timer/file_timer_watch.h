#pragma once
// What a server of file timers does all the time: it reads requests from the FIFO, judges them, and
// ends workers (torch/distributed/elastic/timer/file_based_local_timer.py: _watchdog_loop,
// _run_watchdog). The protected steps are where a variant may do otherwise.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/timer/timer_table.h"
#include "model/variant/variant.h"
#include "sim/port/ports.h"
#include "sim/port/sync.h"

namespace hooke::model {

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
  TimerTableMaker make_table = make_timer_table;
};

/// Has everything that its fiber touches, so that it may outlive its server.
class FileTimerWatch {
 public:
  FileTimerWatch(sim::Ports& ports, FileTimerOptions options)
      : ports_(ports),
        options_(std::move(options)),
        over_(ports.executor),
        timers_(options_.make_table()) {}
  virtual ~FileTimerWatch() = default;
  FileTimerWatch(const FileTimerWatch&) = delete;
  FileTimerWatch& operator=(const FileTimerWatch&) = delete;

  void run();
  void stop() { stopping_ = true; }
  void run_once() { once_ = true; }
  /// False when it is not over by then.
  bool wait(std::optional<sim::MonotonicTime> deadline) { return over_.wait(deadline); }

  bool client_came = false;
  sim::WallTime last_progress{};
  std::uint64_t request_count = 0;

 protected:
  static constexpr sim::Duration kLongestIdle = std::chrono::seconds(1);

  [[nodiscard]] sim::MonotonicTime in(sim::Duration span) const {
    return ports_.clock.monotonic_now() + span;
  }
  /// How long one wait for the first client lasts. PyTorch waits without limit: a watch without a
  /// client cannot be stopped (T-10).
  [[nodiscard]] virtual std::optional<sim::MonotonicTime> client_deadline() const { return {}; }
  /// Before this a timer does not expire, whatever the wall clock says. The deadline is a time of
  /// the wall clock, which may be set ahead (T-1).
  [[nodiscard]] virtual sim::MonotonicTime not_before(const TimerRequest&) const { return {}; }
  /// Takes in what has come. False when the FIFO cannot be read any more; std::invalid_argument for
  /// a line that is refused.
  virtual bool take_requests(sim::FifoReader& fifo, std::vector<TimerRequest>& requests);
  /// Whole lines out of what was read, and what is left when no process writes any more.
  void take_text(const std::string& text, std::vector<TimerRequest>& requests);
  void take_rest(std::vector<TimerRequest>& requests);
  /// std::invalid_argument, which ends the step.
  virtual void refuse_line(const std::string& why);
  /// Of a worker that cannot be signalled: PyTorch says that it will try again, and has forgotten
  /// the timers (T-8).
  [[nodiscard]] virtual bool forgets_unreachable() const { return true; }

  sim::Ports& ports_;
  FileTimerOptions options_;
  bool stopping_ = false;
  bool once_ = false;

 private:
  std::unique_ptr<sim::FifoReader> open();
  /// One step: read, judge, end. False when the FIFO cannot be read any more.
  bool step(sim::FifoReader& fifo);
  void take_line(std::string_view line, std::vector<TimerRequest>& requests);
  /// The workers whose timers are done with.
  std::vector<std::int64_t> judge();
  /// True when the worker's timers are done with.
  bool end_worker(std::int64_t worker, const std::vector<TimerRequest>& expired);
  [[nodiscard]] bool is_running(std::int64_t worker) const;
  void tell(std::string_view name, const TimerRequest& timer) const {
    if (options_.on_event) options_.on_event({name, &timer});
  }

  sim::Flag over_;
  std::string unread_;  ///< the beginning of a line
  std::unique_ptr<TimerTable> timers_;
  int signal_sent_ = 0;  ///< the last one of this step
};

}  // namespace hooke::model
