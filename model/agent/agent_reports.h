#pragma once
// What an agent tells of itself through PyTorch's events and metrics, at PyTorch's points
// (torch/distributed/elastic/agent/server/api.py: record_*_event, _construct_event,
// _record_metrics).

#include <string>
#include <vector>

#include "model/agent/worker_group.h"
#include "model/observe/elastic_event.h"
#include "model/observe/metrics.h"
#include "model/timer/file_timer.h"

namespace hooke::model {

/// Where events and metrics of an agent go.
struct Observers {
  explicit Observers(sim::Ports& ports) : events(ports), metrics(ports.clock) {}
  EventHandlers events;
  Metrics metrics;
  /// The rendezvous of the run that goes on, for a monitor to look at; null between runs.
  const GroupKeeping* rendezvous = nullptr;
};

class AgentReports {
 public:
  /// All must outlive the reports; `group` and `restart_count` are looked at when something is
  /// told.
  AgentReports(sim::Ports& ports, const WorkerSpec& spec, const RendezvousHandler& handler,
               const WorkerGroup& group, Observers& observers);

  [[nodiscard]] const Metrics& metrics() const { return observers_.metrics; }
  void restarts(std::int64_t count) { restart_count_ = count; }

  /// RENDEZVOUS and ASSIGN_WORKER_RANKS: how long `body` took, also when it raises.
  template <class Body>
  void timed(const char* state, Body&& body);
  /// START of each worker; by local rank.
  void started(std::vector<sim::Pid> workers);
  /// One look at the workers.
  void looked(WorkerState state, std::int64_t remaining_restarts) const;
  /// The loop has given a result: the end of each worker, and the figures of the run.
  void ended(const RunResult& result, std::int64_t remaining_restarts,
             sim::Duration total_run_time) const;
  /// The launcher's last word, SUCCEEDED or FAILED; `error`: empty for none.
  void agent(const char* state, const std::string& error) const;
  void watchdog(const WatchdogEvent& event) const;

 private:
  struct Words {
    const char* state = "";
    std::int64_t local_rank = -1;  ///< below 0: the agent itself
    std::string raw_error;         ///< empty: null
    const ProcessFailure* failure = nullptr;
    sim::Duration duration{-1};  ///< below 0: null
  };
  void record(const Words& words) const;
  [[nodiscard]] bool silent() const { return destination_ == "null"; }

  sim::Ports& ports_;
  const WorkerSpec& spec_;
  const RendezvousHandler& handler_;
  const WorkerGroup& group_;
  Observers& observers_;
  std::string destination_;
  std::int64_t restart_count_ = 0;
  std::vector<sim::Pid> workers_;
  mutable std::int64_t total_run_time_ = 0;
};

template <class Body>
void AgentReports::timed(const char* state, Body&& body) {
  const sim::MonotonicTime begin = ports_.clock.monotonic_now();
  const auto told = [&] {
    if (!records_durations(spec_.variant)) return;
    Words words;
    words.state = state;
    words.duration = ports_.clock.monotonic_now() - begin;
    record(words);
  };
  try {
    body();
  } catch (const std::exception&) {
    told();
    throw;
  }
  told();
}

}  // namespace hooke::model
