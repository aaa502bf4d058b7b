// Getting into a round: a lost member makes the others move, enough nodes form a round, a waiting
// node is let in, a node that gets into no round gives up.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Bound: keep-alive threshold (until the death can be known) + monitor interval (until the agent
/// looks) + slack, from the death of a member with work to do. Each living member of the round must
/// then have moved: begun to stop its workers or to join again, come to the exit barrier, or ended.
/// A member that says how it ends has departed, it is not lost. A static rendezvous knows no
/// members.
class LossDetection final : public Judge {
 public:
  LossDetection()
      : Judge("liveness.loss_detection",
              "A lost participant leads to a new round or to the end within bounded time.",
              {&ev::group_restarting, &ev::rendezvous_joining, &ev::worker_signalled,
               &ev::agent_finished, &ev::exit_barrier_entered, &wev::process_ended},
              kAsking | kTasks | kExpiry) {}

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    if (event.type == &wev::process_ended) {
      owed_.lapse_unless_late(id, event);
      const Agent& agent = view().agent(id);
      if (agent.stage == Stage::running || agent.stage == Stage::joined) lost(id, agent, event);
      return;
    }
    owed_.met(id, event);
  }

  void lost(AgentId dead, const Agent& agent, const sim::Event& event) {
    const Round* const round = view().round(agent.job, agent.round);
    if (round == nullptr || agent.round < 0) return;
    for (const AgentId id : round->members) {
      const Agent& other = view().agent(id);
      const bool works = other.stage == Stage::running || other.stage == Stage::joined;
      if (!other.alive() || other.round != agent.round || !works || stops_workers(id)) continue;
      owed_.owe(id, {event.at, other.timeouts.keep_alive + other.timeouts.monitor + kSlack, id,
                     dead, event.id});
    }
  }

  /// It has moved already.
  [[nodiscard]] bool stops_workers(AgentId id) const {
    const auto& processes = view().processes(view().agent(id).node);
    return std::any_of(processes.begin(), processes.end(), [&](const Process& process) {
      return process.worker && process.owner == id && process.told_to_stop;
    });
  }

  Obligations<AgentId> owed_{
      *this, "keep-alive + monitor + slack", [this](AgentId id, const Due& due) {
        const Agent& dead = view().agent(due.about);
        return fmt::format(
            "{} died at {} as rank {} of round {}; {} should have started a new round or ended",
            view().describe(due.about), seconds_text(due.since), dead.rank, dead.round,
            view().describe(id));
      }};
};

/// Bound: keep-alive threshold (until dead participants are out) + last call + twice slack (until
/// all have heard that they are out, and that the last call is over), from the moment when at least
/// min agents are joining and none is a member of a round, and as long as that is so: no agent has
/// workers to stop then. Spares count: where there is no round, there are seats for them. When one
/// of the joining agents goes, the round has to be formed without it, and the bound begins again; so
/// it does when a round that was being formed falls apart because one of those in it was hindered.
class Formation final : public Judge {
 public:
  Formation()
      : Judge("liveness.formation",
              "If enough nodes want to join, a round completes in bounded time.",
              {&ev::rendezvous_joining, &ev::rendezvous_completed, &ev::rendezvous_joined,
               &ev::rendezvous_failed, &ev::rendezvous_added, &wev::process_ended},
              kAsking | kTasks | kKillable | kExpiry) {}

 private:
  void at_end(const RunFacts& facts) override {
    static_cast<void>(facts);
    for (std::uint32_t i = 0; i < view().job_count(); ++i) hand_to_quorum(JobId{i});
  }

  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    const JobId job_id = view().agent(id).job;
    const Job& job = view().job(job_id);
    const bool formed =
        event.type == &ev::rendezvous_completed || event.type == &ev::rendezvous_joined;
    if (formed) {
      hand_to_quorum(job_id, id);
      owed_.met(job_id, event);
    }
    const bool undone = follow_seats(event, id);
    if (event.type == &wev::process_ended || event.type == &ev::rendezvous_failed || undone) {
      hand_to_quorum(job_id, id);
      owed_.lapse_unless_late(job_id, event);
    }
    const bool could = job.joining >= job.min_nodes && job.seated == 0 && !job.over;
    if (!could || event.type == &ev::rendezvous_completed) {
      owed_.lapse(job_id);
      return;
    }
    const Timeouts& with = job.timeouts;
    owed_.owe(job_id,
              {event.at, with.keep_alive + with.last_call + 2 * kSlack, id, kNoAgent, event.id});
  }

  /// True when an agent that was in a round enters a later one, and a fault undid the first: that
  /// was never complete, and one of those in it could not do its part.
  bool follow_seats(const sim::Event& event, AgentId id) {
    if (event.type != &ev::rendezvous_added) {
      seats_.erase(id);
      return false;
    }
    if (text(event, "list") != "participants") return false;
    const Seat now{number(event, "round"), event.at};
    const auto held = seats_.find(id);
    const std::int64_t before = held == seats_.end() ? now.round : held->second.round;
    seats_[id] = now;
    if (before >= now.round) return false;
    const JobId job = view().agent(id).job;
    bool by_a_fault = false;
    std::erase_if(seats_, [&](const auto& entry) {
      const auto& [member, seat] = entry;
      if (view().agent(member).job != job || seat.round != before) return false;
      by_a_fault = by_a_fault || hindrance(member, needs(), seat.since, event.at) != nullptr;
      return true;
    });
    return by_a_fault;
  }

  /// A round needs min agents, whichever they are: it is late when that many were unhindered for
  /// long enough since they came. The obligation is that of the slowest of the fastest min.
  /// `latest`: one that was joining until now, also when it is in the round, or has gone, since.
  void hand_to_quorum(JobId id, AgentId latest = kNoAgent) {
    Due* const due = owed_.find(id);
    if (due == nullptr) return;
    const Job& job = view().job(id);
    const auto came = [&](AgentId who) { return std::max(due->since, agent(who).stage_since); };
    struct Able {
      sim::WorldTime deadline;
      AgentId who;
      sim::WorldTime since;
      auto operator<=>(const Able&) const = default;
    };
    std::vector<Able> able;
    for (const AgentId each : job.agents) {
      const bool joins = agent(each).stage == Stage::joining && agent(each).alive();
      if (!joins && each != latest) continue;
      const sim::WorldTime since = joins ? came(each) : due->since;
      const auto deadline =
          view().ledger().deadline(view().claimant(each), needs(), since, due->bound);
      able.push_back({deadline.value_or(sim::WorldTime::max()), each, since});
    }
    const auto quorum = static_cast<std::size_t>(std::max<std::int64_t>(1, job.min_nodes));
    if (able.size() < quorum) return;
    std::sort(able.begin(), able.end());
    due->who = able[quorum - 1].who;
    due->since = able[quorum - 1].since;
  }

  Obligations<JobId> owed_{
      *this, "keep-alive + last call + twice slack", [this](JobId id, const Due& due) {
        const Job& job = view().job(id);
        return fmt::format(
            "at least {} agents, which are enough, wanted to join job \"{}\" from {} on; a round "
            "should have completed",
            job.min_nodes, job.run_id, seconds_text(due.since));
      }};
  struct Seat {
    std::int64_t round = 0;
    sim::WorldTime since{};
  };
  std::map<AgentId, Seat> seats_;  ///< in rounds that are being formed
};

/// Bound: keep-alive threshold (until a dead member is out) + last call + stop grace (until the
/// members have stopped their workers) + slack, from the entry into the wait list. The members of
/// the round must be able to do their part. The legacy rendezvous has no spares: a node that waits
/// beside a version that is full is one.
class Admission final : public Judge {
 public:
  Admission()
      : Judge("liveness.admission",
              "A joiner is admitted, made a spare, or told to go in bounded time.",
              {&ev::rendezvous_added, &ev::rendezvous_joined, &ev::rendezvous_failed,
               &ev::rendezvous_completed, &wev::process_ended},
              kAsking | kTasks | kKillable) {}

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    if (event.type == &ev::rendezvous_completed) return completed(event, view().agent(id));
    if (event.type == &ev::rendezvous_joined) add_member(id, number(event, "round"));
    const bool waits = event.type == &ev::rendezvous_added && text(event, "list") == "wait_list";
    if (event.type == &wev::process_ended) {
      owed_.lapse_unless_late(id, event);
    } else if (waits && !is_full(view().agent(id), number(event, "round"))) {
      const Timeouts& with = view().agent(id).timeouts;
      Due due{event.at, with.keep_alive + with.last_call + kStopGrace + kSlack, id, kNoAgent,
              event.id};
      const Round* const round = view().round(view().agent(id).job, number(event, "round"));
      if (round != nullptr) due.with = round->members;
      due.with_needs = needs();
      std::erase_if(due.with, [&](AgentId member) { return !view().agent(member).alive(); });
      owed_.owe(id, due);
      early_[id] = {number(event, "round"), event.at};
    } else {
      owed_.met(id, event);
    }
  }

  /// An agent may hear that it is a member after others have begun to wait beside its round: they
  /// need its part, too.
  void add_member(AgentId member, std::int64_t round) {
    for (const auto& [waiter, since] : early_) {
      if (since.first != round || view().agent(waiter).job != view().agent(member).job) continue;
      if (Due* const due = owed_.find(waiter); due != nullptr && waiter != member)
        due->with.push_back(member);
    }
  }

  /// The agent that completes a round may hear of that later than those that wait beside it.
  void completed(const sim::Event& event, const Agent& completer) {
    const std::int64_t round = number(event, "round");
    const bool full = is_full(completer, round);
    std::erase_if(early_, [&](const auto& entry) {
      const auto& [waiter, since] = entry;
      if (view().agent(waiter).job != completer.job || since.first != round) return false;
      if (full && event.at - since.second <= kSlack) owed_.lapse(waiter);
      return true;
    });
  }

  /// Its seats are taken, also by members that have not yet heard that it is complete.
  [[nodiscard]] bool is_full(const Agent& agent, std::int64_t number) const {
    const Round* const round = view().round(agent.job, number);
    if (round == nullptr) return false;
    const auto heard = static_cast<std::int64_t>(round->members.size());
    return round->participants - (heard - round->current_members) >= agent.max_nodes;
  }

  Obligations<AgentId> owed_{
      *this, "keep-alive + last call + grace + slack", [this](AgentId id, const Due& due) {
        return fmt::format(
            "{} has been on the wait list since {}; it should have been admitted, made a spare or "
            "sent away",
            view().describe(id), seconds_text(due.since));
      }};
  /// The round beside which an agent waits that was not known to be full then, and since when.
  std::map<AgentId, std::pair<std::int64_t, sim::WorldTime>> early_;
};

/// Bound: join time-out + read time-out (for what the workers' meeting point takes) + slack, from
/// the beginning of the attempt; of a participant, which may see a last call to its end, + last
/// call. A question that a fault keeps from being answered is asked twice. A spare may wait for
/// ever; when it is let in its time begins anew.
class JoinTimeout final : public Judge {
 public:
  JoinTimeout()
      : Judge("liveness.join_timeout",
              "An agent that gets into no round gives up when its join time-out is over.",
              {&ev::rendezvous_joining, &ev::rendezvous_added, &ev::rendezvous_joined,
               &ev::rendezvous_failed, &wev::process_ended, &ev::rendezvous_completed},
              kItself) {}

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    const bool added = event.type == &ev::rendezvous_added;
    if (added && text(event, "list") == "participants") seats_[id] = number(event, "round");
    if (added && text(event, "list") != "redundancy_list") {
      owe(id, event);  // what it has been trying all along it owes since then
      const auto seat = seats_.find(id);
      if (seat == seats_.end()) return;
      // An agent may be told late that it had been added before the others.
      const bool called = last_calls_.contains({agent(id).job, seat->second});
      if (called || number(event, "size") >= agent(id).min_nodes) see_last_call(id, seat->second);
    } else if (event.type == &ev::rendezvous_completed) {
      completed(event, view().agent(id).job);
    } else if (event.type == &wev::process_ended) {
      seats_.erase(id);
      owed_.lapse_unless_late(id, event);
    } else {
      met(id, event);
      // An agent that joins again was in a round that came apart before it was formed.
      if (event.type == &ev::rendezvous_joining) owe(id, event);
    }
  }

  /// Its members are in a round, if only until one is lost before their group is formed: they may
  /// try again.
  void completed(const sim::Event& event, JobId job) {
    const auto seats = seats_;
    for (const auto& [member, round] : seats) {
      if (round != number(event, "round") || view().agent(member).job != job) continue;
      met(member, event);
      owe(member, event);
    }
  }

  void met(AgentId id, const sim::Event& event) {
    seats_.erase(id);
    owed_.met(id, event);
  }

  /// The first one that is told of concerns all that are there, later ones their own agent only.
  void see_last_call(AgentId id, std::int64_t round) {
    const JobId job = view().agent(id).job;
    const auto widen = [&](AgentId member) {
      Due* const due = owed_.find(member);
      if (due != nullptr) due->bound = bound_of(member) + view().agent(member).timeouts.last_call;
    };
    if (!last_calls_.insert({job, round}).second) return widen(id);
    for (const auto& [member, seat] : seats_) {
      if (view().agent(member).job == job && seat == round) widen(member);
    }
  }

  [[nodiscard]] sim::Duration bound_of(AgentId id) const {
    const Timeouts& with = view().agent(id).timeouts;
    return with.join + with.read_timeout + kSlack;
  }
  void owe(AgentId id, const sim::Event& event) {
    Due due{event.at, bound_of(id), id, kNoAgent, event.id};
    due.lost = view().agent(id).timeouts.read_timeout;
    due.lost_needs = kAnswers;
    owed_.owe(id, due);
  }

  Obligations<AgentId> owed_{
      *this, "join + read + slack, and a last call that runs", [this](AgentId id, const Due& due) {
        return fmt::format(
            "{} has tried to join since {}; it should have been in a round, a spare or gone",
            view().describe(id), seconds_text(due.since));
      }};
  std::map<AgentId, std::int64_t> seats_;  ///< the round for which each was added last
  std::set<std::pair<JobId, std::int64_t>> last_calls_;  ///< rounds that had enough participants
};

}  // namespace

void add_progress(InvariantRegistry& registry) {
  registry.add<LossDetection>();
  registry.add<Formation>();
  registry.add<JoinTimeout>();
  registry.add<Admission>();
}

}  // namespace hooke::properties
