// Names, members and oddities are PyTorch's: an AGENT's event is named after workers, too.
#include "model/agent/agent_reports.h"

#include <algorithm>
#include <utility>

#include "model/worker/failure_summary.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  std::transform(out.begin(), out.end(), out.begin(), [](unsigned char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : static_cast<char>(c);
  });
  return out;
}

const ProcessFailure* failure_of(const RunResult& result, std::int64_t local_rank) {
  const auto found =
      std::find_if(result.failures.begin(), result.failures.end(),
                   [&](const ProcessFailure& failure) { return failure.local_rank == local_rank; });
  return found == result.failures.end() ? nullptr : &*found;
}

std::string list_of(std::int64_t number) {
  return "[" + std::to_string(number) + "]";
}

}  // namespace

AgentReports::AgentReports(sim::Ports& ports, const WorkerSpec& spec,
                           const RendezvousHandler& handler, const WorkerGroup& group,
                           Observers& observers)
    : ports_(ports),
      spec_(spec),
      handler_(handler),
      group_(group),
      observers_(observers),
      destination_(chooses_an_event_log_handler(spec.variant) ? spec.event_log_handler : "null") {}

void AgentReports::record(const Words& words) const {
  if (silent()) return;
  const bool of_worker = words.local_rank >= 0;
  HOOKE_CHECK(words.state[0] != '\0', "an event has a state");
  HOOKE_CHECK(!of_worker || words.local_rank < std::ssize(workers_),
              "the local rank of a worker's event is below the number of workers");
  HOOKE_CHECK(
      words.failure == nullptr || (of_worker && words.failure->local_rank == words.local_rank),
      "the failure in a worker's event has the local rank of that worker");
  const std::int64_t rank = group_.ranks.base_rank + words.local_rank;
  std::string metadata =
      R"({"group_world_size": )" +
      (group_.group_world_size == 0 ? std::string("null")
                                    : std::to_string(group_.group_world_size)) +
      R"(, "entry_point": ")" +
      (runs_script_path(spec_.command)
           ? kRunScriptPathName
           : spec_.command.front().substr(spec_.command.front().rfind('/') + 1)) +
      "\"";
  ElasticEvent::Datum worker_id, global_rank, duration, raw_error;
  if (of_worker) {
    global_rank = rank;
    worker_id = std::to_string(workers_.at(static_cast<std::size_t>(words.local_rank)).value);
    // Each in a list of one, as PyTorch has them.
    metadata +=
        R"(, "local_rank": )" + list_of(words.local_rank) + R"(, "role_rank": )" +
        list_of(group_.ranks.base_role_rank + words.local_rank) + R"(, "role_world_size": )" +
        list_of(group_.ranks.role_world_size) + R"(, "exit_code": )" +
        (words.failure ? list_of(words.failure->exit_code) : "[null]") + R"(, "worker_pid": )" +
        (words.failure ? list_of(words.failure->pid.value) : "[null]");
  }
  if (words.duration >= sim::Duration::zero()) {
    duration = std::chrono::duration<double, std::milli>(words.duration).count();
  }
  if (!words.raw_error.empty()) raw_error = words.raw_error;
  ElasticEvent event;
  event.name = std::string("torchelastic.worker.status.") + words.state;
  event.source = of_worker ? ElasticEvent::Source::worker : ElasticEvent::Source::agent;
  event.metadata = {
      {"run_id", handler_.get_run_id()},
      {"global_rank", global_rank},
      {"group_rank", group_.group_world_size == 0 ? ElasticEvent::Datum{}
                                                  : ElasticEvent::Datum{group_.group_rank}},
      {"worker_id", worker_id},
      {"role", spec_.role},
      {"hostname", ports_.network.fully_qualified_name()},
      {"state", std::string(words.state)},
      {"total_run_time", total_run_time_},
      {"rdzv_backend", handler_.get_backend()},
      {"raw_error", raw_error},
      {"metadata", metadata + "}"},
      {"agent_restarts", restart_count_},
      {"duration_ms", duration}};
  observers_.events.record(event, destination_);
}

void AgentReports::started(std::vector<sim::Pid> workers) {
  HOOKE_CHECK(std::ssize(workers) == spec_.local_world_size,
              "workers() has local_world_size entries");
  HOOKE_CHECK(
      std::all_of(workers.begin(), workers.end(), [](sim::Pid worker) { return worker.value > 0; }),
      "the process number of a started worker is positive");
  workers_ = std::move(workers);
  if (!records_durations(spec_.variant)) return;
  for (std::int64_t i = 0; i < spec_.local_world_size; ++i) {
    Words words;
    words.state = "START";
    words.local_rank = i;
    record(words);
  }
}

void AgentReports::looked(WorkerState state, std::int64_t remaining_restarts) const {
  HOOKE_CHECK(state != WorkerState::init && state != WorkerState::unknown,
              "the state of workers that were looked at is neither INIT nor UNKNOWN");
  HOOKE_CHECK(remaining_restarts >= 0, "the number of remaining restarts is not negative");
  if (!metrics().wanted()) return;
  const std::string prefix = "workers." + spec_.role + ".";
  metrics().put(prefix + "remaining_restarts", remaining_restarts);
  metrics().put(prefix + lower(to_string(state)), 1);
}

void AgentReports::ended(const RunResult& result, std::int64_t remaining_restarts,
                         sim::Duration total_run_time) const {
  HOOKE_CHECK(total_run_time >= sim::Duration::zero(), "the total run time is not negative");
  HOOKE_CHECK(remaining_restarts >= 0, "the number of remaining restarts is not negative");
  HOOKE_CHECK(std::ssize(result.failures) <= spec_.local_world_size,
              "there are at most local_world_size failures");
  HOOKE_CHECK(result.state == WorkerState::succeeded || result.state == WorkerState::failed ||
                  result.state == WorkerState::unhealthy,
              "a run ends in state SUCCEEDED, FAILED or UNHEALTHY");
  total_run_time_ = std::chrono::floor<std::chrono::seconds>(total_run_time).count();
  if (metrics().wanted()) {
    const std::string prefix = "workers." + spec_.role + ".";
    const std::int64_t all = spec_.max_restarts + 1;
    const std::int64_t flakiness =
        result.failed() ? 100 : (100 * all - 100 * (remaining_restarts + 1)) / all;
    metrics().put(prefix + "flakiness", flakiness);
    metrics().put(prefix + "run_total", 1);
    const bool retried = remaining_restarts != spec_.max_restarts;
    for (const bool failed : {false, true}) {
      for (const bool with_retries : {true, false}) {
        metrics().put(prefix + (failed ? "run_failed_" : "run_success_") +
                          (with_retries ? "with_retries" : "no_retries"),
                      failed == result.failed() && with_retries == retried ? 1 : 0);
      }
    }
  }
  for (std::int64_t i = 0; i < spec_.local_world_size; ++i) {
    Words words;
    words.local_rank = i;
    words.failure = failure_of(result, i);
    const bool ended_badly = result.failed() || result.state == WorkerState::unhealthy;
    const bool terminated = ended_badly && words.failure == nullptr;
    const std::string state(to_string(result.state));
    words.state = terminated ? "TERMINATED" : state.c_str();
    if (words.failure != nullptr) words.raw_error = words.failure->error_data;
    record(words);
  }
}

void AgentReports::agent(const char* state, const std::string& error) const {
  HOOKE_CHECK(state != nullptr && state[0] != '\0', "the final event of an agent has a state");
  Words words;
  words.state = state;
  words.raw_error = error;
  record(words);
}

void AgentReports::watchdog(const WatchdogEvent& event) const {
  HOOKE_CHECK(!event.name.empty(), "an event of a watchdog has a name");
  if (silent()) return;
  ElasticEvent told;
  told.name = std::string(event.name);
  std::string metadata = R"({"watchdog_event": ")" + told.name + "\"";
  if (event.timer != nullptr) {
    const auto us = event.timer->expires ? std::chrono::floor<std::chrono::microseconds>(
                                               event.timer->expires->time_since_epoch())
                                               .count()
                                         : 0;
    metadata += R"(, "worker_pid": ")" + std::to_string(event.timer->worker_id) +
                R"(", "scope_id": ")" + event.timer->scope_id + R"(", "expiration_time": ")" +
                std::to_string(us / 1'000'000) + "." +
                std::to_string(1'000'000 + us % 1'000'000).substr(1) + R"(", "signal": ")" +
                std::to_string(event.timer->signal) + "\"";
  }
  told.metadata = {{"run_id", handler_.get_run_id()},
                   {"global_rank", ElasticEvent::Datum{}},
                   {"group_rank", group_.group_rank},
                   {"worker_id", ElasticEvent::Datum{}},
                   {"role", spec_.role},
                   {"hostname", ports_.network.fully_qualified_name()},
                   {"state", std::string("RUNNING")},
                   {"total_run_time", total_run_time_},
                   {"rdzv_backend", handler_.get_backend()},
                   {"raw_error", ElasticEvent::Datum{}},
                   {"metadata", metadata + "}"},
                   {"agent_restarts", restart_count_}};
  observers_.events.record(told, destination_);
}

}  // namespace hooke::model
