#pragma once
// The elastic agent: keeps a group of local workers running through rounds
// (torch/distributed/elastic/agent/server/api.py:SimpleElasticAgent, local_elastic_agent.py).

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/agent/agent_reports.h"
#include "model/agent/health_check.h"
#include "model/agent/heartbeat_watch.h"
#include "model/agent/watchdog.h"
#include "model/agent/worker_group.h"
#include "model/worker/process_context.h"
#include "sim/port/ports.h"

namespace hooke::model {

class ElasticAgent {
 public:
  /// `handler` and `observers` must outlive the agent. std::invalid_argument for a spec without
  /// workers or interval, or with heartbeats that mean nothing.
  ElasticAgent(sim::Ports& ports, WorkerSpec spec, RendezvousHandler& handler,
               Observers& observers);

  /// Runs until the workers are done or cannot be kept running, then stops what is left. nullopt: a
  /// spare left gracefully (2.x). SignalException, and whatever rendezvous, store or process start
  /// raised.
  std::optional<RunResult> run();

  /// True when `signal` becomes a SignalException of PyTorch's: its handlers are installed at the
  /// first worker start and stay. A caught SIGINT is Python's keyboard interrupt otherwise.
  [[nodiscard]] bool handles(sim::Signal signal) const;
  /// For the launcher, which has the last word.
  [[nodiscard]] const AgentReports& reports() const { return reports_; }

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
  void restart_workers(const char* cause);
  void exit_barrier();
  void meet_in_exit_barrier();
  void shutdown(sim::Signal signal, sim::Duration grace);
  void install_signal_handlers();
  void enter(WorkerState state);
  void make_run_directory();
  /// Where the files of this attempt go, with nothing in it; /dev/null when none are kept.
  std::string attempt_directory();
  std::vector<WorkerStart> worker_starts();
  [[nodiscard]] std::int64_t restart_count() const {
    return spec_.max_restarts - remaining_restarts_;
  }

  sim::Ports& ports_;
  WorkerSpec spec_;
  RendezvousHandler& handler_;
  WorkerGroup group_;
  std::int64_t remaining_restarts_;
  std::unique_ptr<ProcessContext> context_;
  AgentReports reports_;
  Watchdog watchdog_;
  HealthCheck health_check_;
  HeartbeatWatch heartbeats_;
  std::vector<std::pair<std::int64_t, sim::Duration>>
      silent_;                 ///< by local rank, as of the last look
  std::string run_directory_;  ///< of this agent alone; empty until the first worker start
  /// How long a worker may be asleep in the kernel before the group counts as unhealthy
  /// (TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT); none: for ever.
  std::optional<sim::Duration> uninterruptible_limit_;
  bool handlers_installed_ = false;
};

}  // namespace hooke::model
