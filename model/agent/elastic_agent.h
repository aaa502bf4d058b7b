#pragma once
// The elastic agent: keeps a group of local workers running through rounds
// (torch/distributed/elastic/agent/server/api.py:SimpleElasticAgent, local_elastic_agent.py).

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/agent/agent.h"
#include "model/agent/exit_wait.h"
#include "model/agent/health_check.h"
#include "model/agent/heartbeat_watch.h"
#include "model/agent/job_failure.h"
#include "model/agent/restart_budget.h"
#include "model/agent/worker_group.h"
#include "model/agent/worker_starts.h"
#include "model/worker/process_context.h"
#include "sim/port/ports.h"

namespace hooke::model {

class ElasticAgent final : public Agent {
 public:
  /// std::invalid_argument for a spec without workers or interval, or with
  /// heartbeats that mean nothing.
  explicit ElasticAgent(const AgentParts& parts);

  /// nullopt: a spare left gracefully (2.x).
  std::optional<RunResult> run() override;
  /// PyTorch's handlers are installed at the first worker start and stay. A caught SIGINT is
  /// Python's keyboard interrupt otherwise.
  [[nodiscard]] bool handles(sim::Signal signal) const override;
  void ended(const char* state, const std::string& error) override { reports_.agent(state, error); }

 private:
  RunResult invoke_run();
  /// One look at the workers. nullopt: still running.
  std::optional<RunResult> monitor();
  /// What the workers' heartbeats call for. nullopt: nothing, or no more than a mark.
  std::optional<RunResult> look_at_heartbeats();
  /// The workers that have fallen silent as failures; to be called when they have been stopped.
  [[nodiscard]] ProcessFailures silent_workers() const;
  void initialize_workers();
  void rendezvous();
  void start_workers();
  RestartDecision decide(const RunResult& result);
  [[nodiscard]] bool planted(Planted which) const { return spec_.planted.has(which); }
  [[nodiscard]] bool hardened() const { return spec_.variant == Variant::hardened; }
  [[nodiscard]] std::int64_t restarts_allowed() const;
  bool others_have_gone_on(std::string_view how_barrier_ended);
  /// Whether somebody wants in.
  bool others_wait();
  /// All of them, by a new rendezvous.
  void restart_workers(const char* cause, sim::Duration delay = {});
  /// Those that have failed, in their places.
  void restart_failed(const ProcessFailures& failures, sim::Duration delay);
  void pause(sim::Duration delay);
  /// Why the workers are to be started anew although all is well with them; null: for nothing.
  const char* cause_to_restart();
  const char* cause_to_follow();
  /// Likewise, outlasting a rendezvous that cannot be reached for a moment.
  const char* cause_to_restart_if_known();
  /// How the wait for the others ended.
  std::string_view exit_barrier();
  void leave_what_is_done();
  bool finish(RunResult& result);
  bool form_group(bool again);
  bool restart_failed_group(const char* cause, sim::Duration delay);
  void shutdown(sim::Signal signal, sim::Duration grace);
  void install_signal_handlers();
  void enter(WorkerState state);
  void make_run_directory();
  std::vector<WorkerStart> worker_starts();
  RestartBudget& budget();
  JobFailure job_failure();
  /// Tells the others that the workers are not started again. False: the store does not answer.
  bool give_job_up();
  void insist_that_the_job_is_given_up();
  bool may_restart_for_a_loss();
  void tell_started(std::int64_t local_rank) const;

  sim::Ports& ports_;
  WorkerSpec spec_;
  RendezvousHandler& handler_;
  WorkerGroup group_;
  const RestartPolicy& policy_;
  std::unique_ptr<RestartBudget> budget_;
  sim::MonotonicTime rendezvous_heard_{};                 ///< when it last answered
  bool rendezvous_silent_ = false;                        ///< it did not when it was last asked
  std::int64_t remaining_restarts_;                       ///< of the budget, as last heard
  Attempt attempt_;                                       ///< of the workers' present start
  std::map<std::int64_t, std::int64_t> attempts_failed_;  ///< by local rank
  ProcessLauncher& launcher_;
  std::unique_ptr<ProcessContext> context_;
  AgentReports reports_;
  std::unique_ptr<WorkerTimers> timers_;
  HealthCheck health_check_;
  std::optional<sim::WallTime> silent_since_;  ///< see WorkerSpec::silent_in_exit_barrier
  HeartbeatWatch heartbeats_;
  WorkerStarts starts_;
  ExitWait exit_wait_;
  std::vector<std::pair<std::int64_t, sim::Duration>>
      silent_;  ///< by local rank, as of the last look
  /// How long a worker may be asleep in the kernel before the group counts as unhealthy
  /// (TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT); none: for ever.
  std::optional<sim::Duration> uninterruptible_limit_;
  bool handlers_installed_ = false;
  bool was_done_before_ = false;  ///< another agent of this rank had done this one's work
};

}  // namespace hooke::model
