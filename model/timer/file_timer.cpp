// The client first; then the life of a server, whose watch is in file_timer_watch.cpp.
#include "model/timer/file_timer.h"

#include <stdexcept>
#include <utility>

#include "model/observe/background_tasks.h"
#include "model/observe/python_error.h"
#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr int kOpenTries = 10;
constexpr sim::Duration kOpenPause = 100ms;

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
  const int tries = tries_the_timer_again(variant_) ? kOpenTries : 1;
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
  HOOKE_CHECK(request.worker_id > 0 && request.signal >= 0, "a process asks for itself");
  const std::unique_ptr<sim::FifoWriter> fifo = open();
  HOOKE_CHECK(fifo != nullptr, "a request is written to an open FIFO");
  std::string line = encode_timer_request(request);
  if (line.size() > request_bytes_max()) {
    throw EscapedPythonError("RuntimeError", "a timer request of " + std::to_string(line.size()) +
                                                 " bytes is longer than PIPE_BUF (" +
                                                 std::to_string(kPipeBufBytes) + ")");
  }
  HOOKE_CHECK(line.size() <= kPipeBufBytes, "no request is longer than PIPE_BUF");
  HOOKE_CHECK(line.find('\n') == std::string::npos, "a request is one line");
  line += '\n';
  const sim::MonotonicTime begun = ports_.clock.monotonic_now();
  for (;;) {
    const auto written = fifo->write(line);
    if (written) return;
    const bool full = written.failure().fault == sim::Fault::no_space;
    if (full && waits_for_room(begun)) continue;
    throw EscapedPythonError(full ? "BlockingIOError" : "BrokenPipeError",
                             path_ + ": " + std::string(to_string(written.failure().fault)));
  }
}

// ---- its life -----------------------------------------------------------------------------------

FileTimerServer::FileTimerServer(sim::Ports& ports, FileTimerOptions options)
    : FileTimerServer(ports, options, std::make_shared<FileTimerWatch>(ports, options)) {}

FileTimerServer::FileTimerServer(sim::Ports& ports, FileTimerOptions options,
                                 std::shared_ptr<FileTimerWatch> watch)
    : ports_(ports), options_(std::move(options)), watch_(std::move(watch)) {
  // Not a directory, for which os.remove of PyTorch is an error, too.
  if (const auto gone = ports.files.remove_file(options_.path); !gone) {
    throw std::runtime_error("timer server: " + options_.path +
                             ": expected a FIFO or nothing: " + gone.failure().detail);
  }
  if (const auto made = ports.files.make_fifo(options_.path); !made) {
    throw std::runtime_error("timer server: " + options_.path + ": " +
                             std::string(to_string(made.failure().fault)));
  }
  HOOKE_CHECK(watch_ != nullptr, "a server has a watch");
  HOOKE_CHECK(!watch_->client_came && watch_->request_count == 0, "a watch is of one server");
  HOOKE_CHECK(options_.max_interval > sim::Duration::zero(), "a watch looks again and again");
  watch_->last_progress = ports.clock.wall_now();
}

FileTimerServer::~FileTimerServer() {
  watch_->stop();
}

void FileTimerServer::start() {
  HOOKE_CHECK(!watch_->client_came, "a watch that has not begun has no client");
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
  HOOKE_CHECK(!name.empty(), "what a watchdog tells has a name");
  ports_.trace.emit(events::watchdog_changed, {name, options_.path});
  if (options_.on_event) options_.on_event({name, nullptr});
}

}  // namespace hooke::model
