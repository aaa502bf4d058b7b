#pragma once
// What restart policies other than PyTorch's add to the trace (see trace_events.h).

#include <string_view>

#include "sim/port/trace.h"

namespace hooke::model::events {

/// The policy makes the agent wait: the old workers are stopped, what follows is put off by
/// `delay`.
inline constexpr sim::EventType restart_delayed{"restart.delayed", {"delay", "round"}};
/// Workers failed, and the agent gives up although its own restarts do not reach max_restarts.
inline constexpr sim::EventType restart_refused{"restart.refused", {"reason", "round"}};
/// Its reason when no policy forbids the restart: the job has none left.
inline constexpr std::string_view kRestartsSpent = "the job's restarts are spent";
/// The job has failed for good for this agent, which tells the others (hardened).
inline constexpr sim::EventType job_given_up{"job.given_up", {"round"}};
/// One failed worker is started again alone; `worker_pid` is the one that ended.
inline constexpr sim::EventType worker_restarting{
    "worker.restarting", {"worker_pid", "local_rank", "rank", "remaining_restarts"}};
/// A worker could not be started, for the `attempt`-th time of `attempts`: the agent tries again, or
/// gives up with the last one. `error`: the kind of failure; `detail`: the system's.
inline constexpr sim::EventType worker_start_failed{
    "worker.start_failed", {"program", "attempt", "attempts", "error", "detail"}};
/// The agent begins anew: a job that has failed under another run id, else in the same run.
inline constexpr sim::EventType job_rerun{"job.rerun", {"run_id", "next_run_id", "run"}};

}  // namespace hooke::model::events
