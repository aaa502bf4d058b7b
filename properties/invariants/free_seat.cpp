// A seat that becomes free goes to a spare.
#include <algorithm>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Bound: keep-alive threshold (until a dead member is out) + last call + stop grace (until the
/// members have stopped their workers) + slack, from the moment when a member of the round goes
/// while a spare waits. The members that stay must be able to do their part. It lapses when the job
/// is decided or about to end, when others take the seats, and when too few members are left for a
/// round to go on (liveness.formation).
class FreeSeat final : public Judge {
 public:
  FreeSeat()
      : Judge("liveness.free_seat", "A seat that becomes free goes to a spare in bounded time.",
              {&ev::exit_barrier_entered, &ev::rendezvous_closed, &ev::rendezvous_completed,
               &ev::rendezvous_added, &ev::rendezvous_joined, &ev::rendezvous_failed,
               &wev::process_ended},
              kAsking | kTasks | kKillable) {}

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
    if (!std::all_of(round->members.begin(), round->members.end(), works)) return;
    for (const AgentId id : job.agents) {
      const Agent& spare = agent(id);
      if (!spare.alive() || !spare.spare || spare.signalled) continue;
      const Timeouts& with = job.timeouts;
      Due due{event.at, with.keep_alive + with.last_call + kStopGrace + kSlack,
              id,       kNoAgent,
              event.id, round->members,
              needs()};
      std::erase_if(due.with, [&](AgentId member) { return !agent(member).alive(); });
      owed_.owe(id, due);
    }
  }

  void lapse_all_of(JobId job) {
    for (const AgentId id : view().job(job).agents) owed_.lapse(id);
  }

  Obligations<AgentId> owed_{
      *this, "keep-alive + last call + grace + slack", [this](AgentId id, const Due& due) {
        return say(
            "a member of its job went at {} while {} was a spare; it should have had the seat",
            due.since, id);
      }};
};

}  // namespace

void add_free_seat(InvariantRegistry& registry) {
  registry.add<FreeSeat>();
}

}  // namespace hooke::properties
