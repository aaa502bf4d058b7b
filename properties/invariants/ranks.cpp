// Both promises keep one table per round, indexed by rank, so that a join costs the same in any
// group size.
#include <fmt/format.h>

#include <map>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// A table that a broken trace cannot make arbitrarily large.
constexpr std::int64_t kRanksMax = 1 << 24;
/// Older rounds can be joined by nobody.
constexpr std::size_t kRoundsKept = 8;

/// Holders by rank, as far as ranks have been seen.
template <class Holder>
class RankTable {
 public:
  /// The place of `rank`, which must be in [0, kRanksMax).
  std::optional<Holder>& at(std::int64_t rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (index >= holders_.size()) holders_.resize(index + 1);
    return holders_[index];
  }

 private:
  std::vector<std::optional<Holder>> holders_;
};

bool in_range(std::int64_t rank, std::int64_t size) {
  return rank >= 0 && rank < size && size <= kRanksMax;
}

/// Unique ranks below an agreed size are contiguous once all have joined. A rank is taken only as
/// long as its holder is a living member of the round: a relaunched agent may inherit its
/// predecessor's seat. Who has just learned of its round does not know that the store has lost it
/// since, and that others begin with the same number. How many take part in a round is what the
/// write says that completed it; an agent that learns of the round when one has left it is told of
/// fewer.
class RankSanity final : public Judge {
 public:
  RankSanity()
      : Judge("safety.rank_sanity",
              "Ranks of a round are unique, below the world size, and all agree on the size, which "
              "is the number of its participants.",
              {&ev::rendezvous_joined, &ev::rendezvous_left, &ev::rendezvous_evicted,
               &ev::rendezvous_completed, &ev::store_serving, &wev::fault_injected},
              kNames | kContents) {}

 private:
  struct Holder {
    AgentId agent = kNoAgent;
    sim::WorldTime since{};
  };
  struct Table {
    std::int64_t world_size = 0;
    Holder first;
    std::int64_t participants = 0;  ///< 0: it is not known who completed it
    bool one_left = false;
    RankTable<Holder> holders;
  };

  void judge(const sim::Event& event) override {
    if (event.type == &ev::store_serving) {
      // A fresh store starts at round 0 again, for the jobs that use it.
      if (text(event, "purpose") == "rendezvous") begin_anew(view().agent_of(event));
      return;
    }
    if (event.type == &wev::fault_injected) {
      // So does an etcd in which everything has expired.
      if (text(event, "kind") == "etcd_expiry") begin_anew(kNoAgent);
      return;
    }
    const AgentId agent = view().agent_of(event);
    if (agent == kNoAgent) return;
    const JobId job = view().agent(agent).job;
    const std::int64_t round = number(event, "round");
    if (event.type == &ev::rendezvous_left || event.type == &ev::rendezvous_evicted) {
      if (const auto found = tables_.find({job, round}); found != tables_.end())
        found->second.one_left = true;
      return;
    }
    Table& table = tables_[{job, round}];
    if (event.type == &ev::rendezvous_completed) {
      table.participants = number(event, "participants");
      if (table.first.agent != kNoAgent) compare_size(event, table, table.first.agent);
      return;
    }
    const std::int64_t rank = number(event, "rank");
    const std::int64_t size = number(event, "world_size");
    if (table.first.agent == kNoAgent) {
      table.world_size = size;
      table.first = {agent, event.at};
    } else if (table.world_size != size && !table.one_left) {
      broken(event,
             fmt::format("in round {} {} was told a world of {}, but {} one of {}", round,
                         view().describe(table.first.agent), table.world_size,
                         view().describe(agent), size),
             other_store(table.first, event));
    } else {
      kept();
    }
    if (table.participants != 0 && table.first.agent == agent) compare_size(event, table, agent);
    if (!in_range(rank, size)) {
      broken(event, fmt::format("{} joined round {} with rank {} in a world of {}",
                                view().describe(agent), round, rank, size));
    } else {
      claim(table.holders.at(rank), agent, event);
    }
    if (tables_.size() > kRoundsKept) tables_.erase(tables_.begin());
  }

  /// `told`: the agent that was told of the table's world.
  void compare_size(const sim::Event& event, const Table& table, AgentId told) {
    const bool one_is_missing = table.one_left && table.world_size < table.participants;
    if (table.world_size == table.participants || one_is_missing) return;
    broken(event,
           fmt::format("in round {} {} was told a world of {}, and {} take part",
                       number(event, "round"), view().describe(told), table.world_size,
                       table.participants),
           other_store(table.first, event));
  }

  /// `server`: kNoAgent for a store that is no agent's.
  void begin_anew(AgentId server) {
    if (server == kNoAgent) return tables_.clear();
    const JobId job = view().agent(server).job;
    std::erase_if(tables_, [&](const auto& table) { return table.first.first == job; });
  }

  void claim(std::optional<Holder>& holder, AgentId agent, const sim::Event& event) {
    if (holder && holder->agent != agent) {
      const Agent& other = view().agent(holder->agent);
      if (other.alive() && other.member && other.round == number(event, "round")) {
        broken(event,
               fmt::format("in round {} both {} and {} have rank {}", number(event, "round"),
                           view().describe(holder->agent), view().describe(agent),
                           number(event, "rank")),
               other_store(*holder, event));
      }
    }
    holder = {agent, event.at};
  }

  /// The two may have asked different stores, or one that lost what the first had found there.
  [[nodiscard]] const Hindrance* other_store(const Holder& earlier, const sim::Event& event) const {
    const sim::Duration answer = view().agent(earlier.agent).timeouts.read_timeout;
    return hindrance(earlier.agent, needs(), earlier.since - answer, event.at);
  }

  std::map<std::pair<JobId, std::int64_t>, Table> tables_;
};

/// What workers are told: ranks in range, unique and agreed within their round and meeting point,
/// equal to what the agents agreed (base rank + local rank), a restart count within the budget that
/// equals the restarts the agent made for failures, and the same numbers in the process group as in
/// the environment.
class EnvContract final : public Judge {
 public:
  EnvContract()
      : Judge("safety.env_contract",
              "The numbers workers are started with are unique, in range and agreed.",
              {&ev::worker_started, &ev::worker_initialized, &ev::ranks_assigned,
               &ev::group_restarting, &ev::worker_restarting},
              kOwnRank) {}

 private:
  struct GroupKey {
    JobId job{};
    std::int64_t round = 0;
    std::string master;
    auto operator<=>(const GroupKey&) const = default;
  };
  struct Group {
    std::int64_t world_size = 0;
    ProcessKey first{};
    RankTable<ProcessKey> holders;
  };
  struct Plan {
    std::int64_t round = kNoRound, base_rank = 0, world_size = 0, failures = 0;
    std::optional<sim::WorldTime> latest_failure;  ///< of workers that were restarted alone
  };

  void judge(const sim::Event& event) override {
    if (event.type == &ev::worker_initialized) return initialized(event);
    const AgentId agent = view().agent_of(event);
    if (agent == kNoAgent) return;
    Plan& plan = plan_of(agent);
    if (event.type == &ev::ranks_assigned) {
      plan.round = number(event, "round");
      plan.base_rank = number(event, "base_rank");
      plan.world_size = number(event, "world_size");
    } else if (event.type == &ev::group_restarting) {
      const std::string_view cause = text(event, "cause");
      if (cause == "worker_failure" || cause == "heartbeat_loss") ++plan.failures;
      plan.latest_failure = {};
    } else if (event.type == &ev::worker_restarting) {
      // All that failed at one look are one restart.
      if (std::exchange(plan.latest_failure, event.at) != event.at) ++plan.failures;
    } else if (event.type == &ev::worker_started) {
      started(event, agent, plan);
    }
  }

  Plan& plan_of(AgentId agent) {
    if (agent.value >= plans_.size()) plans_.resize(view().agent_count());
    return plans_[agent.value];
  }

  void started(const sim::Event& event, AgentId agent, const Plan& plan) {
    const std::int64_t rank = number(event, "rank");
    const std::int64_t local_rank = number(event, "local_rank");
    const std::int64_t size = number(event, "world_size");
    const std::int64_t restarts = number(event, "restart_count");
    const Agent& self = view().agent(agent);
    const auto complain = [&](const std::string& what) {
      broken(event, fmt::format("worker pid {} of {} is started in round {} with {}",
                                number(event, "worker_pid"), view().describe(agent),
                                number(event, "round"), what));
    };
    kept();
    {
      if (local_rank < 0 || local_rank >= self.local_world_size) {
        complain(fmt::format("local rank {} of {}", local_rank, self.local_world_size));
      }
      if (plan.round == number(event, "round") &&
          (rank != plan.base_rank + local_rank || size != plan.world_size)) {
        complain(fmt::format("rank {} of {}, but the agents had agreed on {} of {}", rank, size,
                             plan.base_rank + local_rank, plan.world_size));
      }
      if (restarts != plan.failures || restarts > self.max_restarts) {
        complain(fmt::format("restart count {}, after {} restart(s) for failures of {} allowed",
                             restarts, plan.failures, self.max_restarts));
      }
      if (!in_range(rank, size)) complain(fmt::format("rank {} of {}", rank, size));
    }
    if (in_range(rank, size)) take(event, self.job);
  }

  void take(const sim::Event& event, JobId job) {
    const std::int64_t rank = number(event, "rank");
    const std::int64_t size = number(event, "world_size");
    const std::int64_t round = number(event, "round");
    const ProcessKey worker{event.node, pid(event, "worker_pid")};
    Group& group = groups_[{job, round, std::string(text(event, "master"))}];
    const auto who = [&](ProcessKey key) {
      return fmt::format("pid {} on node {}", key.pid.value, view().name(key.node));
    };
    if (group.world_size == 0) {
      group.world_size = size;
      group.first = worker;
    } else if (group.world_size != size) {
      broken(event, fmt::format("in round {} {} is told a world of {}, {} one of {}", round,
                                who(group.first), group.world_size, who(worker), size));
    }
    std::optional<ProcessKey>& holder = group.holders.at(rank);
    if (holder && *holder != worker) {
      const Process* const other = view().process(holder->node, holder->pid);
      if (other != nullptr && !other->ended && other->worker && other->round == round &&
          other->rank == rank) {
        broken(
            event,
            fmt::format("rank {} of round {} is given to {} and to {}", rank, round, who(*holder),
                        who(worker)),
            hindrance(view().process(event.node, worker.pid)->owner, needs(), event.at, event.at));
      }
    }
    holder = worker;
    if (groups_.size() > kRoundsKept) groups_.erase(groups_.begin());
  }

  void initialized(const sim::Event& event) {
    const Process* const self = view().process(event.node, event.pid);
    if (self == nullptr || !self->worker) return;
    const std::int64_t rank = number(event, "rank");
    const std::int64_t size = number(event, "world_size");
    if (rank == self->rank && size == self->world_size) return;
    broken(
        event,
        fmt::format(
            "worker pid {} on node {} joined its process group as rank {} of {}, but was started "
            "as rank {} of {}",
            event.pid.value, view().name(event.node), rank, size, self->rank, self->world_size));
  }

  std::vector<Plan> plans_;  ///< by agent
  std::map<GroupKey, Group> groups_;
};

}  // namespace

void add_ranks(InvariantRegistry& registry) {
  registry.add<RankSanity>();
  registry.add<EnvContract>();
}

}  // namespace hooke::properties
