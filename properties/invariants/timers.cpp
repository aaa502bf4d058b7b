// Timers: a worker that is in time is not ended, and one that is not is.
#include <algorithm>
#include <map>
#include <set>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

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

void add_timers(InvariantRegistry& registry) {
  registry.add<TimerSafety>();
  registry.add<TimerExpiry>();
}

}  // namespace hooke::properties
