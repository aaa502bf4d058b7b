// How long a round with seats left stays open for others.
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
/// that it takes part an answer later than it does, perhaps after those that came behind it, and the
/// clocks that measure the call may drift.
/// A call that a machine's clock cuts short is no exception: the deadline that PyTorch writes down
/// is one machine's wall time, which the others compare with their own. In legacy etcd the members
/// of a round confirm it when its call is over: where one is lost then, the others have been called,
/// and the call of the next round may be short (liveness.formation).
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
    std::optional<sim::WorldTime> since;                    ///< when they became enough
    bool took_all_seats = false;                            ///< at some time
    std::pair<AgentId, sim::WorldTime> told{kNoAgent, {}};  ///< their number last, by whose write
    sim::WorldTime known_since{};                           ///< first told of
  };

  void judge_agent(const sim::Event& event, AgentId id) override {
    const JobId job = agent(id).job;
    const std::int64_t round = number(event, "round");
    if (event.type == &ev::rendezvous_added) {
      if (text(event, "list") == "participants") added(calls_[{job, round}], event, id);
    } else if (event.type == &ev::rendezvous_left) {
      now_has(number(event, "participants"), calls_[{job, round}], event, id);
    } else if (event.type == &ev::rendezvous_evicted) {
      // Told of the write that has told of its number of participants, it is in that number, and
      // may have had its seat in the round before.
      Call& call = calls_[{job, round}];
      const bool is_counted = call.told == std::pair(id, event.at);
      if (number(event, "was_participant") != 0 && !is_counted)
        now_has(call.participants - 1, call, event, id);
    } else {
      formed(calls_[{job, round}], event, id);
      calls_.erase({job, round});
    }
  }

  /// Two agents are told in either order. Where the store has lost the round before, its participants
  /// bring it back under the next number, all of them, and with its call.
  void added(Call& call, const sim::Event& event, AgentId id) {
    std::int64_t size = number(event, "size");
    const auto& [teller, at] = call.told;
    const auto lost = calls_.find({agent(id).job, number(event, "round") - 1});
    if (teller != kNoAgent) {
      if (teller != id && event.at - at <= kAnswer) size = std::max(size, call.participants);
    } else if (lost != calls_.end() && lost->second.since && size > lost->second.participants &&
               view().ledger().contents_lost(*lost->second.since) != nullptr) {
      call.since = lost->second.since;
    }
    if (teller == kNoAgent) call.known_since = event.at;
    now_has(size, call, event, id);
  }

  void now_has(std::int64_t participants, Call& call, const sim::Event& event, AgentId id) {
    call.participants = participants;
    call.took_all_seats = call.took_all_seats || participants >= agent(id).max_nodes;
    if (event.type != &ev::rendezvous_evicted) call.told = {id, event.at};
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
    const sim::Duration least =
        least_of(agent(id).job, number(event, "round"), *call.since, configured);
    if (event.at - *call.since >= least - least / kDrift - kAnswer) return kept();
    const sim::WorldTime from = std::max(*call.since, call.known_since);
    if (excused(hindrance_of_any(agent(id).job, needs(), from, event.at))) return;
    broken(event,
           "{} forms round {} at {} with {} of {} seats taken; its participants are enough since "
           "{}, and the last call lasts {}",
           id, number(event, "round"), event.at, number(event, "participants"),
           number(event, "max_nodes"), *call.since, least);
  }

  /// How long the call of a round lasts whose participants are enough since `since`.
  [[nodiscard]] sim::Duration least_of(JobId job, std::int64_t round, sim::WorldTime since,
                                       sim::Duration configured) const {
    const auto before = calls_.find({job, round - 1});  // it was never formed
    if (before == calls_.end() || !before->second.since) return configured;
    const Call& call = before->second;
    const bool was_called =
        call.took_all_seats ||
        since - *call.since >= least_of(job, round - 1, *call.since, configured);
    return was_called ? std::min(configured, kCalledBefore) : configured;
  }

  /// No simulated clock is wrong by more than this part.
  static constexpr int kDrift = 10;
  /// An answer on an undisturbed way, and the pause between two looks at the state.
  static constexpr sim::Duration kAnswer = std::chrono::seconds(2);
  /// For those that have been through a call together (model/hardened/legacy_etcd).
  static constexpr sim::Duration kCalledBefore = std::chrono::seconds(5);
  std::map<std::pair<JobId, std::int64_t>, Call> calls_;
};

}  // namespace

void add_last_call(InvariantRegistry& registry) {
  registry.add<LastCall>();
}

}  // namespace hooke::properties
