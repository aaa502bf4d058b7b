// Worker sets are told apart by job, round and meeting point; a set lives from its first worker's
// start to its last worker's end.
#include <map>
#include <set>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Agents look at the shared state and at their workers once per second at the latest.
constexpr sim::Duration kPoll = std::chrono::seconds(1);

/// The stale world may live as long as its death can go unnoticed: keep-alive threshold + monitor
/// interval + one poll. Its agents must be able to notice: what hinders one of them puts that off.
/// A worker that its own agent has told to stop no longer counts, so a restart, however slowly its
/// workers stop, is no second world; a worker whose agent has died counts as long as it runs, for
/// no agent tells it. Two sets of one round that meet at different places are two worlds as well.
/// Agents that a name led to different stores cannot learn of each other.
class OneWorld final : public Judge {
 public:
  OneWorld()
      : Judge(
            "safety.one_world",
            "At no time do two disjoint sets of workers of one job both believe they are it.",
            {&ev::worker_started, &ev::worker_ended, &wev::process_ended, &wev::process_signalled},
            kAsking | kTasks | kKillable) {}

  void at_end(const RunFacts& facts) override {
    for (auto set = sets_.begin(); set != sets_.end(); ++set) {
      compare(set->first, set->second, facts.end, sim::kNoEvent);
      set->second.workers = 0;  // each pair once
    }
  }

 private:
  struct SetKey {
    JobId job{};
    std::int64_t round = 0;
    std::string master;
    auto operator<=>(const SetKey&) const = default;
  };
  struct WorkerSet {
    std::int64_t workers = 0;
    sim::WorldTime since{};
    ProcessKey latest{};  ///< the worker that was the last to go
    std::set<AgentId> agents;
  };
  using Sets = std::map<SetKey, WorkerSet>;

  void judge(const sim::Event& event) override {
    if (event.type == &wev::process_ended) return gone(process_of(event), event);
    if (event.type == &ev::worker_ended) return gone(worker_of(event), event);
    if (event.type != &wev::process_signalled) return Judge::judge(event);
    const Process* const target = view().process(event.node, event.pid);
    if (target != nullptr && target->told_to_stop) gone(process_of(event), event);
  }

  void judge_agent(const sim::Event& event, AgentId id) override {
    const ProcessKey worker = worker_of(event);
    gone(worker, event);  // a reused number, the end of which was not seen
    const SetKey key{agent(id).job, number(event, "round"), std::string(text(event, "master"))};
    const auto set = sets_.try_emplace(key, WorkerSet{0, event.at, {}, {}}).first;
    ++set->second.workers;
    set->second.agents.insert(id);
    set_of_[worker] = set;
  }

  void gone(ProcessKey worker, const sim::Event& event) {
    const auto found = set_of_.find(worker);
    if (found == set_of_.end()) return;
    const auto set = found->second;
    set_of_.erase(found);
    set->second.latest = worker;
    if (set->second.workers > 1) {
      --set->second.workers;
      return;
    }
    compare(set->first, set->second, event.at, event.id);
    sets_.erase(set);
  }

  /// Judges the time that `mine`, which ends at `end`, lived together with each other set of its
  /// job.
  void compare(const SetKey& mine, const WorkerSet& my, sim::WorldTime end, sim::EventId event) {
    for (const auto& [key, set] : sets_) {
      if (key.job != mine.job || key == mine || my.workers == 0 || set.workers == 0) continue;
      const Job& job = view().job(key.job);
      const sim::WorldTime since = std::max(my.since, set.since);
      const sim::Duration tolerance = job.timeouts.keep_alive + job.timeouts.monitor + kPoll;
      const bool mine_is_older = my.since < set.since || (my.since == set.since && mine < key);
      const auto& [old_key, old_set] = mine_is_older ? std::pair(mine, my) : std::pair(key, set);
      const auto& [new_key, new_set] = mine_is_older ? std::pair(key, set) : std::pair(mine, my);
      const auto deadline = latest_to_notice(old_key, old_set, since, tolerance, end);
      if (!deadline) continue;
      if (end <= *deadline) {
        kept();
        continue;
      }
      if (const auto* const astray = led_astray(old_set, new_set, since)) {
        excused(*astray);
        continue;
      }
      const ProcessKey old_one = one_of(old_key, old_set), new_one = one_of(new_key, new_set);
      broken(since + tolerance, event,
             say("job \"{}\" had two living worlds from {} to {}: workers of round {} meeting at "
                 "{} (pid {} on node {} is one) and workers of round {} meeting at {} (pid {} on "
                 "node {}); a world that others have given up may live {} at most (keep-alive {} + "
                 "monitor {} + poll {})",
                 job.run_id, since, end, old_key.round, old_key.master, old_one.pid, old_one.node,
                 new_key.round, new_key.master, new_one.pid, new_one.node, tolerance,
                 job.timeouts.keep_alive, job.timeouts.monitor, kPoll));
    }
  }

  /// A worker that still runs, for a set that has one.
  [[nodiscard]] ProcessKey one_of(const SetKey& key, const WorkerSet& set) const {
    for (const auto& [worker, of] : set_of_) {
      if (of->first == key) return worker;
    }
    return set.latest;
  }

  /// The agents of the older set, but for those that have gone on to another, must be able to
  /// notice that they are given up. nullopt: something hinders one of them for good, which is
  /// counted.
  std::optional<sim::WorldTime> latest_to_notice(const SetKey& key, const WorkerSet& older,
                                                 sim::WorldTime since, sim::Duration tolerance,
                                                 sim::WorldTime end) {
    const Ledger& ledger = view().ledger();
    sim::WorldTime latest = since + tolerance;
    if (end <= latest) return latest;
    for (const AgentId id : older.agents) {
      const Agent& agent = view().agent(id);
      // A dead agent tells its workers nothing.
      if (!agent.alive() || agent.round != key.round) continue;
      const auto own = ledger.deadline(view().claimant(id), needs(), since, tolerance);
      if (!own) {
        excused(*ledger.endless(view().claimant(id), needs()));
        return std::nullopt;
      }
      latest = std::max(latest, *own);
    }
    return latest;
  }

  /// A name that was wrong since an agent of one of the two had started.
  [[nodiscard]] const Hindrance* led_astray(const WorkerSet& one, const WorkerSet& other,
                                            sim::WorldTime since) const {
    for (const WorkerSet* const set : {&one, &other}) {
      for (const AgentId id : set->agents) {
        if (const auto* const found = hindrance(id, kNames, agent(id).started, since)) return found;
      }
    }
    return nullptr;
  }

  Sets sets_;
  std::map<ProcessKey, Sets::iterator> set_of_;
};

}  // namespace

void add_one_world(InvariantRegistry& registry) {
  registry.add<OneWorld>();
}

}  // namespace hooke::properties
