// run() and its table of endings first, then the loop, then the building blocks in the order they
// are used.
#include "model/agent/elastic_agent.h"

#include <algorithm>
#include <charconv>
#include <stdexcept>
#include <utility>

#include "model/agent/rank_assignment.h"
#include "model/agent/stepping_store.h"
#include "model/agent/worker_environment.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/bootstrap.h"
#include "model/rendezvous/decisions.h"
#include "model/signals/signal_gate.h"
#include "model/store/store_helpers.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// Grace wherever PyTorch does not pass the configured one.
constexpr sim::Duration kDefaultGrace = 30s;
/// As the log directory: no file is kept, whatever the streams' settings.
constexpr char kNowhere[] = "/dev/null";
constexpr char kTerminalState[] = "torchelastic/agent/terminal_state";

void require(const sim::Outcome<sim::Done>& done, const std::string& path) {
  if (done) return;
  throw EscapedPythonError("OSError", path + ": " + std::string(to_string(done.failure().fault)));
}

/// Seconds as Python's float() reads them, of what is set; none for whatever means no limit.
std::optional<sim::Duration> uninterruptible_limit(
    const std::map<std::string, std::string>& environment) {
  constexpr double kSecondsMax = 1e9;
  const auto variable = environment.find("TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT");
  if (variable == environment.end()) return std::nullopt;
  const std::string& text = variable->second;
  double seconds = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), seconds);
  if (error != std::errc() || end != text.data() + text.size() || !(seconds > 0)) {
    return std::nullopt;
  }
  return std::chrono::duration_cast<sim::Duration>(
      std::chrono::duration<double>(std::min(seconds, kSecondsMax)));
}

}  // namespace

std::string_view to_string(WorkerState state) {
  switch (state) {
    case WorkerState::unknown: return "UNKNOWN";
    case WorkerState::init: return "INIT";
    case WorkerState::healthy: return "HEALTHY";
    case WorkerState::unhealthy: return "UNHEALTHY";
    case WorkerState::stopped: return "STOPPED";
    case WorkerState::succeeded: return "SUCCEEDED";
    case WorkerState::failed: return "FAILED";
  }
  return "?";
}

ElasticAgent::ElasticAgent(sim::Ports& ports, WorkerSpec spec, RendezvousHandler& handler,
                           Observers& observers)
    : ports_(ports),
      spec_(std::move(spec)),
      handler_(handler),
      remaining_restarts_(spec_.max_restarts),
      reports_(ports, spec_, handler, group_, observers),
      watchdog_(ports, spec_.variant,
                [this](const WatchdogEvent& event) { reports_.watchdog(event); }),
      health_check_(ports),
      heartbeats_(ports, spec_.heartbeats, spec_.monitor_interval) {
  if (spec_.variant != Variant::torch_1_13) {
    uninterruptible_limit_ = uninterruptible_limit(ports.processes.environment());
  }
  if (spec_.local_world_size <= 0)
    throw std::invalid_argument("the number of workers must be greater than zero");
  if (spec_.monitor_interval <= 0s)
    throw std::invalid_argument("the monitor interval must be greater than zero");
  if (spec_.command.empty()) throw std::invalid_argument("there must be a command to run");
}

bool ElasticAgent::handles(sim::Signal signal) const {
  const auto& handled = spec_.signals_to_handle;
  return handlers_installed_ && std::find(handled.begin(), handled.end(), signal) != handled.end();
}

std::optional<RunResult> ElasticAgent::run() {
  bool shut_down = false;
  std::optional<RunResult> result;
  try {
    try {
      const sim::MonotonicTime begin = ports_.clock.monotonic_now();
      result = reports_.metrics().profile("SimpleElasticAgent.run", [&] { return invoke_run(); });
      reports_.ended(*result, remaining_restarts_, ports_.clock.monotonic_now() - begin);
    } catch (const RendezvousGracefulExitError&) {
      // A spare of a job that is over: no result.
    } catch (const SignalException& error) {
      if (handles(error.signal())) {
        // Another signal inside this shutdown escapes, and what follows below starts it anew.
        shutdown(error.signal(), spec_.grace_at_end());
        shut_down = true;
      }
      throw;
    }
  } catch (const std::exception&) {
    if (!shut_down) shutdown(sim::Signal::term, spec_.grace_at_end());
    throw;
  }
  shutdown(sim::Signal::term, spec_.grace_at_end());
  return result;
}

RunResult ElasticAgent::invoke_run() {
  initialize_workers();
  for (;;) {
    interruptible_sleep(ports_, spec_.monitor_interval);  // before the first look
    std::optional<RunResult> result = monitor();
    check_signals(ports_);
    if (!result) {
      reports_.looked(group_.state, remaining_restarts_);
      // A failing backend ends a healthy agent here.
      const bool others_wait = handler_.num_nodes_waiting() > 0;
      // Members that have done their work go silent in the exit barrier: no loss.
      const bool broken = !others_wait && handler_.group_is_broken() &&
                          !group_.store->check({std::string(kTerminalState) + "/num_members"});
      check_signals(ports_);
      if (others_wait || broken) restart_workers(broken ? "member_lost" : "membership_change");
      continue;
    }
    enter(result->state);
    reports_.looked(result->state, remaining_restarts_);
    if (result->state == WorkerState::succeeded) {
      exit_barrier();
      return std::move(*result);
    }
    const bool silent = result->state == WorkerState::unhealthy && !silent_.empty();
    const bool stops = silent && heartbeats_.policy() == HeartbeatPolicy::stop;
    if (remaining_restarts_ > 0 && !stops) {
      --remaining_restarts_;
      restart_workers(silent ? "heartbeat_loss" : "worker_failure");
      continue;
    }
    shutdown(sim::Signal::term, kDefaultGrace);
    if (silent) *result = {WorkerState::failed, silent_workers()};
    enter(WorkerState::failed);  // the group; an UNHEALTHY result counts as success
    if (spec_.variant == Variant::torch_1_13) exit_barrier();
    return std::move(*result);
  }
}

std::optional<RunResult> ElasticAgent::monitor() {
  HOOKE_CHECK(context_ != nullptr, "only started workers are watched");
  std::optional<ProcessesResult> ended = context_->poll();
  const bool stuck =
      !ended && uninterruptible_limit_ && context_->is_stuck_for(*uninterruptible_limit_);
  // Whoever cannot be ended holds on to what those started anew would need.
  if (stuck || context_->has_abandoned()) remaining_restarts_ = 0;
  if (stuck) {
    silent_.clear();
    return RunResult{WorkerState::unhealthy, {}};
  }
  if (!ended) return look_at_heartbeats();
  const WorkerState state = ended->failed() ? WorkerState::failed : WorkerState::succeeded;
  return RunResult{state, std::move(ended->failures)};
}

std::optional<RunResult> ElasticAgent::look_at_heartbeats() {
  silent_ = heartbeats_.look(*context_);
  if (!silent_.empty() && heartbeats_.policy() != HeartbeatPolicy::mark) {
    return RunResult{WorkerState::unhealthy, {}};
  }
  enter(silent_.empty() ? WorkerState::healthy : WorkerState::unhealthy);
  return std::nullopt;
}

ProcessFailures ElasticAgent::silent_workers() const {
  ProcessFailures out;
  for (const auto& [local_rank, silence] : silent_) {
    const auto index = static_cast<std::size_t>(local_rank);
    ProcessFailure failure;
    failure.local_rank = local_rank;
    failure.rank = group_.ranks.base_rank + local_rank;
    failure.pid = context_->pid(index);
    failure.exit_code = context_->status(index).value_or(sim::ExitStatus{}).as_python();
    failure.error_file = "<N/A>";
    failure.timestamp =
        std::chrono::floor<std::chrono::seconds>(ports_.clock.wall_now().time_since_epoch())
            .count();
    failure.message =
        "No heartbeat for " +
        std::to_string(std::chrono::floor<std::chrono::milliseconds>(silence).count()) + " ms";
    out.push_back(std::move(failure));
  }
  return out;
}

void ElasticAgent::initialize_workers() {
  const Metrics& metrics = reports_.metrics();
  metrics.profile("SimpleElasticAgent._initialize_workers", [&] {
    reports_.restarts(restart_count());
    metrics.profile("SimpleElasticAgent._rendezvous", [&] { rendezvous(); });
    check_signals(ports_);
    metrics.profile("LocalElasticAgent._start_workers", [&] { start_workers(); });
    std::vector<sim::Pid> pids;
    for (std::int64_t i = 0; i < spec_.local_world_size; ++i) {
      pids.push_back(context_->pid(static_cast<std::size_t>(i)));
    }
    reports_.started(std::move(pids));
    enter(WorkerState::healthy);
  });
}

void ElasticAgent::rendezvous() {
  RendezvousInfo info;
  reports_.timed("RENDEZVOUS", [&] { info = handler_.next_rendezvous(); });
  check_signals(ports_);
  ports_.fault_point.reach("agent.joined");
  std::shared_ptr<Store> store = make_stepping_store(ports_, std::move(info.store));
  RankAssignment ranks;
  reports_.timed("ASSIGN_WORKER_RANKS",
                 [&] { ranks = exchange_ranks(spec_, *store, info.rank, info.world_size); });
  group_.store = std::move(store);
  group_.round = info.round;
  group_.group_rank = info.rank;
  group_.group_world_size = info.world_size;
  group_.ranks = ranks;
  if (spec_.variant == Variant::torch_1_13) {
    // The agent of rank 0 publishes the address itself: what the configuration says, else its own
    // name and a free port that it has only probed.
    const RendezvousStoreInfo given = info.bootstrap.value_or(RendezvousStoreInfo{});
    group_.master =
        build_store_info(ports_, info.rank, *group_.store, given.master_addr, given.master_port);
  } else {
    HOOKE_CHECK(info.bootstrap.has_value(), "a 2.x rendezvous says where the workers meet");
    group_.master = *info.bootstrap;
  }
  ports_.trace.emit(events::ranks_assigned,
                    {handler_.get_run_id(), group_.round, group_.group_rank,
                     group_.group_world_size, group_.ranks.base_rank, group_.ranks.world_size});
  ports_.fault_point.reach("agent.ranks_assigned");
}

/// Of this agent alone: a drawn name, since others on this machine make theirs at the same moment.
void ElasticAgent::make_run_directory() {
  constexpr std::uint64_t kNames = 1'000'000'000'000;
  const std::string name = spec_.logs.directory + "/" + handler_.get_run_id() + "_" +
                           std::to_string(ports_.random.below("agent.run_directory", kNames));
  run_directory_ = name;
  for (int i = 1; ports_.files.exists(run_directory_); ++i) {
    run_directory_ = name + "_" + std::to_string(i);
  }
  require(ports_.files.make_directories(run_directory_), run_directory_);
}

std::string ElasticAgent::attempt_directory() {
  if (spec_.logs.directory == kNowhere && spec_.variant != Variant::torch_1_13) return kNowhere;
  if (run_directory_.empty()) make_run_directory();
  // A restart for a membership change keeps the count, and so removes the previous incarnation's
  // files.
  const std::string directory = run_directory_ + "/attempt_" + std::to_string(restart_count());
  static_cast<void>(ports_.files.remove(directory));
  return directory;
}

std::vector<WorkerStart> ElasticAgent::worker_starts() {
  const std::string directory = attempt_directory();
  const std::string timer_file = watchdog_.start(handler_.get_run_id());
  std::vector<std::int64_t> ranks;
  for (std::int64_t i = 0; i < spec_.local_world_size; ++i) {
    ranks.push_back(group_.ranks.base_rank + i);
  }
  heartbeats_.start(ranks);
  std::vector<WorkerStart> workers;
  for (std::int64_t i = 0; i < spec_.local_world_size; ++i) {
    WorkerStart worker;
    worker.local_rank = i;
    worker.rank = group_.ranks.base_rank + i;
    if (directory != kNowhere) {
      const std::string own_directory = directory + "/" + std::to_string(i);
      require(ports_.files.make_directories(own_directory), own_directory);
      worker.error_file = own_directory + "/error.json";
      worker.streams = worker_streams(
          spec_.logs, i, directory,
          substitute_macros(spec_.logs.line_prefix, {{"role_name", spec_.role},
                                                     {"local_rank", std::to_string(i)},
                                                     {"rank", std::to_string(worker.rank)}}));
    }
    worker.environment = worker_environment(ports_.processes.environment(), spec_, group_, handler_,
                                            i, restart_count(), worker.error_file);
    if (!timer_file.empty()) worker.environment["TORCHELASTIC_TIMER_FILE"] = timer_file;
    if (!spec_.processors.empty()) {
      worker.argv = {"numactl",
                     "--physcpubind=" + spec_.processors.at(static_cast<std::size_t>(i))};
    }
    for (const std::string& argument : spec_.command) {
      worker.argv.push_back(substitute_macros(argument, {{"local_rank", std::to_string(i)}}));
    }
    heartbeats_.tell(worker.environment, i);
    workers.push_back(std::move(worker));
  }
  for (const std::string& path : filtered_logs(spec_.logs, directory)) {
    require(ports_.files.write(path, ""), path);  // there also when no line passes
  }
  return workers;
}

void ElasticAgent::start_workers() {
  context_ = std::make_unique<ProcessContext>(ports_, spec_.variant, worker_starts());
  health_check_.start([this] {
    return watchdog_.server() == nullptr ? ports_.clock.wall_now()
                                         : watchdog_.server()->last_progress_time();
  });
  install_signal_handlers();
  context_->start();
  const std::string master =
      group_.master.master_addr + ":" + std::to_string(group_.master.master_port);
  for (std::int64_t i = 0; i < spec_.local_world_size; ++i) {
    ports_.trace.emit(
        events::worker_started,
        {handler_.get_run_id(), group_.round, context_->pid(static_cast<std::size_t>(i)).value, i,
         group_.ranks.base_rank + i, group_.ranks.world_size, restart_count(), master});
  }
  heartbeats_.announce(*context_);
  ports_.fault_point.reach("agent.workers_started");
}

void ElasticAgent::install_signal_handlers() {
  for (const sim::Signal signal : spec_.signals_to_handle) {
    if (!ports_.processes.catch_signal(signal)) {
      throw EscapedPythonError("OSError", std::string(to_string(signal)) + " cannot be caught");
    }
  }
  handlers_installed_ = true;
}

void ElasticAgent::restart_workers(const char* cause) {
  ports_.trace.emit(events::group_restarting, {cause, remaining_restarts_, group_.round});
  reports_.metrics().profile("SimpleElasticAgent._restart_workers", [&] {
    reports_.metrics().profile("LocalElasticAgent._stop_workers",
                               [&] { shutdown(sim::Signal::term, kDefaultGrace); });
    if (context_->has_abandoned()) {
      throw std::runtime_error("a worker cannot be ended: it is asleep in the kernel (state D)");
    }
    enter(WorkerState::stopped);
    initialize_workers();
  });
}

void ElasticAgent::exit_barrier() {
  ports_.fault_point.reach("agent.exit_barrier");
  ports_.trace.emit(events::exit_barrier_entered,
                    {handler_.get_run_id(), group_.round, group_.group_world_size});
  const sim::MonotonicTime begin = ports_.clock.monotonic_now();
  const auto left = [&](const char* result) {
    ports_.trace.emit(events::exit_barrier_left, {handler_.get_run_id(), group_.round, result,
                                                  ports_.clock.monotonic_now() - begin});
  };
  try {
    meet_in_exit_barrier();  // deaf: a signal that comes meanwhile is raised only after it
    left("passed");
  } catch (const SignalException&) {
    left("interrupted");
    throw;
  } catch (const StoreTimeoutError&) {
    left("timed_out");  // logged and swallowed: the agent still succeeds
    check_signals(ports_);
  } catch (const std::exception&) {
    left("failed");
    check_signals(ports_);
  }
}

void ElasticAgent::meet_in_exit_barrier() {
  if (spec_.variant == Variant::torch_1_13) {
    barrier_1_13(*group_.store, group_.group_rank, group_.group_world_size, kTerminalState,
                 spec_.exit_barrier_timeout);
  } else {
    barrier(*group_.store, group_.group_world_size, kTerminalState, spec_.exit_barrier_timeout);
  }
}

void ElasticAgent::shutdown(sim::Signal signal, sim::Duration grace) {
  ports_.fault_point.reach("agent.stopping");
  check_signals(ports_);  // one that came during a deaf wait which then failed
  watchdog_.stop();       // before the workers: what they still guard meets nobody
  health_check_.stop();
  heartbeats_.stop();
  if (context_ != nullptr) context_->close(signal, grace);
}

void ElasticAgent::enter(WorkerState state) {
  if (std::exchange(group_.state, state) == state) return;
  ports_.trace.emit(events::group_state, {to_string(state), restart_count()});
}

}  // namespace hooke::model
