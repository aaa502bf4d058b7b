// Workers that begin to meet.
#include <set>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Broken when a worker whose program begins with the meeting ends within an answer of its start, by
/// itself, and has not met the others: where it was sent it could not meet, or not in the way in
/// which it was told to. With a store that its agent serves there, a worker that has not been told so
/// wants to serve one at the same port. It has a reason when an agent of its round is hindered or has
/// gone, when one of the others' workers was told to stop or had ended before, or when a fault has
/// come since the round was complete. Workers that cannot reach each other wait for longer than that.
/// A static job has one round for all its restarts: nothing is judged there.
class Meeting final : public Judge {
 public:
  Meeting()
      : Judge("safety.meeting",
              "A worker that joins its process group as its first step does not fail at once.",
              {&wev::process_ended, &wev::fault_injected, &wev::fault_took_effect,
               &ev::worker_initialized},
              kAny) {}

 private:
  void judge(const sim::Event& event) override {
    if (event.type == &ev::worker_initialized) {
      met_.insert(process_of(event));
      return;
    }
    if (event.type == &wev::fault_injected || event.type == &wev::fault_took_effect) {
      latest_fault_ = event.at;
      return;
    }
    const bool has_met = met_.erase(process_of(event)) > 0;
    const Process* const worker = view().process(event.node, event.pid);
    const Given* const given = view().given(event.node);
    if (worker == nullptr || !worker->worker || given == nullptr || !given->workers_meet_first)
      return;
    if (has_met || worker->round < 0) return kept();
    if (failed_worker(event) == nullptr || number(event, "status") < 0) return;
    if (event.at - worker->started > kAnswer || has_reason(event, *worker)) return;
    broken(event,
           "{}, a worker of {} with rank {} of round {}, ended with {} at {}, {} after its start, "
           "and had not met the others",
           process_of(event), worker->owner, worker->rank, worker->round, number(event, "status"),
           event.at, event.at - worker->started);
  }

  bool has_reason(const sim::Event& event, const Process& worker) {
    const JobId job = agent(worker.owner).job;
    const Round* const round = view().round(job, worker.round);
    const auto gone = [&](const Process& other) {
      const bool of_the_round = other.round == worker.round && &other != &worker;
      return of_the_round && (other.ended || other.told_to_stop);
    };
    for (const AgentId member : round == nullptr ? std::vector<AgentId>() : round->members) {
      const bool stays = agent(member).member && agent(member).alive();
      if (!stays || view().any_worker(member, gone)) return true;
    }
    const sim::WorldTime since = worker.started - agent(worker.owner).timeouts.keep_alive;
    const bool is_completed = round != nullptr && round->completed;
    const bool is_hit = worker.hit_from_outside ||
                        latest_fault_ >= (is_completed ? *round->completed : worker.started);
    return is_hit || excused(hindrance_of_any(job, kAny, since, event.at));
  }

  std::set<ProcessKey> met_;
  sim::WorldTime latest_fault_{sim::Duration(-1)};  ///< that has come
};

}  // namespace

void add_meeting(InvariantRegistry& registry) {
  registry.add<Meeting>();
}

}  // namespace hooke::properties
