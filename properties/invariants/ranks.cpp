// Both invariants keep one table per round, by rank.
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Older rounds can be joined by no agent.
constexpr std::size_t kRoundsKept = 8;

/// What a broken trace says can be anything.
bool in_range(std::int64_t rank, std::int64_t size) {
  constexpr std::int64_t kRanksMax = 1 << 24;
  return rank >= 0 && rank < size && size <= kRanksMax;
}

/// The agent that has a rank.
struct Holder {
  AgentId agent = kNoAgent;
  sim::WorldTime since{};
};

/// What the members of a round were told.
struct RankTable {
  std::int64_t world_size = 0;
  Holder first;
  std::int64_t participants = 0;           ///< 0: not known which agent completed it
  std::optional<sim::WorldTime> left;      ///< when the latest member did
  std::map<std::int64_t, Holder> holders;  ///< by rank

  /// An agent joins the round. True: it is the first.
  bool joins(const Holder& holder, std::int64_t size) {
    if (first.agent != kNoAgent) return false;
    world_size = size;
    first = holder;
    return true;
  }
  /// A member has left since, or an answer before, the first one joined.
  [[nodiscard]] bool has_shrunk() const { return left && *left + kAnswer >= first.since; }
};

/// The tables of the latest rounds.
class RankTables {
 public:
  using Key = std::pair<JobId, std::int64_t>;
  /// Of a round that may be new.
  RankTable& of(const Key& round) { return tables_[round]; }
  /// Null: no agent has told of it.
  RankTable* find(const Key& round) {
    const auto found = tables_.find(round);
    return found == tables_.end() ? nullptr : &found->second;
  }
  void drop_oldest() {
    if (tables_.size() > kRoundsKept) tables_.erase(tables_.begin());
  }
  /// Its store has lost them: there, rounds begin at 0 again. kNoJob: of all.
  void forget(JobId job) {
    std::erase_if(tables_,
                  [&](const auto& table) { return job == kNoJob || table.first.first == job; });
  }

 private:
  std::map<Key, RankTable> tables_;
};

/// Two sizes for one round: right if a member has left, of which no event has told yet.
struct Dispute {
  RankTables::Key round;
  Holder earlier;
  std::int64_t world_size = 0;  ///< as that one was told
  sim::WorldTime at{};
  sim::EventId event{};
  std::string others;  ///< what they were told, or how many they are
};
Dispute disputed(const sim::Event& event, const RankTables::Key& round, const RankTable& table,
                 std::string others) {
  return {round, table.first, table.world_size, event.at, event.id, std::move(others)};
}

constexpr const char* kOutOfRange = "{} joined round {} with rank {} in a world of {}";
constexpr const char* kDisputed = "in round {} {} was told a world of {}, {}";
constexpr const char* kRankTaken = "in round {} both {} and {} have rank {}";

/// The disputes that no event has explained.
class Disputes {
 public:
  void add(Dispute dispute) { all_.push_back(std::move(dispute)); }
  /// A member has left the round; how many disputes that explains.
  std::size_t explained(const RankTables::Key& round, sim::WorldTime at) {
    return std::erase_if(all_, [&](const Dispute& dispute) {
      return dispute.round == round && at <= dispute.at + kAnswer;
    });
  }
  [[nodiscard]] const std::vector<Dispute>& all() const { return all_; }

 private:
  std::vector<Dispute> all_;
};

/// Unique ranks below an agreed size are contiguous once all have joined. A rank is taken only as
/// long as its holder is a living member of the round: a relaunched agent may inherit its
/// predecessor's seat. An agent that has just learned of its round does not know that the store has
/// lost it since, and that others begin with the same number. How many take part in a round is what
/// the write says that completed it; an agent that learns of the round when one has left it is told
/// of fewer. What an agent was told it says an answer later, and one that leaves says so an
/// answer after the store has taken that down: an agent may be told of as many as there were a
/// moment before, and of fewer a moment before it is known why.
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
  void judge(const sim::Event& event) override {
    const auto lost = forgotten(event);
    lost ? tables_.forget(*lost) : Judge::judge(event);
  }

  void judge_agent(const sim::Event& event, AgentId id) override {
    if (event.type == &ev::store_serving) return;
    const std::pair key{agent(id).job, number(event, "round")};
    if (event.type == &ev::rendezvous_joined) {
      joined(event, id, key, tables_.of(key));
      tables_.drop_oldest();
    } else if (event.type == &ev::rendezvous_completed) {
      RankTable& table = tables_.of(key);
      table.participants = number(event, "participants");
      if (table.first.agent != kNoAgent) compare_size(event, key, table);
    } else if (RankTable* const table = tables_.find(key)) {
      table->left = event.at;
      kept(disputes_.explained(key, event.at));
    }
  }

  void at_end(const RunFacts& /*facts*/) override {
    for (const Dispute& each : disputes_.all()) tell(each);
  }

  void joined(const sim::Event& event, AgentId id, const RankTables::Key& round, RankTable& table) {
    const std::int64_t rank = number(event, "rank"), size = number(event, "world_size");
    if (table.joins({id, event.at}, size)) {
      if (table.participants != 0) compare_size(event, round, table);
    } else if (table.world_size != size && !table.has_shrunk()) {
      disputes_.add(disputed(event, round, table, say("but {} one of {}", id, size)));
    } else {
      kept();
    }
    if (!in_range(rank, size)) return broken(event, kOutOfRange, id, round.second, rank, size);
    take_rank(event, id, std::exchange(table.holders[rank], Holder{id, event.at}));
  }

  void take_rank(const sim::Event& event, AgentId id, const Holder& before) {
    if (before.agent == kNoAgent || before.agent == id) return;
    const Agent& other = agent(before.agent);
    if (other.alive() && other.member && other.round == number(event, "round"))
      broken(event, other_store(before, event.at), kRankTaken, other.round, before.agent, id,
             number(event, "rank"));
  }

  /// What the first that joined was told is compared with what completed the round.
  void compare_size(const sim::Event& event, const RankTables::Key& round, const RankTable& table) {
    const bool fewer = table.world_size < table.participants;
    if (table.world_size == table.participants || (fewer && table.left)) return;
    const auto found = disputed(event, round, table, say("and {} take part", table.participants));
    fewer ? disputes_.add(found) : tell(found);
  }

  void tell(const Dispute& each) {
    broken(each.at, each.event,
           say(kDisputed, each.round.second, each.earlier.agent, each.world_size, each.others),
           other_store(each.earlier, each.at));
  }

  /// The two may have asked different stores, or one that lost what the first had found there.
  [[nodiscard]] const Hindrance* other_store(const Holder& earlier, sim::WorldTime at) const {
    const sim::Duration answer = agent(earlier.agent).timeouts.read_timeout;
    return hindrance(earlier.agent, needs(), earlier.since - answer, at);
  }

  Disputes disputes_;
  RankTables tables_;
};

/// What workers are told of each other: a rank and a size, unique and agreed within their round and
/// meeting point.
class Groups {
 public:
  struct Told {
    ProcessKey worker;
    std::int64_t world_size = 0;
  };
  struct Found {
    Told first;                        ///< of the group
    std::optional<ProcessKey> holder;  ///< the worker that was given the same rank before
  };
  Found take(const sim::Event& event, JobId job, const Told& told) {
    const auto key = std::tuple(job, number(event, "round"), std::string(text(event, "master")));
    Group& group = groups_[key];
    if (group.first.world_size == 0) group.first = told;
    Found found{group.first, std::exchange(group.holders[number(event, "rank")], told.worker)};
    if (groups_.size() > kRoundsKept) groups_.erase(groups_.begin());
    return found;
  }

 private:
  struct Group {
    Told first;
    std::map<std::int64_t, std::optional<ProcessKey>> holders;  ///< by rank
  };
  std::map<std::tuple<JobId, std::int64_t, std::string>, Group> groups_;
};

constexpr const char* kJoinedAsOther =
    "worker {} joined its process group as rank {} of {}, but was started as rank {} of {}";

/// The fault that no SIGKILL ends the worker of an agent that has ended; null: there is none. Where a
/// job has no rounds (static), an agent that comes instead finds the same ranks, and cannot know.
const Hindrance* outlives_its_agent(const Process& worker, sim::WorldTime now,
                                    const JobView& view) {
  if (worker.owner == kNoAgent || view.agent(worker.owner).alive()) return nullptr;
  const sim::WorldTime ended = *view.agent(worker.owner).ended;
  return view.ledger().find(view.claimant(worker.owner), kMortal, ended, now);
}

/// What an agent has agreed with the others, and the restarts it has made for failures.
struct Plan {
  std::int64_t round = kNoRound, base_rank = 0, world_size = 0, failures = 0;
  std::optional<sim::WorldTime> latest_failure;  ///< of workers that were restarted alone
};

/// What workers are told: ranks in range, unique and agreed within their round and meeting point,
/// equal to what the agents agreed (base rank + local rank), a restart count within the budget that
/// equals the restarts the agent made for failures, and the same numbers in the process group as in
/// the environment. Agents that a name led to different stores may be told one meeting point and
/// know nothing of each other.
class EnvContract final : public Judge {
 public:
  EnvContract()
      : Judge("safety.env_contract",
              "The numbers workers are started with are unique, in range and agreed.",
              {&ev::worker_started, &ev::worker_initialized, &ev::ranks_assigned,
               &ev::group_restarting, &ev::worker_restarting},
              kOwnRank | kNames | kMortal) {}

 private:
  void judge(const sim::Event& event) override {
    event.type == &ev::worker_initialized ? initialized(event) : Judge::judge(event);
  }

  void judge_agent(const sim::Event& event, AgentId id) override {
    Plan& plan = plans_[id];
    if (event.type == &ev::ranks_assigned) {
      plan.round = number(event, "round");
      plan.base_rank = number(event, "base_rank");
      plan.world_size = number(event, "world_size");
    } else if (event.type == &ev::group_restarting) {
      const std::string_view cause = text(event, "cause");
      if (cause == "worker_failure" || cause == "heartbeat_loss") ++plan.failures;
      plan.latest_failure = {};
    } else if (event.type == &ev::worker_restarting) {  // what failed at one look is one restart
      if (std::exchange(plan.latest_failure, event.at) != event.at) ++plan.failures;
    } else {
      started(event, id, plan);
    }
  }

  void started(const sim::Event& event, AgentId id, const Plan& plan) {
    const std::int64_t rank = number(event, "rank"), local_rank = number(event, "local_rank");
    const std::int64_t size = number(event, "world_size"), round = number(event, "round");
    const std::int64_t restarts = number(event, "restart_count");
    const Agent& self = agent(id);
    const auto require = [&](bool holds, std::string_view form, auto... parts) {
      if (!holds)
        broken(event, "worker pid {} of {} is started in round {} with {}",
               number(event, "worker_pid"), id, round, say(form, parts...));
    };
    kept();
    const std::int64_t agreed = plan.base_rank + local_rank;
    require(local_rank >= 0 && local_rank < self.local_world_size, "local rank {} of {}",
            local_rank, self.local_world_size);
    require(plan.round != round || (rank == agreed && size == plan.world_size),
            "rank {} of {}, but the agents had agreed on {} of {}", rank, size, agreed,
            plan.world_size);
    require(restarts == plan.failures && restarts <= self.max_restarts,
            "restart count {}, after {} restart(s) for failures of {} allowed", restarts,
            plan.failures, self.max_restarts);
    require(in_range(rank, size), "rank {} of {}", rank, size);
    if (!in_range(rank, size)) return;
    const ProcessKey worker = worker_of(event);
    const auto [first, holder] = groups_.take(event, self.job, {worker, size});
    const Hindrance* const apart = hindrance(id, kOwnRank | kNames, self.started, event.at);
    if (first.world_size != size)
      broken(event, apart, "in round {} {} is told a world of {}, {} one of {}", round,
             first.worker, first.world_size, worker, size);
    if (!holder || *holder == worker) return;
    const Process* const other = view().process(holder->node, holder->pid);
    if (other != nullptr && !other->ended && other->worker && other->round == round &&
        other->rank == rank)
      broken(event, apart != nullptr ? apart : outlives_its_agent(*other, event.at, view()),
             "rank {} of round {} is given to {} and to {}", rank, round, *holder, worker);
  }

  void initialized(const sim::Event& event) {
    const Process* const self = view().process(event.node, event.pid);
    if (self == nullptr || !self->worker) return;
    const std::int64_t rank = number(event, "rank"), size = number(event, "world_size");
    if (rank != self->rank || size != self->world_size)
      broken(event, kJoinedAsOther, process_of(event), rank, size, self->rank, self->world_size);
  }

  std::map<AgentId, Plan> plans_;
  Groups groups_;
};

}  // namespace

void add_ranks(InvariantRegistry& registry) {
  registry.add<RankSanity, EnvContract>();
}

}  // namespace hooke::properties
