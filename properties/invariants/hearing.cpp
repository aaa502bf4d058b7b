// What an agent hears of the others' failure.
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Bound: monitor interval + slack, from the moment when an agent that has given its job up closes the
/// rendezvous, for each other agent of its round whose workers run: it stops them, joins again, comes
/// to the exit barrier, gives the job up itself, or ends. A static rendezvous is never closed: there
/// the agents hear of it when it is given up. Agents of PyTorch never say that they give up. An agent
/// that is killed meanwhile may not have said so, and a store may lose it or end, as that of an agent
/// that runs a static job again.
class FailureHeard final : public Judge {
 public:
  FailureHeard()
      : Judge("liveness.failure_heard",
              "Agents stop working for a job that another of them has given up.",
              {&ev::job_given_up, &ev::rendezvous_closed, &ev::group_restarting, &ev::group_state,
               &ev::worker_signalled, &ev::exit_barrier_entered, &ev::rendezvous_joining,
               &ev::agent_signalled, &ev::agent_finished, &ev::store_serving, &ev::store_stopped,
               &wev::fault_injected, &wev::process_ended},
              kAsking | kTasks | kOwnErrors) {}

 private:
  void judge(const sim::Event& event) override {
    const Service* const ended = view().service_ended_at(event);
    const auto job = ended != nullptr ? std::optional(ended->job) : forgotten(event);
    for (const auto& [giver, hearers] : hearers_) {
      if (job && (*job == kNoJob || agent(giver).job == *job)) lapse(event, hearers);
    }
    Judge::judge(event);
  }

  void judge_agent(const sim::Event& event, AgentId id) override {
    const bool works_on = event.type == &ev::group_state && (text(event, "state") == "HEALTHY" ||
                                                             text(event, "state") == "UNHEALTHY");
    if (works_on || event.type == &ev::store_serving || event.type == &ev::store_stopped) {
      return;
    }
    owed_.met(id, event);
    if (event.type == &ev::job_given_up) given_up_[id] = number(event, "round");
    if (event.type == &ev::job_given_up || event.type == &ev::rendezvous_closed) {
      const auto of = given_up_.find(id);
      const bool tells =
          of != given_up_.end() && (of->second < 0 || event.type == &ev::rendezvous_closed);
      if (tells) tell(event, id, of->second);
      return;
    }
    const bool killed = event.type == &wev::process_ended && number(event, "status") < 0;
    if (const auto of = hearers_.find(id); killed && of != hearers_.end()) lapse(event, of->second);
  }

  /// The first of a round speaks for those that follow.
  void tell(const sim::Event& event, AgentId id, std::int64_t round) {
    if (!told_.insert({agent(id).job, round}).second) return;
    for (const AgentId other : job_of(id).agents) {
      const Agent& hears = agent(other);
      const bool works = hears.alive() && hears.member && hears.stage == Stage::running;
      const bool stops = view().any_worker(
          other, [](const Process& worker) { return !worker.ended && worker.told_to_stop; });
      if (other == id || !works || stops || hears.round != round) continue;
      Due due{event.at, hears.timeouts.monitor + kSlack, other, id, event.id};
      due.with = {id};
      due.with_needs = kAsking;
      owed_.owe(other, due);
      hearers_[id].push_back(other);
    }
  }

  void lapse(const sim::Event& event, const std::vector<AgentId>& hearers) {
    for (const AgentId hearer : hearers) owed_.lapse_unless_late(hearer, event);
  }

  std::map<AgentId, std::int64_t> given_up_;         ///< rounds, by those that have
  std::set<std::pair<JobId, std::int64_t>> told_;    ///< rounds
  std::map<AgentId, std::vector<AgentId>> hearers_;  ///< of those that told of one first
  Obligations<AgentId> owed_{
      *this, "monitor + slack", [this](AgentId id, const Due& due) {
        return say("{} had given its job up and told so at {}; {} should have stopped working",
                   due.about, due.since, id);
      }};
};

}  // namespace

void add_hearing(InvariantRegistry& registry) {
  registry.add<FailureHeard>();
}

}  // namespace hooke::properties
