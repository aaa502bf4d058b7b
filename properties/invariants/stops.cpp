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
      const sim::Duration grace = std::max(kStopGrace, agent.timeouts.shutdown);
      owed_.owe(id, {event.at, grace + kSlack, id, kNoAgent, event.id});
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

}  // namespace

void add_stops(InvariantRegistry& registry) {
  registry.add<RestartStops, SignalsTakeEffect>();
}

}  // namespace hooke::properties
