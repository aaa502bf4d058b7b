// Getting into a round: a lost member makes the others move, enough nodes form a round, a node that
// gets into no round gives up.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Bound: keep-alive threshold (until the death can be known) + monitor interval (until the agent
/// looks) + slack, from the death of a member with work to do; where its latest heartbeat is known, no
/// later than one monitor interval more (until the agent has seen that) from there on. Each living
/// member of the round must then have moved: begun to stop its workers or to join again, come to the
/// exit barrier, reported a failure or left the round with no worker left (it may serve a store on),
/// or ended. A member that says how it ends has departed, it is not lost. A static rendezvous knows no
/// members.
class LossDetection final : public Judge {
 public:
  LossDetection()
      : Judge("liveness.loss_detection",
              "A lost participant leads to a new round or to the end within bounded time.",
              {&ev::group_restarting, &ev::rendezvous_joining, &ev::worker_signalled,
               &ev::agent_finished, &ev::exit_barrier_entered, &ev::failure_reported,
               &ev::rendezvous_left, &ev::rendezvous_write, &wev::process_ended},
              kAsking | kTasks | kExpiry) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    if (event.type == &ev::rendezvous_write) {
      if (is_heartbeat(event)) beat_[id] = event.at;
    } else if (event.type == &wev::process_ended) {
      owed_.lapse_unless_late(id, event);
      if (works(agent(id))) lost(id, agent(id), event);
    } else {
      const bool may_work_on =
          event.type == &ev::failure_reported || event.type == &ev::rendezvous_left;
      const bool works_on =
          may_work_on && view().any_worker(id, [](const Process& worker) { return !worker.ended; });
      if (!works_on) owed_.met(id, event);
    }
  }

  static bool works(const Agent& agent) {
    return agent.stage == Stage::running || agent.stage == Stage::joined;
  }

  void lost(AgentId id, const Agent& dead, const sim::Event& event) {
    const Round* const round = view().round(dead.job, dead.round);
    if (round == nullptr || dead.round < 0) return;
    for (const AgentId each : round->members) {
      const Agent& other = agent(each);
      if (!other.alive() || other.round != dead.round || !works(other)) continue;
      const bool moves = view().any_worker(
          each, [](const Process& worker) { return worker.told_to_stop.has_value(); });
      if (!moves) owed_.owe(each, {event.at, bound(other.timeouts, id, event), each, id, event.id});
    }
  }

  [[nodiscard]] sim::Duration bound(const Timeouts& with, AgentId dead,
                                    const sim::Event& event) const {
    const sim::Duration looks = with.monitor + kSlack;
    const auto beat = beat_.find(dead);
    if (beat == beat_.end()) return with.keep_alive + looks;
    const sim::Duration silent = event.at - beat->second;
    return std::clamp(with.keep_alive + with.monitor + looks - silent, looks,
                      with.keep_alive + looks);
  }

  std::map<AgentId, sim::WorldTime> beat_;  ///< when each has last

  Obligations<AgentId> owed_{
      *this, "keep-alive + monitor + slack", [this](AgentId id, const Due& due) {
        const Agent& dead = agent(due.about);
        return say(
            "{} died at {} as rank {} of round {}; {} should have started a new round or ended",
            due.about, due.since, dead.rank, dead.round, id);
      }};
};

/// Seats in rounds that are being formed.
class FormingSeats {
 public:
  /// Set when an agent that was in a round enters a later one, and a fault undid the first: that
  /// was never complete, and one of those in it could not do its part, for which it has `needs`. All
  /// in a version of legacy etcd must confirm it, and one that has entered it need not have heard so
  /// to say so: any that is joining may be in it. It is the instant from which on the first such
  /// agent was in it and hindered.
  std::optional<sim::WorldTime> undone(const sim::Event& event, AgentId id, const JobView& view,
                                       Needs needs) {
    if (event.type != &ev::rendezvous_added) {
      seats_.erase(id);
      return std::nullopt;
    }
    if (text(event, "list") != "participants") return std::nullopt;
    const Seat now{number(event, "round"), event.at};
    const auto held = seats_.find(id);
    const Seat before = held == seats_.end() ? now : held->second;
    seats_[id] = now;
    if (before.round >= now.round) return std::nullopt;
    const JobId job = view.agent(id).job;
    std::optional<sim::WorldTime> caught;
    const auto perhaps_caught = [&](AgentId member, sim::WorldTime since) {
      const auto* const by = view.ledger().find(view.claimant(member), needs, since, event.at);
      if (by != nullptr) {
        const sim::WorldTime from = std::max(since, *by->from);
        caught = std::min(caught.value_or(from), from);
      }
    };
    if (view.job(job).backend == "etcd") {
      for (const AgentId other : view.job(job).agents)
        if (view.agent(other).stage == Stage::joining) perhaps_caught(other, before.since);
    }
    std::erase_if(seats_, [&](const auto& entry) {
      const auto& [member, seat] = entry;
      if (view.agent(member).job != job || seat.round != before.round) return false;
      perhaps_caught(member, seat.since);
      return true;
    });
    return caught;
  }

 private:
  struct Seat {
    std::int64_t round = 0;
    sim::WorldTime since{};
  };
  std::map<AgentId, Seat> seats_;
};

/// Those that want to join and meet: of a job that a name has divided between stores, the agents at
/// the one that most of them ask, and the servers of others, which are hindered. `latest`: one that
/// was joining until now, also when it is in the round, or has gone, since.
std::vector<AgentId> joining_at_one_store(const Job& job, AgentId latest, const JobView& view) {
  std::vector<AgentId> all;
  std::ranges::copy_if(job.agents, std::back_inserter(all), [&](AgentId id) {
    const Agent& agent = view.agent(id);
    return id == latest || (agent.stage == Stage::joining && agent.alive());
  });
  const auto asked_by = [&](const Service* store) {
    return std::ranges::count_if(all, [&](AgentId id) { return view.store_apart(id) == store; });
  };
  const Service* most = nullptr;  // the one that they should ask
  for (const Service& apart : view.services()) {
    if (asked_by(&apart) > asked_by(most)) most = &apart;
  }
  std::erase_if(all, [&](AgentId id) {
    const Service* const store = view.store_apart(id);
    return store != most && (store == nullptr || store->agent != id);
  });
  return all;
}

/// A round needs min agents, whichever they are: what they owe is owed by the slowest of the fastest
/// min, and since that one came. `came`: when each began to join last. `latest`: as above.
void hand_to_quorum(Due& due, const Job& job, AgentId latest,
                    const std::map<AgentId, sim::WorldTime>& came, const JobView& view,
                    Needs needs) {
  struct Able {
    sim::WorldTime deadline;
    AgentId who;
    sim::WorldTime since;
    auto operator<=>(const Able&) const = default;
  };
  std::vector<Able> able;
  for (const AgentId each : joining_at_one_store(job, latest, view)) {
    const auto began = came.find(each);
    const sim::WorldTime since =
        began == came.end() ? due.since : std::max(due.since, began->second);
    const auto deadline = view.ledger().deadline(view.claimant(each), needs, since, due.bound);
    able.push_back({deadline.value_or(sim::WorldTime::max()), each, since});
  }
  const auto quorum = static_cast<std::size_t>(std::max<std::int64_t>(1, job.min_nodes));
  if (able.size() < quorum) return;
  std::sort(able.begin(), able.end());
  due.who = able[quorum - 1].who;
  due.since = able[quorum - 1].since;
}

/// Bound: keep-alive threshold (until dead participants are out) + last call + twice slack (until
/// all have heard that they are out, and that the last call is over), from the moment when at least
/// min agents of one store are joining and none is a member of a round, and as long as that is so:
/// no agent has workers to stop then. Spares count: where there is no round, there are seats for
/// them. When one of the joining agents goes, the round has to be formed without it, and the bound
/// begins again; so it does when a round that was being formed falls apart because one of those in
/// it was hindered, which the others can know when that one's keep-alive threshold is over: it
/// begins when the first is hindered in its seat, and once more when the round has fallen apart.
class Formation final : public Judge {
 public:
  Formation()
      : Judge("liveness.formation",
              "If enough nodes want to join, a round completes in bounded time.",
              {&ev::rendezvous_joining, &ev::rendezvous_completed, &ev::rendezvous_joined,
               &ev::rendezvous_failed, &ev::rendezvous_added, &wev::process_ended,
               &ev::rendezvous_left, &ev::coverage_point},
              kAsking | kTasks | kKillable | kExpiry) {}

 private:
  void at_end(const RunFacts& /*facts*/) override {
    for (std::uint32_t i = 0; i < view().job_count(); ++i) hand_over(JobId{i});
  }

  void judge_agent(const sim::Event& event, AgentId id) override {
    const bool left = event.type == &ev::rendezvous_left || event.type == &ev::coverage_point;
    if (left && !leaves_with_error(event, id)) return;
    if (event.type == &ev::rendezvous_joining) came_[id] = event.at;
    const JobId job_id = agent(id).job;
    const Job& job = view().job(job_id);
    const bool formed =
        event.type == &ev::rendezvous_completed || event.type == &ev::rendezvous_joined;
    if (formed) {
      hand_over(job_id, id);
      owed_.met(job_id, event);
    }
    const auto undone = seats_.undone(event, id, view(), needs());
    const bool gone = left || event.type == &wev::process_ended;
    if (gone || event.type == &ev::rendezvous_failed || undone) {
      hand_over(job_id, id);
      if (undone) begin_at(*undone, job_id);
      owed_.lapse_unless_late(job_id, event);
    }
    const bool could =
        job.joining >= job.min_nodes && job.seated == 0 && !job.over && enough_meet(job_id);
    if (!could || event.type == &ev::rendezvous_completed) {
      owed_.lapse(job_id);
      return;
    }
    const Timeouts& with = job.timeouts;
    owed_.owe(job_id,
              {event.at, with.keep_alive + with.last_call + 2 * kSlack, id, kNoAgent, event.id});
  }

  /// Of those that are joining. Every event asks, and few jobs are divided: only a job of whose agents
  /// one serves beside its store, or is led to one that serves beside it.
  [[nodiscard]] bool enough_meet(JobId id) const {
    const bool is_divided = std::ranges::any_of(
        view().services(), [](const Service& store) { return store.current && store.led_astray; });
    const Job& job = view().job(id);
    return !is_divided || std::ssize(joining_at_one_store(job, kNoAgent, view())) >= job.min_nodes;
  }

  void begin_at(sim::WorldTime at, JobId id) {
    if (Due* const due = owed_.find(id)) due->since = std::max(due->since, at);
  }

  /// It is late when as many as are needed were unhindered for long enough since they came.
  void hand_over(JobId id, AgentId latest = kNoAgent) {
    if (Due* const due = owed_.find(id))
      hand_to_quorum(*due, view().job(id), latest, came_, view(), needs());
  }

  Obligations<JobId> owed_{
      *this, "keep-alive + last call + twice slack", [this](JobId id, const Due& due) {
        const Job& job = view().job(id);
        return say(
            "at least {} agents, which are enough, wanted to join job \"{}\" from {} on; a "
            "round should have completed",
            job.min_nodes, job.run_id, due.since);
      }};
  FormingSeats seats_;
  std::map<AgentId, sim::WorldTime> came_;  ///< when each began to join last
};

constexpr const char* kTriesStill =
    "{} has tried to join since {}; it should have been in a round, a spare or gone";

/// One that has tried to join since `due` and was let into `seat`. Where the store has lost what
/// stood in it meanwhile, a round that was being formed goes on under a later number.
bool may_be_in(std::int64_t round, std::int64_t seat, const Due* due, const JobView& view) {
  const bool was_lost = due != nullptr && view.ledger().contents_lost(due->since) != nullptr;
  return seat == round || (seat < round && was_lost);
}

/// Bound: join time-out + read time-out (for what the workers' meeting point takes) + slack, from
/// the beginning of the attempt; of a participant, which may see a last call to its end, + last
/// call. A question that a fault keeps from being answered is asked twice. A spare may wait for
/// ever; when it is let in its time begins anew. One that leaves with an error that a fault has put
/// into it tries no longer, though it may serve a store for others.
class JoinTimeout final : public Judge {
 public:
  JoinTimeout()
      : Judge("liveness.join_timeout",
              "An agent that gets into no round gives up when its join time-out is over.",
              {&ev::rendezvous_joining, &ev::rendezvous_added, &ev::rendezvous_joined,
               &ev::rendezvous_failed, &wev::process_ended, &ev::rendezvous_completed,
               &ev::rendezvous_left, &ev::coverage_point},
              kItself) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
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
      completed(event, agent(id).job);
    } else if (event.type == &wev::process_ended) {
      seats_.erase(id);
      owed_.lapse_unless_late(id, event);
    } else if (event.type == &ev::rendezvous_left || event.type == &ev::coverage_point) {
      if (leaves_with_error(event, id)) met(id, event);
    } else {
      met(id, event);
      // An agent that joins again was in a round that came apart before it was formed.
      if (event.type == &ev::rendezvous_joining) owe(id, event);
    }
  }

  /// Its members are in a round, if only until one is lost before their group is formed: they may
  /// try again.
  void completed(const sim::Event& event, JobId job) {
    for (const auto& [member, round] : std::map(seats_)) {
      if (round != number(event, "round") || agent(member).job != job) continue;
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
    const JobId job = agent(id).job;
    const auto widen = [&](AgentId member) {
      Due* const due = owed_.find(member);
      if (due != nullptr) due->bound = bound_of(member) + agent(member).timeouts.last_call;
    };
    if (!last_calls_.insert({job, round}).second) return widen(id);
    for (const auto& [member, seat] : seats_) {
      const bool is_there = may_be_in(round, seat, owed_.find(member), view());
      if (agent(member).job == job && is_there) widen(member);
    }
  }

  [[nodiscard]] sim::Duration bound_of(AgentId id) const {
    return agent(id).timeouts.join + agent(id).timeouts.read_timeout + kSlack;
  }
  void owe(AgentId id, const sim::Event& event) {
    Due due{event.at, bound_of(id), id, kNoAgent, event.id};
    due.lost = agent(id).timeouts.read_timeout;
    due.lost_needs = kAnswers;
    owed_.owe(id, due);
  }

  Obligations<AgentId> owed_{
      *this, "join + read + slack, and a last call that runs",
      [this](AgentId id, const Due& due) { return say(kTriesStill, id, due.since); }};
  std::map<AgentId, std::int64_t> seats_;  ///< the round for which each was added last
  std::set<std::pair<JobId, std::int64_t>> last_calls_;  ///< rounds that had enough participants
};

}  // namespace

void add_progress(InvariantRegistry& registry) {
  registry.add<LossDetection, Formation, JoinTimeout>();
}

}  // namespace hooke::properties
