// What is to stop stops: workers for a restart, an agent for a signal.
#include <map>
#include <set>
#include <string>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// For so long an agent tries to reach a lost store again.
constexpr sim::Duration kReconnect = std::chrono::seconds(5);

/// Bound: the stop grace + slack, from group.restarting until the agent is back in the rendezvous,
/// has said that its workers are stopped, or has left where it ends without either: while a fault
/// keeps its worker from being killed, and when one has put an error into it, but then without
/// workers. So it has once it has given up the last of those that cannot be killed. It may serve a
/// store for others long after that. An agent that is told to go meanwhile
/// stops them for that (liveness.signals_take_effect).
class RestartStops final : public Judge {
 public:
  RestartStops()
      : Judge(
            "liveness.restart_stops",
            "An agent that restarts has stopped its workers in bounded time.",
            {&ev::group_restarting, &ev::rendezvous_joining, &ev::rendezvous_left, &ev::group_state,
             &ev::worker_uninterruptible, &wev::process_signalled, &wev::process_ended},
            kItself | kKillable) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    const Agent& agent = view().agent(id);
    if (event.type == &ev::group_restarting) {
      given_up_.erase(id);
      if (agent.signalled) return;
      const Timeouts& with = agent.timeouts;
      owed_.owe(id, {event.at, with.longest_grace() + kSlack, id, kNoAgent, event.id});
    } else if (event.type == &wev::process_signalled) {
      if (agent.signalled) owed_.lapse(id);
    } else if (event.type == &ev::worker_uninterruptible) {
      gives_up(event, id);
    } else if (event.type == &ev::rendezvous_left) {
      const bool has_workers =
          view().any_worker(id, [](const Process& worker) { return !worker.ended; });
      const bool ends = leaves_with_error(event, id) && !has_workers;
      if (ends || hindrance(id, kKillable, event.at, event.at) != nullptr) owed_.met(id, event);
    } else if (event.type != &ev::group_state || text(event, "state") == "STOPPED") {
      owed_.met(id, event);
    }
  }

  void gives_up(const sim::Event& event, AgentId id) {
    if (text(event, "consequence") != "abandoned") return;
    std::set<sim::Pid>& given_up = given_up_[id];
    given_up.insert(pid(event, "worker_pid"));
    const bool others_live = view().any_worker(
        id, [&](const Process& worker) { return !worker.ended && !given_up.contains(worker.pid); });
    if (!others_live && hindrance(id, kKillable, event.at, event.at) != nullptr)
      owed_.met(id, event);
  }

  std::map<AgentId, std::set<sim::Pid>> given_up_;
  Obligations<AgentId> owed_{
      *this, "grace + slack", [this](AgentId id, const Due& due) {
        return say(
            "{} began to stop its workers at {} in order to restart; they should have been gone",
            id, due.since);
      }};
};

/// Bound: shutdown grace + close + slack from the first signal (TERM, INT, HUP, QUIT) to the end of
/// the agent's process, whatever it was doing. A second signal does not put it off. Where a fault
/// keeps the store from answering, each of the last two questions takes the time of a lost
/// connection besides.
class SignalsTakeEffect final : public Judge {
 public:
  SignalsTakeEffect()
      : Judge("liveness.signals_take_effect",
              "A signal that tells an agent to end takes effect in bounded time.",
              {&wev::process_signalled, &wev::process_ended}, kItself | kKillable | kHears) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    if (event.type == &wev::process_ended) return owed_.met(id, event);
    const Agent& agent = view().agent(id);
    if (agent.ended || agent.signalled != event.at || owed_.find(id) != nullptr) return;
    Due due{event.at, agent.timeouts.shutdown + agent.timeouts.close + kSlack, id, kNoAgent,
            event.id};
    due.lost = 2 * kReconnect;
    due.lost_needs = kAnswers;
    owed_.owe(id, due);
    heard_.insert_or_assign(id, Heard{std::string(signal_text(event)), agent.stage});
  }

  static const char* doing(Stage stage) {
    switch (stage) {
      case Stage::starting: return "was connecting";
      case Stage::joining: return "was joining";
      case Stage::joined: return "was starting its workers";
      case Stage::running: return "had healthy workers";
      case Stage::restarting: return "was restarting its workers";
      case Stage::barrier: return "waited in the exit barrier";
      case Stage::stopping:
      case Stage::finished: return "was ending";
    }
    return "ran";
  }

  struct Heard {
    std::string name;
    Stage stage = Stage::starting;
  };
  Obligations<AgentId> owed_{*this, "grace + close + slack", [this](AgentId id, const Due& due) {
                               const Heard& heard = heard_[id];
                               return say("{} got {} at {} while it {}; it should have ended", id,
                                          heard.name, due.since, doing(heard.stage));
                             }};
  std::map<AgentId, Heard> heard_;  ///< the first signal, and what it met
};

/// Bound: the stop grace + an answer, from the moment when a worker is told to stop, and anew when it
/// is told again, until it has ended or is killed. Meanwhile its agent may say to the store that it
/// goes. One that ends, or that is told to go while it stops its workers for another reason, leaves
/// them to what follows (safety.no_orphans, liveness.signals_take_effect).
class Grace final : public Judge {
 public:
  Grace()
      : Judge("liveness.grace", "A worker that does not stop is killed when its grace is over.",
              {&wev::process_signalled, &wev::process_ended, &ev::timer_killed},
              kAsking | kKillable | kOwnErrors) {}

 private:
  static constexpr std::int64_t kKill = 9;
  void judge(const sim::Event& event) override {
    const ProcessKey process = process_of(event);
    if (event.type == &wev::process_ended) {
      owed_.met(process, event);
      if (const AgentId id = view().agent_of(event); id != kNoAgent) leave(event, id);
      return;
    }
    // A timer's signal, whichever it is, is no word to stop.
    if (event.type == &ev::timer_killed) return static_cast<void>(owed_.lapse(worker_of(event)));
    const Process* const worker = view().process(event.node, event.pid);
    if (worker == nullptr || !worker->worker || worker->ended) return;
    if (number(event, "signal") == kKill) return owed_.met(process, event);
    const Agent& owner = agent(worker->owner);
    if (owner.pid != pid(event, "from_pid") || number(event, "signal") == 0) return;
    owed_.lapse_unless_late(process, event);
    owed_.owe(process, {event.at, owner.timeouts.longest_grace() + kAnswer, worker->owner, kNoAgent,
                        event.id});
  }

  void leave(const sim::Event& event, AgentId id) {
    for (const Process& worker : view().processes(event.node)) {
      if (worker.owner == id) owed_.lapse_unless_late({event.node, worker.pid}, event);
    }
  }

  Obligations<ProcessKey> owed_{
      *this, "grace + answer", [this](ProcessKey worker, const Due& due) {
        return say("{} told its worker {} to stop at {}; that should have ended, or been killed,",
                   due.who, worker, due.since);
      }};
};

/// What an agent's worker has been told.
struct ToldWorker {
  std::int64_t signal = 0;  ///< the first
  std::int64_t times = 0;
  bool killed = false;
};
/// The signals that an agent was told to go with.
struct Orders {
  std::set<std::int64_t> signals;
  std::int64_t count = 0;
  bool working = false;       ///< its workers ran when the first of them came
  bool other_reason = false;  ///< to stop its present workers
};

/// What an agent does when it is told to go while its workers run, and nothing else has befallen them,
/// it, or its job, which another agent may have given up: they hear the same signal. A worker is told once, and once more for each further signal that
/// its agent gets, and for each error that a fault puts into that; what follows a SIGKILL, which ends
/// a worker unless it cannot be ended, tells it nothing. A timer's signal is none of these.
class StopSignals final : public Judge {
 public:
  StopSignals()
      : Judge("safety.stop_signals",
              "A worker is told to stop once, by the same signal that told its agent to end.",
              {&wev::process_signalled, &wev::process_ended, &ev::worker_started, &ev::timer_killed,
               &ev::agent_signalled, &ev::group_restarting, &ev::job_given_up, &ev::heartbeat_lost,
               &ev::group_state}) {}

 private:
  static constexpr std::int64_t kKill = 9;
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (event.type == &wev::process_signalled) {
      id == kNoAgent ? told_worker(event) : told_agent(event, id);
    } else if (event.type == &ev::worker_started) {
      told_.erase(worker_of(event));
      orders_[id].other_reason = false;
    } else if (event.type == &ev::timer_killed) {
      told_.erase(worker_of(event));
      orders_[id].other_reason = true;
    } else if (event.type == &ev::agent_signalled) {
      if (text(event, "phase") == "running") compare(event, id);
    } else if (const Process* const failed = failed_worker(event)) {
      orders_[failed->owner].other_reason = true;
    } else if (event.type == &ev::job_given_up) {
      for (const AgentId each : job_of(id).agents) orders_[each].other_reason = true;
    } else if (event.type != &wev::process_ended) {
      orders_[id].other_reason |=
          event.type != &ev::group_state || text(event, "state") != "HEALTHY";
    }
  }

  void told_agent(const sim::Event& event, AgentId id) {
    const std::int64_t signal = number(event, "signal");
    if (agent(id).signalled == std::nullopt || signal == kKill) return;
    Orders& orders = orders_[id];
    if (orders.count++ == 0) orders.working = agent(id).stage == Stage::running;
    orders.signals.insert(signal);
  }

  void told_worker(const sim::Event& event) {
    const Process* const worker = view().process(event.node, event.pid);
    if (worker == nullptr || !worker->worker || worker->ended) return;
    const Agent& owner = agent(worker->owner);
    const std::int64_t signal = number(event, "signal");
    if (owner.pid != pid(event, "from_pid") || signal == 0) return;
    ToldWorker& told = told_[process_of(event)];
    told.killed = told.killed || signal == kKill;
    if (told.killed) return;
    Orders& orders = orders_[worker->owner];
    orders.other_reason |= orders.count == 0;  // the agent was not told to go yet
    if (told.times++ == 0) told.signal = signal;
    if (told.times <= 1 + orders.count + owner.errors) return kept();
    broken(event,
           "{} told its worker pid {} to stop once more at {}, by {}; it had done so {} times",
           worker->owner, event.pid, event.at, signal_text(event), told.times - 1);
  }

  void compare(const sim::Event& event, AgentId id) {
    const Orders& orders = orders_[id];
    if (!orders.working || orders.other_reason || agent(id).errors > 0) return;
    for (const Process& worker : view().processes(event.node)) {
      const auto told = told_.find({event.node, worker.pid});
      if (worker.owner != id || told == told_.end() || told->second.times == 0) continue;
      if (orders.signals.contains(told->second.signal)) {
        kept();
      } else {
        broken(event, "{} was told to go by {} and told its worker pid {} to stop by signal {}", id,
               signal_text(event), worker.pid, told->second.signal);
      }
    }
  }

  std::map<ProcessKey, ToldWorker> told_;
  std::map<AgentId, Orders> orders_;
};

}  // namespace

void add_stops(InvariantRegistry& registry) {
  registry.add<RestartStops, Grace, SignalsTakeEffect, StopSignals>();
}

}  // namespace hooke::properties
