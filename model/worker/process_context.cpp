// Polling is what the agent does ten times a second for every worker: it allocates nothing while
// all is well.
#include "model/worker/process_context.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "model/observe/trace_events.h"
#include "model/signals/signal_gate.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// Asleep in the kernel (sim::ProcessHost::state).
constexpr char kUninterruptible = 'D';
/// Python's Popen.wait polls with growing pauses up to this one.
constexpr sim::Duration kLongestPause = 50ms;

}  // namespace

ProcessContext::ProcessContext(sim::Ports& ports, ProcessLauncher& launcher, Variant variant,
                               sim::Duration sibling_grace, std::vector<WorkerStart> workers,
                               bool waits_without_limit)
    : ports_(ports),
      launcher_(launcher),
      variant_(variant),
      workers_(std::move(workers)),
      sibling_grace_(sibling_grace),
      waits_without_limit_(waits_without_limit) {
  HOOKE_CHECK(sibling_grace_ >= sim::Duration::zero(), "a grace does not end before it begins");
  for (std::size_t i = 0; i < workers_.size(); ++i) {
    HOOKE_CHECK(workers_[i].local_rank == static_cast<std::int64_t>(i),
                "workers stand in the order of their local ranks");
  }
}

sim::Pid ProcessContext::spawn(const WorkerStart& worker) {
  HOOKE_CHECK(!worker.argv.empty() && worker.local_rank >= 0,
              "a worker has a program and a local rank");
  sim::SpawnRequest request;
  request.argv = worker.argv;
  request.environment = worker.environment;
  request.stdout_path = worker.streams.stdout_path;
  request.stderr_path = worker.streams.stderr_path;
  request.new_session = starts_workers_in_sessions(variant_);
  request.dies_with_parent = die_with_agent();
  auto pid = launcher_.start(request);
  if (!pid) {
    throw std::runtime_error("worker " + std::to_string(worker.local_rank) +
                             " cannot be started: " + std::string(to_string(pid.failure().fault)) +
                             " " + pid.failure().detail);
  }
  HOOKE_CHECK(pid.value().value > 0, "a worker that was started has a number");
  return pid.value();
}

void ProcessContext::start() {
  HOOKE_CHECK(processes_.empty(), "an incarnation starts once");
  HOOKE_CHECK(!reserved_ && !workers_.empty(), "room is taken once, and for workers");
  launcher_.reserve(static_cast<std::int64_t>(workers_.size()));
  reserved_ = true;
  spawn_all();
  HOOKE_CHECK(processes_.size() == workers_.size(), "an incarnation has a process for each worker");
  tail(workers_);
  // The processes have them now; a world may have a hundred thousand agents.
  for (WorkerStart& worker : workers_) worker.environment.clear();
}

void ProcessContext::spawn_all() {
  std::vector<Process> started;
  for (const WorkerStart& worker : workers_) {
    const sim::Pid pid = spawn(worker);
    started.emplace_back().pid = pid;
  }
  processes_ = std::move(started);
}

void ProcessContext::start_again(WorkerStart worker) {
  const auto index = static_cast<std::size_t>(worker.local_rank);
  HOOKE_CHECK(index < processes_.size() && processes_[index].ended,
              "only a worker that has ended is started again");
  HOOKE_CHECK(reserved_, "a worker is started where there is room for it");
  HOOKE_CHECK(worker.local_rank == workers_[index].local_rank,
              "a worker is started again in its own place");
  processes_[index] = {};
  processes_[index].pid = spawn(worker);
  tail({worker});
  workers_[index] = std::move(worker);
}

void ProcessContext::tail(const std::vector<WorkerStart>& workers) {
  std::vector<TailedFile> files;
  for (const WorkerStart& worker : workers) {
    files.insert(files.end(), worker.streams.tails.begin(), worker.streams.tails.end());
  }
  if (!files.empty()) tails_.emplace_back(ports_, files);
}

sim::Pid ProcessContext::pid(std::size_t local_rank) const {
  HOOKE_CHECK(local_rank < processes_.size(), "only a started worker has a number");
  return processes_[local_rank].pid;
}

const std::optional<sim::ExitStatus>& ProcessContext::status(std::size_t local_rank) const {
  HOOKE_CHECK(local_rank < processes_.size(), "only a started worker ends");
  return processes_[local_rank].ended;
}

bool ProcessContext::reap() {
  HOOKE_CHECK(processes_.size() <= workers_.size(), "each process is that of a worker");
  bool all_over = true;
  for (Process& process : processes_) all_over = reap(process) && all_over;
  return all_over;
}

bool ProcessContext::reap(Process& process) {
  if (process.ended) return true;
  process.ended = launcher_.poll(process.pid);
  if (!process.ended) return process.abandoned;
  HOOKE_CHECK(!process.abandoned || process.pid.value > 0, "a worker that ends had a number");
  HOOKE_CHECK(-64 <= process.ended->as_python() && process.ended->as_python() <= 255,
              "a worker ends by one of Linux' signals, or with a status of one byte");
  const WorkerStart& worker = worker_of(process);
  ports_.trace.emit(events::worker_ended, {process.pid.value, worker.local_rank, worker.rank,
                                           process.ended->as_python(), process.told_to_stop});
  on_ended(process);
  return true;
}

const WorkerStart& ProcessContext::worker_of(const Process& process) const {
  HOOKE_CHECK(&process >= processes_.data() && &process < processes_.data() + processes_.size(),
              "a process that is told of is one of these");
  return workers_[static_cast<std::size_t>(&process - processes_.data())];
}

bool ProcessContext::has_failed(const Process& process) const {
  return process.ended && !process.ended->success();
}

bool ProcessContext::one_has_failed() const {
  HOOKE_CHECK(watched() <= processes_.size(), "no more workers are watched than there are");
  return std::any_of(processes_.begin(),
                     processes_.begin() + static_cast<std::ptrdiff_t>(watched()),
                     [this](const Process& process) { return has_failed(process); });
}

int ProcessContext::exit_code_of(const Process& process) const {
  HOOKE_CHECK(process.ended.has_value(), "only a worker that has ended has an exit code");
  return process.ended->as_python();
}

void ProcessContext::note_failures(ProcessFailures& failures) const {
  HOOKE_CHECK(processes_.size() <= workers_.size(), "each process is that of a worker");
  for (std::size_t i = 0; i < processes_.size(); ++i) {
    const Process& process = processes_[i];
    const WorkerStart& worker = workers_[i];
    const bool noted = std::any_of(
        failures.begin(), failures.end(),
        [&](const ProcessFailure& failure) { return failure.local_rank == worker.local_rank; });
    if (noted || !has_failed(process)) continue;
    HOOKE_CHECK(process.ended && !process.ended->success(),
                "a failure is of a worker that ended badly");
    ProcessFailure failure;
    failure.local_rank = worker.local_rank;
    failure.rank = worker.rank;
    failure.pid = process.pid;
    failure.stopped = process.told_to_stop;
    failure.exit_code = exit_code_of(process);
    failures.push_back(describe(std::move(failure), worker.error_file));
  }
  HOOKE_CHECK(failures.size() <= processes_.size(), "a worker fails once");
}

ProcessFailure ProcessContext::describe(ProcessFailure failure,
                                        const std::string& error_file) const {
  return describe_failure(ports_, std::move(failure), error_file, variant_);
}

std::optional<ProcessesResult> ProcessContext::poll() {
  const bool over = reap();
  if (!over && !one_has_failed()) return std::nullopt;
  ProcessesResult result;
  note_failures(result.failures);
  HOOKE_CHECK(over || result.failed(), "workers that run are stopped for a failure");
  close(sim::Signal::term, sibling_grace_);
  // Since 2.10 also those that ended because of the close.
  if (lists_failures_of_the_stop(variant_)) note_failures(result.failures);
  return result;
}

std::optional<ProcessesResult> ProcessContext::poll_each() {
  const bool over = reap();
  ProcessesResult result;
  note_failures(result.failures);
  if (!over && !result.failed()) return std::nullopt;
  return result;
}

void ProcessContext::send(Process& process, sim::Signal signal, const char* reason) {
  HOOKE_CHECK(process.pid.value > 0, "a worker that is signalled has a number");
  HOOKE_CHECK(!process.ended || signal != sim::Signal::kill, "what has ended is not killed");
  process.told_to_stop = true;
  ports_.trace.emit(events::worker_signalled,
                    {process.pid.value, static_cast<int>(signal), reason});
  // A process that has ended meanwhile is no error; its descendants get nothing then.
  static_cast<void>(launcher_.signal(process.pid, signal, signals_groups()));
}

void ProcessContext::wait_for_end(Process& process, std::optional<sim::MonotonicTime> deadline) {
  sim::Duration span = 1ms;
  while (!reap(process)) {
    const sim::MonotonicTime now = ports_.clock.monotonic_now();
    if (deadline && now >= *deadline) return;
    HOOKE_CHECK(span > sim::Duration::zero(), "a look at workers is followed by a pause");
    pause(deadline ? std::min(span, *deadline - now) : span);
    span = std::min(span * 2, deadline ? kLongestPause : sim::Duration(1s));
  }
}

void ProcessContext::pause(sim::Duration span) {
  interruptible_sleep(ports_, span);
}

void ProcessContext::close(sim::Signal signal, sim::Duration grace,
                           const std::function<void()>& meanwhile) {
  HOOKE_CHECK(grace >= sim::Duration::zero(), "a grace does not end before it begins");
  end_processes(signal, grace, meanwhile);
  for (TailLog& tail : tails_) tail.stop();
  if (std::exchange(reserved_, false)) launcher_.release();
}

void ProcessContext::end_processes(sim::Signal signal, sim::Duration grace,
                                   const std::function<void()>& meanwhile) {
  if (reap()) {
    if (meanwhile) meanwhile();
    return;
  }
  for (Process& process : processes_) {
    if (is_told_to_stop(process)) send(process, signal, "stop");
  }
  const sim::MonotonicTime end = ports_.clock.monotonic_now() + grace_before_kill(grace);
  if (meanwhile) meanwhile();
  // The first ones may take all the time; the ends of the others are then seen after the kills
  // (multiprocessing/api.py:SubprocessContext._close).
  for (Process& process : processes_) {
    if (ports_.clock.monotonic_now() >= end) break;
    wait_for_end(process, end);
  }
  for (Process& process : processes_) {
    if (!reap(process) && kills()) kill(process, grace);
  }
}

void ProcessContext::kill(Process& process, sim::Duration grace) {
  HOOKE_CHECK(!process.is_over(), "only a worker that still runs is killed");
  send(process, sim::Signal::kill, "grace is over");
  const sim::MonotonicTime killed = ports_.clock.monotonic_now();
  wait_for_end(process, killed + span_to_die(grace));
  if (process.ended) return;
  HOOKE_CHECK(ports_.clock.monotonic_now() >= killed + span_to_die(grace),
              "a worker has its time to die before it is given up");
  const bool asleep = ports_.processes.state(process.pid) == kUninterruptible;
  if (asleep) {
    tell_uninterruptible(process, ports_.clock.monotonic_now() - killed,
                         waits_without_limit_ ? "waited_for" : "abandoned");
  }
  if (waits_on(process, asleep)) wait_for_end(process, std::nullopt);
}

bool ProcessContext::has_abandoned() {
  static_cast<void>(reap());
  return std::any_of(processes_.begin(), processes_.end(),
                     [](const Process& process) { return process.abandoned && !process.ended; });
}

bool ProcessContext::is_stuck_for(sim::Duration limit) {
  HOOKE_CHECK(limit > sim::Duration::zero(), "a worker may be asleep for a while");
  bool stuck = false;
  const sim::MonotonicTime now = ports_.clock.monotonic_now();
  for (Process& process : processes_) {
    HOOKE_CHECK(!process.uninterruptible_since || *process.uninterruptible_since <= now,
                "a worker that is asleep fell asleep before");
    if (process.is_over()) continue;
    const std::optional<char> state = ports_.processes.state(process.pid);
    if (!state) continue;
    if (*state != kUninterruptible) {
      process.uninterruptible_since.reset();
    } else if (!process.uninterruptible_since) {
      process.uninterruptible_since = now;
      tell_uninterruptible(process, sim::Duration::zero(), "watched");
    } else if (now - *process.uninterruptible_since >= limit) {
      tell_uninterruptible(process, now - *process.uninterruptible_since, "unhealthy");
      stuck = true;
    }
  }
  return stuck;
}

void ProcessContext::tell_uninterruptible(const Process& process, sim::Duration span,
                                          const char* consequence) {
  HOOKE_CHECK(span >= sim::Duration::zero() && !process.ended,
              "a worker that is asleep has not ended");
  const WorkerStart& worker = worker_of(process);
  ports_.trace.emit(events::worker_uninterruptible,
                    {process.pid.value, worker.local_rank, worker.rank, span, consequence});
}

}  // namespace hooke::model
