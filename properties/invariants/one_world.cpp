// Worker sets are told apart by job, round and meeting point; a set lives from its first worker's
// start to its last worker's end.
#include <fmt/format.h>

#include <map>

#include "model/observe/trace_events.h"
#include "properties/invariants/judge.h"
#include "properties/invariants/membership.h"
#include "sim/world/world_events.h"

namespace hooke::properties {
namespace {

namespace ev = model::events;
namespace wev = world::events;

/// Agents look at the shared state and at their workers once per second at the latest.
constexpr sim::Duration kPoll = std::chrono::seconds(1);
/// Two questions, each with the time for its reply and for a new connection.
constexpr sim::Duration kAsks = std::chrono::seconds(30);

/// The stale world may live as long as its death can go unnoticed: keep-alive threshold + monitor
/// interval + one poll, and where the network is disturbed two questions that get no answer. A
/// worker that its own agent has told to stop no longer counts, so a restart, however slowly its
/// workers stop, is no second world; a worker whose agent has died counts as long as it runs, for
/// nobody tells it. Two sets of one round that meet at different places are two worlds as well.
class OneWorld final : public Judge {
 public:
  OneWorld()
      : Judge("safety.one_world",
              "At no time do two disjoint sets of workers of one job both believe they are it.") {}

  [[nodiscard]] std::span<const sim::EventType* const> interests() const override {
    return kInterests;
  }

  void finish(const RunFacts& facts) override {
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
    ProcessKey example{};
  };
  using Sets = std::map<SetKey, WorkerSet>;

  void judge(const sim::Event& event) override {
    if (event.type == &ev::worker_started) {
      worker_started(event);
    } else if (event.type == &ev::worker_ended) {
      gone({event.node, pid(event, "worker_pid")}, event);
    } else if (event.type == &wev::process_ended) {
      gone(process_of(event), event);
    } else if (const Process* const target =
                   view().process(event.node, event.pid)) {  // process.signalled
      if (target->told_to_stop) gone(process_of(event), event);
    }
  }

  void worker_started(const sim::Event& event) {
    const AgentId agent = view().agent_of(event);
    if (agent == kNoAgent) return;
    const ProcessKey worker{event.node, pid(event, "worker_pid")};
    gone(worker, event);  // a reused number whose end nobody saw
    const SetKey key{view().agent(agent).job, number(event, "round"),
                     std::string(text(event, "master"))};
    const auto set = sets_.try_emplace(key, WorkerSet{0, event.at, worker}).first;
    ++set->second.workers;
    set_of_[worker] = set;
  }

  void gone(ProcessKey worker, const sim::Event& event) {
    const auto found = set_of_.find(worker);
    if (found == set_of_.end()) return;
    const auto set = found->second;
    set_of_.erase(found);
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
      if (key.job != mine.job || key == mine || my.workers == 0 || set.workers == 0 || enough())
        continue;
      const Job& job = view().job(key.job);
      const sim::WorldTime since = std::max(my.since, set.since);
      const sim::Duration tolerance = job.timeouts.keep_alive + job.timeouts.monitor + kPoll +
                                      (view().in_force("net_", since) ? kAsks : sim::Duration());
      if (end - since <= tolerance) continue;
      const bool mine_is_older = my.since < set.since || (my.since == set.since && mine < key);
      const auto& [old_key, old_set] = mine_is_older ? std::pair(mine, my) : std::pair(key, set);
      const auto& [new_key, new_set] = mine_is_older ? std::pair(key, set) : std::pair(mine, my);
      broken(
          since + tolerance, event,
          fmt::format(
              "job \"{}\" had two living worlds from {} to {}: workers of round {} meeting at {} "
              "(pid {} on node {} is one) and workers of round {} meeting at {} (pid {} on node "
              "{}); "
              "a world that others have given up may live {} at most (keep-alive {} + monitor {} + "
              "poll {})",
              job.run_id, seconds_text(since), seconds_text(end), old_key.round, old_key.master,
              old_set.example.pid.value, view().name(old_set.example.node), new_key.round,
              new_key.master, new_set.example.pid.value, view().name(new_set.example.node),
              seconds_text(tolerance), seconds_text(job.timeouts.keep_alive),
              seconds_text(job.timeouts.monitor), seconds_text(kPoll)),
          limit(since, end));
    }
  }

  [[nodiscard]] std::string_view limit(sim::WorldTime since, sim::WorldTime end) const {
    if (view().one_sleeps()) return kAsleep;
    if (view().one_stood_still(since, end)) return kStoodStill;
    if (view().in_force("net_delay", since) || view().in_force("service_slow", since))
      return "what the others said came late";
    return view().one_was_led_astray(end) ? kLedAstray : "";
  }

  static constexpr const sim::EventType* kInterests[] = {
      &ev::worker_started, &ev::worker_ended, &wev::process_ended, &wev::process_signalled};
  Sets sets_;
  std::map<ProcessKey, Sets::iterator> set_of_;
};

}  // namespace

std::unique_ptr<Invariant> make_one_world() {
  return std::make_unique<OneWorld>();
}

}  // namespace hooke::properties
