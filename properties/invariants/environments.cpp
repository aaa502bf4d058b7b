// What workers find in their environment, as they tell it themselves.
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// What a worker is to find, as `worker.environment` words it.
struct Environment {
  std::string run_id, rank, local_rank, group_rank, restarts, master;
};

Environment found_in(const sim::Event& event) {
  const auto told = [&](std::string_view field) { return std::string(text(event, field)); };
  return {told("run_id"),     told("rank"),     told("local_rank"),
          told("group_rank"), told("restarts"), told("master")};
}

std::string of(std::int64_t part, std::int64_t whole) {
  return std::to_string(part) + " of " + std::to_string(whole);
}

/// What the agent says of a worker that it starts.
Environment told_by(const sim::Event& event, const Agent& agent, const std::string& group_rank) {
  return {std::string(text(event, "run_id")),
          of(number(event, "rank"), number(event, "world_size")),
          of(number(event, "local_rank"), agent.local_world_size),
          group_rank,
          of(number(event, "restart_count"), agent.max_restarts),
          std::string(text(event, "master"))};
}

/// The two numbers of "3 of 4"; nullopt: they are none.
std::optional<std::pair<std::int64_t, std::int64_t>> parsed(std::string_view told) {
  constexpr std::string_view kOf = " of ";
  const std::size_t middle = told.find(kOf);
  if (middle == std::string_view::npos) return std::nullopt;
  const auto number_in = [](std::string_view digits, std::int64_t& out) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), out);
    return error == std::errc() && end == digits.data() + digits.size();
  };
  std::pair<std::int64_t, std::int64_t> out;
  if (!number_in(told.substr(0, middle), out.first)) return std::nullopt;
  if (!number_in(told.substr(middle + kOf.size()), out.second)) return std::nullopt;
  return out;
}

/// A rank among the workers of one role leaves out those of other roles, of which as many are before
/// it as the two ranks differ (torch/distributed/elastic/agent/server/api.py, _assign_worker_ranks).
bool fits_in(std::string_view role_rank, std::string_view rank) {
  const auto role = parsed(role_rank), world = parsed(rank);
  if (!role || !world) return false;
  const std::int64_t others_before = world->first - role->first;
  return 0 <= role->first && role->first < role->second && 0 <= others_before &&
         others_before <= world->second - role->second;
}

/// The files to which living workers write their errors.
class ErrorFiles {
 public:
  /// The worker that has this file already; nullopt: it is this one's alone.
  std::optional<ProcessKey> take(ProcessKey worker, const std::string& file) {
    const auto [holder, is_new] = holders_.try_emplace({worker.node, file}, worker);
    if (!is_new) return holder->second;
    file_of_[worker] = file;
    return std::nullopt;
  }
  void ended(ProcessKey worker) {
    const auto file = file_of_.extract(worker);
    if (!file.empty()) holders_.erase({worker.node, file.mapped()});
  }

 private:
  std::map<std::pair<sim::NodeId, std::string>, ProcessKey> holders_;
  std::map<ProcessKey, std::string> file_of_;
};

/// Two tellings of one worker belong together: its agent's, that it was started so, and its own, of
/// what it finds. Either may come first. What the agents agreed on is not judged here
/// (safety.env_contract), but that it reaches the worker, variable by variable.
class WorkerEnvironment final : public Judge {
 public:
  WorkerEnvironment()
      : Judge("safety.worker_environment",
              "The environment of a worker says what its agent has agreed with the others.", {}) {
    on_agent({&ev::ranks_assigned}, &WorkerEnvironment::assigned);
    on_agent({&ev::worker_started}, &WorkerEnvironment::started);
    on({&ev::worker_environment}, &WorkerEnvironment::found);
    on({&wev::process_ended}, [this](const sim::Event& event) {
      expected_.erase(process_of(event));
      found_.erase(process_of(event));
      error_files_.ended(process_of(event));
    });
  }

 private:
  void assigned(const sim::Event& event, AgentId id) {
    group_ranks_[id] = of(number(event, "group_rank"), number(event, "group_world_size"));
  }

  void started(const sim::Event& event, AgentId id) {
    const Environment environment = told_by(event, agent(id), group_ranks_[id]);
    const ProcessKey worker = worker_of(event);
    const auto own = found_.find(worker);
    if (own == found_.end()) {
      expected_[worker] = environment;
    } else {
      compare(event, worker, environment, own->second);
      found_.erase(own);
    }
  }

  void found(const sim::Event& event) {
    const ProcessKey worker = process_of(event);
    judge_alone(event, worker);
    const Environment own = found_in(event);
    const auto expected = expected_.find(worker);
    if (expected == expected_.end()) {
      found_[worker] = own;
    } else {
      compare(event, worker, expected->second, own);
      expected_.erase(expected);
    }
  }

  /// What needs no word of the agent.
  void judge_alone(const sim::Event& event, ProcessKey worker) {
    const std::string_view role_rank = text(event, "role_rank"), rank = text(event, "rank");
    if (!fits_in(role_rank, rank))
      broken(event, "worker {} finds role rank {}, but rank {}", worker, role_rank, rank);
    const std::string file(text(event, "error_file"));
    if (file == "?" || file == "/dev/null") return;
    // One that another worker writes to, too, may name that one's failure as this one's.
    if (const auto other = error_files_.take(worker, file))
      broken(event, "workers {} and {} are both to write errors to {}", *other, worker, file);
  }

  void compare(const sim::Event& event, ProcessKey worker, const Environment& expected,
               const Environment& own) {
    kept();
    const auto require = [&](std::string_view what, const std::string& is, const std::string& as) {
      if (is != as)
        broken(event, "worker {} finds {} {}, but its agent started it as {}", worker, what, is,
               as);
    };
    require("run id", own.run_id, expected.run_id);
    require("rank", own.rank, expected.rank);
    require("local rank", own.local_rank, expected.local_rank);
    require("group rank", own.group_rank, expected.group_rank);
    require("restart", own.restarts, expected.restarts);
    require("meeting point", own.master, expected.master);
  }

  std::map<AgentId, std::string> group_ranks_;
  std::map<ProcessKey, Environment> expected_;  ///< of workers that have told nothing yet
  std::map<ProcessKey, Environment> found_;     ///< by workers that no agent has told of yet
  ErrorFiles error_files_;
};

}  // namespace

void add_environments(InvariantRegistry& registry) {
  registry.add<WorkerEnvironment>();
}

}  // namespace hooke::properties
