#pragma once
// Which PyTorch the model is faithful to. Differences are asked for by name, one predicate per
// difference, so that no other code compares releases. The release of each change is read off the
// published packages, torch/distributed of 1.13 and of 2.0 to 2.13.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hooke::model {

/// In the order of release, `hardened` last.
enum class Variant : unsigned char {
  torch_1_13,  ///< PyTorch 1.13
  torch_2_0,   ///< PyTorch 2.0
  torch_2_4,   ///< PyTorch 2.4
  torch_2_6,   ///< PyTorch 2.6
  torch_2_9,   ///< PyTorch 2.9
  torch_2_12,  ///< PyTorch 2.12
  torch_2_x,   ///< PyTorch 2.13, faithful including its faults (default)
  hardened,    ///< torch_2_x on every wire, without the weaknesses that one side can mend
};

/// "torch-1.13", "torch-2.4", … "torch-2.x" for the newest, "hardened".
std::string_view to_string(Variant variant);
/// nullopt for an unknown name. "torch-2.13" is another name of "torch-2.x".
std::optional<Variant> variant_from(std::string_view name);
/// All names that variant_from() knows, the default first.
std::vector<std::string> variant_names();
/// Agents of both understand each other's state and speak to each other's store: they write the
/// same fields of the state, times of the same form, and open a connection alike.
bool share_a_job(Variant one, Variant other);

// ---- the stored state and the rendezvous --------------------------------------------------------

/// Since 2.0: a node's name begins with its `addr`, which --local-addr sets, where 1.13 writes
/// `fqdn` (dynamic_rendezvous.py:_NodeDescGenerator.generate).
bool names_nodes_by_address(Variant variant);
/// Since 2.0: the endpoint's host is resolved, to see whether it is this machine
/// (rendezvous/utils.py:_matches_machine_hostname).
bool resolves_the_endpoint(Variant variant);
/// Since 2.3 (pytorch/pytorch#117066): a job that is full has a list of spares, and the last call
/// of more than max_nodes goes on (dynamic_rendezvous.py:_RendezvousState.redundancy_list).
bool keeps_spares(Variant variant);
/// Since 2.6: times in the state have a zone; one with and one without cannot be compared
/// (dynamic_rendezvous.py:_BackendRendezvousStateHolder._sanitize).
bool writes_times_with_a_zone(Variant variant);
/// Since 2.6: a last call without a deadline goes on; before, comparing it raises TypeError
/// (dynamic_rendezvous.py:_RendezvousJoinOp).
bool bears_a_missing_deadline(Variant variant);
/// Since 2.7: heartbeat_timeout, keep_alive_interval and keep_alive_max_attempt are read from the
/// configuration (dynamic_rendezvous.py:create_handler).
bool reads_keep_alive_settings(Variant variant);

// ---- where the workers meet ---------------------------------------------------------------------

/// Since 2.4 (pytorch/pytorch#125743): the rendezvous says where the workers meet; before, the
/// agent of rank 0 does (rendezvous/api.py:RendezvousStoreInfo).
bool rendezvous_says_where_workers_meet(Variant variant);
/// In 2.4 alone: --local-addr names the node, and its workers are told the machine's own name all
/// the same (rendezvous/api.py:RendezvousStoreInfo.build).
bool hides_the_local_address(Variant variant);
/// Since 2.5 (pytorch/pytorch#128096): agents of c10d serve the workers' store
/// (dynamic_rendezvous.py:DynamicRendezvousHandler.use_agent_store).
bool serves_the_workers_store(Variant variant);
/// Up to 2.5 (pytorch/pytorch#135957 mends it in 2.6): workers prefix their keys in an agent's store
/// with their agent's restart count (distributed/rendezvous.py:_create_c10d_store).
bool prefixes_keys_with_the_restart_count(Variant variant);
/// From 2.6 to 2.12 (pytorch/pytorch#182375 mends it in 2.13): an agent that becomes rank 0 in a
/// later round has no store for the workers (DynamicRendezvousHandler.next_rendezvous).
bool later_rank_zero_fails(Variant variant);

// ---- the store ----------------------------------------------------------------------------------

/// Since 2.2: a client opens its connection with a check, and the queries have other numbers; 2.0
/// has those of 1.13 (TCPStoreBackend.hpp:QueryType, TCPStore.hpp).
bool checks_store_connections(Variant variant);
/// Since 2.5: pauses between attempts to connect grow (Backoff.hpp). What 2.1 to 2.4 do is not
/// known for sure; the model has them pause as 1.13.
bool backs_off_from_the_store(Variant variant);
/// Since 2.0: a FileStore counts its users while they live (FileStore.hpp).
bool counts_users_of_a_file_store(Variant variant);

// ---- the agent ----------------------------------------------------------------------------------

/// Up to 2.0: an agent waits in the exit barrier after a failure too
/// (agent/server/api.py:SimpleElasticAgent._invoke_run).
bool waits_for_others_after_a_failure(Variant variant);
/// Since 2.4: barriers count up one key, and rank 0 assigns ranks for all (utils/store.py:barrier).
bool counts_in_barriers(Variant variant);
/// Since 2.6: TORCH_ELASTIC_WORKER_IDENTICAL spares the exchange of ranks
/// (agent/server/api.py:SimpleElasticAgent._assign_worker_ranks).
bool knows_identical_workers(Variant variant);
/// From 2.3 (pytorch/pytorch#117066) to 2.7 (#152525 mends it in 2.8): an agent that leaves on a
/// signal closes the rendezvous for all (local_elastic_agent.py:LocalElasticAgent._shutdown).
bool closes_on_a_signal(Variant variant);
/// From 2.4 to 2.11 (pytorch/pytorch#178197 mends it in 2.12): the health check sees no progress of
/// an agent in the exit barrier. Before 2.4 there is no health check.
bool is_silent_in_the_exit_barrier(Variant variant);
/// Since 2.12: --shutdown-timeout and TORCH_ELASTIC_SHUTDOWN_TIMEOUT; before, 30 s.
bool has_a_shutdown_timeout(Variant variant);
/// Since 2.13: a worker asleep in the kernel can be given up
/// (TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT).
bool gives_up_the_uninterruptible(Variant variant);
/// A worker that not even SIGKILL ends is waited for without limit up to 2.12. Since 2.13
/// (pytorch/pytorch#185414) it is waited for once more for the grace of that stop, and the stop
/// goes on without it (multiprocessing/api.py:SubprocessContext._close).
bool waits_without_limit_for_the_killed(Variant variant);
/// Since 2.4: durations of the agent's steps and starts of workers are events
/// (agent/server/api.py:SimpleElasticAgent.record_duration).
bool records_durations(Variant variant);
/// Since 2.8: --event-log-handler (launcher/api.py:LaunchConfig.event_log_handler).
bool chooses_an_event_log_handler(Variant variant);

// ---- workers ------------------------------------------------------------------------------------

/// Since 2.2: each worker has a session, which is signalled as a whole
/// (multiprocessing/subprocess_handler/subprocess_handler.py:SubprocessHandler.close).
bool starts_workers_in_sessions(Variant variant);
/// Since 2.2: TORCH_NCCL_ASYNC_ERROR_HANDLING, before NCCL_ASYNC_ERROR_HANDLING
/// (local_elastic_agent.py:LocalElasticAgent._start_workers).
bool names_async_errors_after_torch(Variant variant);
/// Since 2.2: TORCHELASTIC_LOG_LINE_PREFIX_TEMPLATE (run.py:config_from_args).
bool has_a_line_prefix(Variant variant);
/// Since 2.3: without --log-dir no directory is made (multiprocessing/api.py:DefaultLogsSpecs).
bool may_log_nowhere(Variant variant);
/// Since 2.3: the directory for logs is made when the command line is read
/// (multiprocessing/api.py:DefaultLogsSpecs), before that when the agent is made
/// (local_elastic_agent.py:LocalElasticAgent.__init__). A hardened agent makes it for its first
/// worker, when the others know of it.
bool makes_the_log_directory_first(Variant variant);
bool makes_the_log_directory_with_the_agent(Variant variant);
/// Since 2.10: a failure with an exit code and without a word of the worker says that the system
/// ended it and that it cannot be tried again (errors/__init__.py:ProcessFailure).
bool says_error_traits(Variant variant);
/// Since 2.10: workers that end because the group is stopped are listed among the failures
/// (multiprocessing/api.py:SubprocessContext._poll), and the launcher tells workers its signals
/// (launcher/api.py:launch_agent).
bool lists_failures_of_the_stop(Variant variant);
bool tells_workers_its_signals(Variant variant);

// ---- timers and the command line ----------------------------------------------------------------

/// Since 2.4: the file timer forgets workers that have ended, and tells of expired ones
/// (timer/file_based_local_timer.py:FileTimerServer).
bool forgets_timers_of_the_dead(Variant variant);
/// Since 2.7: a client of the file timer tries to open it again, and a server signals itself
/// (timer/file_based_local_timer.py).
bool tries_the_timer_again(Variant variant);
/// Since 2.11: the timer's file lies in the directory for temporary files, before in /tmp
/// (local_elastic_agent.py:LocalElasticAgent._setup_local_watchdog).
bool puts_the_timer_where_temporary_files_are(Variant variant);
/// Since 2.1: --standalone has a port of its own, before 29400 (run.py:config_from_args). With it
/// come the notices of flags that have no effect, of which the first release is not known for sure.
bool stands_alone_on_a_free_port(Variant variant);

}  // namespace hooke::model
