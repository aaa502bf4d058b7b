// Steps, process group, collectives, and the SIGTERM handler as a fiber of its own.
#include "scenarios/simulated/worker_program.h"

#include <set>
#include <stdexcept>
#include <utility>
#include <vector>

#include "model/observe/python_error.h"
#include "model/observe/trace_events.h"
#include "model/store/kinds/tcp_stores.h"
#include "model/timer/kinds/timer_registry.h"
#include "model/worker/failure_summary.h"
#include "model/worker/traced_store.h"
#include "scenarios/simulated/worker_child.h"
#include "sim/port/check.h"

namespace hooke::scenario {
namespace {

namespace ev = model::events;

/// Pause between two looks at a peer that has not published its new address yet.
constexpr Duration kReadAgain = 1s;
/// How often a store's host looks whether the others have left.
constexpr Duration kLook = 100ms;
/// What a worker holds, by name; its timers besides.
constexpr const char* kGroup = "process group";

}  // namespace

const WorkerProgram& program_of(const WorkersPlan& plan, const std::string& node,
                                std::int64_t local_rank, std::int64_t incarnation) {
  const std::string worker = node + "/" + std::to_string(local_rank);
  for (const std::string& key : {worker, node, worker + "/*", node + "/*"}) {
    const bool every_time = key.ends_with("/*");
    const auto found = plan.overrides.find(key);
    if (found != plan.overrides.end() && (every_time || incarnation == 0)) return found->second;
  }
  return plan.program;
}

WorkerRun::WorkerRun(sim::Ports& ports, WorkerConditions conditions)
    : ports_(ports),
      conditions_(std::move(conditions)),
      over_(ports.executor),
      group_(ports),
      holdings_(ports.trace) {}

int WorkerRun::run() {
  tell_environment();
  if (!conditions_.may_stop_slowly) return steps();
  if (conditions_.slow_stop > Duration::zero()) slow_stop(conditions_.slow_stop);
  ports_.executor.spawn("program", [this] {
    const int code = steps();
    if (stopping_) return;
    exit_code_ = code;
    over_.set();
  });
  over_.wait();
  return exit_code_;
}

int WorkerRun::steps() {
  for (const WorkerStep& next : conditions_.program) {
    if (const std::optional<int> code = step(next)) {
      if (*code == 0) linger();
      return *code;
    }
    if (stopping_) return 0;
  }
  linger();
  return 0;
}

/// A worker that serves the group's store stays until the others have seen the end of their last
/// collective: real collectives run between the peers and do not break when the store's host is the
/// first to finish.
void WorkerRun::linger() {
  if (!group_.serves() || last_meeting_.empty()) return;
  const sim::MonotonicTime give_up = ports_.clock.monotonic_now() + patience();
  try {
    while (group_.store()->add(last_meeting_ + "/seen", 0) < world_size_ - 1 &&
           ports_.clock.monotonic_now() < give_up) {
      rest(kLook);
    }
  } catch (const model::StoreError&) {
    // Its own store failing it is no reason to fail: the work is done.
  }
}

std::optional<int> WorkerRun::step(const WorkerStep& step) {
  switch (step.kind) {
    case WorkerStep::Kind::run: rest(step.span); return std::nullopt;
    case WorkerStep::Kind::exit: return static_cast<int>(step.code);
    case WorkerStep::Kind::signal:
      static_cast<void>(
          ports_.processes.signal(ports_.processes.self(), static_cast<sim::Signal>(step.code)));
      rest(Duration::zero());  // where a deadly signal takes effect
      return std::nullopt;
    case WorkerStep::Kind::hang:
      stuck_ = true;
      if (heartbeat_) heartbeat_->pause();
      for (;;) static_cast<void>(ports_.executor.park(ports_.executor.ticket()));
    case WorkerStep::Kind::init: return init() ? std::nullopt : std::optional<int>(1);
    case WorkerStep::Kind::collective:
      for (std::int64_t i = 0; i < step.count && !stopping_; ++i) {
        if (!collective(step.span)) return 1;
      }
      return std::nullopt;
    case WorkerStep::Kind::acquire:
    case WorkerStep::Kind::release:
    case WorkerStep::Kind::scribble:
    case WorkerStep::Kind::hold_timer:
      return use_timer(step) ? std::nullopt : std::optional<int>(1);
    case WorkerStep::Kind::start_timer:
    case WorkerStep::Kind::stop_timer: return measure(step) ? std::nullopt : std::optional<int>(1);
    case WorkerStep::Kind::destroy:
      return destroy(step.text) ? std::nullopt : std::optional<int>(1);
    case WorkerStep::Kind::raise:
    case WorkerStep::Kind::await:
      return use_signal_file(step) ? std::nullopt : std::optional<int>(1);
    case WorkerStep::Kind::beat: return beat(step.text) ? std::nullopt : std::optional<int>(1);
    case WorkerStep::Kind::serve:
    case WorkerStep::Kind::child: return take_port(step) ? std::nullopt : std::optional<int>(1);
    case WorkerStep::Kind::error: model::record_error(ports_, step.text); return 1;
    case WorkerStep::Kind::sees: return sees(step) ? std::nullopt : std::optional<int>(1);
    case WorkerStep::Kind::job: return looks_at_job(step) ? std::nullopt : std::optional<int>(1);
  }
  sim::check_failed("step.kind", __FILE__, __LINE__, "every kind of step is handled");
}

/// Waits "for ever" end here: beyond any run, and still a number every clock can add.
Duration WorkerRun::patience() const {
  return conditions_.peer_abort.value_or(std::chrono::hours(24 * 365));
}

void WorkerRun::rest(Duration span) {
  ports_.executor.sleep_until(ports_.clock.monotonic_now() + span);
}

// ---- environment --------------------------------------------------------------------------------

std::string WorkerRun::variable(const std::string& name) const {
  const auto& environment = ports_.processes.environment();
  const auto found = environment.find(name);
  return found == environment.end() ? std::string() : found->second;
}

/// A worker that no agent has started has no local rank.
void WorkerRun::tell_environment() {
  if (variable("LOCAL_RANK").empty()) return;
  const auto told = [this](const char* name) {
    const std::string value = variable(name);
    return value.empty() ? std::string("?") : value;
  };
  const auto of = [&](const char* part, const char* whole) {
    return told(part) + " of " + told(whole);
  };
  ports_.trace.emit(
      ev::worker_environment,
      {told("TORCHELASTIC_RUN_ID"), of("RANK", "WORLD_SIZE"), of("LOCAL_RANK", "LOCAL_WORLD_SIZE"),
       of("GROUP_RANK", "GROUP_WORLD_SIZE"), of("ROLE_RANK", "ROLE_WORLD_SIZE"),
       of("TORCHELASTIC_RESTART_COUNT", "TORCHELASTIC_MAX_RESTARTS"),
       told("MASTER_ADDR") + ":" + told("MASTER_PORT"), told("TORCHELASTIC_ERROR_FILE")});
}

// ---- process group ------------------------------------------------------------------------------

model::ProcessGroupOptions WorkerRun::group_options() {
  model::ProcessGroupOptions options;
  options.variant = conditions_.variant;
  options.restart_count_prefix = conditions_.restart_count_prefix;
  // What aborts a collective whose peer is gone does not wait for the machine of its store either.
  options.reply_limit = conditions_.peer_abort;
  options.planted = conditions_.planted;
  if (!conditions_.trace_store) return options;
  options.around = [this](const model::LaunchEnvironment& launch,
                          std::shared_ptr<model::Store> store) {
    const std::string run_id = launch.elastic ? launch.elastic->run_id : "";
    const auto own = [this] { return conditions_.round().value_or(-1); };
    const auto newest = [this, own, run_id] {
      const auto known = conditions_.newest_round ? conditions_.newest_round(run_id) : std::nullopt;
      return known.value_or(own());
    };
    return model::make_traced_store(ports_, {run_id, launch.rank, own, newest}, std::move(store));
  };
  return options;
}

bool WorkerRun::init() {
  try {
    group_.init(group_options());
    holdings_.hold(kGroup, [this] {
      linger();
      group_.destroy();
    });
    const model::LaunchEnvironment& launch = group_.launch();
    rank_ = launch.rank;
    world_size_ = launch.world_size;
    HOOKE_CHECK(0 <= rank_ && rank_ < world_size_, "a rank is below the size");
    run_id_ = launch.elastic ? launch.elastic->run_id : "";
    peers_serve_ = !(launch.elastic && launch.elastic->use_agent_store);
    const std::int64_t round = this->round();
    const std::string master = launch.master.host + ":" + std::to_string(launch.master.port.value);
    // Each group has a number, which every process counts by itself (distributed_c10d.py:
    // group_count): ranks that have begun a different number of groups never meet.
    const std::string number = groups_ == 0 ? "" : "group " + std::to_string(groups_) + ", ";
    ++groups_;
    incarnation_ = number + run_id_ + " round " + std::to_string(round) + " of " +
                   std::to_string(world_size_) + " at " + master;
    if (!find_peers() || !meet("joined/" + incarnation_)) return false;
    ports_.trace.emit(ev::worker_initialized, {run_id_, rank_, world_size_, master, round});
    return true;
  } catch (const std::runtime_error&) {  // bad environment, or a StoreError
    return false;
  }
}

/// An agent whose workers somebody else starts hears, and tells, of a worker later than it begins.
std::int64_t WorkerRun::round() {
  for (;;) {
    if (const auto known = conditions_.round()) return *known;
    rest(1ms);
  }
}

/// Publishes this rank's address and reads those it needs, as NCCL does: the root's and those of
/// its two neighbours in the ring. A value of an older incarnation is the address of a dead peer:
/// it is reported, and read again until the peer has published its new one.
bool WorkerRun::find_peers() {
  const std::string place = groups_ == 1 ? "" : "group " + std::to_string(groups_ - 1) + "/";
  group_.store()->set(place + std::to_string(rank_), model::Value(incarnation_));
  const std::set<std::int64_t> peers{0, (rank_ + world_size_ - 1) % world_size_,
                                     (rank_ + 1) % world_size_};
  std::vector<std::string> keys;
  for (const std::int64_t rank : peers) keys.push_back(place + std::to_string(rank));
  const sim::MonotonicTime give_up = ports_.clock.monotonic_now() + patience();
  std::vector<bool> reported(keys.size(), false);
  for (;;) {
    group_.store()->wait(keys, std::max<Duration>(give_up - ports_.clock.monotonic_now(), 1ms));
    const std::vector<model::Value> values = group_.store()->multi_get(keys);
    HOOKE_CHECK(values.size() == keys.size(), "a store has a value for each key asked for");
    bool fresh = true;
    for (std::size_t i = 0; i < keys.size(); ++i) {
      if (values[i].bytes() == incarnation_) continue;
      fresh = false;
      if (reported[i]) continue;
      reported[i] = true;
      ports_.trace.emit(ev::worker_stale_read,
                        {"process_group/" + keys[i],
                         "read by " + incarnation_ + ", written by " + values[i].bytes()});
    }
    if (fresh) return true;
    if (ports_.clock.monotonic_now() >= give_up) return false;
    rest(kReadAgain);
  }
}

bool WorkerRun::collective(Duration work) {
  if (work > Duration::zero()) rest(work);
  const std::int64_t step = collectives_++;
  const char* result = "failed";
  if (group_.is_initialized()) {
    try {
      result = meet("collective/" + incarnation_ + "/" + std::to_string(step)) ? "ok" : "peer_lost";
    } catch (const model::StoreError&) {
      result = "failed";
    }
  }
  ports_.trace.emit(ev::worker_collective, {run_id_, rank_, step, result});
  return result == std::string_view("ok");
}

bool WorkerRun::meet(const std::string& key) {
  last_meeting_ = key;
  const std::shared_ptr<model::Store> store = group_.store();
  const std::int64_t come = store->add(key, 1);
  bool complete = come == world_size_;
  if (complete) {
    store->set(key + "/all", model::Value(std::string("1")));
  } else {
    try {
      const std::string met = come < world_size_ ? "/all" : "/again";
      store->wait({key + met}, patience());
      complete = true;
    } catch (const model::StoreTimeoutError&) {
      complete = false;
    }
  }
  if (peers_serve_ && !group_.serves()) static_cast<void>(store->add(key + "/seen", 1));
  return complete;
}

bool WorkerRun::destroy(const std::string& what) {
  try {
    if (what == "all") {
      holdings_.release_all();
      return true;
    }
    for (const std::string& held : holdings_.held()) {
      if (held == what || (what == "timers" && held.starts_with(kTimer))) {
        static_cast<void>(holdings_.release(held));
      }
    }
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool WorkerRun::use_signal_file(const WorkerStep& step) {
  if (signals_ == nullptr) {
    const std::string given = variable(kSignalFileVariable);
    signals_ = std::make_unique<model::SignalFile>(
        ports_, given.empty() ? "/signals" : given,
        variable("TORCHELASTIC_RUN_ID") + "/" + variable("TORCHELASTIC_RESTART_COUNT"),
        variable("RANK"));
  }
  try {
    if (step.kind == WorkerStep::Kind::raise) {
      signals_->raise(step.text);
      return true;
    }
    const Duration timeout = patience();
    return signals_->wait(step.text, ports_.clock.monotonic_now() + timeout).has_value();
  } catch (const model::EscapedPythonError&) {
    return false;
  }
}

// ---- signals and children -----------------------------------------------------------------------

void WorkerRun::slow_stop(Duration span) {
  conditions_.slow_stop = span;
  if (listens_ || !conditions_.may_stop_slowly) return;
  listens_ = true;
  const auto caught = ports_.processes.catch_signal(sim::Signal::term);
  HOOKE_CHECK(caught.ok(), "SIGTERM can be caught");
  ports_.executor.spawn("stop", [this] { await_stop(); });
}

void WorkerRun::await_stop() {
  static_cast<void>(ports_.processes.wait_signal(std::nullopt));
  static_cast<void>(ports_.processes.take_signal());
  if (stuck_) return;  // the interpreter never gets to run the handler
  HOOKE_CHECK(!stopping_, "a worker is told to stop once");
  stopping_ = true;
  rest(conditions_.slow_stop);
  exit_code_ = 0;
  over_.set();
}

std::int64_t WorkerRun::spawn_children(std::int64_t count) {
  // A process that is stopped, or sleeps where no signal reaches it, runs no line that could.
  const std::optional<char> state = ports_.processes.state(ports_.processes.self());
  if (state == 'D' || state == 'T') return 0;
  std::int64_t started = 0;
  for (std::int64_t i = 0; i < count; ++i) started += spawn_worker_child(ports_) ? 1 : 0;
  return started;
}

bool WorkerRun::take_port(const WorkerStep& step) {
  const sim::PortNumber port{static_cast<std::uint16_t>(step.count)};
  if (step.kind == WorkerStep::Kind::child) return spawn_worker_child(ports_, port);
  try {
    own_stores_.push_back(model::serve_tcp_store(ports_, port, "own", conditions_.planted));
    return true;
  } catch (const model::StoreError&) {  // somebody else holds the port
    return false;
  }
}

}  // namespace hooke::scenario
