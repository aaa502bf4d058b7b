// The client first; then the watch: reading, judging, ending workers; then its life.
#include "model/timer/file_timer.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/observe/background_tasks.h"
#include "model/observe/python_error.h"
#include "model/observe/trace_events.h"
#include "model/timer/timer_table.h"
#include "sim/port/check.h"
#include "sim/port/sync.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kPipeBufBytes = 4096;
/// Of a line that has not ended yet: no client writes more than PIPE_BUF at once.
constexpr std::size_t kFifoLineBytesMax = 64UL * 1024;
constexpr int kOpenTries = 10;
constexpr sim::Duration kOpenPause = 100ms;
/// How long the hardened client tries a full FIFO, and its pause between two tries.
constexpr sim::Duration kFullTimeout = 10s;
constexpr sim::Duration kFullPause = 20ms;
constexpr sim::Duration kLongestIdle = 1s;

std::int64_t micros(const std::optional<sim::WallTime>& time) {
  return time ? std::chrono::floor<std::chrono::microseconds>(time->time_since_epoch()).count()
              : -1;
}

}  // namespace

FileTimerClient::FileTimerClient(sim::Ports& ports, std::string path, Variant variant,
                                 std::optional<sim::Signal> signal)
    : ports_(ports),
      path_(std::move(path)),
      variant_(variant),
      signal_(signal ? static_cast<int>(*signal) : 0) {}

void FileTimerClient::acquire(const std::string& scope_id, sim::WallTime expires) {
  send({ports_.processes.self().value, scope_id, expires, signal_});
  ports_.trace.emit(events::timer_acquired, {scope_id, micros(expires), signal_});
}

void FileTimerClient::release(const std::string& scope_id) {
  send({ports_.processes.self().value, scope_id, std::nullopt, 0});
  ports_.trace.emit(events::timer_released, {scope_id});
}

std::unique_ptr<sim::FifoWriter> FileTimerClient::open() {
  const int tries = variant_ == Variant::torch_1_13 ? 1 : kOpenTries;
  for (int i = 1;; ++i) {
    auto fifo = ports_.files.open_fifo_writer(path_);
    if (fifo) return std::move(fifo).value();
    HOOKE_CHECK(i <= tries, "a FIFO is tried no more often than allowed");
    if (i == tries) {
      throw EscapedPythonError("BrokenPipeError", "no timer server reads " + path_ + " (" +
                                                      std::string(to_string(fifo.failure().fault)) +
                                                      ")");
    }
    ports_.executor.sleep_until(ports_.clock.monotonic_now() + kOpenPause);
  }
}

void FileTimerClient::send(const TimerRequest& request) {
  const std::unique_ptr<sim::FifoWriter> fifo = open();
  HOOKE_CHECK(fifo != nullptr, "a request is written to an open FIFO");
  std::string line = encode_timer_request(request);
  // PyTorch forgets the newline, so that the longest line is not written in one piece (T-5).
  const std::size_t newline = variant_ == Variant::hardened ? 1 : 0;
  if (line.size() + newline > kPipeBufBytes) {
    throw EscapedPythonError("RuntimeError", "a timer request of " + std::to_string(line.size()) +
                                                 " bytes is longer than PIPE_BUF (" +
                                                 std::to_string(kPipeBufBytes) + ")");
  }
  HOOKE_CHECK(line.size() + newline <= kPipeBufBytes, "a line is written in one piece");
  line += '\n';
  const sim::MonotonicTime give_up = ports_.clock.monotonic_now() + kFullTimeout;
  for (;;) {
    const auto written = fifo->write(line);
    if (written) return;
    const bool full = written.failure().fault == sim::Fault::no_space;
    if (full && variant_ == Variant::hardened && ports_.clock.monotonic_now() < give_up) {
      ports_.executor.sleep_until(ports_.clock.monotonic_now() + kFullPause);
      continue;
    }
    throw EscapedPythonError(full ? "BlockingIOError" : "BrokenPipeError",
                             path_ + ": " + std::string(to_string(written.failure().fault)));
  }
}

// ---- the watch ----------------------------------------------------------------------------------

/// Everything the fiber touches, so that it may outlive its server.
class FileTimerServer::Watch {
 public:
  Watch(sim::Ports& ports, const FileTimerOptions& options)
      : ports_(ports), options_(options), over_(ports.executor), timers_(options.planted) {}

  void run();
  void stop() { stopping_ = true; }
  void run_once() { once_ = true; }
  /// False when it is not over by then.
  bool wait(std::optional<sim::MonotonicTime> deadline) { return over_.wait(deadline); }

  bool client_came = false;
  sim::WallTime last_progress{};
  std::uint64_t request_count = 0;

 private:
  [[nodiscard]] bool hardened() const { return options_.variant == Variant::hardened; }
  [[nodiscard]] bool is_1_13() const { return options_.variant == Variant::torch_1_13; }
  [[nodiscard]] sim::MonotonicTime in(sim::Duration span) const {
    return ports_.clock.monotonic_now() + span;
  }
  /// A deadline is a time of the wall clock, which may be set ahead (T-1); hardened, the span that
  /// was left of it when it came must have gone by as well.
  [[nodiscard]] sim::MonotonicTime not_before(const TimerRequest& request) const {
    if (!hardened() || !request.expires) return {};
    return in(*request.expires - ports_.clock.wall_now());
  }
  std::unique_ptr<sim::FifoReader> open();
  /// One step: read, judge, end. False when the FIFO cannot be read any more.
  bool step(sim::FifoReader& fifo);
  /// Take in what has come, as PyTorch does and as the hardened watch does. False when the FIFO
  /// cannot be read any more; std::invalid_argument for a malformed line, not from a hardened one.
  bool take_requests(sim::FifoReader& fifo, std::vector<TimerRequest>& requests);
  bool take_all_requests(sim::FifoReader& fifo, std::vector<TimerRequest>& requests);
  /// Whole lines out of what was read, and what is left when no process writes any more.
  void take_text(const std::string& text, std::vector<TimerRequest>& requests);
  void take_rest(std::vector<TimerRequest>& requests);
  void take_line(std::string_view line, std::vector<TimerRequest>& requests);
  /// std::invalid_argument, which ends the step; the hardened watch only tells of it.
  void refuse_line(const std::string& why);
  /// The workers whose timers are done with.
  std::vector<std::int64_t> judge();
  /// True when the worker's timers are done with.
  bool end_worker(std::int64_t worker, const std::vector<TimerRequest>& expired);
  [[nodiscard]] bool is_running(std::int64_t worker) const;
  void tell(std::string_view name, const TimerRequest& timer) const {
    if (options_.on_event) options_.on_event({name, &timer});
  }

  sim::Ports& ports_;
  FileTimerOptions options_;
  sim::Flag over_;
  bool stopping_ = false;
  bool once_ = false;
  std::string unread_;  ///< the beginning of a line
  TimerTable timers_;
  int signal_sent_ = 0;  ///< the last one of this step
};

/// nullptr when no process has come.
std::unique_ptr<sim::FifoReader> FileTimerServer::Watch::open() {
  auto fifo = ports_.files.open_fifo_reader(options_.path);
  if (!fifo) return nullptr;
  for (;;) {
    // PyTorch waits without limit: a watch without a client cannot be stopped (T-10).
    const auto client = fifo.value()->wait_for_writer(
        hardened() ? std::optional(in(options_.max_interval)) : std::nullopt);
    if (client) return std::move(fifo).value();
    if (client.failure().fault != sim::Fault::timed_out || stopping_) return nullptr;
  }
}

void FileTimerServer::Watch::run() {
  if (const std::unique_ptr<sim::FifoReader> fifo = open()) {
    HOOKE_CHECK(!client_came, "a client comes once");
    client_came = true;
    while (!stopping_) {
      const bool last = once_;
      try {
        if (!step(*fifo)) break;
        last_progress =
            std::chrono::floor<std::chrono::seconds>(ports_.clock.wall_now().time_since_epoch()) +
            sim::WallTime{};
      } catch (const std::invalid_argument& error) {
        ports_.trace.emit(events::watchdog_failed, {options_.path, error.what()});
      }
      if (last) break;
    }
  }
  over_.set();
}

bool FileTimerServer::Watch::step(sim::FifoReader& fifo) {
  std::vector<TimerRequest> requests;
  // A malformed line is raised from here, and what was read with it is lost (T-7).
  if (!(hardened() ? take_all_requests(fifo, requests) : take_requests(fifo, requests)))
    return false;
  for (const TimerRequest& request : requests) {
    ++request_count;
    timers_.apply(request, not_before(request));
  }
  signal_sent_ = 0;
  std::vector<std::int64_t> done = judge();
  HOOKE_CHECK(signal_sent_ >= 0, "a signal has a number");
  if (signal_sent_ != 0 && options_.signals_itself && !is_1_13() && !hardened()) {
    static_cast<void>(
        ports_.processes.signal(ports_.processes.self(), static_cast<sim::Signal>(signal_sent_)));
  }
  if (!is_1_13()) {
    for (const std::int64_t worker : timers_.workers()) {
      if (!is_running(worker)) done.push_back(worker);
    }
  }
  for (const std::int64_t worker : done) timers_.clear(worker);
  return true;
}

bool FileTimerServer::Watch::take_requests(sim::FifoReader& fifo,
                                           std::vector<TimerRequest>& requests) {
  HOOKE_CHECK(!hardened(), "only PyTorch's watch reads so");
  const sim::MonotonicTime end = in(options_.max_interval);
  while (!stopping_) {
    // Waits for as long as a writer has the FIFO open, whatever expires meanwhile (T-11).
    const auto received = fifo.read(std::nullopt);
    if (!received) return false;
    if (received.value().empty()) {
      take_rest(requests);
      if (once_) return true;
      ports_.executor.sleep_until(in(std::min(options_.max_interval, kLongestIdle)));
    } else {
      take_text(received.value(), requests);
    }
    // What has come during the sleep stays unread until after the judgement (T-12).
    if (ports_.clock.monotonic_now() >= end) return true;
  }
  return true;
}

bool FileTimerServer::Watch::take_all_requests(sim::FifoReader& fifo,
                                               std::vector<TimerRequest>& requests) {
  HOOKE_CHECK(hardened(), "only a hardened watch reads so");
  if (!once_) ports_.executor.sleep_until(in(std::min(options_.max_interval, kLongestIdle)));
  for (const sim::MonotonicTime end = in(options_.max_interval);
       ports_.clock.monotonic_now() < end;) {
    const auto received = fifo.read(ports_.clock.monotonic_now());
    if (!received) return received.failure().fault == sim::Fault::timed_out;
    if (received.value().empty()) {
      take_rest(requests);
      return true;
    }
    take_text(received.value(), requests);
  }
  return true;
}

void FileTimerServer::Watch::take_text(const std::string& text,
                                       std::vector<TimerRequest>& requests) {
  unread_ += text;
  for (std::size_t newline = 0; (newline = unread_.find('\n')) != std::string::npos;) {
    const std::string line = unread_.substr(0, newline);
    HOOKE_CHECK(newline < unread_.size(), "a line that is taken is there");
    unread_.erase(0, newline + 1);
    take_line(line, requests);
  }
  if (unread_.size() <= kFifoLineBytesMax) return;
  unread_.clear();  // what follows of it is no request either
  refuse_line("a line without an end");
}

void FileTimerServer::Watch::take_rest(std::vector<TimerRequest>& requests) {
  if (!unread_.empty()) take_line(std::exchange(unread_, {}), requests);
}

void FileTimerServer::Watch::take_line(std::string_view line, std::vector<TimerRequest>& requests) {
  try {
    TimerRequest request = parse_timer_request(line);
    // Python's os.kill would signal a group, or everybody (T-4): no variant does that.
    if (request.worker_id <= 0) {
      throw std::invalid_argument("/pid: " + std::to_string(request.worker_id) +
                                  " is not the number of one process");
    }
    HOOKE_CHECK(request.worker_id > 0, "a request is of one process");
    requests.push_back(std::move(request));
  } catch (const std::invalid_argument& error) {
    refuse_line(error.what());
  }
}

void FileTimerServer::Watch::refuse_line(const std::string& why) {
  if (!hardened()) throw std::invalid_argument(why);
  ports_.trace.emit(events::watchdog_failed, {options_.path, why});
}

std::vector<std::int64_t> FileTimerServer::Watch::judge() {
  std::vector<std::int64_t> done;
  for (const auto& [worker, expired] :
       timers_.expired(ports_.clock.wall_now(), ports_.clock.monotonic_now())) {
    if (end_worker(worker, expired)) done.push_back(worker);
  }
  return done;
}

bool FileTimerServer::Watch::end_worker(std::int64_t worker,
                                        const std::vector<TimerRequest>& expired) {
  HOOKE_CHECK(worker > 0 && !expired.empty(), "a worker that is ended let a timer expire");
  for (const TimerRequest& timer : expired) {
    ports_.trace.emit(events::timer_expired,
                      {worker, timer.scope_id, micros(timer.expires), timer.signal});
    if (!is_1_13()) tell("timer expired", timer);
    if (timer.signal <= 0) continue;
    if (worker > std::numeric_limits<std::int32_t>::max()) return true;
    const auto sent = ports_.processes.signal(sim::Pid{static_cast<std::int32_t>(worker)},
                                              static_cast<sim::Signal>(timer.signal));
    if (sent || sent.failure().fault == sim::Fault::not_found) {
      ports_.trace.emit(events::timer_killed,
                        {worker, timer.scope_id, micros(timer.expires), timer.signal, sent.ok()});
      tell("kill worker process", timer);
      HOOKE_CHECK(timer.signal > 0, "a worker is ended by a signal");
      signal_sent_ = timer.signal;
      return true;
    }
    ports_.trace.emit(
        events::watchdog_failed,
        {options_.path, "worker " + std::to_string(worker) + " cannot be signalled: " +
                            std::string(to_string(sent.failure().fault))});
    return !hardened();  // PyTorch says that it will try again, and has forgotten the timers (T-8)
  }
  return true;
}

bool FileTimerServer::Watch::is_running(std::int64_t worker) const {
  HOOKE_CHECK(worker > 0, "a worker is one process");
  if (worker > std::numeric_limits<std::int32_t>::max()) return false;
  return ports_.processes.signal(sim::Pid{static_cast<std::int32_t>(worker)}, sim::Signal::none)
      .ok();
}

// ---- its life -----------------------------------------------------------------------------------

FileTimerServer::FileTimerServer(sim::Ports& ports, FileTimerOptions options)
    : ports_(ports), options_(std::move(options)) {
  // Not a directory, for which os.remove of PyTorch is an error, too.
  if (const auto gone = ports.files.remove_file(options_.path); !gone) {
    throw std::runtime_error("timer server: " + options_.path +
                             ": expected a FIFO or nothing: " + gone.failure().detail);
  }
  if (const auto made = ports.files.make_fifo(options_.path); !made) {
    throw std::runtime_error("timer server: " + options_.path + ": " +
                             std::string(to_string(made.failure().fault)));
  }
  watch_ = std::make_shared<Watch>(ports, options_);
  HOOKE_CHECK(options_.max_interval > sim::Duration::zero(), "a watch looks again and again");
  watch_->last_progress = ports.clock.wall_now();
}

FileTimerServer::~FileTimerServer() {
  watch_->stop();
}

void FileTimerServer::start() {
  ports_.executor.spawn(std::string(tasks::kWatchdog), [watch = watch_] { watch->run(); });
  HOOKE_CHECK(!started_, "a watch is started once");
  started_ = true;
  tell("watchdog started");
}

void FileTimerServer::stop() {
  watch_->stop();
  if (std::exchange(started_, false)) {
    static_cast<void>(watch_->wait(ports_.clock.monotonic_now() + options_.max_interval));
  }
  static_cast<void>(ports_.files.remove_file(options_.path));
  tell("watchdog stopped");
}

void FileTimerServer::run_once() {
  HOOKE_CHECK(watch_ != nullptr, "a server has a watch");
  watch_->run_once();
  if (std::exchange(started_, false)) {
    static_cast<void>(watch_->wait(std::nullopt));
  } else {
    watch_->run();
  }
  static_cast<void>(ports_.files.remove_file(options_.path));
}

sim::WallTime FileTimerServer::last_progress_time() const {
  return watch_->client_came ? watch_->last_progress : ports_.clock.wall_now();
}

std::uint64_t FileTimerServer::request_count() const {
  return watch_->request_count;
}

void FileTimerServer::tell(std::string_view name) {
  ports_.trace.emit(events::watchdog_changed, {name, options_.path});
  if (options_.on_event) options_.on_event({name, nullptr});
}

}  // namespace hooke::model
