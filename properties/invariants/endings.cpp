// Getting out: when the job is decided, when workers are to stop, when a signal says so.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "model/observe/trace_events.h"
#include "properties/invariants/judge.h"
#include "properties/invariants/liveness.h"
#include "sim/port/process_host.h"
#include "sim/world/world_events.h"

namespace hooke::properties {
namespace {

namespace ev = model::events;
namespace wev = world::events;

constexpr sim::Duration kSlack = std::chrono::seconds(5);
/// A reply that a store owes at the barrier's opening comes within this, or the connection is given
/// up.
constexpr sim::Duration kReply = std::chrono::seconds(10);
/// For so long a lost store is tried to be reached again.
constexpr sim::Duration kReconnect = std::chrono::seconds(5);
/// For so long a hardened agent of a static rendezvous goes on asking a store that is silent.
constexpr sim::Duration kStaticOutage = std::chrono::seconds(60);
/// Workers that are stopped for a restart get this, whatever was configured (agent.md, A-5), unless
/// that is more, and the variant heeds it.
constexpr sim::Duration kStopGrace = std::chrono::seconds(30);

/// Four bounds. When the job is decided, each agent must be gone within exit barrier + read +
/// close + shutdown grace + slack. So must an agent that has come to the exit barrier, decided or
/// not, unless it goes back to work. One that serves the rendezvous store may serve the others as
/// long as there are any (safety.store_lifetime asks for it). When all agents of a round have come
/// to the exit barrier, it opens within a reply + slack, network and store permitting. An agent
/// that restarts must have stopped its workers (be back in the rendezvous, or be gone) within the
/// stop grace + slack. Nobody ends a worker that sleeps in the kernel, and who is cut off from the
/// store while it joins may do so until its join time-out. Whether an agent that is
/// killed as soon as it has come to the barrier was counted there is unknown: it opens for nobody.
class Exit final : public Judge {
 public:
  Exit() : Judge("liveness.exit", "After a terminal outcome every agent ends in bounded time.") {}

  [[nodiscard]] std::span<const sim::EventType* const> interests() const override {
    return kInterests;
  }

  void finish(const RunFacts& facts) override {
    const auto left = "was still there when the run ended";
    ends_.overdue(facts.end, view(), [&](AgentId id, const Due& due) {
      tell_end(id, due, facts.end, sim::kNoEvent, left);
    });
    openings_.overdue(
        facts.end, view(),
        [&](AgentId id, const Due& due) {
          tell_opening(id, due, facts.end, sim::kNoEvent, "was still in it when the run ended");
        },
        true);
    stops_.overdue(facts.end, view(), [&](AgentId id, const Due& due) {
      tell_stop(id, due, facts.end, sim::kNoEvent, "they were not when the run ended");
    });
  }

 private:
  struct Decider {
    AgentId agent = kNoAgent;
    bool by_barrier = false;  ///< it was the last to come to the exit barrier
  };

  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    if (event.type == &ev::store_serving) {
      if (text(event, "purpose") == "rendezvous") hosts_.insert(id);
      return;
    }
    if (event.type == &ev::agent_started) return serve(id);
    const bool store_goes =
        hosts_.contains(id) && (event.type == &wev::process_ended ||
                                (event.type == &ev::store_stopped && view().agent(id).ended));
    if (store_goes) openings_.clear();  // nobody can be told that all have come
    if (event.type == &ev::rendezvous_completed) {
      for (const AgentId other : view().job(view().agent(id).job).agents) forget_end(other);
      return;
    }
    if (event.type == &ev::group_restarting) {
      if (!view().job(view().agent(id).job).over) forget_end(id);
      const sim::Duration grace = std::max(kStopGrace, view().agent(id).timeouts.shutdown);
      stops_.owe(id, {event.at, grace + kSlack, kNoAgent, event.id});
    } else if (event.type == &ev::rendezvous_joining || event.type == &wev::process_ended ||
               (event.type == &ev::group_state && text(event, "state") == "STOPPED")) {
      if (const auto due = stops_.met(id, event.at, view()))
        tell_stop(id, *due, event.at, event.id, "that happened only");
    }
    if (event.type == &ev::rendezvous_joining) joining_[id] = event.at;
    if (event.type == &ev::rendezvous_joined) joining_.erase(id);
    if (event.type == &ev::exit_barrier_left || event.type == &wev::process_ended) {
      if (const auto due = openings_.met(id, event.at, view(), true))
        tell_opening(id, *due, event.at, event.id, "left it only");
    }
    if (event.type == &wev::process_ended) {
      perhaps_uncounted(view().agent(id), event.at);
      if (const auto due = ends_.met(id, event.at, view()))
        tell_end(id, *due, event.at, event.id, "ended only");
      for (const AgentId host : std::exchange(serving_, {})) owe_end(host, event);
      return;
    }
    if (event.type == &ev::exit_barrier_entered) owe_openings(id, event);
    const Agent& agent = view().agent(id);
    const Job& job = view().job(agent.job);
    if (job.over == event.at && decided_[agent.job] != event.at) {
      decided_[agent.job] = event.at;
      deciders_[agent.job] = {id, event.type == &ev::exit_barrier_entered};
      for (const AgentId other : job.agents) owe_end(other, event);
    } else if (event.type == &ev::exit_barrier_entered) {
      owe_end(id, event);
    }
  }

  void owe_end(AgentId id, const sim::Event& event) {
    const Agent& agent = view().agent(id);
    if (agent.ended) return;
    if (hosts_.contains(id) && others_live(id)) {
      serving_.insert(id);
      return;
    }
    const Timeouts& with = agent.timeouts;
    const sim::Duration bound =
        with.exit_barrier + with.read_timeout + with.close + with.shutdown + kSlack;
    ends_.owe(id, {event.at, bound, kNoAgent, event.id});
  }

  /// Whoever serves the store serves it to newcomers, too.
  void serve(AgentId newcomer) {
    for (const AgentId host : hosts_) {
      if (host != newcomer && ends_.cancel(host)) serving_.insert(host);
    }
  }

  void forget_end(AgentId id) {
    ends_.cancel(id);
    serving_.erase(id);
  }

  [[nodiscard]] bool others_live(AgentId id) const {
    for (std::uint32_t i = 0; i < view().agent_count(); ++i) {
      if (AgentId{i} != id && view().agent(AgentId{i}).alive()) return true;
    }
    return false;
  }

  void perhaps_uncounted(const Agent& agent, sim::WorldTime at) {
    if (agent.stage != Stage::barrier || at - agent.stage_since > kReply) return;
    uncounted_.insert({agent.job, agent.round});
    for (const AgentId id : view().round(agent.job, agent.round)->members) openings_.cancel(id);
  }

  /// To all who wait in a barrier for which nobody is missing any more.
  void owe_openings(AgentId latest, const sim::Event& event) {
    const Agent& agent = view().agent(latest);
    const Round* const round = view().round(agent.job, number(event, "round"));
    if (round == nullptr || std::ssize(round->in_barrier) != number(event, "world_size")) return;
    if (uncounted_.contains({agent.job, number(event, "round")})) return;
    for (const AgentId id : round->members) {
      const Agent& other = view().agent(id);
      if (other.alive() && other.stage == Stage::barrier)
        openings_.owe(id, {event.at, kReply + kSlack, latest, event.id});
    }
  }

  void tell_opening(AgentId id, const Due& due, sim::WorldTime at, sim::EventId event,
                    const char* how) {
    if (enough()) return;
    // Without a store nobody learns that all have come, and each waits for as long as it may.
    const Timeouts& with = view().agent(id).timeouts;
    if (view().store_is_gone() && at <= due.since + with.exit_barrier + with.read_timeout) return;
    broken(due.since + due.bound, event,
           fmt::format("{} was the last to come to the exit barrier, at {}; {} should have left it "
                       "by {}, but {} at {}",
                       view().describe(due.about), seconds_text(due.since), view().describe(id),
                       seconds_text(due.since + due.bound), how, seconds_text(at)),
           given_up(due, with.read_timeout) ? "the store had been silent for a read time-out"
                                            : limit_of(due, at));
  }

  /// Whoever had come may have gone without a word that was heard.
  [[nodiscard]] bool given_up(const Due& due, sim::Duration patience) const {
    const auto& faults = view().faults();
    return std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
      return fault.disturbance && fault.begin <= due.since &&
             fault.end.value_or(due.since) >= due.since &&
             fault.end.value_or(due.since + patience) - fault.begin >= patience;
    });
  }

  void tell_end(AgentId id, const Due& due, sim::WorldTime at, sim::EventId event,
                const char* how) {
    if (enough()) return;
    const Agent& agent = view().agent(id);
    const Job& job = view().job(agent.job);
    const bool decided = job.over && *job.over <= due.since;
    broken(due.since + due.bound, event,
           fmt::format(
               "{} at {}; {} should have ended by {} (exit barrier {} + read {} + close {} + grace "
               "{} + {}), but {} at {}",
               decided ? "job \"" + job.run_id + "\" was decided (" + job.over_by + ")"
                       : "the work of node " + view().name(agent.node) + " was done",
               seconds_text(due.since), view().describe(id), seconds_text(due.since + due.bound),
               seconds_text(agent.timeouts.exit_barrier), seconds_text(agent.timeouts.read_timeout),
               seconds_text(agent.timeouts.close), seconds_text(agent.timeouts.shutdown),
               seconds_text(kSlack), how, seconds_text(at)),
           end_limit(id, due, at));
  }

  /// In the store of a static rendezvous that came up empty nobody counts himself in again.
  [[nodiscard]] std::string_view end_limit(AgentId id, const Due& due, sim::WorldTime at) const {
    const Agent& agent = view().agent(id);
    if (agent.round < 0 && view().store_is_gone()) return kNoStore;
    if (was_cut_off(id, due, at)) return kCutOff;
    // The last question of the barrier, and that of the closing, each begin before their time is
    // up.
    if (view().in_force("service_slow", at) &&
        at <= *deadline_of(due, view(), false) + agent.timeouts.read_timeout) {
      return "the store was slow";
    }
    if (hosts_.contains(id) && view().in_force("service_", at))
      return "the store had ceased to serve";
    const bool is_static = !view().job(agent.job).static_ranks.empty();
    const bool was_told = !could_not_tell(agent.job, due.since) && !could_not_hear(id, due, at);
    if (is_static && !was_told) return kCutOff;
    return is_static && view().store_has_forgotten({}) ? kForgotten : limit_of(due, at);
  }

  /// Nor, where nobody is ever taken for dead, of one whose agent could not be heard until it went.
  [[nodiscard]] bool could_not_tell(JobId job, sim::WorldTime decided) const {
    const auto decider = deciders_.find(job);
    if (decider == deciders_.end() || !view().is_cut_off(decider->second.agent, decided))
      return false;
    const auto gone = view().agent(decider->second.agent).ended;
    return !gone || view().is_cut_off(decider->second.agent, *gone);
  }

  /// It was cut off all the time, and went when its own patience with the store was over.
  [[nodiscard]] bool could_not_hear(AgentId id, const Due& due, sim::WorldTime at) const {
    return view().is_cut_off(id, due.since) && view().is_cut_off(id, at) &&
           at <= due.since + due.bound + kStaticOutage;
  }

  /// It wanted to join when the job was decided, could not hear of that, and went when its join
  /// time-out was over.
  [[nodiscard]] bool was_cut_off(AgentId id, const Due& due, sim::WorldTime at) const {
    const auto joining = joining_.find(id);
    if (joining == joining_.end()) return false;
    const Timeouts& with = view().agent(id).timeouts;
    const Due attempt{joining->second, with.join + with.read_timeout + kSlack, kNoAgent, {}};
    if (at > deadline_of(attempt, view(), false)) return false;
    const auto& faults = view().faults();
    const bool could_not_hear = std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
      return fault.begin <= due.since + kReply && (!fault.end || at <= *fault.end + due.bound) &&
             view().comes_between(fault, id);
    });
    return could_not_hear || nobody_could_tell(view().agent(id).job, due.since);
  }

  /// All members of the round whose end decided the job were cut off then, and when they went. That
  /// all have come to the exit barrier nobody can tell when one was.
  [[nodiscard]] bool nobody_could_tell(JobId job, sim::WorldTime decided) const {
    const auto decider = deciders_.find(job);
    if (decider == deciders_.end()) return false;
    const Round* const round = view().round(job, view().agent(decider->second.agent).round);
    if (round == nullptr) return false;
    const auto was_silent = [&](AgentId member) {
      const auto gone = view().agent(member).ended;
      return gone && view().is_cut_off(member, decided) && view().is_cut_off(member, *gone);
    };
    const auto& members = round->members;
    return decider->second.by_barrier ? std::any_of(members.begin(), members.end(), was_silent)
                                      : std::all_of(members.begin(), members.end(), was_silent);
  }

  /// Nobody hears of an outcome that the store has forgotten.
  [[nodiscard]] std::string_view limit_of(const Due& due, sim::WorldTime at) const {
    if (const auto limit = held_back(due.since, at); !limit.empty()) return limit;
    if (view().one_was_led_astray(at)) return kLedAstray;
    return view().store_has_forgotten(due.since) ? kForgotten : "";
  }

  /// Whoever is told to go meanwhile stops them for that (liveness.signals_take_effect).
  void tell_stop(AgentId id, const Due& due, sim::WorldTime at, sim::EventId event,
                 const char* how) {
    if (enough() || view().agent(id).signalled) return;
    broken(due.since + due.bound, event,
           fmt::format("{} began to stop its workers at {} in order to restart; they should have "
                       "been gone by {} (grace {} + {}), but {} at {}",
                       view().describe(id), seconds_text(due.since),
                       seconds_text(due.since + due.bound), seconds_text(kStopGrace),
                       seconds_text(kSlack), how, seconds_text(at)),
           held_back(due.since, at));
  }

  static constexpr const sim::EventType* kInterests[] = {
      &ev::group_restarting,     &ev::rendezvous_joining, &ev::exit_barrier_entered,
      &ev::exit_barrier_left,    &ev::group_state,        &ev::store_serving,
      &ev::rendezvous_completed, &ev::rendezvous_joined,  &ev::agent_started,
      &wev::process_ended};
  std::set<std::pair<JobId, std::int64_t>> uncounted_;  ///< rounds: somebody was killed coming
  std::set<AgentId> hosts_;                             ///< of the rendezvous store
  std::set<AgentId> serving_;                           ///< of those, who has nothing else to do
  Deadlines<AgentId> ends_;
  Deadlines<AgentId> openings_;  ///< of the exit barrier
  Deadlines<AgentId> stops_;
  std::map<AgentId, sim::WorldTime> joining_;               ///< since when, who is in no round
  std::map<JobId, std::optional<sim::WorldTime>> decided_;  ///< the decisions already seen
  std::map<JobId, Decider> deciders_;                       ///< with whose doing they came
};

/// Bound: shutdown grace + close + slack from the first signal (TERM, INT, HUP, QUIT) to the end of
/// the agent's process, whatever it was doing. A second signal does not put it off. Where no store
/// is left, each of the last two questions takes the time of a lost connection.
class SignalsTakeEffect final : public Judge {
 public:
  SignalsTakeEffect()
      : Judge("liveness.signals_take_effect",
              "A signal that tells an agent to end takes effect in bounded time.") {}

  [[nodiscard]] std::span<const sim::EventType* const> interests() const override {
    return kInterests;
  }

  void finish(const RunFacts& facts) override {
    owed_.overdue(facts.end, view(), [&](AgentId id, const Due& due) {
      tell(id, due, facts.end, sim::kNoEvent, "was still there when the run ended");
    });
  }

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    if (event.type == &wev::process_ended) {
      if (const auto due = owed_.met(id, event.at, view()))
        tell(id, *due, event.at, event.id, "ended only");
      return;
    }
    const Agent& agent = view().agent(id);
    if (agent.ended || agent.signalled != event.at) return;
    owed_.owe(id, {event.at, agent.timeouts.shutdown + agent.timeouts.close + kSlack, kNoAgent,
                   event.id});
    if (id.value >= signals_.size()) signals_.resize(view().agent_count());
    auto& heard = signals_[id.value];
    if (heard.name.empty()) {
      heard.name = to_string(static_cast<sim::Signal>(static_cast<int>(number(event, "signal"))));
      heard.stage = agent.stage;
    }
  }

  void tell(AgentId id, const Due& due, sim::WorldTime at, sim::EventId event, const char* how) {
    if (enough()) return;
    if (view().store_is_gone() && at <= due.since + due.bound + 2 * kReconnect) return;
    const Agent& agent = view().agent(id);
    const Heard& heard = signals_[id.value];
    broken(due.since + due.bound, event,
           fmt::format("{} got {} at {} while it {}; it should have ended by {} (grace {} + close "
                       "{} + {}), but {} at {}",
                       view().describe(id), heard.name, seconds_text(due.since), doing(heard.stage),
                       seconds_text(due.since + due.bound), seconds_text(agent.timeouts.shutdown),
                       seconds_text(agent.timeouts.close), seconds_text(kSlack), how,
                       seconds_text(at)),
           held_back(due.since, at));
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
  static constexpr const sim::EventType* kInterests[] = {&wev::process_signalled,
                                                         &wev::process_ended};
  Deadlines<AgentId> owed_;
  std::vector<Heard> signals_;  ///< by agent
};

}  // namespace

std::unique_ptr<Invariant> make_exit() {
  return std::make_unique<Exit>();
}
std::unique_ptr<Invariant> make_signals_take_effect() {
  return std::make_unique<SignalsTakeEffect>();
}

}  // namespace hooke::properties
