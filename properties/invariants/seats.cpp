// A waiting node is let in, and a seat that becomes free goes to a spare.
#include <algorithm>
#include <map>
#include <utility>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// What an agent that waits for a seat needs; the members of the round need it for their part. Some
/// stores hold the seat of a member that has gone until its key ends.
constexpr Needs kSeatNeeds = kAsking | kTasks | kKillable | kExpiry;

/// Bound: keep-alive threshold (until a dead member is out) + last call + stop grace (until the
/// members have stopped their workers) + the longest pause of their policy (until they join again)
/// + slack, from `event` on.
Due seat_due(const sim::Event& event, AgentId waiter, const Timeouts& with, const Round* round,
             const JobView& view) {
  Due due{event.at, with.keep_alive + with.last_call + kStopGrace + with.pause + kSlack, waiter,
          kNoAgent, event.id};
  if (round != nullptr) due.with = round->members;
  due.with_needs = kSeatNeeds;
  std::erase_if(due.with, [&](AgentId member) { return !view.agent(member).alive(); });
  return due;
}

/// Bound: seat_due, from the entry into the wait list. The legacy rendezvous has no spares: a node
/// that waits beside a version that is full is one.
class Admission final : public Judge {
 public:
  Admission()
      : Judge("liveness.admission",
              "A joiner is admitted, made a spare, or told to go in bounded time.",
              {&ev::rendezvous_added, &ev::rendezvous_joined, &ev::rendezvous_failed,
               &ev::rendezvous_completed, &wev::process_ended, &ev::coverage_point},
              kSeatNeeds) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    if (event.type == &ev::rendezvous_completed) return completed(event, agent(id));
    if (event.type == &ev::coverage_point && !leaves_with_error(event, id)) return;
    if (event.type == &ev::rendezvous_joined) add_member(id, number(event, "round"));
    const bool waits = event.type == &ev::rendezvous_added && text(event, "list") == "wait_list";
    if (event.type == &wev::process_ended) {
      owed_.lapse_unless_late(id, event);
    } else if (waits && !is_full(agent(id), number(event, "round"))) {
      const Round* const round = view().round(agent(id).job, number(event, "round"));
      owed_.owe(id, seat_due(event, id, agent(id).timeouts, round, view()));
      early_[id] = {number(event, "round"), event.at};
    } else {
      owed_.met(id, event);
    }
  }

  /// An agent may hear that it is a member after others have begun to wait beside its round: they
  /// need its part, too.
  void add_member(AgentId member, std::int64_t round) {
    for (const auto& [waiter, since] : early_) {
      if (since.first != round || agent(waiter).job != agent(member).job) continue;
      if (Due* const due = owed_.find(waiter); due != nullptr && waiter != member)
        due->with.push_back(member);
    }
  }

  /// The agent that completes a round may hear of that later than those that wait beside it.
  void completed(const sim::Event& event, const Agent& completer) {
    const std::int64_t round = number(event, "round");
    const bool full = is_full(completer, round);
    const Claimant who = view().claimant(view().agent_of(event));
    std::erase_if(early_, [&](const auto& entry) {
      const auto& [waiter, since] = entry;
      if (agent(waiter).job != completer.job || since.first != round) return false;
      const auto due = view().ledger().deadline(who, kSeatNeeds, since.second, kSlack);
      if (full && (!due || event.at <= *due)) owed_.lapse(waiter);
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
      *this, "keep-alive + last call + grace + pause + slack", [this](AgentId id, const Due& due) {
        return say(
            "{} has been on the wait list since {}; it should have been admitted, made a "
            "spare or sent away",
            id, due.since);
      }};
  /// The round beside which an agent waits that was not known to be full then, and since when.
  std::map<AgentId, std::pair<std::int64_t, sim::WorldTime>> early_;
};

/// Bound: seat_due, from the moment when a member of the round goes while a spare waits. It lapses
/// when the job is decided or about to end, when others take the seats, and when too few members are
/// left for a round to go on (liveness.formation).
class FreeSeat final : public Judge {
 public:
  FreeSeat()
      : Judge("liveness.free_seat", "A seat that becomes free goes to a spare in bounded time.",
              {&ev::exit_barrier_entered, &ev::rendezvous_closed, &ev::rendezvous_completed,
               &ev::rendezvous_added, &ev::rendezvous_joined, &ev::rendezvous_failed,
               &wev::process_ended},
              kSeatNeeds) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    const Agent& agent = view().agent(id);
    if (event.type == &ev::exit_barrier_entered || event.type == &ev::rendezvous_closed) {
      lapse_all_of(agent.job);
    } else if (event.type == &ev::rendezvous_completed) {
      if (number(event, "participants") >= agent.max_nodes) lapse_all_of(agent.job);
    } else if (event.type == &wev::process_ended) {
      owed_.lapse(id);
      if (agent.stage == Stage::running || agent.stage == Stage::joined) became_free(event, agent);
    } else if (event.type != &ev::rendezvous_added || text(event, "list") != "redundancy_list") {
      owed_.met(id, event);
    }
  }

  void became_free(const sim::Event& event, const Agent& gone) {
    const Job& job = view().job(gone.job);
    const Round* const round = view().round(gone.job, gone.round);
    if (round == nullptr || job.over || gone.round < job.highest_completed) return;
    if (job.seated == 0 || job.seated >= gone.max_nodes) return;
    const auto works = [&](AgentId member) {
      const Agent& other = agent(member);
      return !other.alive() || other.stage == Stage::running || other.stage == Stage::joined;
    };
    if (!std::ranges::all_of(round->members, works)) return;
    for (const AgentId id : job.agents) {
      const Agent& spare = agent(id);
      if (!spare.alive() || !spare.spare || spare.signalled) continue;
      owed_.owe(id, seat_due(event, id, job.timeouts, round, view()));
    }
  }

  void lapse_all_of(JobId job) {
    for (const AgentId id : view().job(job).agents) owed_.lapse(id);
  }

  Obligations<AgentId> owed_{
      *this, "keep-alive + last call + grace + pause + slack", [this](AgentId id, const Due& due) {
        return say(
            "a member of its job went at {} while {} was a spare; it should have had the seat",
            due.since, id);
      }};
};

}  // namespace

void add_seats(InvariantRegistry& registry) {
  registry.add<Admission, FreeSeat>();
}

}  // namespace hooke::properties
