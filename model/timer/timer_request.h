#pragma once
// What a worker asks of a timer server, and the line that carries it (PyTorch's
// torch/distributed/elastic/timer/api.py:TimerRequest and file_based_local_timer.py:
// FileTimerRequest).

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "sim/port/process_host.h"
#include "sim/port/time.h"

namespace hooke::model {

struct TimerRequest {
  std::int64_t worker_id = 0;  ///< number of the process to end
  std::string scope_id;        ///< one timer per worker and scope
  /// The deadline on the machine's wall clock (T-1); nullopt releases the timer.
  std::optional<sim::WallTime> expires;
  /// Number of the signal that the server sends at the deadline; 0 or below: none.
  int signal = static_cast<int>(sim::Signal::kill);
  friend bool operator==(const TimerRequest&, const TimerRequest&) = default;
};

/// The request as PyTorch writes it, without the newline: one JSON object with the members version,
/// pid, scope_id, expiration_time (seconds, -1 for a release) and signal, in ASCII. Deadlines are
/// kept to the microsecond.
std::string encode_timer_request(const TimerRequest& request);

/// Reads such a line; version and members unknown to PyTorch are passed over, as it does.
/// std::invalid_argument naming the byte or the member that is wrong, and what was expected.
TimerRequest parse_timer_request(std::string_view line);

}  // namespace hooke::model
