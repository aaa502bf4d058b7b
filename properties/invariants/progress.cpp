// Getting into a round: a lost member makes the others move, enough nodes form a round, a waiting
// node is let in.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "model/observe/restart_events.h"
#include "model/observe/trace_events.h"
#include "properties/invariants/judge.h"
#include "properties/invariants/liveness.h"
#include "sim/world/world_events.h"

namespace hooke::properties {
namespace {

namespace ev = model::events;
namespace wev = world::events;

/// Polls, state caches and network in between.
constexpr sim::Duration kSlack = std::chrono::seconds(5);
/// Workers that are stopped for a restart get this, whatever was configured (agent.md, A-5).
constexpr sim::Duration kStopGrace = std::chrono::seconds(30);
/// What a hardened agent asks of a store that has gone, for a connection and for an answer, before
/// it gives its job up: who is missing, what is left of the restarts, and that all may hear of it.
constexpr sim::Duration kLastQuestions = 3 * std::chrono::seconds(10);

/// Bound: keep-alive threshold (until the death can be known) + monitor interval (until the agent
/// looks) + slack. Each member of the round that lives must then have moved: begun to stop its
/// workers or to join again, come to the exit barrier or finished. A member that says how it ends
/// is departed, not lost; one whose workers had succeeded leaves no hole. Whoever has begun to stop
/// workers that failed has their stop grace. Not while network, stores or names are disturbed:
/// nobody is heard then.
class LossDetection final : public Judge {
 public:
  LossDetection()
      : Judge("liveness.loss_detection",
              "A lost participant leads to a new round or to the end within bounded time.") {}

  [[nodiscard]] std::span<const sim::EventType* const> interests() const override {
    return kInterests;
  }

  void finish(const RunFacts& facts) override {
    owed_.overdue(
        facts.end, view(),
        [&](AgentId agent, const Due& due) {
          tell(agent, due, facts.end, sim::kNoEvent, "had not when the run ended");
        },
        true);
  }

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    if (const auto due = owed_.met(id, event.at, view(), true)) {
      tell(id, *due, event.at, event.id, "did so only");
    }
    const Agent& agent = view().agent(id);
    if (event.type != &wev::process_ended) return;
    if (agent.stage == Stage::running || agent.stage == Stage::joined) lost(id, agent, event);
  }

  /// Who is owed a reaction since an earlier loss of the same round is owed it still.
  void lost(AgentId dead, const Agent& agent, const sim::Event& event) {
    const Round* const round = view().round(agent.job, agent.round);
    if (round == nullptr || !lossy_.insert({agent.job, agent.round}).second) return;
    for (const AgentId id : round->members) {
      const Agent& other = view().agent(id);
      if (!other.alive() || other.round != agent.round) continue;
      if (other.stage != Stage::running && other.stage != Stage::joined) continue;
      owed_.owe(id, {event.at, other.timeouts.keep_alive + other.timeouts.monitor + kSlack, dead,
                     event.id});
    }
  }

  void tell(AgentId id, const Due& due, sim::WorldTime at, sim::EventId event, const char* how) {
    if (enough()) return;
    const Agent& agent = view().agent(id);
    const Agent& dead = view().agent(due.about);
    // The store went with it: a silence like any other, which must be endured for so long, and in
    // which every question takes its time.
    const auto questions = std::max(kLastQuestions, 2 * agent.timeouts.read_timeout);
    if (took_store(due) && at <= due.since + due.bound + questions) return;
    const sim::Duration grace = std::max(kStopGrace, agent.timeouts.shutdown);
    if (stops_since(id) && at <= *stops_since(id) + grace + agent.timeouts.monitor + kSlack) return;
    broken(
        due.since + due.bound, event,
        fmt::format("{} died at {} as rank {} of round {}; {} should have started a new round or "
                    "ended by {} (keep-alive {} + monitor {} + {}), but {} at {}",
                    view().describe(due.about), seconds_text(due.since), dead.rank, dead.round,
                    view().describe(id), seconds_text(due.since + due.bound),
                    seconds_text(agent.timeouts.keep_alive), seconds_text(agent.timeouts.monitor),
                    seconds_text(kSlack), how, seconds_text(at)),
        limit_of(dead, due, at));
  }

  [[nodiscard]] bool took_store(const Due& due) const {
    const auto& faults = view().faults();
    return view().store_is_gone() ||
           std::any_of(faults.begin(), faults.end(), [&](const Fault& fault) {
             return fault.kind == kStoreGone && fault.begin == due.since;
           });
  }

  [[nodiscard]] std::string_view limit_of(const Agent& dead, const Due& due,
                                          sim::WorldTime at) const {
    if (dead.round < 0) return "a static rendezvous knows no members";
    return view().one_was_led_astray(at) ? kLedAstray : held_back(due.since, at);
  }

  /// When the agent told a worker to stop, of those that it has started last.
  [[nodiscard]] std::optional<sim::WorldTime> stops_since(AgentId id) const {
    for (const Process& process : view().processes(view().agent(id).node)) {
      if (process.worker && process.owner == id && process.told_to_stop)
        return process.told_to_stop;
    }
    return std::nullopt;
  }

  static constexpr const sim::EventType* kInterests[] = {
      &ev::group_restarting, &ev::rendezvous_joining,   &ev::worker_signalled,
      &ev::agent_finished,   &ev::exit_barrier_entered, &ev::job_given_up,
      &wev::process_ended};
  std::set<std::pair<JobId, std::int64_t>> lossy_;
  Deadlines<AgentId> owed_;
};

/// Bound: keep-alive threshold (until dead participants are out) + last call + stop grace + slack,
/// from the moment when at least min agents are joining and none is a member of a round, and as
/// long as that is so. Spares count: where there is no round, there are seats for them. It does not
/// run while network, stores or names are disturbed.
class Formation final : public Judge {
 public:
  Formation()
      : Judge("liveness.formation",
              "If enough nodes want to join, a round completes in bounded time.") {}

  [[nodiscard]] std::span<const sim::EventType* const> interests() const override {
    return kInterests;
  }

  void finish(const RunFacts& facts) override {
    owed_.overdue(
        facts.end, view(),
        [&](JobId job, const Due& due) {
          tell(job, due, facts.end, sim::kNoEvent, "none had when the run ended");
        },
        true);
  }

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    const JobId job_id = view().agent(id).job;
    const Job& job = view().job(job_id);
    const bool could = job.joining >= job.min_nodes && job.seated == 0 && !job.over;
    if (event.type == &ev::rendezvous_completed || !could) {
      const auto due = owed_.met(job_id, event.at, view(), true);
      if (!due) return;
      const bool formed =
          event.type == &ev::rendezvous_completed || event.type == &ev::rendezvous_joined;
      tell(job_id, *due, event.at, event.id,
           formed ? "it did so only" : "the attempt came to nothing");
    } else {
      const Timeouts& with = job.timeouts;
      owed_.owe(job_id, {event.at, with.keep_alive + with.last_call + kStopGrace + kSlack, kNoAgent,
                         event.id});
    }
  }

  void tell(JobId id, const Due& due, sim::WorldTime at, sim::EventId event, const char* how) {
    if (enough()) return;
    const Job& job = view().job(id);
    broken(due.since + due.bound, event,
           fmt::format("at least {} agents, which are enough, wanted to join job \"{}\" from {} "
                       "on; a round should have completed by {} (keep-alive {} + last call {} + "
                       "grace {} + {}), but {} at {}",
                       job.min_nodes, job.run_id, seconds_text(due.since),
                       seconds_text(due.since + due.bound), seconds_text(job.timeouts.keep_alive),
                       seconds_text(job.timeouts.last_call), seconds_text(kStopGrace),
                       seconds_text(kSlack), how, seconds_text(at)),
           limit(at));
  }

  [[nodiscard]] const char* limit(sim::WorldTime at) const {
    if (view().store_is_gone()) return kNoStore;
    return view().one_was_led_astray(at) ? kLedAstray : "";
  }

  static constexpr const sim::EventType* kInterests[] = {
      &ev::rendezvous_joining, &ev::rendezvous_completed, &ev::rendezvous_joined,
      &ev::rendezvous_failed,  &ev::rendezvous_added,     &wev::process_ended};
  Deadlines<JobId> owed_;
};

/// Bound: keep-alive threshold (until a dead member is out) + last call + stop grace (until the
/// members have stopped their workers) + slack, from the entry into the wait list. Not while
/// network, stores or names are disturbed. The legacy rendezvous has no spares: who waits beside a
/// version that is full is one. Nobody ends a worker that sleeps in the kernel, whose agent keeps
/// its seat.
class Admission final : public Judge {
 public:
  Admission()
      : Judge("liveness.admission",
              "A joiner is admitted, made a spare, or told to go in bounded time.") {}

  [[nodiscard]] std::span<const sim::EventType* const> interests() const override {
    return kInterests;
  }

  void finish(const RunFacts& facts) override {
    owed_.overdue(
        facts.end, view(),
        [&](AgentId agent, const Due& due) {
          tell(agent, due, facts.end, sim::kNoEvent, "it still waited when the run ended");
        },
        true);
  }

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    if (event.type == &ev::rendezvous_completed) return completed(event, view().agent(id));
    const bool waits = event.type == &ev::rendezvous_added && text(event, "list") == "wait_list";
    if (waits && !is_full(view().agent(id), number(event, "round"))) {
      const Timeouts& with = view().agent(id).timeouts;
      owed_.owe(id, {event.at, with.keep_alive + with.last_call + kStopGrace + kSlack, kNoAgent,
                     event.id});
      early_[id] = {number(event, "round"), event.at};
    } else if (const auto due = owed_.met(id, event.at, view(), true)) {
      tell(id, *due, event.at, event.id, "that happened only");
    }
  }

  /// Whoever completes a round may hear of that later than those who wait beside it.
  void completed(const sim::Event& event, const Agent& completer) {
    const std::int64_t round = number(event, "round");
    const bool full = is_full(completer, round);
    std::erase_if(early_, [&](const auto& entry) {
      const auto& [waiter, since] = entry;
      if (view().agent(waiter).job != completer.job || since.first != round) return false;
      if (full && event.at - since.second <= kSlack) owed_.cancel(waiter);
      return true;
    });
  }

  void tell(AgentId id, const Due& due, sim::WorldTime at, sim::EventId event, const char* how) {
    if (enough()) return;
    const Timeouts& with = view().agent(id).timeouts;
    broken(due.since + due.bound, event,
           fmt::format(
               "{} has been on the wait list since {}; it should have been admitted, made a spare "
               "or sent away by {} (keep-alive {} + last call {} + grace {} + {}), but {} at {}",
               view().describe(id), seconds_text(due.since), seconds_text(due.since + due.bound),
               seconds_text(with.keep_alive), seconds_text(with.last_call),
               seconds_text(kStopGrace), seconds_text(kSlack), how, seconds_text(at)),
           limit(due, at));
  }

  [[nodiscard]] std::string_view limit(const Due& due, sim::WorldTime at) const {
    if (view().store_is_gone()) return kNoStore;
    if (view().one_was_led_astray(at)) return kLedAstray;
    return held_back(due.since, at);
  }

  /// Its seats are taken, also by members who have not yet heard that it is complete.
  [[nodiscard]] bool is_full(const Agent& agent, std::int64_t number) const {
    const Round* const round = view().round(agent.job, number);
    if (round == nullptr) return false;
    const auto heard = static_cast<std::int64_t>(round->members.size());
    return round->participants - (heard - round->current_members) >= agent.max_nodes;
  }

  static constexpr const sim::EventType* kInterests[] = {
      &ev::rendezvous_added, &ev::rendezvous_joined, &ev::rendezvous_failed,
      &ev::rendezvous_completed, &wev::process_ended};
  Deadlines<AgentId> owed_;
  /// The round beside which an agent waits that was not known to be full then, and since when.
  std::map<AgentId, std::pair<std::int64_t, sim::WorldTime>> early_;
};

/// Bound: join time-out + read time-out (for what the workers' meeting point takes) + slack, from
/// the beginning of the attempt. A spare may wait for ever; when it is let in its time begins anew.
/// Not while network, stores or names are disturbed.
class JoinTimeout final : public Judge {
 public:
  JoinTimeout()
      : Judge("liveness.join_timeout",
              "Who gets into no round gives up when its join time-out is over.") {}

  [[nodiscard]] std::span<const sim::EventType* const> interests() const override {
    return kInterests;
  }

  void finish(const RunFacts& facts) override {
    owed_.overdue(
        facts.end, view(),
        [&](AgentId agent, const Due& due) {
          tell(agent, due, facts.end, sim::kNoEvent, "it tried on when the run ended");
        },
        true);
  }

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    const bool added = event.type == &ev::rendezvous_added;
    if (added && text(event, "list") == "participants") seats_[id] = number(event, "round");
    if (added && text(event, "list") != "redundancy_list") {
      owe(id, event);  // who has been trying all along owes it since then
    } else if (event.type == &ev::rendezvous_completed) {
      completed(event, view().agent(id).job);
    } else {
      const bool anew = event.type == &ev::rendezvous_joining;
      met(id, event, anew ? "it began anew" : "that happened only");
      // Whoever joins again was in a round that came apart before it was formed.
      if (anew) owe(id, event);
    }
  }

  /// Its members are in a round, if only until one is lost before their group is formed: they may
  /// try again.
  void completed(const sim::Event& event, JobId job) {
    const auto seats = seats_;
    for (const auto& [member, round] : seats) {
      if (round != number(event, "round") || view().agent(member).job != job) continue;
      met(member, event, "that happened only");
      owe(member, event);
    }
  }

  void met(AgentId id, const sim::Event& event, const char* how) {
    seats_.erase(id);
    if (const auto due = owed_.met(id, event.at, view(), true))
      tell(id, *due, event.at, event.id, how);
  }

  void owe(AgentId id, const sim::Event& event) {
    const Timeouts& with = view().agent(id).timeouts;
    owed_.owe(id, {event.at, with.join + with.read_timeout + kSlack, kNoAgent, event.id});
  }

  void tell(AgentId id, const Due& due, sim::WorldTime at, sim::EventId event, const char* how) {
    if (enough()) return;
    const Timeouts& with = view().agent(id).timeouts;
    broken(
        due.since + due.bound, event,
        fmt::format("{} has tried to join since {}; it should have been in a round, a spare or "
                    "gone by {} (join {} + read {} + {}), but {} at {}",
                    view().describe(id), seconds_text(due.since),
                    seconds_text(due.since + due.bound), seconds_text(with.join),
                    seconds_text(with.read_timeout), seconds_text(kSlack), how, seconds_text(at)));
  }

  static constexpr const sim::EventType* kInterests[] = {
      &ev::rendezvous_joining, &ev::rendezvous_added, &ev::rendezvous_joined,
      &ev::rendezvous_failed,  &wev::process_ended,   &ev::rendezvous_completed};
  Deadlines<AgentId> owed_;
  std::map<AgentId, std::int64_t> seats_;  ///< the round for which each was added last
};

}  // namespace

std::unique_ptr<Invariant> make_loss_detection() {
  return std::make_unique<LossDetection>();
}
std::unique_ptr<Invariant> make_formation() {
  return std::make_unique<Formation>();
}
std::unique_ptr<Invariant> make_join_timeout() {
  return std::make_unique<JoinTimeout>();
}
std::unique_ptr<Invariant> make_admission() {
  return std::make_unique<Admission>();
}

}  // namespace hooke::properties
