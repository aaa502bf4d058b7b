// Polling is what the agent does ten times a second for every worker: it allocates nothing while
// all is well.
#include "model/worker/process_context.h"

#include <algorithm>
#include <stdexcept>

#include "model/observe/trace_events.h"
#include "model/signals/signal_gate.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// Grace that PyTorch gives siblings of a failed worker, whatever was configured.
constexpr sim::Duration kSiblingGrace = 30s;
/// Python's Popen.wait polls with growing pauses up to this one.
constexpr sim::Duration kLongestPause = 50ms;

}  // namespace

ProcessContext::ProcessContext(sim::Ports& ports, Variant variant, std::vector<WorkerStart> workers)
    : ports_(ports), variant_(variant), workers_(std::move(workers)) {}

void ProcessContext::start() {
  std::vector<Process> started;
  for (const WorkerStart& worker : workers_) {
    sim::SpawnRequest request;
    request.argv = worker.argv;
    request.environment = worker.environment;
    request.new_session = variant_ == Variant::torch_2_x;
    auto pid = ports_.processes.spawn(request);
    if (!pid) {
      throw std::runtime_error(
          "worker " + std::to_string(worker.local_rank) + " cannot be started: " +
          std::string(to_string(pid.failure().fault)) + " " + pid.failure().detail);
    }
    started.push_back({pid.value(), std::nullopt});
  }
  processes_ = std::move(started);
}

bool ProcessContext::all_ended() const {
  return std::all_of(processes_.begin(), processes_.end(),
                     [](const Process& process) { return process.ended.has_value(); });
}

bool ProcessContext::reap(bool stopped) {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    Process& process = processes_[i];
    if (process.ended) continue;
    process.ended = ports_.processes.poll(process.pid);
    if (!process.ended) continue;
    ports_.trace.emit(events::worker_ended,
                      {process.pid.value, workers_[i].local_rank, workers_[i].rank,
                       process.ended->as_python(), stopped});
  }
  return all_ended();
}

void ProcessContext::note_failures(std::map<std::int64_t, ProcessFailure>& failures) {
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Process& process = processes_[i];
    const WorkerStart& worker = workers_[i];
    if (!process.ended || process.ended->success() || failures.contains(worker.local_rank))
      continue;
    failures[worker.local_rank] = describe_failure(ports_, worker.local_rank, process.pid,
                                                   process.ended->as_python(), worker.error_file);
  }
}

std::optional<ProcessesResult> ProcessContext::poll() {
  const bool over = reap(false);
  const bool failed = std::any_of(processes_.begin(), processes_.end(), [](const Process& process) {
    return process.ended && !process.ended->success();
  });
  if (!over && !failed) return std::nullopt;
  ProcessesResult result;
  note_failures(result.failures);
  close(sim::Signal::term, kSiblingGrace);
  // 2.x also lists those that ended because of the close.
  if (variant_ == Variant::torch_2_x) note_failures(result.failures);
  return result;
}

void ProcessContext::send(sim::Signal signal, const char* reason) {
  for (const Process& process : processes_) {
    if (process.ended) continue;
    ports_.trace.emit(events::worker_signalled,
                      {process.pid.value, static_cast<int>(signal), reason});
    // A process that has ended meanwhile is no error; its descendants get nothing then.
    if (variant_ == Variant::torch_2_x) {
      static_cast<void>(ports_.processes.signal_group(process.pid, signal));
    } else {
      static_cast<void>(ports_.processes.signal(process.pid, signal));
    }
  }
}

void ProcessContext::wait_for_end(std::optional<sim::MonotonicTime> deadline) {
  sim::Duration pause = 1ms;
  while (!reap(true)) {
    const sim::MonotonicTime now = ports_.clock.monotonic_now();
    if (deadline && now >= *deadline) return;
    interruptible_sleep(ports_, deadline ? std::min(pause, *deadline - now) : pause);
    pause = std::min(pause * 2, deadline ? kLongestPause : sim::Duration(1s));
  }
}

void ProcessContext::close(sim::Signal signal, sim::Duration grace) {
  if (reap(true)) return;
  send(signal, "stop");
  wait_for_end(ports_.clock.monotonic_now() + grace);
  if (all_ended()) return;
  send(sim::Signal::kill, "grace is over");
  wait_for_end(std::nullopt);
}

}  // namespace hooke::model
