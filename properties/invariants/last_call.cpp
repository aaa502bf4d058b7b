// A round that has enough participants stays open for others.
#include <algorithm>
#include <map>
#include <optional>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// A round with seats left is formed no sooner than the last call lasts, as its shortest-tempered
/// participant has it configured, after its participants were enough and stayed so (PyTorch:
/// elastic/rendezvous/dynamic_rendezvous.py, _DistributedRendezvousOpExecutor). An agent is told
/// that it takes part an answer later than it does, and the clocks that measure the call may drift.
/// A call that a machine's clock cuts short is no exception: the deadline that PyTorch writes down
/// is one machine's wall time, which the others compare with their own.
class LastCall final : public Judge {
 public:
  LastCall()
      : Judge("safety.last_call",
              "A round with seats left is formed only when its last call is over.",
              {&ev::rendezvous_added, &ev::rendezvous_left, &ev::rendezvous_evicted,
               &ev::rendezvous_completed},
              kRun | kAnswers) {}

 private:
  struct Call {
    std::int64_t participants = 0;
    std::optional<sim::WorldTime> since;  ///< when they became enough
  };

  void judge_agent(const sim::Event& event, AgentId id) override {
    const JobId job = agent(id).job;
    const std::int64_t round = number(event, "round");
    if (event.type == &ev::rendezvous_added) {
      if (text(event, "list") == "participants")
        now_has(number(event, "size"), calls_[{job, round}], event, id);
    } else if (event.type == &ev::rendezvous_left) {
      now_has(number(event, "participants"), calls_[{job, round}], event, id);
    } else if (event.type == &ev::rendezvous_evicted) {
      Call& call = calls_[{job, round}];
      if (number(event, "was_participant") != 0) now_has(call.participants - 1, call, event, id);
    } else {
      formed(calls_[{job, round}], event, id);
      calls_.erase({job, round});
    }
  }

  void now_has(std::int64_t participants, Call& call, const sim::Event& event, AgentId id) {
    call.participants = participants;
    if (participants < agent(id).min_nodes) {
      call.since.reset();
    } else if (!call.since) {
      call.since = event.at;
    }
  }

  void formed(const Call& call, const sim::Event& event, AgentId id) {
    if (!call.since || number(event, "participants") >= number(event, "max_nodes")) return;
    sim::Duration configured = agent(id).timeouts.last_call;
    for (const AgentId each : job_of(id).agents)
      configured = std::min(configured, agent(each).timeouts.last_call);
    if (event.at - *call.since >= configured - configured / kDrift - kAnswer) return kept();
    const Hindrance* const by = hindrance_of_any(agent(id).job, needs(), *call.since, event.at);
    if (by != nullptr) return excused(*by);
    broken(event,
           "{} forms round {} at {} with {} of {} seats taken; its participants are enough since "
           "{}, and the last call lasts {}",
           id, number(event, "round"), event.at, number(event, "participants"),
           number(event, "max_nodes"), *call.since, configured);
  }

  /// No simulated clock is wrong by more than this part.
  static constexpr int kDrift = 10;
  /// An answer on an undisturbed way, and the pause between two looks at the state.
  static constexpr sim::Duration kAnswer = std::chrono::seconds(2);
  std::map<std::pair<JobId, std::int64_t>, Call> calls_;
};

}  // namespace

void add_last_call(InvariantRegistry& registry) {
  registry.add<LastCall>();
}

}  // namespace hooke::properties
