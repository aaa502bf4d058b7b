// Getting out: when the job is decided, and when all have come to the exit barrier.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "properties/invariants/builtins.h"
#include "properties/invariants/core.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// A store's reply at the barrier's opening comes within this, or the connection is given up.
constexpr sim::Duration kReply = std::chrono::seconds(10);
/// For so long a store is served on to a client that says nothing: one that waits, or one on a
/// machine that is down or cut off, which closes no connection (model/hardened/static, model/store).
constexpr sim::Duration kSilentClient = std::chrono::minutes(2);

/// When, and by which agents, jobs were decided, and which agents can know it.
class Decisions {
 public:
  /// This event of the agent decides its job.
  bool is_new(const sim::Event& event, AgentId id, const JobView& view) {
    Decision& latest = latest_[view.agent(id).job];
    const bool decides = view.job(view.agent(id).job).over == event.at;
    if (!decides || (latest.by != kNoAgent && latest.at == event.at)) return false;
    latest = {event.at, id};
    return true;
  }
  /// Those whose job the agent decides: all but the members of a later round than its own.
  static std::vector<AgentId> concerned(AgentId id, const JobView& view) {
    std::vector<AgentId> all = view.job(view.agent(id).job).agents;
    std::erase_if(all, [&](AgentId other) {
      return view.agent(other).member && view.agent(other).round > view.agent(id).round;
    });
    return all;
  }
  /// It has seen the barrier of its round open.
  void has_passed(AgentId id, const JobView& view) { passed_.insert({id, view.agent(id).round}); }

  /// The agent that decided the job went without ever having been able to tell: to the others it is
  /// a lost member like any other.
  [[nodiscard]] bool is_unheard(const sim::Event& event, AgentId id, const JobView& view) const {
    const auto latest = latest_.find(view.agent(id).job);
    if (latest == latest_.end() || latest->second.by != id) return false;
    const auto cut = view.ledger().disturbance(view.claimant(id), kAsking, event.at);
    return cut && cut->from <= latest->second.at + kReply;
  }

  /// The fault for which the agent cannot hear of the outcome that the store loses by this event;
  /// null: it can, or none is lost. An agent at work asks a new store, which knows nothing; where
  /// there is no store any more, one of a static rendezvous does not miss it. What etcd forgets the
  /// others have told to each agent that could ask for it since the decision.
  static const Hindrance* fault_that_lost(const sim::Event& event, AgentId id,
                                          const JobView& view) {
    const Agent& self = view.agent(id);
    const Job& job = view.job(self.job);
    if (!job.over) return nullptr;
    const bool is_gone = event.type == &wev::process_ended && view.store_is_gone();
    bool cannot_hear =
        self.at_work() && (serves_rendezvous(event) || (is_gone && job.backend == "static"));
    if (event.type == &wev::fault_injected && text(event, "kind") == "etcd_expiry") {
      const auto cut = view.ledger().disturbance(view.claimant(id), kAsking, event.at);
      cannot_hear = cut && cut->from <= *job.over && cut->to >= event.at;
    }
    return cannot_hear ? view.ledger().contents_lost(*job.over) : nullptr;
  }

  /// The agent may restart: its job is not decided, the store has lost the outcome, or all agents of
  /// the round came to the exit barrier, but one could not say so to the store: the job goes on
  /// without it.
  [[nodiscard]] bool may_go_on(AgentId id, const JobView& view) const {
    const Agent& self = view.agent(id);
    const auto over = view.job(self.job).over;
    if (!over || passed_.contains({id, self.round})) return !over;
    return view.ledger().contents_lost(*over) != nullptr ||
           view.any_agent(self.job, [&](AgentId each, const Agent& agent) {
             const auto* const cut = view.ledger().find(view.claimant(each), kAsking, *over, *over);
             return agent.all_came && cut != nullptr;
           });
  }

 private:
  struct Decision {
    sim::WorldTime at{};
    AgentId by = kNoAgent;
  };
  std::map<JobId, Decision> latest_;
  std::set<std::pair<AgentId, std::int64_t>> passed_;
};

/// The agents that serve a rendezvous store.
class Hosts {
 public:
  /// A machine has crashed, or a client has ended that could not be heard.
  void silenced(sim::WorldTime at) { latest_silenced_ = at; }
  /// What it waits for clients that were silenced, if any were; else nothing.
  [[nodiscard]] sim::Duration patience(AgentId id, sim::WorldTime at) const {
    const bool silent = latest_silenced_ && at - *latest_silenced_ <= kSilentClient;
    return contain(id) && silent ? kSilentClient + kSlack : sim::Duration();
  }
  void add(AgentId id) { all_.insert(id); }
  /// The one that begins among them if its process serves a store of an earlier run of the job.
  [[nodiscard]] const std::set<AgentId>& all_as_one_begins(AgentId id, const JobView& view) {
    const ProcessKey process{view.agent(id).node, view.agent(id).pid};
    const bool serves = std::ranges::any_of(view.services(), [&](const Service& each) {
      return each.current && each.process == process;
    });
    if (serves) add(id);
    return all_;
  }
  [[nodiscard]] bool contain(AgentId id) const { return all_.contains(id); }
  /// It has nothing else to do than to serve others.
  void serves_others(AgentId id) { serving_.insert(id); }
  void serves_none(AgentId id) { serving_.erase(id); }
  /// Those, now that this one is over.
  [[nodiscard]] std::set<AgentId> take_serving(AgentId over) {
    serves_none(over);
    return std::exchange(serving_, {});
  }

 private:
  std::set<AgentId> all_, serving_;
  std::optional<sim::WorldTime> latest_silenced_;
};

/// The last question of the barrier, and that of the closing, may each begin when their time is
/// nearly up. In a pause before a restart only a hardened agent looks at the others.
sim::Duration exit_bound(const Timeouts& with, sim::Duration parting) {
  return with.exit_barrier + 2 * with.read_timeout + with.close + with.shutdown + with.pause +
         parting + kSlack;
}

/// How much longer an agent may take that cannot hear of the outcome. The members of a static round
/// reach no store that comes after theirs: one that waits there for the others does not hear what
/// they decide, and goes when it has waited for them to come and for their ranks. One that a name led
/// to serve apart from them goes when it has tried to join.
sim::Duration waits_in_vain(AgentId id, const JobView& view) {
  const Agent& self = view.agent(id);
  const Service* const store = view.latest_service(self.job);
  const bool meets = self.stage == Stage::starting || self.stage == Stage::joining;
  if (meets && view.serves_apart(id)) return self.timeouts.join;
  if (view.job(self.job).backend != "static" || !meets || store == nullptr) return {};
  const bool came_after = view.any_agent(self.job, [&](AgentId other, const Agent&) {
    return view.any_worker(other,
                           [&](const Process& worker) { return worker.started < store->since; });
  });
  return came_after ? 2 * wait_for_ranks("static", self.timeouts) : sim::Duration();
}

/// Bound: exit barrier + twice read + close + shutdown grace + slack. Where an agent of the job closes
/// the rendezvous in a manner that waits, the limit of that and its questions besides: others hear of
/// it as late. Where its policy makes an agent pause before a restart, the longest pause. It is owed
/// by every agent once the job is decided, but by no member of a later round than the one that decided;
/// by an agent that has come to the exit barrier in any case. It lapses when the job goes on. The agent
/// that decided the job must be able to tell the others, and the store must not forget it before they
/// hear of it. A store that is silent or has gone is no reason to stay. A process that runs its failed
/// job again has ended as an agent of that. An agent that serves the rendezvous store owes it when the
/// others are gone (safety.store_lifetime), and where the machine of one of them crashed, or one of
/// them ended that could not be heard, when it can have seen that.
class Exit final : public Judge {
 public:
  Exit()
      : Judge("liveness.exit", "After a terminal outcome every agent ends in bounded time.",
              {&ev::group_restarting, &ev::exit_barrier_entered, &ev::exit_barrier_left,
               &ev::group_state, &ev::rendezvous_completed, &ev::agent_started, &ev::store_serving,
               &ev::failure_reported, &ev::job_rerun, &wev::process_ended, &wev::node_crashed,
               &wev::fault_injected},
              kItself | kPath | kNames | kTasks | kKillable) {}

 private:
  void judge(const sim::Event& event) override {
    if (event.type == &wev::node_crashed) hosts_.silenced(event.at);
    const auto outcome_lost = [&](AgentId id, const Due&) {
      return Decisions::fault_that_lost(event, id, view());
    };
    owed_.excuse(outcome_lost, event);
    Judge::judge(event);
  }

  void judge_agent(const sim::Event& event, AgentId id) override {
    if (event.type == &wev::process_ended || event.type == &ev::job_rerun) return ended(event, id);
    if (event.type == &ev::store_serving) {
      if (serves_rendezvous(event)) hosts_.add(id);
    } else if (event.type == &ev::agent_started) {  // a store is served to newcomers, too
      for (const AgentId host : hosts_.all_as_one_begins(id, view()))
        if (host != id && owed_.lapse(host)) hosts_.serves_others(host);
    } else if (event.type == &ev::rendezvous_completed) {
      for (const AgentId other : job_of(id).agents) forget(other);
    } else if (event.type == &ev::exit_barrier_left) {
      if (text(event, "result") == "passed") decisions_.has_passed(id, view());
    } else if (event.type == &ev::group_restarting) {
      if (decisions_.may_go_on(id, view())) forget(id);
    }
    if (decisions_.is_new(event, id, view())) {
      for (const AgentId other : Decisions::concerned(id, view())) owe(other, event, id);
    } else if (event.type == &ev::exit_barrier_entered) {
      owe(id, event, id);
    }
  }

  void owe(AgentId id, const sim::Event& event, AgentId decider) {
    if (agent(id).ended) return;
    const bool is_host = hosts_.contain(id);
    if (is_host && view().others_live(id)) return hosts_.serves_others(id);
    const auto own = exit_bound(agent(id).timeouts, job_of(id).timeouts.parting);
    const auto bound = std::max(own, hosts_.patience(id, event.at)) + waits_in_vain(id, view());
    Due due{event.at, bound, id, kNoAgent, event.id};
    if (decider != id || is_host) due.with = {decider};  // it hears that its clients go
    due.with_needs = kAsking;
    owed_.owe(id, due);
  }

  void ended(const sim::Event& event, AgentId id) {
    owed_.met(id, event);
    if (hindrance(id, kPath, event.at, event.at) != nullptr) hosts_.silenced(event.at);
    const bool is_unheard = decisions_.is_unheard(event, id, view());
    for (const AgentId other : job_of(id).agents)
      if (is_unheard && agent(other).stage != Stage::barrier) forget(other);
    for (const AgentId host : hosts_.take_serving(id)) owe(host, event, host);
  }

  void forget(AgentId id) {
    owed_.lapse(id);
    hosts_.serves_none(id);
  }

  Hosts hosts_;
  Decisions decisions_;
  Obligations<AgentId> owed_{*this, "exit barrier + twice read + close + grace + slack",
                             [this](AgentId id, const Due& due) {
                               const Job& job = job_of(id);
                               const std::string what =
                                   job.over && *job.over <= due.since
                                       ? say("job \"{}\" was decided ({})", job.run_id, job.over_by)
                                       : say("the work of node {} was done", agent(id).node);
                               return say("{} at {}; {} should have ended", what, due.since, id);
                             }};
};

/// Bound: a reply + slack, from the moment when the last agent of the round has come, for each that
/// waits. Whether an agent was counted is unknown that dies, is told to go or gives up before the
/// store could have answered it, and what a store has forgotten opens nothing.
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
    if (event.type == &ev::exit_barrier_entered) {
      came_[id] = event.at;
      return owe(id, event);
    }
    if (event.type != &ev::exit_barrier_left && event.type != &wev::process_ended) return;
    owed_.met(id, event);
    const auto stay = came_.extract(id);
    const bool dies = event.type == &wev::process_ended;
    const std::string_view result = dies ? "" : text(event, "result");
    const bool failed = result == "failed";
    if (stay.empty() || !(dies || failed || result == "timed_out" || result == "interrupted"))
      return;
    // An error of the store's that nothing brought about leaves no agent uncounted.
    const auto* const cause =
        view().ledger().find(view().claimant(id), needs(), stay.mapped(), event.at);
    if (failed && cause == nullptr) return;
    const auto answered =
        view().ledger().deadline(view().claimant(id), needs(), stay.mapped(), kReply);
    if (answered && *answered < event.at) return;
    const std::pair round{agent(id).job, agent(id).round};
    const Round* const known = view().round(round.first, round.second);
    if (known == nullptr) return;  // a trace that is not hooke's may tell of none
    uncounted_.insert(round);
    for (const AgentId other : known->members) owed_.lapse(other);
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
      const bool waits = other.alive() && other.stage == Stage::barrier;
      if (!waits || round->replaced.contains(id)) continue;
      owed_.owe(id, {event.at, kReply + kSlack, id, latest, event.id, round->members, kAsking});
    }
  }

  std::map<AgentId, sim::WorldTime> came_;              ///< when those in a barrier came to it
  std::set<std::pair<JobId, std::int64_t>> uncounted_;  ///< rounds: an agent went on coming
  Obligations<AgentId> owed_{
      *this, "reply + slack", [this](AgentId id, const Due& due) {
        return say("{} was the last to come to the exit barrier, at {}; {} should have left it",
                   due.about, due.since, id);
      }};
};

/// It is passed when each rank of the round has come to it, the ranks of agents that have gone since
/// among them; it is left as timed out when the exit barrier's time, less a tenth, is over: clocks
/// drift. One that leaves it sooner, its job not over, goes back with the others before it ends. Bound:
/// exit barrier + reply + slack, between an agent's coming and its leaving.
class ExitBarrier final : public Judge {
 public:
  ExitBarrier()
      : Judge("safety.exit_barrier",
              "An agent passes the exit barrier only when all others have come, or when the time "
              "for which it is to wait is over.",
              {&ev::exit_barrier_entered, &ev::exit_barrier_left, &wev::process_ended},
              kAsking | kOwnRank) {
    on_agent({&ev::rendezvous_joining}, [this](auto&, AgentId id) { kept(returns_.erase(id)); });
    on_agent({&ev::agent_finished}, &ExitBarrier::finished);
  }

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    if (event.type == &wev::process_ended) return owed_.lapse_unless_late(id, event);
    std::set<std::int64_t>& came = came_[{agent(id).job, number(event, "round")}];
    if (event.type == &ev::exit_barrier_entered) {
      came.insert(agent(id).rank);
      since_[id] = event.at;
      return owed_.owe(id, {event.at, agent(id).timeouts.exit_barrier + kReply + kSlack, id,
                            kNoAgent, event.id});
    }
    owed_.met(id, event);
    const auto since = since_.extract(id);
    const std::string_view result = text(event, "result");
    if (since.empty()) return;
    if (result == "passed") passed(event, id, std::ssize(came));
    if (result == "timed_out") return timed_out(event, id, since.mapped());
    const bool early = event.at - since.mapped() < agent(id).timeouts.exit_barrier * 9 / 10;
    if (result != "passed" && early) returns_[id] = since.mapped();
  }

  void finished(const sim::Event& event, AgentId id) {
    const auto returns = returns_.extract(id);
    if (returns.empty() || text(event, "outcome") != "succeeded" || job_of(id).over) return;
    if (excused(hindrance(id, kAsking, returns.mapped(), event.at))) return;
    broken(event,
           "{} came to the exit barrier at {}, did not wait until it was open, and ended as "
           "\"succeeded\" at {}; its job was not over",
           id, returns.mapped(), event.at);
  }

  void passed(const sim::Event& event, AgentId id, std::int64_t came) {
    if (came >= agent(id).world_size) return kept();
    broken(event, hindrance(id, kOwnRank, sim::WorldTime(), event.at),
           "{} passed the exit barrier of round {} at {}, to which {} of {} agents had come", id,
           number(event, "round"), event.at, came, agent(id).world_size);
  }

  void timed_out(const sim::Event& event, AgentId id, sim::WorldTime since) {
    const sim::Duration limit = agent(id).timeouts.exit_barrier;
    if (event.at - since >= limit * 9 / 10) return kept();
    if (excused(hindrance(id, kAsking, since, event.at))) return;
    broken(event,
           "{} came to the exit barrier at {} and was to wait {} for the others; it left as "
           "timed out at {}",
           id, since, limit, event.at);
  }

  std::map<std::pair<JobId, std::int64_t>, std::set<std::int64_t>> came_;  ///< ranks, by round
  std::map<AgentId, sim::WorldTime> since_;    ///< when those in a barrier came to it
  std::map<AgentId, sim::WorldTime> returns_;  ///< those that left it early: when they had come
  Obligations<AgentId> owed_{
      *this, "barrier + reply + slack", [this](AgentId id, const Due& due) {
        return say("{} came to the exit barrier at {}; it should have left it", id, due.since);
      }};
};

}  // namespace

void add_endings(InvariantRegistry& registry) {
  registry.add<Exit, BarrierOpens, ExitBarrier>();
}

}  // namespace hooke::properties
