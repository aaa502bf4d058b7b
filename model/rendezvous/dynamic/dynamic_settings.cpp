#include "model/rendezvous/dynamic/dynamic_settings.h"

#include <cmath>
#include <stdexcept>

#include "model/rendezvous/core/longest_span.h"
#include "sim/port/check.h"

namespace hooke::model {
RendezvousSettings dynamic_settings(const RendezvousParameters& parameters) {
  RendezvousSettings settings;
  settings.run_id = parameters.run_id;
  settings.min_nodes = parameters.min_nodes;
  settings.max_nodes = parameters.max_nodes;
  settings.variant = parameters.variant;
  settings.complete_stays = parameters.defects.contains("rendezvous.complete_stays");
  settings.later_rank_zero_fails = later_rank_zero_fails(parameters.variant) ||
                                   parameters.defects.contains("rendezvous.later_rank_zero_fails");
  settings.planted = parameters.planted;
  const auto read = [&](const char* key, sim::Duration& span) {
    if (const auto value = parameters.get_as_seconds(key)) span = *value;
  };
  read("join_timeout", settings.timeout.join);
  read("last_call_timeout", settings.timeout.last_call);
  read("close_timeout", settings.timeout.close);
  read("read_timeout", settings.read_timeout);
  if (reads_keep_alive_settings(parameters.variant)) {  // fixed before
    read("heartbeat_timeout", settings.timeout.heartbeat);
    read("keep_alive_interval", settings.keep_alive_interval);
    if (settings.keep_alive_interval <= sim::Duration::zero())
      throw std::invalid_argument(
          "the rendezvous configuration option \"keep_alive_interval\" must "
          "be more than 0 seconds");
    if (const auto attempts = parameters.get_as_int("keep_alive_max_attempt")) {
      settings.keep_alive_max_attempt = *attempts;
    }
    using Seconds = std::chrono::duration<double>;
    const Seconds threshold = Seconds(settings.keep_alive_interval) *
                              static_cast<double>(settings.keep_alive_max_attempt);
    if (std::abs(threshold.count()) > Seconds(kLongestSpan).count())
      throw std::invalid_argument(
          "the rendezvous configuration options \"keep_alive_interval\" times "
          "\"keep_alive_max_attempt\" must be no longer than 100 years");
  }
  HOOKE_CHECK(settings.keep_alive_interval > sim::Duration::zero(),
              "the keep-alive interval is positive");
  settings.timeout.validate();
  return settings;
}

}  // namespace hooke::model
