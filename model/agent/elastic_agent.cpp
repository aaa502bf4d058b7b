// run() and its table of endings first, then the loop, then the building blocks in the order they
// are used; group_forming.cpp has how a group comes about.
#include "model/agent/elastic_agent.h"

#include <algorithm>
#include <charconv>
#include <exception>
#include <stdexcept>
#include <utility>

#include "model/observe/restart_events.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/core/shutdown.h"
#include "model/signals/signal_gate.h"
#include "model/store/store_helpers.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

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

ElasticAgent::ElasticAgent(const AgentParts& parts, ElasticAgentKit kit)
    : kit_(std::move(kit)),
      ports_(kit_.core->ports),
      spec_(kit_.core->spec),
      handler_(kit_.core->handler),
      group_(kit_.core->group),
      attempt_(kit_.core->attempt),
      reports_(ports_, spec_, handler_, group_, parts.observers),
      launcher_(parts.launcher),
      timers_(parts.timers.watch({ports_, spec_.variant,
                                  [this](const WatchdogEvent& event) { reports_.watchdog(event); },
                                  spec_.planted})),
      health_check_(ports_),
      handlers_installed_(spec_.signals_caught) {
  HOOKE_CHECK(kit_.heartbeats && kit_.starts && kit_.restarts && kit_.exit_wait && kit_.membership,
              "an agent has all of its parts");
  HOOKE_CHECK(timers_ != nullptr && kit_.context != nullptr, "timers and a context are given");
  if (gives_up_the_uninterruptible(spec_.variant)) {
    uninterruptible_limit_ = uninterruptible_limit(ports_.processes.environment());
  }
  if (spec_.local_world_size <= 0)
    throw std::invalid_argument("the number of workers must be greater than zero");
  if (spec_.monitor_interval <= 0s)
    throw std::invalid_argument("the monitor interval must be greater than zero");
  if (spec_.command.empty()) throw std::invalid_argument("there must be a command to run");
  if (makes_the_log_directory_with_the_agent(spec_.variant)) kit_.starts->make_room_at_once();
}

bool ElasticAgent::handles(sim::Signal signal) const {
  const auto& handled = spec_.signals_to_handle;
  return handlers_installed_ && std::find(handled.begin(), handled.end(), signal) != handled.end();
}

std::optional<RunResult> ElasticAgent::run() {
  HOOKE_CHECK(context_ == nullptr && attempt_.restart_count == 0, "run() is called only once");
  bool shut_down = false;
  std::optional<RunResult> result;
  try {
    try {
      const sim::MonotonicTime begin = ports_.clock.monotonic_now();
      result = reports_.metrics().profile("SimpleElasticAgent.run", [&] { return invoke_run(); });
      reports_.ended(*result, kit_.restarts->remaining(), ports_.clock.monotonic_now() - begin);
    } catch (const RendezvousGracefulExitError&) {
      // A spare of a job that is over: no result.
    } catch (const SignalException& error) {
      if (handles(error.signal())) {
        // Another signal inside this shutdown escapes, and what follows below starts it anew.
        stop_for_signal(error.signal());
        shut_down = true;
      }
      throw;
    }
  } catch (const std::exception&) {
    if (!shut_down) shutdown_at_end(sim::Signal::term);
    throw;
  }
  shutdown_at_end(sim::Signal::term);
  return result;
}

/// `_invoke_run`: its loop; its branches are look_at_the_others() and goes_on_after().
RunResult ElasticAgent::invoke_run() {
  initialize_workers();
  for (bool quiet = false;;) {
    sleep_until_look(quiet);  // before the first look
    const std::int64_t incarnations = attempt_.incarnation;
    std::optional<RunResult> result = monitor();
    check_signals(ports_);
    if (!result) result = look_at_the_others();
    quiet = !result && attempt_.incarnation == incarnations;
    if (result && !goes_on_after(*result)) return std::move(*result);
  }
}

void ElasticAgent::sleep_until_look(bool quiet) {
  HOOKE_CHECK(monitor_interval() > 0s, "the monitor interval is positive");
  struct Looks final : sim::Lookout {
    explicit Looks(ElasticAgent& of) : agent(of) {}
    std::optional<sim::MonotonicTime> sleeps_on() override {
      if (!agent.would_see_nothing()) return std::nullopt;
      return agent.ports_.clock.monotonic_now() + agent.monitor_interval();
    }
    ElasticAgent& agent;
  } looks(*this);
  if (quiet) return interruptible_sleep(ports_, monitor_interval(), looks);
  interruptible_sleep(ports_, monitor_interval());
}

/// In the order of a look: what one of these has an effect on comes in its place.
bool ElasticAgent::would_see_nothing() {
  if (launcher_.may_have_news() || uninterruptible_limit_ || kit_.heartbeats->listens()) {
    return false;
  }
  return !reports_.metrics().wanted() && !kit_.membership->may_have_news();
}

std::optional<RunResult> ElasticAgent::look_at_the_others() {
  HOOKE_CHECK(group_.state == WorkerState::healthy || group_.state == WorkerState::unhealthy,
              "the group's state is HEALTHY or UNHEALTHY when the agent looks at the others");
  reports_.looked(group_.state, kit_.restarts->remaining());
  const char* const cause = kit_.membership->cause_to_restart();
  check_signals(ports_);
  follow(cause);
  return std::nullopt;
}

void ElasticAgent::follow(const char* cause) {
  if (cause == nullptr) return;
  ++attempt_.incarnation;
  HOOKE_CHECK(attempt_.incarnation > 0, "the incarnation of a started group is positive");
  restart_workers(cause);
}

/// SUCCEEDED, UNHEALTHY and FAILED; `_remaining_restarts -= 1` is in Restarts::decide().
bool ElasticAgent::goes_on_after(RunResult& result) {
  HOOKE_CHECK(context_ != nullptr, "a group that has a result has a process context");
  HOOKE_CHECK(result.state != WorkerState::healthy, "the result is not HEALTHY");
  HOOKE_CHECK(result.failed() == !result.failures.empty(), "failed() agrees with failures");
  const std::int64_t before = kit_.restarts->remaining();  // of this failure
  const bool silent = result.state == WorkerState::unhealthy && !silent_.empty();
  if (silent) result.failures = silent_workers();
  // An agent that cannot be ended holds on to what those started anew would need.
  const bool stops =
      context_->has_abandoned() || (silent && kit_.heartbeats->policy() == HeartbeatPolicy::stop);
  const RestartDecision decision = (result.failed() || silent) && !stops
                                       ? kit_.restarts->decide(result, attempt_.restart_count)
                                       : RestartDecision{RestartScope::none, {}, ""};
  if (decision.scope == RestartScope::failed_workers && !silent) {
    enter(WorkerState::unhealthy);  // until a look finds all of them running again
    reports_.looked(WorkerState::unhealthy, before);
    restart_failed(result.failures, decision.delay);
    return true;
  }
  enter(result.state);
  reports_.looked(result.state, before);
  if (result.state == WorkerState::succeeded) {
    tell_done();
    return !finish(result);
  }
  if (decision.scope != RestartScope::none) {
    count_restart();
    attempt_.incarnation = 0;
    return restart_group(silent ? "heartbeat_loss" : "worker_failure", decision.delay);
  }
  give_up(result, silent);
  return false;
}

void ElasticAgent::give_up(RunResult& result, bool silent) {
  stop_for_good(result);
  if (silent) {  // as they are now
    result.state = WorkerState::failed;
    result.failures = silent_workers();
  }
  HOOKE_CHECK(result.state != WorkerState::succeeded, "the result has not SUCCEEDED");
  enter(WorkerState::failed);  // the group; an UNHEALTHY result counts as success
  tell_done();
  if (waits_for_others_after_a_failure(spec_.variant))
    result.others_are_done = exit_barrier() == "passed";
}

void ElasticAgent::tell_done() {
  if (!spec_.tells_when_done) return;
  try {
    tell_work_done(handler_);
  } catch (const SignalException&) {
    throw;
  } catch (const std::exception&) {
    // The others wait for this agent until their limit, or until it is gone.
  }
}

void ElasticAgent::stop_for_good(RunResult&) {
  shutdown(sim::Signal::term, grace());
}

/// Whatever the others do meanwhile.
bool ElasticAgent::finish(RunResult& result) {
  result.others_are_done = exit_barrier() == "passed";
  return true;
}

std::optional<RunResult> ElasticAgent::monitor() {
  HOOKE_CHECK(context_ != nullptr, "workers that are watched have a process context");
  std::optional<ProcessesResult> ended =
      kit_.core->policy.restarts_single_workers() ? context_->poll_each() : context_->poll();
  HOOKE_CHECK(!ended || std::ssize(ended->failures) <= spec_.local_world_size,
              "there are at most local_world_size failures");
  if (!ended && uninterruptible_limit_ && context_->is_stuck_for(*uninterruptible_limit_)) {
    silent_.clear();
    // Workers started anew beside it would need what it holds on to (a GPU, a port).
    kit_.restarts->forfeit();
    reports_.restarts(spec_.max_restarts);
    return RunResult{WorkerState::unhealthy, {}};
  }
  if (!ended) return look_at_heartbeats();
  const WorkerState state = ended->failed() ? WorkerState::failed : WorkerState::succeeded;
  return RunResult{state, std::move(ended->failures)};
}

std::optional<RunResult> ElasticAgent::look_at_heartbeats() {
  silent_ = kit_.heartbeats->look(*context_);
  HOOKE_CHECK(std::ssize(silent_) <= spec_.local_world_size, "each silent worker is listed once");
  HOOKE_CHECK(silent_.empty() || kit_.heartbeats->listens(), "heartbeats are listened to");
  if (!silent_.empty() && kit_.heartbeats->policy() != HeartbeatPolicy::mark) {
    return RunResult{WorkerState::unhealthy, {}};
  }
  enter(silent_.empty() ? WorkerState::healthy : WorkerState::unhealthy);
  return std::nullopt;
}

ProcessFailures ElasticAgent::silent_workers() const {
  HOOKE_CHECK(context_ != nullptr, "silent workers have a process context");
  ProcessFailures out;
  for (const auto& [local_rank, silence] : silent_) {
    HOOKE_CHECK(0 <= local_rank && local_rank < spec_.local_world_size, "local_rank is in range");
    HOOKE_CHECK(silence >= 0s, "the length of the silence is not negative");
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
  HOOKE_CHECK(group_.state == WorkerState::init || group_.state == WorkerState::stopped,
              "the group's state is INIT or STOPPED when workers are started");
  const Metrics& metrics = reports_.metrics();
  metrics.profile("SimpleElasticAgent._initialize_workers", [&] {
    reports_.restarts(attempt_.restart_count);
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

void ElasticAgent::pause(sim::Duration delay) {
  if (delay <= 0s) return;
  ports_.trace.emit(events::restart_delayed, {delay, group_.round});
  sleep_out(delay);
}

/// One restart of the budget for all that had failed at this look. The rendezvous is not asked:
/// the places in it stay taken, and no other agent has to know.
void ElasticAgent::restart_failed(const ProcessFailures& failures, sim::Duration delay) {
  HOOKE_CHECK(!failures.empty(), "a restart of single workers is given at least one failure");
  HOOKE_CHECK(context_ != nullptr && group_.state == WorkerState::unhealthy,
              "the group is UNHEALTHY and has a process context when single workers are restarted");
  HOOKE_CHECK(kit_.core->policy.restarts_single_workers(), "the policy restarts single workers");
  HOOKE_CHECK(kit_.restarts->remaining() >= 0, "the number of remaining restarts is not negative");
  HOOKE_CHECK(std::ssize(failures) <= spec_.local_world_size, "each worker is restarted once");
  ++attempt_.restart_count;
  reports_.restarts(attempt_.restart_count);
  for (const ProcessFailure& failure : failures) {
    ports_.trace.emit(events::worker_restarting, {failure.pid.value, failure.local_rank,
                                                  failure.rank, kit_.restarts->remaining()});
  }
  pause(delay);
  for (const ProcessFailure& failure : failures) {
    kit_.heartbeats->start_again(failure.local_rank);
    context_->start_again(kit_.starts->one(failure.local_rank, attempt_));
    tell_started(failure.local_rank);
    kit_.heartbeats->announce(*context_, failure.local_rank);
  }
}

void ElasticAgent::restart_workers(const char* cause, sim::Duration delay) {
  HOOKE_CHECK(context_ != nullptr, "workers that are restarted have a process context");
  ports_.trace.emit(events::group_restarting, {cause, kit_.restarts->remaining(), group_.round});
  reports_.metrics().profile("SimpleElasticAgent._restart_workers", [&] {
    reports_.metrics().profile("LocalElasticAgent._stop_workers", [&] { stop_workers(); });
    after_stopping();
    if (context_->has_abandoned()) {
      throw std::runtime_error("a worker cannot be ended: it is asleep in the kernel (state D)");
    }
    enter(WorkerState::stopped);
    pause(delay);
    initialize_workers();
  });
}

bool ElasticAgent::restart_group(const char* cause, sim::Duration delay) {
  HOOKE_CHECK(attempt_.restart_count >= 0 && attempt_.incarnation >= 0,
              "the restart count and the incarnation are not negative");
  restart_workers(cause, delay);
  return true;
}

std::string_view ElasticAgent::exit_barrier() {
  HOOKE_CHECK(group_.state == WorkerState::succeeded || group_.state == WorkerState::failed,
              "the group's state is SUCCEEDED or FAILED at the exit barrier");
  try {
    ports_.fault_point.reach("agent.exit_barrier");
  } catch (const std::exception&) {
    return "failed";  // as an error of the barrier itself: logged and swallowed
  }
  before_exit_barrier();
  if (spec_.silent_in_exit_barrier) silent_since_ = ports_.clock.wall_now();
  return kit_.exit_wait->wait();
}

void ElasticAgent::shutdown(sim::Signal signal, sim::Duration grace,
                            const std::function<void()>& meanwhile) {
  ports_.fault_point.reach("agent.stopping");
  HOOKE_CHECK(grace >= 0s, "the grace period is not negative");
  before_stopping();
  stop_timers();  // before the workers: what they still guard has no server then
  health_check_.stop();
  kit_.heartbeats->stop();
  if (context_ != nullptr) {
    context_->close(signal, grace, meanwhile);
  } else if (meanwhile) {
    meanwhile();
  }
}

void ElasticAgent::before_exit_barrier() {
  check_signals(ports_);
}

/// One that came during a deaf wait which then failed.
void ElasticAgent::before_stopping() {
  check_signals(ports_);
}

void ElasticAgent::shutdown_at_end(sim::Signal signal, const std::function<void()>& meanwhile) {
  shutdown(signal, spec_.grace_at_end(), meanwhile);
}

}  // namespace hooke::model
