#include "model/agent/worker_starts.h"

#include "model/agent/worker_environment.h"
#include "model/observe/python_error.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// As the log directory: no file is kept, whatever the streams' settings.
constexpr char kNowhere[] = "/dev/null";

void require(const sim::Outcome<sim::Done>& done, const std::string& path) {
  if (done) return;
  throw EscapedPythonError("OSError", path + ": " + std::string(to_string(done.failure().fault)));
}

std::string temporary_directory(const sim::Ports& ports) {
  const auto& environment = ports.processes.environment();
  const auto found = environment.find("TMPDIR");
  return found == environment.end() || found->second.empty() ? "/tmp" : found->second;
}

/// In the names of an agent's directories: drawn once, for the first of them.
std::string drawn_name(sim::Ports& ports) {
  constexpr std::uint64_t kNames = 1'000'000'000'000;
  return std::to_string(ports.random.below("agent.run_directory", kNames));
}

const std::string kOwnDirectory = "/torchelastic_";

/// What has been drawn for that directory, if it is the agent's own; else "".
std::string drawn_for(const std::string& directory) {
  const std::size_t own = directory.rfind(kOwnDirectory);
  if (own == std::string::npos) return "";
  const std::string rest = directory.substr(own + kOwnDirectory.size());
  return rest.substr(0, rest.find_first_not_of("0123456789"));
}

/// Of this agent alone, as by Python's mkdtemp: other agents on this machine make theirs at the same
/// moment, and in a directory that all users may write to, another user may have made one, or a
/// link, beforehand. The path of a new directory: `name`, or the first of `name`_1, `name`_2 … that
/// is not taken.
std::string make_private(sim::Ports& ports, const std::string& name) {
  std::string path = name;
  for (int i = 1;; ++i) {
    const auto made = ports.files.make_private_directory(path);
    if (made) return path;
    if (made.failure().fault != sim::Fault::exists) require(made, path);
    path = name + "_" + std::to_string(i);
  }
}

}  // namespace

std::string make_log_directory(sim::Ports& ports) {
  const std::string temporary = temporary_directory(ports);
  require(ports.files.make_directories(temporary), temporary);
  return make_private(ports, temporary + kOwnDirectory + drawn_name(ports));
}

void WorkerStarts::make_room(const Attempt& attempt) {
  if (directory_of(attempt) == kNowhere) return;
  if (run_directory_.empty()) make_run_directory();
  HOOKE_CHECK(!run_directory_.empty(), "the run has a directory of its own when files are removed");
  HOOKE_CHECK(directory_of(attempt).starts_with(run_directory_ + "/"),
              "the directory that is removed is below the run's own directory");
  static_cast<void>(ports_.files.remove(directory_of(attempt)));
}

void WorkerStarts::make_room_at_once() {
  if (spec_.logs.directory != kNowhere || !may_log_nowhere(spec_.variant)) make_run_directory();
}

void WorkerStarts::make_run_directory() {
  const std::string parent =
      spec_.logs.directory.empty() ? make_log_directory(ports_) : spec_.logs.directory;
  HOOKE_CHECK(parent != kNowhere || !may_log_nowhere(spec_.variant),
              "a directory for logs is made only where logs are kept");
  HOOKE_CHECK(run_directory_.empty(), "the run's directory has not been made before");
  const std::string drawn = drawn_for(parent);
  const std::string name =
      parent + "/" + handler_.get_run_id() + "_" + (drawn.empty() ? drawn_name(ports_) : drawn);
  const std::string above = name.substr(0, name.rfind('/'));
  HOOKE_CHECK(name.size() > parent.size() + 1, "the run's directory has a name below its parent");
  require(ports_.files.make_directories(above), above);
  run_directory_ = make_private(ports_, name);
}

std::string WorkerStarts::directory_of(const Attempt& attempt) const {
  if (spec_.logs.directory == kNowhere && may_log_nowhere(spec_.variant)) return kNowhere;
  return run_directory_ + "/" + name_of(attempt);
}

/// A membership restart keeps the count, and so meets the files of the previous incarnation.
std::string WorkerStarts::name_of(const Attempt& attempt) const {
  HOOKE_CHECK(attempt.restart_count >= 0 && attempt.incarnation >= 0,
              "the restart count and the incarnation are not negative");
  return "attempt_" + std::to_string(attempt.restart_count);
}

std::map<std::string, std::string> WorkerStarts::environment_of(
    std::int64_t local_rank, const Attempt& attempt, const std::string& error_file) const {
  return worker_environment(ports_.processes.environment(), spec_, group_, handler_, local_rank,
                            attempt.restart_count, error_file);
}

std::vector<WorkerStart> WorkerStarts::all(const Attempt& attempt) {
  HOOKE_CHECK(attempt.restart_count >= 0, "the restart count is not negative");
  std::vector<WorkerStart> workers;
  for (std::int64_t i = 0; i < spec_.local_world_size; ++i) workers.push_back(one(i, attempt));
  HOOKE_CHECK(std::ssize(workers) == spec_.local_world_size,
              "there are exactly local_world_size started workers");
  for (const std::string& path : filtered_logs(spec_.logs, directory_of(attempt))) {
    require(ports_.files.write(path, ""), path);  // there also when no line passes
  }
  return workers;
}

WorkerStart WorkerStarts::one(std::int64_t local_rank, const Attempt& attempt) {
  HOOKE_CHECK(0 <= local_rank && local_rank < spec_.local_world_size, "local_rank is in range");
  const std::string directory = directory_of(attempt);
  WorkerStart worker;
  worker.local_rank = local_rank;
  worker.rank = group_.ranks.base_rank + local_rank;
  if (directory != kNowhere) {
    HOOKE_CHECK(!run_directory_.empty(),
                "the run's directory exists when a worker's files are named");
    const std::string own_directory = directory + "/" + std::to_string(local_rank);
    require(ports_.files.make_directories(own_directory), own_directory);
    worker.error_file = own_directory + "/error.json";
    worker.streams = worker_streams(
        spec_.logs, local_rank, directory,
        substitute_macros(spec_.logs.line_prefix, {{"role_name", spec_.role},
                                                   {"local_rank", std::to_string(local_rank)},
                                                   {"rank", std::to_string(worker.rank)}}));
  }
  worker.environment = environment_of(local_rank, attempt, worker.error_file);
  for (const auto& [name, value] : timer_variables_) worker.environment[name] = value;
  if (!spec_.processors.empty()) {
    HOOKE_CHECK(std::ssize(spec_.processors) == spec_.local_world_size,
                "there is a set of processors for each worker");
    worker.argv = {"numactl",
                   "--physcpubind=" + spec_.processors.at(static_cast<std::size_t>(local_rank))};
  }
  for (const std::string& argument : spec_.command) {
    worker.argv.push_back(
        substitute_macros(argument, {{"local_rank", std::to_string(local_rank)}}));
  }
  HOOKE_CHECK(!worker.argv.empty(), "a worker's argv is not empty");
  heartbeats_.tell(worker.environment, local_rank);
  return worker;
}

}  // namespace hooke::model
