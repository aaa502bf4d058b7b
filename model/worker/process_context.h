#pragma once
// The worker processes of one incarnation of the group: start, poll, stop
// (torch/distributed/elastic/multiprocessing/api.py:SubprocessContext).

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/variant/variant.h"
#include "model/worker/logs.h"
#include "model/worker/process_failure.h"
#include "model/worker/process_launcher.h"
#include "model/worker/tail_log.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// One worker to start.
struct WorkerStart {
  std::int64_t local_rank = 0;
  std::int64_t rank = 0;
  std::vector<std::string> argv;
  std::map<std::string, std::string> environment;
  std::string error_file;
  WorkerStreams streams;
};

/// How an incarnation ended: every worker either succeeded, or failed, or was stopped (1.13 does
/// not list those among the failures).
struct ProcessesResult {
  ProcessFailures failures;
  [[nodiscard]] bool failed() const { return !failures.empty(); }
};

class ProcessContext {
 public:
  /// `launcher` outlives the context. `sibling_grace`: between SIGTERM and SIGKILL to those whose
  /// sibling has failed. `waits_without_limit`: for a worker that not even SIGKILL ends.
  ProcessContext(sim::Ports& ports, ProcessLauncher& launcher, Variant variant,
                 sim::Duration sibling_grace, std::vector<WorkerStart> workers,
                 bool waits_without_limit);
  virtual ~ProcessContext() = default;
  ProcessContext(const ProcessContext&) = delete;
  ProcessContext& operator=(const ProcessContext&) = delete;

  /// Starts the workers in order of local rank, for 2.x each in a session of its own.
  /// std::runtime_error when one cannot be started: those before it keep running and belong to
  /// no process.
  void start();
  /// Of a started worker.
  [[nodiscard]] sim::Pid pid(std::size_t local_rank) const;
  /// How a started worker has ended, once it has been seen to.
  [[nodiscard]] const std::optional<sim::ExitStatus>& status(std::size_t local_rank) const;
  /// Looks once. nullopt while all still run; otherwise the rest has been stopped (SIGTERM, 30 s)
  /// and this is how it ended. SignalException while stopping.
  std::optional<ProcessesResult> poll();
  /// Looks whether workers are asleep in the kernel, where no signal reaches them, and tells of
  /// each. True when one has been so at every look for at least `limit`
  /// (local_elastic_agent.py:_check_uninterruptible_state_timeout).
  bool is_stuck_for(sim::Duration limit);
  /// Looks once, and stops no process. nullopt while nothing new has failed and something runs;
  /// otherwise the failures, of which none is left out and none told after start_again().
  std::optional<ProcessesResult> poll_each();
  /// Starts a worker that has ended anew, in the place of the old one. std::runtime_error when it
  /// cannot be started.
  void start_again(WorkerStart worker);
  /// Sends `signal`, waits up to `grace` for all, for one after the other; then kills what is left one after the other, and
  /// waits up to `grace` for each. One that cannot die keeps those behind it alive for as long, and
  /// is tried again by the next call. Up to 2.12 it is waited for without limit, and told after
  /// 30 s. Harmless when nothing runs.
  /// What the workers have written is shown before this returns. `meanwhile` is called when all
  /// have their signal. SignalException.
  void close(sim::Signal signal, sim::Duration grace,
             const std::function<void()>& meanwhile = nullptr);
  /// A worker that could not die was left behind, and has not ended since: see waits_on().
  [[nodiscard]] bool has_abandoned();

 protected:
  /// From SIGKILL to the word that it has no effect. A process that gives much memory back may take
  /// a while.
  static constexpr sim::Duration kKillGrace = std::chrono::seconds(30);

  struct Process {
    sim::Pid pid{};
    bool told_to_stop = false;
    std::optional<sim::ExitStatus> ended;
    std::optional<sim::MonotonicTime> uninterruptible_since;
    bool abandoned = false;
    [[nodiscard]] bool is_over() const { return ended || abandoned; }
  };
  sim::Pid spawn(const WorkerStart& worker);
  /// PyTorch's workers outlive an agent that is killed.
  [[nodiscard]] virtual bool die_with_agent() const { return false; }
  /// All or none is known afterwards: PyTorch forgets those that it has started when one cannot be
  ///
  virtual void spawn_all();
  /// Of each worker, once it has been seen to end. What it has left behind runs on.
  virtual void on_ended(const Process& /*process*/) {}
  [[nodiscard]] virtual ProcessFailure describe(ProcessFailure failure,
                                                const std::string& error_file) const;
  [[nodiscard]] virtual bool has_failed(const Process& process) const;
  /// How many workers, by local rank, are looked at for a failure.
  [[nodiscard]] virtual std::size_t watched() const { return processes_.size(); }
  /// As Python has it: below 0 after a signal.
  [[nodiscard]] virtual int exit_code_of(const Process& process) const;
  /// Whether what a worker has started gets its signals. Since 2.2 each has a session.
  [[nodiscard]] virtual bool signals_groups() const { return starts_workers_in_sessions(variant_); }
  /// Whether this worker is told to stop when the group is.
  [[nodiscard]] virtual bool is_told_to_stop(const Process& process) const {
    return !process.is_over();
  }
  /// From that signal to SIGKILL.
  [[nodiscard]] virtual sim::Duration grace_before_kill(sim::Duration grace) const { return grace; }
  /// Whether SIGKILL follows the grace.
  [[nodiscard]] virtual bool kills() const { return true; }
  /// Between two looks at workers that are to end. A signal ends it, and the wait with it.
  virtual void pause(sim::Duration span);
  /// How long SIGKILL may take to have an effect.
  [[nodiscard]] virtual sim::Duration span_to_die(sim::Duration grace) const {
    return waits_without_limit_ ? kKillGrace : grace;
  }
  /// Whether a worker that has not died within that span is waited for without limit; if it is not,
  /// it may be marked as abandoned. `asleep`: in the kernel.
  virtual bool waits_on(Process& /*process*/, bool /*asleep*/) { return waits_without_limit_; }

  sim::Ports& ports_;
  ProcessLauncher& launcher_;
  Variant variant_;
  std::vector<WorkerStart> workers_;
  std::vector<Process> processes_;

 private:
  void tail(const std::vector<WorkerStart>& workers);
  void end_processes(sim::Signal signal, sim::Duration grace,
                     const std::function<void()>& meanwhile);
  void send(Process& process, sim::Signal signal, const char* reason);
  /// SIGKILL, and what there is to do when not even that ends it within the grace.
  void kill(Process& process, sim::Duration grace);
  void tell_uninterruptible(const Process& process, sim::Duration span, const char* consequence);
  /// Reaps what has ended; true when nothing runs any more that is waited for.
  bool reap();
  /// The same for one of them; true when it is no longer waited for.
  bool reap(Process& process);
  [[nodiscard]] const WorkerStart& worker_of(const Process& process) const;
  /// Waits for one worker's end, at most until `deadline`. Those behind it are not looked at
  /// meanwhile (multiprocessing/api.py:SubprocessContext._close).
  void wait_for_end(Process& process, std::optional<sim::MonotonicTime> deadline);
  void note_failures(ProcessFailures& failures) const;
  /// One that is looked at has failed.
  [[nodiscard]] bool one_has_failed() const;

  bool reserved_ = false;
  sim::Duration sibling_grace_;
  bool waits_without_limit_;
  std::list<TailLog> tails_;
};

}  // namespace hooke::model
