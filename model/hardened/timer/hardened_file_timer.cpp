// The client first, then the watch.
#include "model/hardened/timer/hardened_file_timer.h"

#include <algorithm>
#include <utility>

#include "model/observe/trace_events.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// How long a client tries a full FIFO, and its pause between two tries.
constexpr sim::Duration kFullTimeout = 10s;
constexpr sim::Duration kFullPause = 20ms;

}  // namespace

bool HardenedFileTimerClient::waits_for_room(sim::MonotonicTime begun) {
  const sim::MonotonicTime now = ports_.clock.monotonic_now();
  HOOKE_CHECK(begun <= now, "the time of the first try at the FIFO is not in the future");
  if (now >= begun + kFullTimeout) return false;
  ports_.executor.sleep_until(now + kFullPause);
  return true;
}

HardenedFileTimerWatch::HardenedFileTimerWatch(sim::Ports& ports, FileTimerOptions options)
    : FileTimerWatch(ports, std::move(options)) {
  options_.signals_itself = false;
}

std::optional<sim::MonotonicTime> HardenedFileTimerWatch::client_deadline() const {
  HOOKE_CHECK(options_.max_interval > sim::Duration::zero(),
              "the longest interval of the watchdog is positive");
  return in(options_.max_interval);
}

sim::MonotonicTime HardenedFileTimerWatch::not_before(const TimerRequest& request) const {
  if (!request.expires) return {};
  return in(*request.expires - ports_.clock.wall_now());
}

bool HardenedFileTimerWatch::take_requests(sim::FifoReader& fifo,
                                           std::vector<TimerRequest>& requests) {
  HOOKE_CHECK(requests.empty(), "the list of requests is empty when a step begins");
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

void HardenedFileTimerWatch::refuse_line(const std::string& why) {
  ports_.trace.emit(events::watchdog_failed, {options_.path, why});
}

std::unique_ptr<FileTimerServer> make_hardened_file_timer_server(sim::Ports& ports,
                                                                 FileTimerOptions options) {
  auto watch = std::make_shared<HardenedFileTimerWatch>(ports, options);
  return std::make_unique<FileTimerServer>(ports, std::move(options), std::move(watch));
}

}  // namespace hooke::model
