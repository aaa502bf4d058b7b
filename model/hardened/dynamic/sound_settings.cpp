#include "model/hardened/dynamic/sound_settings.h"

#include <stdexcept>
#include <string>

namespace hooke::model {

void refuse_what_cannot_work(const RendezvousSettings& settings) {
  const auto seconds = [](sim::Duration span) {
    return std::to_string(std::chrono::duration<double>(span).count()) + " s";
  };
  if (settings.timeout.join <= settings.timeout.last_call + kPollInterval &&
      settings.min_nodes < settings.max_nodes) {
    throw std::invalid_argument("join_timeout (" + seconds(settings.timeout.join) +
                                ") must be longer than last_call_timeout (" +
                                seconds(settings.timeout.last_call) + ") and a second");
  }
  const sim::Duration threshold = settings.keep_alive_interval * settings.keep_alive_max_attempt;
  if (settings.keep_alive_interval <= sim::Duration::zero() ||
      threshold < 2 * settings.keep_alive_interval + kPollInterval) {
    throw std::invalid_argument(
        "keep_alive_interval times keep_alive_max_attempt (" + seconds(threshold) +
        ") must be at least two intervals and a second: a node would be dead before its next "
        "heartbeat is due");
  }
}

}  // namespace hooke::model
