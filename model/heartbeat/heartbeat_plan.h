#pragma once
// What a job wants of its workers' heartbeats.

#include <optional>
#include <string>
#include <string_view>

#include "sim/port/ids.h"
#include "sim/port/time.h"

namespace hooke::model {

/// What an agent does about a worker that has fallen silent. None of them kills by itself: restart
/// and stop are the agent's usual ones, with SIGTERM and its grace.
enum class HeartbeatPolicy : unsigned char {
  mark,     ///< the group is UNHEALTHY until the worker beats again
  restart,  ///< as for a failed worker: restart the group while there is budget, else end
  stop,     ///< end the job, whatever the budget
};
/// "mark" and so on.
constexpr std::string_view to_string(HeartbeatPolicy policy) {
  switch (policy) {
    case HeartbeatPolicy::mark: return "mark";
    case HeartbeatPolicy::restart: return "restart";
    case HeartbeatPolicy::stop: return "stop";
  }
  return "?";
}
/// nullopt for another word.
constexpr std::optional<HeartbeatPolicy> heartbeat_policy_from(std::string_view word) {
  for (const HeartbeatPolicy each :
       {HeartbeatPolicy::mark, HeartbeatPolicy::restart, HeartbeatPolicy::stop}) {
    if (word == to_string(each)) return each;
  }
  return std::nullopt;
}

struct HeartbeatPlan {
  sim::Duration interval = std::chrono::seconds(1);   ///< at least 1 ms
  sim::Duration deadline = std::chrono::seconds(10);  ///< longer than the interval
  std::optional<sim::Duration> first_beat;            ///< see HeartbeatTerms
  HeartbeatPolicy policy = HeartbeatPolicy::mark;
  sim::PortNumber port{};  ///< of the agent; 0: any
  /// The workers are told which others of their group live (peers.h).
  bool peers = false;
  /// HOST:PORT that the workers are told instead of the agent's own, for workers that reach it
  /// another way (a container, a proxy); empty: localhost and the port.
  std::string address;
  friend bool operator==(const HeartbeatPlan&, const HeartbeatPlan&) = default;
};

}  // namespace hooke::model
