#pragma once
// What workers see of their own job, where a program looks (see trace_events.h).

#include "sim/port/trace.h"

namespace hooke::model::events {

inline constexpr sim::EventType worker_peer_seen{
    "worker.peer_seen",
    {"rank", "peer", "life"},
    "A worker has been told by its agent how another one of its group is. life: alive, silent, "
    "ended, unknown."};
inline constexpr sim::EventType worker_job_seen{
    "worker.job_seen",
    {"rank", "status", "round", "agents", "world_size", "ranks", "master"},
    "A worker has looked at its job from outside. round: -1 where it has none. ranks: of the "
    "workers of each agent, 0-1 2-3; ? of one that tells none. master: its address, empty when it "
    "is not known."};

}  // namespace hooke::model::events
