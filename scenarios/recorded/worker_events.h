#pragma once
// What the worker of a scenario says of itself on a real machine, where no other agent can, and
// what the log of a torchrun agent says.

#include "sim/port/trace.h"

namespace hooke::scenario::events {

/// A worker begins. `group`: rank and size of its agent's group, "0/2". `round`: of the rendezvous
/// as the store had it then; -1 when it could not be read.
inline constexpr sim::EventType worker_reported{
    "worker.reported",
    {"agent_pid", "local_rank", "rank", "world_size", "group", "restart_count", "round", "master"}};
/// It ends by itself with this exit code.
inline constexpr sim::EventType worker_exits{"worker.exits", {"code"}};
/// A line in the log of a torchrun agent. `what`: a Logged.
inline constexpr sim::EventType agent_logged{"agent.logged", {"what"}};

}  // namespace hooke::scenario::events
