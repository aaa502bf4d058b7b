// Which process may signal, and which may outlive, which other: an agent and what descends from it
// are one family. A timer ends a worker that is late, and no other.
#include <algorithm>
#include <map>
#include <set>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

constexpr std::int64_t kKill = 9;

/// A number names an agent that carries it now. A process that an agent or one of its descendants
/// signals must belong to that agent's family; signals of the harness (from 0) may go anywhere. A
/// worker that its agent has reaped has no number any more, even if no other agent has got it yet.
/// One that is to stop is asked to first, and killed when its grace is over.
class KillSafety final : public Judge {
 public:
  KillSafety()
      : Judge("safety.kill_safety", "A signal reaches only the incarnation it was meant for.",
              {&wev::process_signalled, &ev::worker_started, &ev::worker_ended,
               &ev::worker_signalled}) {}

 private:
  void judge(const sim::Event& event) override {
    if (event.type == &wev::process_signalled) return judge_signal(event);
    const ProcessKey worker = worker_of(event);
    if (event.type == &ev::worker_started) {
      reaped_.erase(worker);
    } else if (event.type == &ev::worker_ended) {
      reaped_[worker] = event.at;
    } else if (const auto found = reaped_.find(worker); found != reaped_.end()) {
      broken(event,
             "{} sent {} at {} to its worker pid {}, of whose end it had learnt at {}: the number "
             "may be anybody's by then",
             view().agent_of(event), signal_text(event), event.at, worker.pid, found->second);
    } else if (number(event, "signal") == kKill && !had_grace(event, worker)) {
      broken(event, "{} killed its worker pid {} at {} without the grace that it owes",
             view().agent_of(event), worker.pid, event.at);
    }
  }

  /// Less a tenth: clocks drift.
  [[nodiscard]] bool had_grace(const sim::Event& event, const ProcessKey& worker) const {
    const AgentId id = view().agent_of(event);
    const Process* const target = view().process(worker.node, worker.pid);
    if (id == kNoAgent || target == nullptr || !target->told_to_stop) return true;
    return event.at - *target->told_to_stop >= agent(id).timeouts.shortest_grace() * 9 / 10;
  }

  void judge_signal(const sim::Event& event) {
    const sim::Pid from = pid(event, "from_pid");
    if (from.value <= 0 || from == event.pid) return;
    const Process* const sender = view().process(event.node, from);
    const Process* const target = view().process(event.node, event.pid);
    if (sender == nullptr || target == nullptr) return;
    const AgentId family = sender->agent != kNoAgent ? sender->agent : sender->owner;
    const AgentId other = target->agent != kNoAgent ? target->agent : target->owner;
    if (family == kNoAgent) return;
    if (family == other) return kept();
    broken(event,
           "pid {} on node {} ({}) sent {} at {} to pid {}, which {} and was started at {} (event "
           "{}): it is not the process the signal was meant for",
           from, event.node, family, signal_text(event), event.at, event.pid,
           other == kNoAgent ? "no agent has started" : "belongs to " + view().describe(other),
           target->started, number(event, "target_born"));
  }

  std::map<ProcessKey, sim::WorldTime> reaped_;  ///< workers, by when
};

/// What a worker holds (a GPU, a port, its files) is free when its process is gone, however it went
/// and whatever its agent believes: one that SIGKILL does not end holds on to it.
class OneWorkerPerPlace final : public Judge {
 public:
  OneWorkerPerPlace()
      : Judge("safety.one_worker_per_place",
              "An agent starts a worker at a local rank only when no worker of its own runs there.",
              {&ev::worker_started}) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    const sim::Pid started = pid(event, "worker_pid");
    const std::int64_t place = number(event, "local_rank");
    for (const Process& other : view().processes(event.node)) {
      const bool was_there = other.worker && other.owner == id && other.local_rank == place;
      if (!was_there || other.ended || other.pid == started) continue;
      return broken(event,
                    "{} started pid {} at {} as its worker {}, while pid {}, which was that, still "
                    "ran",
                    id, started, event.at, place, other.pid);
    }
    kept();
  }
};

/// Bound: 1 s, the time in which an init process notices and reaps. A node's crash takes the whole
/// family at once and leaves no orphans. An agent that is killed can arrange beforehand that its
/// workers go with it, but not that their children do: the kernel knows parents only.
class NoOrphans final : public Judge {
 public:
  NoOrphans()
      : Judge("safety.no_orphans", "After an agent's end none of its descendants runs.",
              {&wev::process_ended}, kMortal) {}

  [[nodiscard]] sim::WorldTime owed_until() const override { return owed_.latest(); }

 private:
  static constexpr sim::Duration kBound = std::chrono::seconds(1);
  void judge(const sim::Event& event) override {
    if (const AgentId agent = view().agent_of(event); agent != kNoAgent) {
      for (const Process& process : view().processes(event.node)) {
        if (process.owner != agent || process.ended) continue;
        if (!process.worker && number(event, "status") < 0) continue;
        owed_.owe({event.node, process.pid}, {event.at, kBound, agent, kNoAgent, event.id});
      }
      return;
    }
    owed_.met(process_of(event), event);
  }

  Obligations<ProcessKey> owed_{
      *this, "reaping", [this](ProcessKey process, const Due& due) {
        const Process* const orphan = view().process(process.node, process.pid);
        const bool worker = orphan != nullptr && orphan->worker;
        return say("{} had ended at {}; {} pid {}{} should have ended", due.who, due.since,
                   worker ? "its worker" : "its worker's child", process.pid,
                   worker ? say(" (rank {})", orphan->rank) : "");
      }};
};

/// One timer: a worker and a scope.
using TimerKey = std::pair<ProcessKey, std::string>;

class TimerSafety final : public Judge {
 public:
  TimerSafety()
      : Judge("safety.timer_safety",
              "A timer ends only a worker that has let its own deadline pass.",
              {&ev::timer_acquired, &ev::timer_released, &ev::timer_killed, &wev::process_started},
              kPath) {}

 private:
  struct Timer {
    std::int64_t expires = 0;
    bool armed = false;
    sim::WorldTime since{};
  };

  void judge(const sim::Event& event) override {
    if (event.type == &ev::timer_killed) return judge_kill(event);
    if (event.type == &wev::process_started) {  // what its number's last owner had armed is not its
      const TimerKey first{process_of(event), ""};
      auto timer = timers_.lower_bound(first);
      while (timer != timers_.end() && timer->first.first == first.first) {
        timer = timers_.erase(timer);
      }
      return;
    }
    Timer& timer = timers_[{process_of(event), std::string(text(event, "scope"))}];
    timer.since = event.at;
    timer.armed = event.type == &ev::timer_acquired;
    if (timer.armed) timer.expires = number(event, "expires");
  }

  void judge_kill(const sim::Event& event) {
    if (number(event, "there") == 0) return;
    const ProcessKey worker = worker_of(event);
    const std::string scope(text(event, "scope"));
    const auto found = timers_.find({worker, scope});
    const std::string what = say("the timer \"{}\" of pid {} on node {} ended it at {}", scope,
                                 worker.pid, event.node, event.at);
    if (found == timers_.end()) {
      broken(event, what + ", which has never armed such a timer");
    } else if (!found->second.armed) {
      broken(event, unheard(event), "{}, although it had been released at {}", what,
             found->second.since);
    } else if (found->second.expires != number(event, "expires")) {
      broken(event, unheard(event), "{}, although its deadline had been moved at {}", what,
             found->second.since);
    } else if (found->second.expires * 1000 > event.wall.time_since_epoch().count()) {
      broken(event, what + ", before its deadline");
    } else {
      kept();
    }
  }

  /// The timer server hears the worker over the machine's own network or that to the agent.
  [[nodiscard]] const Hindrance* unheard(const sim::Event& event) const {
    return hindrance(view().agent_of(event), needs(), event.at, event.at);
  }

  std::map<TimerKey, Timer> timers_;
};

/// Bound: 5 s after the deadline, while a server on the worker's machine watches.
class TimerExpiry final : public Judge {
 public:
  TimerExpiry()
      : Judge(
            "liveness.timer_expiry", "A worker that lets its deadline pass is ended.",
            {&ev::timer_acquired, &ev::timer_released, &ev::watchdog_changed, &wev::process_ended},
            kItself | kTasks | kMortal) {}

 private:
  static constexpr sim::Duration kBound = std::chrono::seconds(5);

  void judge(const sim::Event& event) override {
    ahead_[event.node] = event.wall.time_since_epoch() - event.at.time_since_epoch();
    if (event.type == &ev::watchdog_changed) {
      if (text(event, "change") == "watchdog started") {
        servers_.insert(process_of(event));
      } else {
        server_gone(process_of(event));
      }
    } else if (event.type == &wev::process_ended) {
      server_gone(process_of(event));
      for (const std::string& scope : scopes_[process_of(event)]) {
        met({process_of(event), scope}, event);
      }
      scopes_.erase(process_of(event));
    } else {
      const TimerKey key{process_of(event), std::string(text(event, "scope"))};
      met(key, event);
      if (event.type == &ev::timer_acquired) arm(key, event);
    }
  }

  void arm(const TimerKey& key, const sim::Event& event) {
    const bool watched = servers_.lower_bound({event.node, sim::Pid{}}) != servers_.end() &&
                         servers_.lower_bound({event.node, sim::Pid{}})->node == event.node;
    if (!watched || number(event, "signal") <= 0) return;
    const auto left =
        std::chrono::microseconds(number(event, "expires")) - event.wall.time_since_epoch();
    const Process* const worker = view().process(event.node, event.pid);
    due_.owe(key, {event.at + std::max<sim::Duration>(left, sim::Duration::zero()), kBound,
                   worker == nullptr ? kNoAgent : worker->owner, kNoAgent, event.id});
    scopes_[key.first].insert(key.second);
    expires_[key] = std::chrono::microseconds(number(event, "expires"));
  }

  void met(const TimerKey& key, const sim::Event& event) {
    follow_the_clock(key, event.at);
    due_.met(key, event);
  }

  void at_end(const RunFacts& facts) override {
    for (const auto& [key, expires] : expires_) follow_the_clock(key, facts.end);
  }

  /// Deadlines are the wall clock's: one that was set back puts them off.
  void follow_the_clock(const TimerKey& key, sim::WorldTime now) {
    Due* const due = due_.find(key);
    const sim::Duration wall = now.time_since_epoch() + ahead_[key.first.node];
    if (due != nullptr && wall <= expires_[key] + kBound) due->since = std::max(due->since, now);
  }

  void server_gone(ProcessKey server) {
    if (servers_.erase(server) == 0) return;
    for (auto& [worker, scopes] : scopes_) {
      if (worker.node != server.node) continue;
      for (const std::string& scope : scopes) due_.lapse({worker, scope});
    }
  }

  std::map<sim::NodeId, sim::Duration> ahead_;  ///< of true time, when last heard of
  std::map<TimerKey, sim::Duration> expires_;
  std::set<ProcessKey> servers_;
  std::map<ProcessKey, std::set<std::string>> scopes_;
  Obligations<TimerKey> due_{*this, "slack", [this](const TimerKey& key, const Due& due) {
                               return say(
                                   "pid {} on node {} let the deadline of its timer \"{}\" pass at "
                                   "{} and should have ended",
                                   key.first.pid, key.first.node, key.second, due.since);
                             }};
};

}  // namespace

void add_processes(InvariantRegistry& registry) {
  registry.add<KillSafety, OneWorkerPerPlace, NoOrphans, TimerSafety, TimerExpiry>();
}

}  // namespace hooke::properties
