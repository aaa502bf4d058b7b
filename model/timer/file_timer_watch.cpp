// Reading, then judging, then ending workers.
#include "model/timer/file_timer_watch.h"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// Of a line that has not ended yet: no client writes more than PIPE_BUF at once.
constexpr std::size_t kFifoLineBytesMax = 64UL * 1024;

std::int64_t deadline_micros(const TimerRequest& timer) {
  if (!timer.expires) return -1;
  return std::chrono::floor<std::chrono::microseconds>(timer.expires->time_since_epoch()).count();
}

struct IsOverAtEnd {
  sim::Flag& over;
  ~IsOverAtEnd() { over.set(); }
};

}  // namespace

/// nullptr when no process has come.
std::unique_ptr<sim::FifoReader> FileTimerWatch::open() {
  auto fifo = ports_.files.open_fifo_reader(options_.path);
  if (!fifo) return nullptr;
  for (;;) {
    const auto client = fifo.value()->wait_for_writer(client_deadline());
    if (client) return std::move(fifo).value();
    if (client.failure().fault != sim::Fault::timed_out || stopping_) return nullptr;
  }
}

void FileTimerWatch::run() {
  HOOKE_CHECK(timers_ != nullptr, "what a watch judges is a table");
  // Also when the task dies alone: a thread of Python's that an exception ends can be joined.
  const IsOverAtEnd at_end{over_};
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
}

bool FileTimerWatch::step(sim::FifoReader& fifo) {
  std::vector<TimerRequest> requests;
  // A malformed line is raised from here, and what was read with it is lost (T-7).
  if (!take_requests(fifo, requests)) return false;
  for (const TimerRequest& request : requests) {
    HOOKE_CHECK(request.worker_id > 0, "a request is of one process");
    ++request_count;
    timers_->apply(request, not_before(request));
  }
  signal_sent_ = 0;
  std::vector<std::int64_t> done = judge();
  HOOKE_CHECK(signal_sent_ >= 0, "a signal has a number");
  HOOKE_CHECK(signal_sent_ == 0 || !done.empty(), "a worker that was signalled is done");
  if (signal_sent_ != 0 && options_.signals_itself && tries_the_timer_again(options_.variant)) {
    static_cast<void>(
        ports_.processes.signal(ports_.processes.self(), static_cast<sim::Signal>(signal_sent_)));
  }
  if (forgets_timers_of_the_dead(options_.variant)) {
    for (const std::int64_t worker : timers_->workers()) {
      if (!is_running(worker)) done.push_back(worker);
    }
  }
  for (const std::int64_t worker : done) timers_->clear(worker);
  return true;
}

bool FileTimerWatch::take_requests(sim::FifoReader& fifo, std::vector<TimerRequest>& requests) {
  const sim::MonotonicTime end = in(options_.max_interval);
  HOOKE_CHECK(options_.max_interval > sim::Duration::zero(), "a watch looks again and again");
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

void FileTimerWatch::take_text(const std::string& text, std::vector<TimerRequest>& requests) {
  unread_ += text;
  for (std::size_t newline = 0; (newline = unread_.find('\n')) != std::string::npos;) {
    const std::string line = unread_.substr(0, newline);
    HOOKE_CHECK(newline < unread_.size(), "a line that is taken is there");
    unread_.erase(0, newline + 1);
    take_line(line, requests);
  }
  HOOKE_CHECK(unread_.find('\n') == std::string::npos, "what is kept is the beginning of one line");
  if (unread_.size() <= kFifoLineBytesMax) return;
  unread_.clear();  // what follows of it is no request either
  refuse_line("a line without an end");
}

void FileTimerWatch::take_rest(std::vector<TimerRequest>& requests) {
  if (!unread_.empty()) take_line(std::exchange(unread_, {}), requests);
}

void FileTimerWatch::take_line(std::string_view line, std::vector<TimerRequest>& requests) {
  try {
    TimerRequest request = parse_timer_request(line);
    // Python's os.kill would signal a group, or all (T-4): no variant does that.
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

void FileTimerWatch::refuse_line(const std::string& why) {
  throw std::invalid_argument(why);
}

std::vector<std::int64_t> FileTimerWatch::judge() {
  std::vector<std::int64_t> done;
  for (const auto& [worker, expired] :
       timers_->expired(ports_.clock.wall_now(), ports_.clock.monotonic_now())) {
    if (end_worker(worker, expired)) done.push_back(worker);
  }
  return done;
}

bool FileTimerWatch::end_worker(std::int64_t worker, const std::vector<TimerRequest>& expired) {
  HOOKE_CHECK(worker > 0 && !expired.empty(), "a worker that is ended let a timer expire");
  for (const TimerRequest& timer : expired) {
    HOOKE_CHECK(timer.worker_id == worker && timer.expires.has_value(),
                "a worker is ended for its own timers");
    ports_.trace.emit(events::timer_expired,
                      {worker, timer.scope_id, deadline_micros(timer), timer.signal});
    if (forgets_timers_of_the_dead(options_.variant)) tell("timer expired", timer);
    if (timer.signal <= 0) continue;
    if (worker > std::numeric_limits<std::int32_t>::max()) return true;
    const auto sent = ports_.processes.signal(sim::Pid{static_cast<std::int32_t>(worker)},
                                              static_cast<sim::Signal>(timer.signal));
    if (sent || sent.failure().fault == sim::Fault::not_found) {
      ports_.trace.emit(events::timer_killed,
                        {worker, timer.scope_id, deadline_micros(timer), timer.signal, sent.ok()});
      tell("kill worker process", timer);
      HOOKE_CHECK(timer.signal > 0, "a worker is ended by a signal");
      signal_sent_ = timer.signal;
      return true;
    }
    ports_.trace.emit(
        events::watchdog_failed,
        {options_.path, "worker " + std::to_string(worker) + " cannot be signalled: " +
                            std::string(to_string(sent.failure().fault))});
    return forgets_unreachable();
  }
  return true;
}

bool FileTimerWatch::is_running(std::int64_t worker) const {
  HOOKE_CHECK(worker > 0, "a worker is one process");
  if (worker > std::numeric_limits<std::int32_t>::max()) return false;
  return ports_.processes.signal(sim::Pid{static_cast<std::int32_t>(worker)}, sim::Signal::none)
      .ok();
}

}  // namespace hooke::model
