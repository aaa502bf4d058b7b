// The options first, then what they mean.
#include "scenarios/cli/heartbeat_flags.h"

#include "scenarios/cli/seconds.h"

namespace hooke::cli {

void add_heartbeats(CLI::App& command, HeartbeatFlags& flags) {
  CLI::Option* const deadline =
      command
          .add_option("--heartbeat-deadline", flags.silence,
                      "Workers beat, and are lost after so many seconds of silence")
          ->check(seconds_from(0.002));
  for (CLI::Option* const option :
       {command.add_option("--heartbeat-interval", flags.interval, "Seconds between two beats")
            ->check(seconds_from(0.001))
            ->capture_default_str(),
        command
            .add_option("--heartbeat-first-beat", flags.first_beat,
                        "Seconds from a worker's start to its first beat; without it a worker is "
                        "watched from its first beat on")
            ->check(seconds_from(0.001)),
        command
            .add_option("--heartbeat-policy", flags.policy,
                        "What to do about a lost worker: mark the group unhealthy, restart it, or "
                        "stop the job")
            ->check(CLI::IsMember({"mark", "restart", "stop"}))
            ->capture_default_str(),
        command.add_option("--heartbeat-port", flags.port, "Where to listen; 0: a free port")
            ->check(CLI::Range(0, 65535))
            ->capture_default_str(),
        command.add_option("--heartbeat-address", flags.address,
                           "HOST:PORT that workers are told, where they do not reach the agent as "
                           "localhost"),
        command.add_flag("--heartbeat-peers", flags.peers,
                         "Tell workers that ask which others of their group live")}) {
    option->needs(deadline);
  }
}

std::optional<model::HeartbeatPlan> heartbeat_plan(const HeartbeatFlags& flags) {
  if (!flags.silence) return std::nullopt;
  model::HeartbeatPlan plan;
  plan.deadline = span_of(*flags.silence);
  plan.interval = span_of(flags.interval);
  if (plan.deadline <= plan.interval) {
    throw CLI::ValidationError("--heartbeat-deadline", "must be longer than --heartbeat-interval");
  }
  if (flags.first_beat) plan.first_beat = span_of(*flags.first_beat);
  plan.policy = *model::heartbeat_policy_from(flags.policy);
  plan.peers = flags.peers;
  plan.port = sim::PortNumber{flags.port};
  plan.address = flags.address;
  if (!plan.address.empty()) {
    const std::size_t colon = plan.address.rfind(':');
    if (colon == 0 || colon == std::string::npos || colon + 1 == plan.address.size()) {
      throw CLI::ValidationError("--heartbeat-address",
                                 "expected HOST:PORT, got \"" + plan.address + "\"");
    }
  }
  return plan;
}

}  // namespace hooke::cli
