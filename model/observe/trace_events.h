#pragma once
// The vocabulary of the elastic protocol on the trace: what agents, rendezvous, stores and workers
// did. Invariants and reports know the protocol only through these events. Fields are numbers or
// texts; spans are nanoseconds; ranks and counts are plain numbers. Every event carries node and
// pid of its process.

#include "sim/port/trace.h"

namespace hooke::model::events {

using sim::EventType;

// ---- agent life ---------------------------------------------------------------------------------
inline constexpr EventType agent_started{
    "agent.started",
    {"run_id", "backend", "min_nodes", "max_nodes", "local_world_size", "max_restarts", "shutdown"},
    "The agent process begins. shutdown: grace between the stop signal and SIGKILL at the end of "
    "the agent."};
inline constexpr EventType agent_settings{
    "agent.settings",
    {"join", "last_call", "close", "heartbeat", "keep_alive", "read_timeout", "monitor",
     "exit_barrier"},
    "The time limits that the agent is configured with. keep_alive: silence after which a node "
    "counts as dead (interval times attempts)."};
inline constexpr EventType agent_finished{
    "agent.finished",
    {"outcome", "exit_code", "detail"},
    "The agent process is done. outcome: succeeded, failed, signalled, graceful_exit, error. "
    "detail: type and text of the exception."};
inline constexpr EventType group_state{
    "group.state",
    {"state", "restart_count"},
    "The state of the agent's worker group changed. state: a name of PyTorch's WorkerState."};
inline constexpr EventType group_restarting{
    "group.restarting",
    {"cause", "remaining_restarts", "round"},
    "The agent restarts its worker group. cause: worker_failure, heartbeat_loss, "
    "membership_change; hardened agents: member_left (politely), member_lost, rendezvous_lost."};
inline constexpr EventType agent_signalled{
    "agent.signalled",
    {"signal", "phase"},
    "The agent has received a signal. phase: what it was doing then."};

// ---- rendezvous ---------------------------------------------------------------------------------
inline constexpr EventType rendezvous_joining{
    "rendezvous.joining",
    {"run_id", "descriptor", "held_round"},
    "The agent begins to join a rendezvous (next_rendezvous begins). descriptor: the node's name "
    "there, addr_pid_localid."};
inline constexpr EventType rendezvous_completed{
    "rendezvous.completed",
    {"run_id", "round", "participants", "min_nodes", "max_nodes"},
    "A round is complete: this node's write that completed it was accepted."};
inline constexpr EventType rendezvous_joined{
    "rendezvous.joined",
    {"run_id", "descriptor", "round", "rank", "world_size", "master_addr", "master_port"},
    "The agent takes part in a round with this rank (next_rendezvous returned)."};
inline constexpr EventType rendezvous_failed{
    "rendezvous.failed",
    {"run_id", "error", "detail"},
    "The agent could not join a round (next_rendezvous raised). error: class of the exception."};
inline constexpr EventType rendezvous_left{"rendezvous.left",
                                           {"run_id", "round", "participants"},
                                           "The node has taken itself out of a round."};
inline constexpr EventType rendezvous_closed{
    "rendezvous.closed",
    {"run_id", "round"},
    "This node's write closed the rendezvous: no agent can join another round of this job."};
inline constexpr EventType rendezvous_evicted{
    "rendezvous.evicted",
    {"run_id", "round", "descriptor", "heartbeat_age", "was_participant"},
    "This node's write removed a node that it believes dead; one event per removed node."};
inline constexpr EventType rendezvous_added{"rendezvous.added",
                                            {"run_id", "round", "list", "size"},
                                            "The node has entered a list of the rendezvous. list: "
                                            "participants, wait_list, redundancy_list."};
inline constexpr EventType rendezvous_write{
    "rendezvous.write",
    {"run_id", "action", "round", "bytes"},
    "A write of this node to the shared state was accepted (a compare-and-set). Rejected ones are "
    "only counted, see rendezvous.cost."};
inline constexpr EventType rendezvous_cost{
    "rendezvous.cost",
    {"run_id", "round", "attempts", "conflicts", "bytes"},
    "What a join has cost this node in compare-and-sets: all, those lost, and the bytes of state "
    "offered. round: the one it got into, -1 when it failed."};
/// What this node has learnt of the place where the job's state lies. `kind`: read (`value` stands
/// there), write (`value` was put where `expected` stood), attempt (the same, but the outcome is
/// unknown whether it was, or will be, carried out). States are given by RendezvousState::digest,
/// none by
/// 0. `began`, `ended`: how long ago, on the node's monotonic clock. A read is told when it shows
/// another state than the node knew of; before that, the last one that did not.
inline constexpr EventType rendezvous_exchanged{
    "rendezvous.exchanged",
    {"run_id", "kind", "expected", "value", "began", "ended"},
    "What this node has learnt of the job's state in the store. kind: read, write (value was put "
    "where expected stood), attempt (a write with an unknown outcome). States are given by a "
    "digest, none by 0. began, ended: how long ago."};
inline constexpr EventType rendezvous_waiting_seen{
    "rendezvous.waiting_seen",
    {"run_id", "round", "waiting"},
    "The agent has seen that nodes wait to join (num_nodes_waiting returned more than 0)."};
inline constexpr EventType keep_alive_tick{
    "keep_alive.tick",
    {"result", "detail"},
    "A keep-alive tick ended that wrote something or failed. result: ok, failed."};
/// The keep-alive fiber ended of an unexpected exception.
inline constexpr EventType keep_alive_died{
    "keep_alive.died",
    {"detail"},
    "The agent's heartbeats ended of an unexpected exception, while the agent goes on."};

// ---- ranks, barrier -----------------------------------------------------------------------------
inline constexpr EventType ranks_assigned{
    "ranks.assigned",
    {"run_id", "round", "group_rank", "group_world_size", "base_rank", "world_size"},
    "The agent has given its workers their ranks for this round."};
inline constexpr EventType exit_barrier_entered{"exit_barrier.entered",
                                                {"run_id", "round", "world_size"},
                                                "The agent's workers are done; it waits for the "
                                                "other agents of its round in the exit barrier."};
inline constexpr EventType exit_barrier_left{
    "exit_barrier.left",
    {"run_id", "round", "result", "elapsed"},
    "The agent waits no longer in the exit barrier. result: passed, timed_out, failed, "
    "interrupted; hardened agents: closed, others_return, left_behind."};

// ---- workers (emitted by the agent) -------------------------------------------------------------
inline constexpr EventType worker_started{
    "worker.started",
    {"run_id", "round", "worker_pid", "local_rank", "rank", "world_size", "restart_count",
     "master"},
    "The agent has started a worker. master: where the workers meet."};
inline constexpr EventType worker_ended{
    "worker.ended",
    {"worker_pid", "local_rank", "rank", "status", "stopped"},
    "The agent has found that a worker ended. status: exit code, or minus the signal's number. "
    "stopped: 1 when the agent had told it to stop."};
inline constexpr EventType worker_signalled{"worker.signalled",
                                            {"worker_pid", "signal", "reason"},
                                            "The agent has sent a signal to a worker."};
inline constexpr EventType worker_uninterruptible{
    "worker.uninterruptible",
    {"worker_pid", "local_rank", "rank", "span", "consequence"},
    "The agent found a worker asleep in the kernel, where no signal reaches it (state D of Linux). "
    "span: for how long; other than for watched, since it was sent SIGKILL or passed its limit. "
    "consequence: watched, unhealthy (its limit is over), waited_for (SIGKILL has no effect), "
    "abandoned (the agent goes on without it)."};
inline constexpr EventType failure_reported{
    "failure.reported",
    {"rank", "worker_pid", "status"},
    "The failed worker that the agent's failure summary names as the root cause."};

// ---- worker program (emitted by the worker itself) ----------------------------------------------
/// What a worker of an elastic agent finds in its environment when it starts. Ranks and their
/// numbers as "3 of 4", `restarts` as "0 of 3" (TORCHELASTIC_RESTART_COUNT of
/// TORCHELASTIC_MAX_RESTARTS); "?" stands for a variable that is not set.
inline constexpr EventType worker_environment{
    "worker.environment",
    {"run_id", "rank", "local_rank", "group_rank", "role_rank", "restarts", "master", "error_file"},
    "What a worker found in its environment when it started. restarts: those so far, of those "
    "allowed. ?: the variable is not set."};
inline constexpr EventType worker_initialized{
    "worker.initialized",
    {"run_id", "rank", "world_size", "master", "generation"},
    "The worker joined its process group over the store at master."};
inline constexpr EventType worker_collective{
    "worker.collective",
    {"run_id", "rank", "step", "result"},
    "A collective operation of the worker group ended. result: ok, peer_lost, failed."};
inline constexpr EventType worker_stale_read{
    "worker.stale_read",
    {"key", "detail"},
    "The worker saw a value from another incarnation of the group."};
inline constexpr EventType worker_released{
    "worker.released",
    {"what"},
    "The worker has given back something that it held: process group, heartbeats, a timer."};
inline constexpr EventType file_signal_raised{"file_signal.raised",
                                              {"path", "name", "from", "number"},
                                              "A worker has put a signal into the file that it "
                                              "shares with others. number: its count of them."};
inline constexpr EventType file_signal_seen{"file_signal.seen",
                                            {"path", "name", "from", "number"},
                                            "A worker has come upon another one's signal in the "
                                            "file that they share. number: the raiser's count."};
inline constexpr EventType file_signal_refused{
    "file_signal.refused",
    {"path", "detail"},
    "A worker has found a line in the shared file that is no signal."};

// ---- timers -------------------------------------------------------------------------------------
inline constexpr EventType timer_acquired{
    "timer.acquired",
    {"scope", "expires", "signal"},
    "A worker has asked its timer server for a deadline. expires: on the machine's wall clock, in "
    "microseconds. signal: what is to be sent then."};
inline constexpr EventType timer_released{
    "timer.released",
    {"scope"},
    "A worker has told its timer server that a deadline no longer counts."};
inline constexpr EventType timer_expired{"timer.expired",
                                         {"worker_pid", "scope", "expires", "signal"},
                                         "The timer server found that a deadline has passed. "
                                         "signal: what the worker asked for, 0 for nothing."};
inline constexpr EventType timer_killed{"timer.killed",
                                        {"worker_pid", "scope", "expires", "signal", "there"},
                                        "The timer server has signalled a worker whose deadline "
                                        "has passed. there: 0 when there was no such process."};
inline constexpr EventType watchdog_changed{
    "watchdog.changed", {"change", "path"}, "The timer server of an agent was started or stopped."};
inline constexpr EventType watchdog_failed{"watchdog.failed",
                                           {"path", "detail"},
                                           "A timer server met something that it cannot use: a "
                                           "malformed request, a worker that it may not signal."};

// ---- heartbeats of workers ----------------------------------------------------------------------
inline constexpr EventType heartbeat_expected{
    "heartbeat.expected",
    {"worker", "worker_pid", "rank", "deadline", "first_beat", "policy"},
    "The agent waits for the beats of one of its workers from now on. worker: the name under which "
    "that incarnation beats. first_beat: span to its first one, -1 for any. policy: mark, restart, "
    "stop."};
inline constexpr EventType heartbeat_received{
    "heartbeat.received", {"worker", "count", "last"}, "Beats of a worker have reached its agent."};
inline constexpr EventType heartbeat_lost{
    "heartbeat.lost",
    {"worker", "silent"},
    "Nothing has come from the worker for the span silent, which is longer than it may be."};
inline constexpr EventType heartbeat_returned{"heartbeat.returned",
                                              {"worker", "silent"},
                                              "A lost worker beats again, after the span silent."};
inline constexpr EventType heartbeat_refused{"heartbeat.refused",
                                             {"detail"},
                                             "The server of heartbeats cannot use what came: a "
                                             "malformed line, a worker that no reader expects."};
inline constexpr EventType heartbeat_client{"heartbeat.client",
                                            {"worker", "change", "detail"},
                                            "The worker's own side of its heartbeats changed. "
                                            "change: beats, silent, ended, connected, cut off."};

// ---- store --------------------------------------------------------------------------------------
inline constexpr EventType store_serving{
    "store.serving",
    {"port", "purpose"},
    "A store accepts connections from now on. purpose: of the rendezvous or of the workers."};
inline constexpr EventType store_stopped{"store.stopped", {"port"}, "A store no longer serves."};
inline constexpr EventType etcd_misbehaved{
    "etcd.misbehaved",
    {"how"},
    "A simulated etcd does what no etcd should. how: stale_read (an answer showed what no longer "
    "stood there; told the first time), expiry (what lives for a time has ended too soon)."};

// ---- marks --------------------------------------------------------------------------------------
inline constexpr EventType coverage_point{"coverage.point",
                                          {"name"},
                                          "Something rare happened that a search should see at "
                                          "least once; hooke list coverage has the names."};

}  // namespace hooke::model::events
