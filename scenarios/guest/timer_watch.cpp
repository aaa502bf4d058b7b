// A word of the server's each, and two lines of its log.
#include "scenarios/guest/timer_watch.h"

#include <utility>

#include "model/observe/trace_events.h"

namespace hooke::scenario {

namespace ev = model::events;

void TimerWatch::on_told(const guest::Message& told) {
  const std::string& word = told.at(0).text();
  path_ = told.at(1).text();
  const std::int64_t worker = told.at(2).number();
  const std::string& scope = told.at(3).text();
  const std::int64_t expires = told.at(4).number();
  const std::int64_t signal = told.at(5).number();
  if (word == "timer expired") {
    ports_.trace.emit(ev::timer_expired, {worker, scope, expires, signal});
    if (signal > 0) expired_ = sim::Pid{static_cast<std::int32_t>(worker)};
    there_ = true;
  } else if (word == "kill worker process") {
    ports_.trace.emit(ev::timer_killed, {worker, scope, expires, signal, there_});
    expired_.reset();
  } else {
    ports_.trace.emit(ev::watchdog_changed, {word, path_});
  }
}

void TimerWatch::on_line(std::string_view line) {
  if (line.find(" does not exist. Skipping") != std::string_view::npos) there_ = false;
  if (line.find("Error running watchdog") == std::string_view::npos) return;
  ports_.trace.emit(ev::watchdog_failed, {path_, "an error that torchrun logs and passes over"});
}

bool TimerWatch::sends(sim::Pid target) {
  if (expired_ != target) return false;
  expired_.reset();
  return true;
}

}  // namespace hooke::scenario
