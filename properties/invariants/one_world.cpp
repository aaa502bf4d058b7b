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

/// The living workers of each job, told apart by round and meeting point.
class WorkerSets {
 public:
  struct Key {
    JobId job{};
    std::int64_t round = 0;
    std::string master;
    auto operator<=>(const Key&) const = default;
  };
  struct Set {
    std::int64_t workers = 0;
    sim::WorldTime since{};
    ProcessKey latest{};  ///< the worker that was the last to go
    std::set<AgentId> agents;
  };

  [[nodiscard]] std::map<Key, Set>& all() { return sets_; }
  void started(ProcessKey worker, AgentId agent, const Key& key, sim::WorldTime at) {
    const auto set = sets_.try_emplace(key, Set{0, at, {}, {}}).first;
    ++set->second.workers;
    set->second.agents.insert(agent);
    set_of_[worker] = set;
  }
  /// Calls `ends(key, set)` when it was the last of its set.
  template <class Ends>
  void gone(ProcessKey worker, Ends ends) {
    const auto found = set_of_.find(worker);
    if (found == set_of_.end()) return;
    const auto set = found->second;
    set_of_.erase(found);
    set->second.latest = worker;
    if (set->second.workers > 1) {
      --set->second.workers;
      return;
    }
    ends(set->first, set->second);
    sets_.erase(set);
  }
  /// A worker that still runs, for a set that has one.
  [[nodiscard]] ProcessKey one_of(const Key& key, const Set& set) const {
    for (const auto& [worker, of] : set_of_) {
      if (of->first == key) return worker;
    }
    return set.latest;
  }

 private:
  std::map<Key, Set> sets_;
  std::map<ProcessKey, std::map<Key, Set>::iterator> set_of_;
};
using WorkerSet = WorkerSets::Set;

/// When the agents of the older set, which lives until `end`, have noticed at the latest that they
/// were given up. Agents that have gone on to another set do not count, and a hindrance of one puts
/// it off. nullopt: the hindrance `for_good` never ends.
std::optional<sim::WorldTime> latest_to_notice(const WorkerSets::Key& key, const WorkerSet& older,
                                               sim::WorldTime since, sim::WorldTime end,
                                               sim::Duration tolerance, Needs needs,
                                               const JobView& view, const Hindrance*& for_good) {
  const Ledger& ledger = view.ledger();
  sim::WorldTime latest = since + tolerance;
  for (const AgentId id : older.agents) {
    const Agent& agent = view.agent(id);
    if (agent.round != key.round) continue;
    // No agent tells the workers of a dead agent to stop: they count as long as they run. Where the
    // machine is gone with both they die with it, unless they cannot be killed.
    const Needs its = agent.ended && *agent.ended < end ? kMortal : needs;
    const auto own = ledger.deadline(view.claimant(id), its, since, tolerance);
    if (!own) {
      for_good = ledger.endless(view.claimant(id), its);
      return std::nullopt;
    }
    latest = std::max(latest, *own);
  }
  return latest;
}

/// A name that was wrong since an agent of one of the two had started: agents that it led to
/// different stores cannot learn of each other.
const Hindrance* led_astray(const WorkerSet& one, const WorkerSet& other, sim::WorldTime since,
                            const JobView& view) {
  for (const WorkerSet* const set : {&one, &other}) {
    for (const AgentId id : set->agents) {
      const sim::WorldTime started = view.agent(id).started;
      if (const auto* const found = view.ledger().find(view.claimant(id), kNames, started, since))
        return found;
    }
  }
  return nullptr;
}

/// Broken when workers of two rounds, or of one round that meet at two places, live beside each other
/// for longer than the older group's agents may take to notice that they were given up.
class OneWorld final : public Judge {
 public:
  OneWorld()
      : Judge(
            "safety.one_world",
            "Two separate groups of workers never run the same job at the same time.",
            {&ev::worker_started, &ev::worker_ended, &wev::process_ended, &wev::process_signalled},
            kAsking | kTasks | kKillable) {}

  void at_end(const RunFacts& facts) override {
    for (auto& [key, set] : sets_.all()) {
      compare(key, set, facts.end, sim::kNoEvent);
      set.workers = 0;  // each pair once
    }
  }

 private:
  void judge(const sim::Event& event) override {
    if (event.type == &wev::process_ended) return gone(process_of(event), event);
    if (event.type == &ev::worker_ended) return gone(worker_of(event), event);
    if (event.type != &wev::process_signalled) return Judge::judge(event);
    const Process* const target = view().process(event.node, event.pid);
    // A restart is no second world, however slowly its workers stop.
    if (target != nullptr && target->told_to_stop) gone(process_of(event), event);
  }

  void judge_agent(const sim::Event& event, AgentId id) override {
    const ProcessKey worker = worker_of(event);
    gone(worker, event);  // a reused number, the end of which was not seen
    const WorkerSets::Key key{agent(id).job, number(event, "round"),
                              std::string(text(event, "master"))};
    sets_.started(worker, id, key, event.at);
  }

  void gone(ProcessKey worker, const sim::Event& event) {
    sets_.gone(worker, [&](const auto& key, const WorkerSet& set) {
      compare(key, set, event.at, event.id);
    });
  }

  /// Judges the time that `mine`, which ends at `end`, lived together with each other set of its
  /// job.
  void compare(const WorkerSets::Key& mine, const WorkerSet& my, sim::WorldTime end,
               sim::EventId event) {
    for (const auto& [key, set] : sets_.all()) {
      if (key.job != mine.job || key == mine || my.workers == 0 || set.workers == 0) continue;
      const Job& job = view().job(key.job);
      const sim::WorldTime since = std::max(my.since, set.since);
      // What a look at the state and at the workers takes after the keep-alive threshold is over.
      const sim::Duration tolerance = job.timeouts.keep_alive + job.timeouts.monitor + kPoll;
      const bool mine_is_older = my.since < set.since || (my.since == set.since && mine < key);
      const auto& [old_key, old_set] = mine_is_older ? std::pair(mine, my) : std::pair(key, set);
      const auto& [new_key, new_set] = mine_is_older ? std::pair(key, set) : std::pair(mine, my);
      const Hindrance* by = nullptr;
      const auto deadline =
          end <= since + tolerance
              ? end
              : latest_to_notice(old_key, old_set, since, end, tolerance, needs(), view(), by);
      if (deadline && end <= *deadline) {
        kept();
        continue;
      }
      if (by == nullptr) by = led_astray(old_set, new_set, since, view());
      if (excused(by)) continue;
      const ProcessKey old_one = sets_.one_of(old_key, old_set);
      const ProcessKey new_one = sets_.one_of(new_key, new_set);
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

  WorkerSets sets_;
};

}  // namespace

void add_one_world(InvariantRegistry& registry) {
  registry.add<OneWorld>();
}

}  // namespace hooke::properties
