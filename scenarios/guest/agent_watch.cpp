// Lines, store calls and children, read as events.
#include "scenarios/guest/agent_watch.h"

#include <charconv>
#include <utility>

#include "model/observe/trace_events.h"
#include "model/rendezvous/dynamic/dynamic_settings.h"

namespace hooke::scenario {

namespace ev = model::events;

namespace {

model::RendezvousParameters parameters_of(const model::LaunchConfig& config) {
  return {config.rdzv_backend, config.rdzv_endpoint, config.run_id,       config.min_nodes,
          config.max_nodes,    config.local_addr,    config.rdzv_configs, config.variant};
}

bool says(std::string_view line, std::string_view words) {
  return line.find(words) != std::string_view::npos;
}

/// What stands between `before` and `after`; "" where they do not.
std::string between(std::string_view line, std::string_view before, std::string_view after) {
  const std::size_t begin = line.find(before);
  if (begin == std::string_view::npos) return "";
  const std::string_view rest = line.substr(begin + before.size());
  return std::string(rest.substr(0, std::min(rest.find(after), rest.size())));
}

std::int64_t number_of(std::string_view text, std::int64_t otherwise) {
  std::int64_t out = otherwise;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

/// The number of the worker that the line says is not to be woken; "" of any other line.
std::string sleeper_of(std::string_view line) {
  if (says(line, " uninterruptible sleep (D-state)")) return between(line, "Worker pid=", " ");
  return says(line, "; abandoning ") ? between(line, "Process ", " did not exit") : "";
}

std::int64_t number_in(const std::map<std::string, std::string>& environment, const char* name) {
  const auto found = environment.find(name);
  return found == environment.end() ? 0 : number_of(found->second, 0);
}

}  // namespace

AgentWatch::AgentWatch(sim::Ports& ports, const model::LaunchConfig& config)
    : ports_(ports),
      config_(config),
      state_(ports, model::dynamic_settings(parameters_of(config))),
      timers_(ports),
      remaining_restarts_(config.max_restarts) {
  const auto& environment = ports.processes.environment();
  const auto shared = environment.find("TORCH_DISABLE_SHARE_RDZV_TCP_STORE");
  shares_store_ = model::serves_the_workers_store(config.variant) &&
                  (shared == environment.end() || shared->second != "1");
  announce();
}

void AgentWatch::announce() {
  const model::RendezvousSettings settings = model::dynamic_settings(parameters_of(config_));
  ports_.trace.emit(ev::agent_started,
                    {config_.run_id, config_.rdzv_backend, config_.min_nodes, config_.max_nodes,
                     config_.nproc_per_node, config_.max_restarts, config_.shutdown_timeout});
  ports_.trace.emit(
      ev::agent_settings,
      {settings.timeout.join, settings.timeout.last_call, settings.timeout.close,
       settings.timeout.heartbeat, settings.keep_alive_interval * settings.keep_alive_max_attempt,
       settings.read_timeout, config_.monitor_interval, config_.exit_barrier_timeout});
}

// ---- the log ------------------------------------------------------------------------------------

/// The words are those of torch/distributed/elastic/agent/server/api.py and of
/// dynamic_rendezvous.py:next_rendezvous.
void AgentWatch::on_line(std::string_view line) {
  if (says(line, "' attempts to join the next round of the rendezvous '")) {
    on_joining(line);
  } else if (says(line, "' has joined round ")) {
    on_joined(line);
  } else if (says(line, "attempts left; will restart worker group")) {
    enter("FAILED");
    restarts("worker_failure", number_of(between(line, "FAILED. ", "/"), remaining_restarts_));
  } else if (says(line, "] Detected ") && says(line, "will restart worker group")) {
    const std::int64_t waiting = number_of(between(line, "] Detected ", " "), 1);
    ports_.trace.emit(ev::rendezvous_waiting_seen, {config_.run_id, state_.round(), waiting});
    restarts("membership_change", remaining_restarts_);
  } else if (says(line, "] Stopping worker group")) {
    group_.started = 0;
  } else if (says(line, "Rendezvous gracefully exited: ")) {
    left_gracefully_ = true;
  } else if (says(line, "' has failed to shutdown the rendezvous '")) {
    const std::string error = between(line, "due to an error of type ", ".");
    ports_.trace.emit(ev::rendezvous_failed, {config_.run_id, error, "while closing it"});
  } else if (const std::string pid = sleeper_of(line); !pid.empty()) {
    on_sleeper(line, sim::Pid{static_cast<std::int32_t>(number_of(pid, 0))});
  } else {
    timers_.on_line(line);
    on_exit_barrier(line);
  }
}

/// A worker that sleeps in the kernel, where no signal reaches it (local_elastic_agent.py:
/// _check_uninterruptible_state_timeout; multiprocessing/api.py:SubprocessContext._close).
void AgentWatch::on_sleeper(std::string_view line, sim::Pid pid) {
  const auto found = workers_.find(pid);
  if (found == workers_.end()) return;
  Worker& worker = found->second;
  const sim::MonotonicTime now = ports_.clock.monotonic_now();
  const char* consequence = "unhealthy";
  if (says(line, " entered ")) {
    consequence = "watched";
    worker.sleeps_since = now;
  } else if (says(line, "; abandoning ")) {
    if (ports_.processes.state(pid) != 'D') return;  // some other reason to outlive a SIGKILL
    consequence = "abandoned";
    worker.sleeps_since = worker.killed_at;
  }
  ports_.trace.emit(ev::worker_uninterruptible, {pid.value, worker.local_rank, worker.rank,
                                                 now - worker.sleeps_since, consequence});
}

void AgentWatch::on_joining(std::string_view line) {
  descriptor_ = between(line, "The node '", "'");
  in_join_ = true;
  state_.call(descriptor_);
  if (group_.state == "HEALTHY" || group_.state == "FAILED") enter("STOPPED");
  ports_.trace.emit(ev::rendezvous_joining, {config_.run_id, descriptor_, state_.round()});
}

void AgentWatch::on_join_failed(const std::string& error, const std::string& text) {
  if (std::exchange(in_join_, false))
    ports_.trace.emit(ev::rendezvous_failed, {config_.run_id, error, text});
}

void AgentWatch::on_joined(std::string_view line) {
  in_join_ = false;
  joining_ = Group();
  joining_->round = number_of(between(line, "' has joined round ", " "), -1);
  joining_->rank = number_of(between(line, "' as rank ", " "), 0);
  joining_->size = number_of(between(line, " in a world of size ", "."), 0);
  // With a shared store the first address stays the one, but for a rank 0 that does not serve yet
  // (dynamic_rendezvous.py:next_rendezvous). The asking agent is told when there is an answer.
  // Before 2.4 the agent asks for itself, later.
  const bool asks = model::rendezvous_says_where_workers_meet(config_.variant) &&
                    (!shares_store_ || !knows_master_ || (joining_->rank == 0 && !serves_workers_));
  if (!asks) tell_joined();
}

void AgentWatch::tell_joined() {
  const Group joined = *std::exchange(joining_, std::nullopt);
  group_.rank = joined.rank;
  group_.size = joined.size;
  group_.round = joined.round;
  const bool told = model::rendezvous_says_where_workers_meet(config_.variant);
  ports_.trace.emit(ev::rendezvous_joined,
                    {config_.run_id, descriptor_, group_.round, group_.rank, group_.size,
                     told ? master_addr_ : "", told ? master_port_ : 0});
}

void AgentWatch::on_exit_barrier(std::string_view line) {
  if (says(line, "Local worker group finished (")) {
    in_exit_barrier_ = ports_.clock.monotonic_now();
    enter("SUCCEEDED");
    ports_.trace.emit(ev::exit_barrier_entered, {config_.run_id, group_.round, group_.size});
    return;
  }
  const char* result = nullptr;
  if (says(line, "Done waiting for other agents.")) result = "passed";
  // The line is one for all errors. Python has this class for a store that was waited for too long.
  if (says(line, "Error waiting on exit barrier."))
    result = barrier_error_ == "DistStoreError" ? "timed_out" : "failed";
  if (in_exit_barrier_ && says(line, "Got termination signal: ")) result = "interrupted";
  if (result == nullptr || !in_exit_barrier_) return;
  const sim::MonotonicTime since = *std::exchange(in_exit_barrier_, std::nullopt);
  const sim::Duration elapsed = ports_.clock.monotonic_now() - since;
  ports_.trace.emit(ev::exit_barrier_left, {config_.run_id, group_.round, result, elapsed});
}

void AgentWatch::enter(const char* state) {
  if (group_.state == state) return;
  group_.state = state;
  ports_.trace.emit(ev::group_state, {state, group_.restarts});
}

void AgentWatch::restarts(const char* cause, std::int64_t remaining) {
  // The line is written before this restart is taken off.
  const bool counts = std::string_view(cause) == "worker_failure";
  remaining_restarts_ = counts ? remaining - 1 : remaining;
  group_.restarts += counts ? 1 : 0;
  ports_.trace.emit(ev::group_restarting, {cause, remaining_restarts_, group_.round});
}

// ---- the store ----------------------------------------------------------------------------------

void AgentWatch::on_store(const StoreCall& call) {
  state_.on_store(call);
  if (call.operation == "set" && call.key.ends_with("/MASTER_PORT")) serves_workers_ = true;
  if (call.operation != "get") return;
  if (call.key.ends_with("/MASTER_ADDR")) master_addr_ = call.answer.bytes();
  if (!call.key.ends_with("/MASTER_PORT")) return;
  master_port_ = number_of(call.answer.bytes(), 0);
  knows_master_ = true;
  if (joining_) tell_joined();
}

// ---- workers ------------------------------------------------------------------------------------

void AgentWatch::on_ranks(std::int64_t base_rank, std::int64_t world_size) {
  if (joining_) tell_joined();
  ports_.trace.emit(ev::ranks_assigned, {config_.run_id, group_.round, group_.rank, group_.size,
                                         base_rank, world_size});
}

void AgentWatch::on_spawned(sim::Pid child, const sim::SpawnRequest& request) {
  const auto& environment = request.environment;
  if (!environment.contains("LOCAL_RANK")) return;  // none of the workers
  if (joining_) tell_joined();
  const Worker worker{number_in(environment, "LOCAL_RANK"), number_in(environment, "RANK"), false};
  const std::int64_t world_size = number_in(environment, "WORLD_SIZE");
  group_.restarts = number_in(environment, "TORCHELASTIC_RESTART_COUNT");
  if (group_.started++ == 0) workers_.clear();
  workers_[child] = worker;
  const std::string master = environment.at("MASTER_ADDR") + ":" + environment.at("MASTER_PORT");
  ports_.trace.emit(ev::worker_started,
                    {config_.run_id, group_.round, child.value, worker.local_rank, worker.rank,
                     world_size, group_.restarts, master});
  if (group_.started == config_.nproc_per_node) enter("HEALTHY");
}

void AgentWatch::on_signalled(sim::Pid target, sim::Signal signal) {
  const auto worker = workers_.find(target);
  if (timers_.sends(target) || worker == workers_.end()) return;
  worker->second.stopped = true;
  if (signal == sim::Signal::kill) worker->second.killed_at = ports_.clock.monotonic_now();
  const char* const reason = signal == sim::Signal::kill ? "grace is over" : "stop";
  ports_.trace.emit(ev::worker_signalled, {target.value, static_cast<int>(signal), reason});
}

void AgentWatch::on_reaped(sim::Pid child, int status) {
  const auto found = workers_.find(child);
  if (found == workers_.end()) return;
  const Worker& worker = found->second;
  ports_.trace.emit(ev::worker_ended, {child.value, worker.local_rank, worker.rank,
                                       std::int64_t{status}, worker.stopped});
}

// ---- the end ------------------------------------------------------------------------------------

void AgentWatch::on_failure(std::int64_t rank, std::int64_t pid, std::int64_t status) {
  enter("FAILED");
  ports_.trace.emit(ev::failure_reported, {rank, pid, status});
}

void AgentWatch::on_own_signal(std::int64_t signal, const std::string& error) {
  ports_.trace.emit(ev::agent_signalled,
                    {signal, error == "KeyboardInterrupt" ? "before workers" : "running"});
}

void AgentWatch::on_ended(const std::string& error, const std::string& text, std::int64_t signal,
                          std::int64_t exit_code) {
  const char* outcome = left_gracefully_ ? "graceful_exit" : "error";
  if (signal != 0) {
    outcome = "signalled";
  } else if (error.empty()) {
    outcome = "succeeded";
  } else if (error == "ChildFailedError") {
    outcome = "failed";
  }
  const std::string detail = error.empty() ? "" : error + ": " + text;
  ports_.trace.emit(ev::agent_finished, {outcome, exit_code, detail});
}

}  // namespace hooke::scenario
