#pragma once
// The elastic agent: keeps a group of local workers running through rounds
// (torch/distributed/elastic/agent/server/api.py:SimpleElasticAgent, local_elastic_agent.py).

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "model/agent/agent.h"
#include "model/agent/agent_core.h"
#include "model/agent/exit_wait.h"
#include "model/agent/health_check.h"
#include "model/agent/heartbeat_watch.h"
#include "model/agent/membership_watch.h"
#include "model/agent/restarts.h"
#include "model/agent/worker_group.h"
#include "model/agent/worker_starts.h"
#include "model/signals/signal_gate.h"
#include "model/worker/process_context.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// What an agent is made of: PyTorch's parts, or what mends them. None is null; those that look at
/// the core look at this one.
struct ElasticAgentKit {
  std::unique_ptr<AgentCore> core;
  std::unique_ptr<HeartbeatWatch> heartbeats;
  std::unique_ptr<WorkerStarts> starts;
  std::unique_ptr<Restarts> restarts;
  std::unique_ptr<ExitWait> exit_wait;
  std::unique_ptr<MembershipWatch> membership;
  /// `launcher` outlives the context.
  std::unique_ptr<ProcessContext> (*context)(sim::Ports& ports, ProcessLauncher& launcher,
                                             const WorkerSpec& spec,
                                             std::vector<WorkerStart> workers) = nullptr;
};

class ElasticAgent : public Agent {
 public:
  /// std::invalid_argument for a spec without workers or interval.
  ElasticAgent(const AgentParts& parts, ElasticAgentKit kit);

  /// nullopt: a spare left gracefully (2.x).
  std::optional<RunResult> run() override;
  /// PyTorch's handlers are installed at the first worker start and stay. A caught SIGINT is
  /// Python's keyboard interrupt otherwise.
  [[nodiscard]] bool handles(sim::Signal signal) const override;
  void ended(const char* state, const std::string& error) override { reports_.agent(state, error); }

 protected:
  /// From one look at the workers to the next.
  [[nodiscard]] virtual sim::Duration monitor_interval() const { return spec_.monitor_interval; }
  /// The workers here are HEALTHY: they start anew where the other agents call for that
  /// (`num_nodes_waiting`, in cause_to_restart()). A result ends the run; nullopt: it goes on.
  virtual std::optional<RunResult> look_at_the_others();
  /// The workers are done, have failed, or are silent. False: that is the end.
  virtual bool goes_on_after(RunResult& result);
  /// Waits for the others when the workers are done. False: that was not the end.
  virtual bool finish(RunResult& result);
  /// Stops the workers of `result`, which are not started again.
  virtual void stop_for_good(RunResult& result);

  /// One look at the workers. nullopt: still running.
  std::optional<RunResult> monitor();
  /// The workers are started anew for this cause; null: they are not.
  void follow(const char* cause);
  /// How the wait for the others ended.
  std::string_view exit_barrier();
  void enter(WorkerState state);

  /// Meets the other agents, and learns which ranks the workers here have.
  virtual void rendezvous();
  virtual RendezvousInfo join_round();
  /// The ranks of the round, and where its workers meet.
  virtual void take_place(RendezvousInfo info);
  /// All workers, by a new rendezvous, after failures here. False: that is the end.
  virtual bool restart_group(const char* cause, sim::Duration delay);
  /// The pause that a policy asks for before a restart. SignalException.
  virtual void sleep_out(sim::Duration delay) { interruptible_sleep(ports_, delay); }
  virtual void count_restart() { ++attempt_.restart_count; }

  /// Before others are started in their place.
  virtual void stop_workers() { shutdown(sim::Signal::term, grace()); }
  /// Between signal and SIGKILL wherever workers are stopped before the end of run().
  [[nodiscard]] virtual sim::Duration grace() const { return kGrace; }
  /// `meanwhile` is called when the workers have their signal.
  virtual void shutdown(sim::Signal signal, sim::Duration grace,
                        const std::function<void()>& meanwhile = nullptr);
  /// Of run().
  virtual void shutdown_at_end(sim::Signal signal,
                               const std::function<void()>& meanwhile = nullptr);
  /// At the end that a signal makes.
  virtual void stop_for_signal(sim::Signal signal) { shutdown_at_end(signal); }
  virtual void stop_timers() { timers_->stop(); }
  /// A signal that comes while workers are being stopped begins that anew, and a third one leaves
  /// them behind.
  virtual void before_stopping();
  /// A signal that has come ends the agent before it has told the others that its work is done.
  virtual void before_exit_barrier();
  virtual void after_stopping() {}

  ElasticAgentKit kit_;  // first: what follows looks at its core
  sim::Ports& ports_;
  const WorkerSpec& spec_;
  RendezvousHandler& handler_;
  WorkerGroup& group_;
  Attempt& attempt_;
  AgentReports reports_;
  std::unique_ptr<ProcessContext> context_;  ///< null until the first start

 private:
  RunResult invoke_run();
  /// Until the next look at the workers. With `quiet`, what the last look found was nothing: those
  /// that would find nothing either may be passed over.
  void sleep_until_look(bool quiet);
  /// The next look would find nothing and have no effect.
  [[nodiscard]] bool would_see_nothing();
  /// What the workers' heartbeats call for. nullopt: nothing, or no more than a mark.
  std::optional<RunResult> look_at_heartbeats();
  /// The workers that have fallen silent as failures; to be called when they have been stopped.
  [[nodiscard]] ProcessFailures silent_workers() const;
  /// The workers are not started again.
  void give_up(RunResult& result, bool silent);
  /// Those that shut the rendezvous down in a manner that asks for it.
  void tell_done();
  void initialize_workers();
  void start_workers();
  /// All of them, by a new rendezvous.
  void restart_workers(const char* cause, sim::Duration delay = {});
  /// Those that have failed, in their places.
  void restart_failed(const ProcessFailures& failures, sim::Duration delay);
  void pause(sim::Duration delay);
  void install_signal_handlers();
  std::vector<WorkerStart> worker_starts();
  void tell_started(std::int64_t local_rank) const;

  ProcessLauncher& launcher_;
  std::unique_ptr<WorkerTimers> timers_;
  HealthCheck health_check_;
  std::optional<sim::WallTime> silent_since_;  ///< see WorkerSpec::silent_in_exit_barrier
  std::vector<std::pair<std::int64_t, sim::Duration>>
      silent_;  ///< by local rank, as of the last look
  /// How long a worker may be asleep in the kernel before the group counts as unhealthy
  /// (TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT); none: for ever.
  std::optional<sim::Duration> uninterruptible_limit_;
  bool handlers_installed_ = false;
};

}  // namespace hooke::model
