// A seat that becomes free goes to a spare.
#include <fmt/format.h>

#include <algorithm>

#include "model/observe/trace_events.h"
#include "properties/invariants/judge.h"
#include "properties/invariants/liveness.h"
#include "sim/world/world_events.h"

namespace hooke::properties {
namespace {

namespace ev = model::events;
namespace wev = world::events;

/// Bound: keep-alive threshold (until a dead member is out) + last call + stop grace (until the
/// members have stopped their workers) + slack, from the moment when a member of the round goes
/// while a spare waits. The members that stay must be able to do their part. It lapses when the job
/// is decided or about to end, when others take the seats, and when too few members are left for a
/// round to go on (liveness.formation).
class FreeSeat final : public Judge {
 public:
  FreeSeat()
      : Judge("liveness.free_seat", "A seat that becomes free goes to a spare in bounded time.",
              kAsking | kTasks | kKillable) {}

  [[nodiscard]] std::span<const sim::EventType* const> interests() const override {
    return kInterests;
  }

  void finish(const RunFacts& facts) override {
    owed_.finish(facts.end, [&](AgentId id, const Due& due) {
      tell(id, due, facts.end, sim::kNoEvent, "it still waited when the run ended");
    });
  }

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    const Agent& agent = view().agent(id);
    if (event.type == &ev::exit_barrier_entered || event.type == &ev::rendezvous_closed) {
      lapse_all_of(agent.job);
    } else if (event.type == &ev::rendezvous_completed) {
      if (number(event, "participants") >= agent.max_nodes) lapse_all_of(agent.job);
    } else if (event.type == &wev::process_ended) {
      owed_.lapse(id);
      if (agent.stage == Stage::running || agent.stage == Stage::joined) became_free(event, agent);
    } else if (event.type != &ev::rendezvous_added || text(event, "list") != "redundancy_list") {
      owed_.met(id, event.at, [&](AgentId, const Due& due) {
        tell(id, due, event.at, event.id, "that happened only");
      });
    }
  }

  void became_free(const sim::Event& event, const Agent& gone) {
    const Job& job = view().job(gone.job);
    const Round* const round = view().round(gone.job, gone.round);
    if (round == nullptr || job.over || gone.round < job.highest_completed) return;
    if (job.seated == 0 || job.seated >= gone.max_nodes) return;
    const auto works = [&](AgentId member) {
      const Agent& other = view().agent(member);
      return !other.alive() || other.stage == Stage::running || other.stage == Stage::joined;
    };
    if (!std::all_of(round->members.begin(), round->members.end(), works)) return;
    for (const AgentId id : job.agents) {
      const Agent& spare = view().agent(id);
      if (!spare.alive() || !spare.spare || spare.signalled) continue;
      const Timeouts& with = job.timeouts;
      Due due{event.at, with.keep_alive + with.last_call + kStopGrace + kSlack,
              id,       kNoAgent,
              event.id, round->members,
              needs()};
      std::erase_if(due.with, [&](AgentId member) { return !view().agent(member).alive(); });
      owed_.owe(id, due);
    }
  }

  void lapse_all_of(JobId job) {
    for (const AgentId id : view().job(job).agents) owed_.lapse(id);
  }

  void tell(AgentId id, const Due& due, sim::WorldTime at, sim::EventId event, const char* how) {
    const Timeouts& with = view().agent(id).timeouts;
    violated(due.since + due.bound, event,
             fmt::format("a member of its job went at {} while {} was a spare; it should have had "
                         "the seat by {} (keep-alive {} + last call {} + grace {} + {}), but {} "
                         "at {}",
                         seconds_text(due.since), view().describe(id),
                         seconds_text(due.since + due.bound), seconds_text(with.keep_alive),
                         seconds_text(with.last_call), seconds_text(kStopGrace),
                         seconds_text(kSlack), how, seconds_text(at)));
  }

  static constexpr const sim::EventType* kInterests[] = {
      &ev::exit_barrier_entered, &ev::rendezvous_closed, &ev::rendezvous_completed,
      &ev::rendezvous_added,     &ev::rendezvous_joined, &ev::rendezvous_failed,
      &wev::process_ended};
  Obligations<AgentId> owed_{*this};
};

}  // namespace

std::unique_ptr<Invariant> make_free_seat() {
  return std::make_unique<FreeSeat>();
}

}  // namespace hooke::properties
