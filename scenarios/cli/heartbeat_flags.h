#pragma once
// The options of `hooke agent` by which its workers beat.

#include <CLI/CLI.hpp>
#include <cstdint>
#include <optional>
#include <string>

#include "model/heartbeat/heartbeat_plan.h"

namespace hooke::cli {

/// hooke's own options of heartbeats, in seconds.
struct HeartbeatFlags {
  std::optional<double> silence;  ///< the longest that is no loss; set: workers are waited for
  double interval = 1;
  std::optional<double> first_beat;
  std::string policy = "mark";
  std::uint16_t port = 0;
  std::string address;
  bool peers = false;
};

/// `flags` outlive the command.
void add_heartbeats(CLI::App& command, HeartbeatFlags& flags);
/// What was asked for; nullopt: no heartbeats. CLI::ValidationError for what does not go together.
std::optional<model::HeartbeatPlan> heartbeat_plan(const HeartbeatFlags& flags);

}  // namespace hooke::cli
