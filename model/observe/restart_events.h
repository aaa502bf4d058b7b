#pragma once
// What restart policies other than PyTorch's add to the trace (see trace_events.h).

#include <string_view>

#include "sim/port/trace.h"

namespace hooke::model::events {

inline constexpr sim::EventType restart_delayed{
    "restart.delayed",
    {"delay", "round"},
    "The restart policy makes the agent wait: the old workers are stopped, what follows is put off "
    "by delay."};
inline constexpr sim::EventType restart_refused{
    "restart.refused",
    {"reason", "round"},
    "Workers failed, and the agent gives up although its own restarts do not reach max_restarts."};
/// Its reason when no policy forbids the restart: the job has none left.
inline constexpr std::string_view kRestartsSpent = "the job's restarts are spent";
inline constexpr sim::EventType job_given_up{
    "job.given_up",
    {"round"},
    "The job has failed for good for this agent, which tells the others (hardened agents)."};
inline constexpr sim::EventType worker_restarting{
    "worker.restarting",
    {"worker_pid", "local_rank", "rank", "remaining_restarts"},
    "One failed worker is started again alone. worker_pid: the one that ended."};
inline constexpr sim::EventType worker_start_failed{
    "worker.start_failed",
    {"program", "attempt", "attempts", "error", "detail"},
    "A worker could not be started. After the last of its attempts the agent gives up. error: the "
    "kind of failure; detail: the system's."};
inline constexpr sim::EventType job_rerun{
    "job.rerun",
    {"run_id", "next_run_id", "run"},
    "The agent begins anew: a job that has failed under another run id, else in the same run."};

}  // namespace hooke::model::events
