// Each class follows only the events it needs.
#include "properties/invariants/processes.h"

#include <fmt/format.h>

#include <set>

#include "model/observe/trace_events.h"
#include "properties/invariants/judge.h"
#include "sim/world/world_events.h"

namespace hooke::properties {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using namespace std::chrono_literals;

class KillSafety final : public Judge {
 public:
  KillSafety()
      : Judge("safety.kill_safety", "A signal reaches only the incarnation it was meant for.") {}

  void on_event(const sim::Event& event) override {
    if (event.type == &wev::process_started) {
      parent_[process_of(event)] = number(event, "parent_pid");
    } else if (event.type == &wev::process_signalled && number(event, "from_pid") > 0) {
      const std::int64_t from = number(event, "from_pid");
      ProcessKey target{event.node, number(event, "target_pid")};
      for (int depth = 0; depth < 16 && target.pid != 0 && target.pid != from; ++depth) {
        const auto found = parent_.find(target);
        target.pid = found == parent_.end() ? 0 : found->second;
      }
      if (target.pid == from) return;
      broken(event,
             fmt::format("pid {} on node {} signalled pid {} ({}), which it did not start", from,
                         event.node.value, number(event, "target_pid"), number(event, "signal")));
    }
  }

 private:
  std::map<ProcessKey, std::int64_t> parent_;
};

class RestartBudget final : public Judge {
 public:
  RestartBudget()
      : Judge("safety.restart_budget",
              "Restarts are counted and limited for the job, not per agent.") {}

  void on_event(const sim::Event& event) override {
    roll_.on_event(event);
    if (event.type == &ev::agent_started) {
      // A replacement for an agent that did not succeed restarts the job, whatever budget it
      // believes to have.
      auto& earlier = incarnations_[{text(event, "run_id"), event.node}];
      for (const ProcessKey& process : earlier) {
        const Roll::Agent* const agent = roll_.find(process);
        if (agent != nullptr && agent->outcome != "succeeded") {
          count(event, text(event, "run_id"), number(event, "max_restarts"), "a replaced agent");
          break;
        }
      }
      earlier.push_back(process_of(event));
    } else if (event.type == &ev::group_restarting && text(event, "cause") == "worker_failure") {
      if (const Roll::Agent* const agent = roll_.find(process_of(event))) {
        count(event, agent->run_id, agent->max_restarts, "a failed worker");
      }
    }
  }

 private:
  void count(const sim::Event& event, const std::string& run_id, std::int64_t budget,
             const char* cause) {
    const std::int64_t restarts = ++restarts_[run_id];
    if (restarts <= budget) return;
    broken(event, fmt::format("restart {} of run \"{}\" (for {}), its budget is {}", restarts,
                              run_id, cause, budget));
  }

  Roll roll_;
  std::map<std::pair<std::string, sim::NodeId>, std::vector<ProcessKey>> incarnations_;
  std::map<std::string, std::int64_t> restarts_;
};

class FirstCause final : public Judge {
 public:
  FirstCause() : Judge("safety.first_cause", "The failure that is reported is the first one.") {}

  void on_event(const sim::Event& event) override {
    if (event.type == &ev::group_restarting) {
      first_.erase(process_of(event));
    } else if (event.type == &wev::process_ended && number(event, "status") != 0) {
      ended_.try_emplace(process_of(event), event.at);
    } else if (event.type == &wev::process_started) {
      ended_.erase(process_of(event));
    } else if (event.type == &ev::worker_ended && number(event, "status") != 0 &&
               number(event, "stopped") == 0) {
      const auto ended = ended_.find({event.node, number(event, "worker_pid")});
      const sim::WorldTime at = ended == ended_.end() ? event.at : ended->second;
      auto& first = first_[process_of(event)];
      if (first.rank < 0 || at < first.at) first = {number(event, "rank"), at};
    } else if (event.type == &ev::failure_reported) {
      const auto found = first_.find(process_of(event));
      if (found == first_.end() || found->second.rank == number(event, "rank")) return;
      broken(event, fmt::format("rank {} is named as the cause, but rank {} failed first, at {}",
                                number(event, "rank"), found->second.rank,
                                seconds_text(found->second.at)));
    }
  }

 private:
  struct Failure {
    std::int64_t rank = -1;
    sim::WorldTime at{};
  };
  std::map<ProcessKey, Failure> first_;
  std::map<ProcessKey, sim::WorldTime> ended_;
};

class NoOrphans final : public Judge {
 public:
  NoOrphans() : Judge("safety.no_orphans", "After an agent's end none of its workers runs.") {}

  void on_event(const sim::Event& event) override {
    if (event.type == &ev::worker_started) {
      agent_of_[{event.node, number(event, "worker_pid")}] = event.pid.value;
    } else if (event.type == &wev::process_orphaned) {
      const auto found = agent_of_.find(process_of(event));
      if (found == agent_of_.end()) return;
      due_.add(
          process_of(event), event.at + kTolerance,
          fmt::format("worker pid {} on node {} runs on after its agent (pid {}) ended at {}",
                      event.pid.value, event.node.value, found->second, seconds_text(event.at)));
    } else if (event.type == &wev::process_ended) {
      for (const auto& late : due_.meet(process_of(event), event.at)) {
        broken(late.deadline, event.id,
               late.witness + fmt::format(", until {}", seconds_text(event.at)));
      }
      agent_of_.erase(process_of(event));
    }
  }
  void finish(const RunFacts& facts) override {
    for (const auto& late : due_.overdue(facts.end))
      broken(late.deadline, sim::kNoEvent, late.witness);
  }

 private:
  static constexpr sim::Duration kTolerance = 1s;
  std::map<ProcessKey, std::int64_t> agent_of_;
  Obligations<ProcessKey> due_;
};

class StoreLifetime final : public Judge {
 public:
  StoreLifetime()
      : Judge("safety.store_lifetime", "A store outlives every client that still needs it.") {}

  void on_event(const sim::Event& event) override {
    roll_.on_event(event);
    if (event.type == &ev::store_serving) {
      serving_[process_of(event)].push_back(text(event, "purpose"));
    } else if (event.type == &wev::process_ended) {
      const auto found = serving_.find(process_of(event));
      if (found == serving_.end()) return;
      const Roll::Agent* const host = roll_.find(found->first);
      for (const auto& [key, agent] : roll_.agents()) {
        const bool needs = agent.phase == Roll::Phase::joining ||
                           agent.phase == Roll::Phase::running ||
                           agent.phase == Roll::Phase::barrier;
        if (key == found->first || !needs || (host != nullptr && host->run_id != agent.run_id))
          continue;
        broken(event, fmt::format("the {} store of {} went while {} of run \"{}\" still needed it",
                                  found->second.front(), roll_.describe(found->first),
                                  roll_.describe(key), agent.run_id));
        break;
      }
      serving_.erase(found);
    }
  }

 private:
  Roll roll_;
  std::map<ProcessKey, std::vector<std::string>> serving_;
};

class BootstrapEndpoint final : public Judge {
 public:
  BootstrapEndpoint()
      : Judge("safety.bootstrap",
              "Workers are sent to a living endpoint owned by rank 0 of their round.") {}

  void on_event(const sim::Event& event) override {
    roll_.on_event(event);
    if (event.type == &wev::listener_opened) {
      open_[{event.node, number(event, "port")}] = event.pid.value;
    } else if (event.type == &wev::listener_closed) {
      open_.erase({event.node, number(event, "port")});
    } else if (event.type == &wev::process_ended) {
      std::erase_if(open_, [&](const auto& entry) {
        return entry.first.node == event.node && entry.second == event.pid.value;
      });
    } else if (event.type == &ev::store_serving && text(event, "purpose") == "workers") {
      agents_serve_ = true;
    } else if (event.type == &ev::worker_started) {
      judge(event);
    }
  }

 private:
  void judge(const sim::Event& event) {
    const std::string master = text(event, "master");
    const std::size_t colon = master.rfind(':');
    const std::string host = master.substr(0, colon);
    const std::int64_t port = std::stoll("0" + master.substr(colon + 1));
    const std::int64_t round = number(event, "round");
    for (const auto& [key, agent] : roll_.agents()) {
      if (agent.run_id != text(event, "run_id") || agent.round != round || agent.rank != 0)
        continue;
      if (agent.name != host) {
        broken(event,
               fmt::format(
                   "a worker of round {} on node {} is sent to {}, but rank 0 of that round is {}",
                   round, event.node.value, master, roll_.describe(key)));
        return;
      }
      if (agents_serve_ && !open_.contains({key.node, port})) {
        broken(event,
               fmt::format("a worker of round {} on node {} is sent to {}, where nobody listens",
                           round, event.node.value, master));
      }
      return;
    }
  }

  Roll roll_;
  bool agents_serve_ = false;
  std::map<ProcessKey, std::int64_t> open_;  ///< node and port → owner
};

class EnvContract final : public Judge {
 public:
  EnvContract()
      : Judge("safety.env_contract",
              "The ranks workers are started with are unique, in range and agreed.") {}

  void on_event(const sim::Event& event) override {
    if (event.type == &ev::worker_started) {
      const std::int64_t rank = number(event, "rank");
      const std::int64_t size = number(event, "world_size");
      const GroupKey key{text(event, "run_id"), number(event, "round"), text(event, "master")};
      const ProcessKey worker{event.node, number(event, "worker_pid")};
      if (rank < 0 || rank >= size) {
        broken(event, fmt::format("a worker of round {} is started with rank {} of {}", key.round,
                                  rank, size));
      }
      auto& members = groups_[key];
      for (const auto& [other, theirs] : members) {
        if (theirs.first == rank) {
          broken(event,
                 fmt::format(
                     "rank {} of round {} is given to pid {} on node {} and to pid {} on node {}",
                     rank, key.round, other.pid, other.node.value, worker.pid, worker.node.value));
        }
        if (theirs.second != size) {
          broken(event,
                 fmt::format("in round {} one worker is told a world of {}, another one of {}",
                             key.round, theirs.second, size));
          break;
        }
      }
      members[worker] = {rank, size};
      group_of_[worker] = key;
    } else if (event.type == &wev::process_ended) {
      const auto found = group_of_.find(process_of(event));
      if (found == group_of_.end()) return;
      const auto group = groups_.find(found->second);
      group->second.erase(found->first);
      if (group->second.empty()) groups_.erase(group);
      group_of_.erase(found);
    }
  }

 private:
  struct GroupKey {
    std::string run_id;
    std::int64_t round = 0;
    std::string master;
    auto operator<=>(const GroupKey&) const = default;
  };
  std::map<GroupKey, std::map<ProcessKey, std::pair<std::int64_t, std::int64_t>>> groups_;
  std::map<ProcessKey, GroupKey> group_of_;
};

class ExitCodeTruth final : public Judge {
 public:
  ExitCodeTruth()
      : Judge("safety.exit_code_truth",
              "Exit code 0 exactly when the agent's part of the job is done.") {}

  void on_event(const sim::Event& event) override {
    if (event.type == &ev::worker_started) {
      workers_[process_of(event)].emplace(number(event, "worker_pid"), 0);
    } else if (event.type == &ev::group_restarting) {
      workers_.erase(process_of(event));
    } else if (event.type == &ev::worker_ended) {
      workers_[process_of(event)][number(event, "worker_pid")] = number(event, "status");
    } else if (event.type == &ev::agent_finished) {
      judge(event);
    }
  }

 private:
  void judge(const sim::Event& event) {
    const std::string outcome = text(event, "outcome");
    const std::int64_t code = number(event, "exit_code");
    if (outcome == "graceful_exit" && code != 0) {
      broken(event, fmt::format("a spare that left gracefully exits with {}: {}", code,
                                text(event, "detail")));
    }
    if ((outcome == "failed" || outcome == "error") && code == 0) {
      broken(event, fmt::format("an agent that ended with \"{}\" exits with 0", outcome));
    }
    if (outcome != "succeeded") return;
    if (code != 0) broken(event, fmt::format("an agent that succeeded exits with {}", code));
    for (const auto& [pid, status] : workers_[process_of(event)]) {
      if (status != 0) {
        broken(event, fmt::format("the agent reports success although worker pid {} ended with {}",
                                  pid, status));
      }
    }
  }

  std::map<ProcessKey, std::map<std::int64_t, std::int64_t>> workers_;
};

}  // namespace

std::unique_ptr<Invariant> make_kill_safety() {
  return std::make_unique<KillSafety>();
}
std::unique_ptr<Invariant> make_restart_budget() {
  return std::make_unique<RestartBudget>();
}
std::unique_ptr<Invariant> make_first_cause() {
  return std::make_unique<FirstCause>();
}
std::unique_ptr<Invariant> make_no_orphans() {
  return std::make_unique<NoOrphans>();
}
std::unique_ptr<Invariant> make_store_lifetime() {
  return std::make_unique<StoreLifetime>();
}
std::unique_ptr<Invariant> make_bootstrap() {
  return std::make_unique<BootstrapEndpoint>();
}
std::unique_ptr<Invariant> make_env_contract() {
  return std::make_unique<EnvContract>();
}
std::unique_ptr<Invariant> make_exit_code_truth() {
  return std::make_unique<ExitCodeTruth>();
}

}  // namespace hooke::properties
