// Getting out: when the job is decided, when all have come to the exit barrier, when workers are to
// stop, when a signal says so.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// A store's reply at the barrier's opening comes within this, or the connection is given up.
constexpr sim::Duration kReply = std::chrono::seconds(10);
/// For so long an agent tries to reach a lost store again.
constexpr sim::Duration kReconnect = std::chrono::seconds(5);
/// For so long a store is served on to a client that says nothing: one that waits, or one on a
/// machine that is down, which closes no connection (model/hardened/static, model/store).
constexpr sim::Duration kSilentClient = std::chrono::minutes(2);

/// Bound: exit barrier + twice read + close + shutdown grace + slack: the last question of the
/// barrier, and that of the closing, may each begin when their time is nearly up. Where an agent of
/// the job closes the rendezvous in a manner that waits, the limit of that and its questions
/// besides: others hear of it as late. It is owed by
/// every agent once the job is decided, by an agent that has come to the exit barrier in any case,
/// and lapses when the job goes on. The agent that decided the job must be able to tell the others,
/// and the store must not forget it before they hear of it. A store that is silent or has gone is
/// no reason to stay. An agent that serves the rendezvous store owes it when the others are gone
/// (safety.store_lifetime), and where the machine of one of them crashed, when it can have seen that.
class Exit final : public Judge {
 public:
  Exit()
      : Judge("liveness.exit", "After a terminal outcome every agent ends in bounded time.",
              {&ev::group_restarting, &ev::exit_barrier_entered, &ev::exit_barrier_left,
               &ev::group_state, &ev::rendezvous_completed, &ev::agent_started, &ev::store_serving,
               &ev::failure_reported, &wev::process_ended, &wev::node_crashed},
              kItself | kPath | kNames | kTasks | kKillable) {}

 private:
  struct Decision {
    sim::WorldTime at{};
    AgentId by = kNoAgent;
  };

  void judge(const sim::Event& event) override {
    if (event.type == &wev::node_crashed) latest_crash_ = event.at;
    const bool is_empty = serves_rendezvous(event);
    const bool is_gone = event.type == &wev::process_ended && view().store_is_gone();
    for (JobId id{0}; (is_empty || is_gone) && id.value < view().job_count(); ++id.value) {
      const Job& job = view().job(id);
      if (is_empty || job.backend == "static") cannot_hear(event, job);
    }
    Judge::judge(event);
  }

  void judge_agent(const sim::Event& event, AgentId id) override {
    const Job& job = job_of(id);
    if (event.type == &ev::store_serving) {
      if (serves_rendezvous(event)) hosts_.insert(id);
    } else if (event.type == &ev::agent_started) {  // a store is served to newcomers, too
      for (const AgentId host : hosts_) {
        if (host != id && owed_.lapse(host)) serving_.insert(host);
      }
    } else if (event.type == &ev::rendezvous_completed) {
      for (const AgentId other : job.agents) forget(other);
    } else if (event.type == &ev::exit_barrier_left) {
      if (text(event, "result") == "passed") passed_.insert({id, agent(id).round});
    } else if (event.type == &ev::group_restarting) {
      const bool knows = passed_.contains({id, agent(id).round});
      if (!job.over || (!knows && (one_was_not_counted(agent(id).job) || forgotten_by(job))))
        forget(id);
    } else if (event.type == &wev::process_ended) {
      owed_.met(id, event);
      unheard(event, id);
      for (const AgentId host : std::exchange(serving_, {})) owe(host, event, host);
      return;
    }
    auto& decided = decided_[agent(id).job];
    if (job.over == event.at && (!decided || decided->at != event.at)) {
      decided = {event.at, id};
      for (const AgentId other : job.agents) owe(other, event, id);
    } else if (event.type == &ev::exit_barrier_entered) {
      owe(id, event, id);
    }
  }

  void owe(AgentId id, const sim::Event& event, AgentId decider) {
    if (agent(id).ended) return;
    if (hosts_.contains(id) && view().others_live(id)) {
      serving_.insert(id);
      return;
    }
    const Timeouts& with = agent(id).timeouts;
    sim::Duration bound =
        with.exit_barrier + 2 * with.read_timeout + with.close + with.shutdown + kSlack;
    bound += job_of(id).timeouts.parting;
    if (hosts_.contains(id) && latest_crash_ && event.at - *latest_crash_ <= kSilentClient)
      bound = std::max(bound, kSilentClient + kSlack);
    Due due{event.at, bound, id, kNoAgent, event.id};
    // A host hears that its clients go as it serves them.
    if (decider != id || hosts_.contains(id)) due.with = {decider};
    due.with_needs = kAsking;
    owed_.owe(id, due);
  }

  /// The agent that decided the job went without ever having been able to tell: to the others it is
  /// a lost member like any other.
  void unheard(const sim::Event& event, AgentId id) {
    const auto& decided = decided_[agent(id).job];
    if (!decided || decided->by != id) return;
    const auto cut = view().ledger().disturbance(view().claimant(id), kAsking, event.at);
    if (!cut || cut->from > decided->at + kReply) return;
    for (const AgentId other : job_of(id).agents) {
      if (agent(other).stage != Stage::barrier) forget(other);
    }
  }

  /// All agents of the round came to the exit barrier, but one could not say so to the store: the
  /// job goes on without it.
  [[nodiscard]] bool one_was_not_counted(JobId job) const {
    const sim::WorldTime over = *view().job(job).over;
    return view().any_agent(job, [&](AgentId id, const Agent& each) {
      return each.all_came && hindrance(id, kAsking, over, over) != nullptr;
    });
  }

  /// By the fault for which the store has lost the outcome.
  [[nodiscard]] const Hindrance* forgotten_by(const Job& job) const {
    return view().ledger().contents_lost(*job.over);
  }

  /// An agent at work cannot hear of an outcome that the store has lost. Where there is no store
  /// any more, that of a static rendezvous does not miss it.
  void cannot_hear(const sim::Event& event, const Job& job) {
    const Hindrance* const by = job.over ? forgotten_by(job) : nullptr;
    const auto excuse = [&](AgentId id, const Due&) {
      return &job_of(id) == &job && agent(id).at_work() ? by : nullptr;
    };
    owed_.excuse(excuse, event);
  }

  void forget(AgentId id) {
    owed_.lapse(id);
    serving_.erase(id);
  }

  std::optional<sim::WorldTime> latest_crash_;
  std::set<AgentId> hosts_;    ///< of the rendezvous store
  std::set<AgentId> serving_;  ///< of those, the ones that have nothing else to do
  std::set<std::pair<AgentId, std::int64_t>> passed_;  ///< has seen the barrier of a round open
  Obligations<AgentId> owed_{
      *this, "exit barrier + twice read + close + grace + slack",
      [this](AgentId id, const Due& due) {
        const Job& job = job_of(id);
        const bool decided = job.over && *job.over <= due.since;
        return say("{} at {}; {} should have ended",
                   decided ? say("job \"{}\" was decided ({})", job.run_id, job.over_by)
                           : say("the work of node {} was done", agent(id).node),
                   due.since, id);
      }};
  std::map<JobId, std::optional<Decision>> decided_;  ///< the latest that was seen
};

/// Bound: a reply + slack, from the moment when the last agent of the round has come, for each that
/// waits. Whether an agent that dies on coming was counted is unknown, and what a store has
/// forgotten opens nothing.
class BarrierOpens final : public Judge {
 public:
  BarrierOpens()
      : Judge("liveness.barrier_opens",
              "The exit barrier opens when all agents of the round have come.",
              {&ev::exit_barrier_entered, &ev::exit_barrier_left, &ev::store_serving,
               &wev::process_ended, &wev::fault_injected},
              kAsking) {}

 private:
  void judge(const sim::Event& event) override {
    if (const auto lost = forgotten(event)) {
      const auto excuse = [&](AgentId id, const Due& due) {
        const bool concerned = lost == kNoJob || agent(id).job == *lost;
        return concerned ? view().ledger().contents_lost(due.since) : nullptr;
      };
      owed_.excuse(excuse, event);
    }
    Judge::judge(event);
  }

  void judge_agent(const sim::Event& event, AgentId id) override {
    if (event.type == &ev::exit_barrier_entered) return owe(id, event);
    if (event.type != &ev::exit_barrier_left && event.type != &wev::process_ended) return;
    owed_.met(id, event);
    const Agent& agent = view().agent(id);
    if (event.type != &wev::process_ended || agent.stage != Stage::barrier) return;
    if (event.at - agent.stage_since > kReply) return;
    const std::pair round{agent.job, agent.round};
    uncounted_.insert(round);
    for (const AgentId other : view().round(round.first, round.second)->members) owed_.lapse(other);
  }

  void owe(AgentId latest, const sim::Event& event) {
    const std::pair key{agent(latest).job, number(event, "round")};
    const Round* const round = view().round(key.first, key.second);
    if (round == nullptr || std::ssize(round->in_barrier) != number(event, "world_size")) return;
    if (uncounted_.contains(key)) return;
    sim::WorldTime first_came = event.at;
    for (const AgentId id : round->members) {
      if (agent(id).stage == Stage::barrier)
        first_came = std::min(first_came, agent(id).stage_since);
    }
    if (view().ledger().contents_lost(first_came) != nullptr) return;
    for (const AgentId id : round->members) {
      const Agent& other = agent(id);
      if (!other.alive() || other.stage != Stage::barrier) continue;
      owed_.owe(id, {event.at, kReply + kSlack, id, latest, event.id, round->members, kAsking});
    }
  }

  std::set<std::pair<JobId, std::int64_t>> uncounted_;  ///< rounds: an agent died on coming
  Obligations<AgentId> owed_{
      *this, "reply + slack", [this](AgentId id, const Due& due) {
        return say("{} was the last to come to the exit barrier, at {}; {} should have left it",
                   due.about, due.since, id);
      }};
};

/// Bound: the stop grace + slack, from group.restarting until the agent is back in the rendezvous,
/// has said that its workers are stopped, or, while a fault keeps its worker from being killed, has
/// left: it goes without that worker, and may serve a store for others long after that. An agent
/// that is told to go meanwhile stops them for that (liveness.signals_take_effect).
class RestartStops final : public Judge {
 public:
  RestartStops()
      : Judge("liveness.restart_stops",
              "An agent that restarts has stopped its workers in bounded time.",
              {&ev::group_restarting, &ev::rendezvous_joining, &ev::rendezvous_left,
               &ev::group_state, &wev::process_signalled, &wev::process_ended},
              kItself | kKillable) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    const Agent& agent = view().agent(id);
    if (event.type == &ev::group_restarting) {
      if (agent.signalled) return;
      const sim::Duration grace = std::max(kStopGrace, agent.timeouts.shutdown);
      owed_.owe(id, {event.at, grace + kSlack, id, kNoAgent, event.id});
    } else if (event.type == &wev::process_signalled) {
      if (agent.signalled) owed_.lapse(id);
    } else if (event.type == &ev::rendezvous_left) {
      if (hindrance(id, kKillable, event.at, event.at) != nullptr) owed_.met(id, event);
    } else if (event.type != &ev::group_state || text(event, "state") == "STOPPED") {
      owed_.met(id, event);
    }
  }

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
              {&wev::process_signalled, &wev::process_ended}, kItself | kKillable) {}

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

void add_endings(InvariantRegistry& registry) {
  registry.add<Exit, BarrierOpens, RestartStops, SignalsTakeEffect>();
}

}  // namespace hooke::properties
