#pragma once
// The elastic agent: keeps a group of local workers running through rounds
// (torch/distributed/elastic/agent/server/api.py:SimpleElasticAgent, local_elastic_agent.py).

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/agent/agent.h"
#include "model/agent/exit_wait.h"
#include "model/agent/health_check.h"
#include "model/agent/heartbeat_watch.h"
#include "model/agent/job_standing.h"
#include "model/agent/membership_watch.h"
#include "model/agent/worker_group.h"
#include "model/agent/worker_starts.h"
#include "model/worker/process_context.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// What an agent is made with: PyTorch's parts, or what mends them.
struct ElasticAgentMakers {
  std::unique_ptr<HeartbeatWatch> (*heartbeats)(sim::Ports& ports, const WorkerSpec& spec);
  std::unique_ptr<WorkerStarts> (*starts)(const WorkerStartParts& parts);
  /// `launcher` outlives the context.
  std::unique_ptr<ProcessContext> (*context)(sim::Ports& ports, ProcessLauncher& launcher,
                                             const WorkerSpec& spec,
                                             std::vector<WorkerStart> workers);
};

class ElasticAgent final : public Agent {
 public:
  /// std::invalid_argument for a spec without workers or interval, or with
  /// heartbeats that mean nothing.
  ElasticAgent(const AgentParts& parts, const ElasticAgentMakers& makers);

  /// nullopt: a spare left gracefully (2.x).
  std::optional<RunResult> run() override;
  /// PyTorch's handlers are installed at the first worker start and stay. A caught SIGINT is
  /// Python's keyboard interrupt otherwise.
  [[nodiscard]] bool handles(sim::Signal signal) const override;
  void ended(const char* state, const std::string& error) override { reports_.agent(state, error); }

 private:
  RunResult invoke_run();
  std::optional<RunResult> look_at_the_others();
  bool goes_on_after(RunResult& result);
  /// The workers are not started again.
  void give_up(RunResult& result, bool silent);
  /// One look at the workers. nullopt: still running.
  std::optional<RunResult> monitor();
  /// What the workers' heartbeats call for. nullopt: nothing, or no more than a mark.
  std::optional<RunResult> look_at_heartbeats();
  /// The workers that have fallen silent as failures; to be called when they have been stopped.
  [[nodiscard]] ProcessFailures silent_workers() const;
  void initialize_workers();
  void rendezvous();
  void start_workers();
  [[nodiscard]] bool planted(Planted which) const { return spec_.planted.has(which); }
  [[nodiscard]] bool hardened() const { return spec_.variant == Variant::hardened; }
  /// All of them, by a new rendezvous.
  void restart_workers(const char* cause, sim::Duration delay = {});
  /// Those that have failed, in their places.
  void restart_failed(const ProcessFailures& failures, sim::Duration delay);
  void pause(sim::Duration delay);
  /// How the wait for the others ended.
  std::string_view exit_barrier();
  bool finish(RunResult& result);
  bool form_group(bool again);
  bool restart_failed_group(const char* cause, sim::Duration delay);
  /// `meanwhile` is called when the workers have their signal.
  void shutdown(sim::Signal signal, sim::Duration grace,
                const std::function<void()>& meanwhile = nullptr);
  /// Of run().
  void shutdown_at_end(sim::Signal signal, const std::function<void()>& meanwhile = nullptr);
  [[nodiscard]] sim::Duration monitor_interval() const;
  void install_signal_handlers();
  void enter(WorkerState state);
  std::vector<WorkerStart> worker_starts();
  void tell_started(std::int64_t local_rank) const;

  sim::Ports& ports_;
  WorkerSpec spec_;
  RendezvousHandler& handler_;
  WorkerGroup group_;
  const RestartPolicy& policy_;
  Attempt attempt_;  ///< of the workers' present start
  ProcessLauncher& launcher_;
  ElasticAgentMakers makers_;
  std::unique_ptr<ProcessContext> context_;
  AgentReports reports_;
  std::unique_ptr<WorkerTimers> timers_;
  HealthCheck health_check_;
  std::optional<sim::WallTime> silent_since_;  ///< see WorkerSpec::silent_in_exit_barrier
  std::unique_ptr<HeartbeatWatch> heartbeats_;
  std::unique_ptr<WorkerStarts> starts_;
  JobStanding job_;
  ExitWait exit_wait_;
  MembershipWatch membership_;
  std::vector<std::pair<std::int64_t, sim::Duration>>
      silent_;  ///< by local rank, as of the last look
  /// How long a worker may be asleep in the kernel before the group counts as unhealthy
  /// (TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT); none: for ever.
  std::optional<sim::Duration> uninterruptible_limit_;
  bool handlers_installed_ = false;
};

}  // namespace hooke::model
