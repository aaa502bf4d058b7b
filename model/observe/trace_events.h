#pragma once
// The vocabulary of the elastic protocol on the trace: what agents, rendezvous, stores and workers
// did. Invariants and reports know the protocol only through these events. Fields are numbers or
// texts; spans are nanoseconds; ranks and counts are plain numbers. Every event carries node and
// pid of its process.

#include "sim/port/trace.h"

namespace hooke::model::events {

using sim::EventType;

// ---- agent life ---------------------------------------------------------------------------------
/// The agent process begins. `shutdown`: grace between the stop signal and SIGKILL at the end of
/// the agent.
inline constexpr EventType agent_started{"agent.started",
                                         {"run_id", "backend", "min_nodes", "max_nodes",
                                          "local_world_size", "max_restarts", "shutdown"}};
/// `join`, `last_call` … are the configured spans, so that liveness bounds can be derived from the
/// trace alone. `keep_alive`: silence after which a node counts as dead (interval times attempts).
inline constexpr EventType agent_settings{"agent.settings",
                                          {"join", "last_call", "close", "heartbeat", "keep_alive",
                                           "read_timeout", "monitor", "exit_barrier"}};
/// `outcome`: succeeded, failed, signalled, graceful_exit, error. `detail`: exception type and
/// text.
inline constexpr EventType agent_finished{"agent.finished", {"outcome", "exit_code", "detail"}};
/// The worker group's state changed (PyTorch's WorkerState names).
inline constexpr EventType group_state{"group.state", {"state", "restart_count"}};
/// `cause`: worker_failure, heartbeat_loss, membership_change; hardened: member_left (politely),
/// member_lost, rendezvous_lost.
inline constexpr EventType group_restarting{"group.restarting",
                                            {"cause", "remaining_restarts", "round"}};
inline constexpr EventType agent_signalled{"agent.signalled", {"signal", "phase"}};

// ---- rendezvous ---------------------------------------------------------------------------------
/// next_rendezvous begins. `descriptor` is the node's text form addr_pid_localid.
inline constexpr EventType rendezvous_joining{"rendezvous.joining",
                                              {"run_id", "descriptor", "held_round"}};
/// This node's write that completed a round was accepted.
inline constexpr EventType rendezvous_completed{
    "rendezvous.completed", {"run_id", "round", "participants", "min_nodes", "max_nodes"}};
/// next_rendezvous returned: this node takes part in the round with this rank.
inline constexpr EventType rendezvous_joined{
    "rendezvous.joined",
    {"run_id", "descriptor", "round", "rank", "world_size", "master_addr", "master_port"}};
/// next_rendezvous raised. `error`: class name.
inline constexpr EventType rendezvous_failed{"rendezvous.failed", {"run_id", "error", "detail"}};
/// This node's exit from a round was accepted.
inline constexpr EventType rendezvous_left{"rendezvous.left", {"run_id", "round", "participants"}};
/// This node's accepted write closed the rendezvous. `trigger`: which call.
inline constexpr EventType rendezvous_closed{"rendezvous.closed", {"run_id", "round"}};
/// A write of this node was accepted that removed a dead node. One event per dead node.
inline constexpr EventType rendezvous_evicted{
    "rendezvous.evicted", {"run_id", "round", "descriptor", "heartbeat_age", "was_participant"}};
/// Accepted additions of this node to a list: participants, wait_list, redundancy_list.
inline constexpr EventType rendezvous_added{"rendezvous.added",
                                            {"run_id", "round", "list", "size"}};
/// A compare-and-set of this node was accepted. Rejected ones are only counted, see
/// rendezvous.cost.
inline constexpr EventType rendezvous_write{"rendezvous.write",
                                            {"run_id", "action", "round", "bytes"}};
/// What a join cost this node in compare-and-sets: all, those lost, and the bytes of state offered.
/// `round`: the one it got into, -1 when it failed.
inline constexpr EventType rendezvous_cost{"rendezvous.cost",
                                           {"run_id", "round", "attempts", "conflicts", "bytes"}};
/// What this node has learnt of the place where the job's state lies. `kind`: read (`value` stands
/// there), write (`value` was put where `expected` stood), attempt (the same, but the outcome is
/// unknown whether it was, or will be, carried out). States are given by RendezvousState::digest,
/// none by
/// 0. `began`, `ended`: how long ago, on the node's monotonic clock. A read is told when it shows
/// another state than the node knew of; before that, the last one that did not.
inline constexpr EventType rendezvous_exchanged{
    "rendezvous.exchanged", {"run_id", "kind", "expected", "value", "began", "ended"}};
/// num_nodes_waiting returned a value greater than 0.
inline constexpr EventType rendezvous_waiting_seen{"rendezvous.waiting_seen",
                                                   {"run_id", "round", "waiting"}};
/// A keep-alive tick ended. `result`: ok, failed. Recorded only when something was written or
/// failed.
inline constexpr EventType keep_alive_tick{"keep_alive.tick", {"result", "detail"}};
/// The keep-alive fiber ended of an unexpected exception.
inline constexpr EventType keep_alive_died{"keep_alive.died", {"detail"}};

// ---- ranks, barrier -----------------------------------------------------------------------------
inline constexpr EventType ranks_assigned{
    "ranks.assigned",
    {"run_id", "round", "group_rank", "group_world_size", "base_rank", "world_size"}};
inline constexpr EventType exit_barrier_entered{"exit_barrier.entered",
                                                {"run_id", "round", "world_size"}};
/// `result`: passed, timed_out, failed, interrupted; hardened: closed, others_return,
/// left_behind.
inline constexpr EventType exit_barrier_left{"exit_barrier.left",
                                             {"run_id", "round", "result", "elapsed"}};

// ---- workers (emitted by the agent) -------------------------------------------------------------
inline constexpr EventType worker_started{"worker.started",
                                          {"run_id", "round", "worker_pid", "local_rank", "rank",
                                           "world_size", "restart_count", "master"}};
/// Observed by the agent when it reaps. `stopped`: 1 when the agent had told it to stop.
inline constexpr EventType worker_ended{"worker.ended",
                                        {"worker_pid", "local_rank", "rank", "status", "stopped"}};
inline constexpr EventType worker_signalled{"worker.signalled", {"worker_pid", "signal", "reason"}};
/// The agent found a worker asleep in the kernel, where no signal reaches it (Linux' state D).
/// `span`: for how long it has been so or, `consequence` other than "watched", since it was sent
/// SIGKILL or passed its limit. `consequence`: watched, unhealthy (its limit is over), waited_for
/// (SIGKILL has no effect), abandoned (likewise, and the agent goes on without it).
inline constexpr EventType worker_uninterruptible{
    "worker.uninterruptible", {"worker_pid", "local_rank", "rank", "span", "consequence"}};
/// What the failure summary names as root cause.
inline constexpr EventType failure_reported{"failure.reported", {"rank", "worker_pid", "status"}};

// ---- worker program (emitted by the worker itself) ----------------------------------------------
/// What a worker of an elastic agent finds in its environment when it starts. Ranks and their
/// numbers as "3 of 4", `restarts` as "0 of 3" (TORCHELASTIC_RESTART_COUNT of
/// TORCHELASTIC_MAX_RESTARTS); "?" stands for a variable that is not set.
inline constexpr EventType worker_environment{"worker.environment",
                                              {"run_id", "rank", "local_rank", "group_rank",
                                               "role_rank", "restarts", "master", "error_file"}};
/// The worker joined its process group over the store at master.
inline constexpr EventType worker_initialized{
    "worker.initialized", {"run_id", "rank", "world_size", "master", "generation"}};
/// A collective of the worker group ended. `result`: ok, peer_lost, failed.
inline constexpr EventType worker_collective{"worker.collective",
                                             {"run_id", "rank", "step", "result"}};
/// The worker saw a value from another incarnation of the group.
inline constexpr EventType worker_stale_read{"worker.stale_read", {"key", "detail"}};
/// The worker has given back something that it held: process group, heartbeats, a timer.
inline constexpr EventType worker_released{"worker.released", {"what"}};
/// A worker has put a signal into the file that it shares with others, or has come upon one there.
/// `number`: the raiser's count.
inline constexpr EventType file_signal_raised{"file_signal.raised",
                                              {"path", "name", "from", "number"}};
inline constexpr EventType file_signal_seen{"file_signal.seen", {"path", "name", "from", "number"}};
/// A line of that file that is none of ours.
inline constexpr EventType file_signal_refused{"file_signal.refused", {"path", "detail"}};

// ---- timers -------------------------------------------------------------------------------------
/// A worker's request to its timer server is on its way. `expires`: deadline on the machine's wall
/// clock in microseconds; `signal`: what is to be sent then.
inline constexpr EventType timer_acquired{"timer.acquired", {"scope", "expires", "signal"}};
inline constexpr EventType timer_released{"timer.released", {"scope"}};
/// The server found a deadline passed. `signal`: what the worker asked for, 0 for nothing.
inline constexpr EventType timer_expired{"timer.expired",
                                         {"worker_pid", "scope", "expires", "signal"}};
/// The server has signalled the worker for it. `there`: 0 when there was no such process.
inline constexpr EventType timer_killed{"timer.killed",
                                        {"worker_pid", "scope", "expires", "signal", "there"}};
/// `change`: watchdog started, watchdog stopped.
inline constexpr EventType watchdog_changed{"watchdog.changed", {"change", "path"}};
/// A timer server met something that it cannot use: a malformed request, a worker that it may not
/// signal.
inline constexpr EventType watchdog_failed{"watchdog.failed", {"path", "detail"}};

// ---- heartbeats of workers ----------------------------------------------------------------------
/// The agent waits for the beats of one of its workers from now on. `worker`: the name under which
/// that incarnation beats. `first_beat`: span to its first one, -1 for any. `policy`: mark,
/// restart, stop.
inline constexpr EventType heartbeat_expected{
    "heartbeat.expected", {"worker", "worker_pid", "rank", "deadline", "first_beat", "policy"}};
inline constexpr EventType heartbeat_received{"heartbeat.received", {"worker", "count", "last"}};
/// Nothing has come from the worker for `silent`, which is longer than it may.
inline constexpr EventType heartbeat_lost{"heartbeat.lost", {"worker", "silent"}};
/// A lost worker beats again, after `silent`.
inline constexpr EventType heartbeat_returned{"heartbeat.returned", {"worker", "silent"}};
/// The server cannot use what came: a malformed line, a worker that no reader expects.
inline constexpr EventType heartbeat_refused{"heartbeat.refused", {"detail"}};
/// The worker's side. `change`: beats, silent, ended, connected, cut off.
inline constexpr EventType heartbeat_client{"heartbeat.client", {"worker", "change", "detail"}};

// ---- store --------------------------------------------------------------------------------------
inline constexpr EventType store_serving{"store.serving", {"port", "purpose"}};
inline constexpr EventType store_stopped{"store.stopped", {"port"}};
/// A simulated etcd does what no etcd should. `how`: stale_read (for the first time since that
/// began, an answer showed what no longer stood there), expiry (what lived for a time has ended too
/// soon).
inline constexpr EventType etcd_misbehaved{"etcd.misbehaved", {"how"}};

// ---- marks --------------------------------------------------------------------------------------
/// A `sometimes` point: something interesting happened that a search should see at least once.
inline constexpr EventType coverage_point{"coverage.point", {"name"}};

}  // namespace hooke::model::events
