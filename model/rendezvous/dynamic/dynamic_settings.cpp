#include "model/rendezvous/dynamic/dynamic_settings.h"

#include <stdexcept>

namespace hooke::model {
namespace {

/// Settings under which no round can form, which PyTorch takes in silence.
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

}  // namespace

RendezvousSettings dynamic_settings(const RendezvousParameters& parameters) {
  RendezvousSettings settings;
  settings.run_id = parameters.run_id;
  settings.min_nodes = parameters.min_nodes;
  settings.max_nodes = parameters.max_nodes;
  settings.variant = parameters.variant;
  settings.complete_stays = parameters.defects.contains("rendezvous.complete_stays");
  settings.later_rank_zero_fails = parameters.defects.contains("rendezvous.later_rank_zero_fails");
  settings.planted = parameters.planted;
  const auto read = [&](const char* key, sim::Duration& span) {
    if (const auto value = parameters.get_as_seconds(key)) span = *value;
  };
  read("join_timeout", settings.timeout.join);
  read("last_call_timeout", settings.timeout.last_call);
  read("close_timeout", settings.timeout.close);
  read("read_timeout", settings.read_timeout);
  if (parameters.variant != Variant::torch_1_13) {  // fixed in 1.13
    read("heartbeat_timeout", settings.timeout.heartbeat);
    read("keep_alive_interval", settings.keep_alive_interval);
    if (const auto attempts = parameters.get_as_int("keep_alive_max_attempt")) {
      settings.keep_alive_max_attempt = *attempts;
    }
  }
  settings.timeout.validate();
  if (parameters.variant == Variant::hardened) refuse_what_cannot_work(settings);
  return settings;
}

}  // namespace hooke::model
