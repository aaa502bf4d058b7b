// How long a round with seats left stays open for others.
#include <algorithm>
#include <map>
#include <optional>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// No simulated clock is wrong by more than this part.
constexpr int kDrift = 10;
/// For those that have been through a call together (model/hardened/legacy_etcd).
constexpr sim::Duration kCalledBefore = std::chrono::seconds(5);

/// A call that lasts `least` may be over after so long, as agents tell it: each is told that it takes
/// part an answer later than it does, and the clocks that measure the call may drift.
constexpr bool is_over(sim::Duration lasted, sim::Duration least) {
  return lasted >= least - least / kDrift - kAnswer;
}

/// One round of one job.
using RoundKey = std::pair<JobId, std::int64_t>;

/// What agents tell of the last call of a round that is being formed.
struct Call {
  std::int64_t participants = 0;
  std::optional<sim::WorldTime> since;  ///< when they became enough
  std::optional<std::pair<sim::WorldTime, sim::WorldTime>> were_enough;  ///< before, from and to
  bool took_all_seats = false;                                           ///< at some time
  std::pair<AgentId, sim::WorldTime> told{kNoAgent, {}};  ///< their number last, by whose write
  sim::WorldTime known_since{};                           ///< first told of

  void now_has(std::int64_t number_of, const sim::Event& event, AgentId id, const Agent& teller) {
    participants = number_of;
    took_all_seats = took_all_seats || participants >= teller.max_nodes;
    if (event.type != &ev::rendezvous_evicted) told = {id, event.at};
    if (participants < teller.min_nodes) {
      if (since) were_enough = {*since, event.at};
      since.reset();
    } else if (!since) {
      since = event.at;
    }
  }
};

/// The calls of the rounds that were not formed yet, or never.
class Calls {
 public:
  /// An agent takes part. Two agents are told in either order, and one that a hindrance keeps from
  /// running or from its answer is told later. Where the store has lost the round before, its
  /// participants bring it back under the next number, all of them, and with its call.
  void added(const sim::Event& event, AgentId id, const JobView& view) {
    const RoundKey round{view.agent(id).job, number(event, "round")};
    Call& call = calls_[round];
    std::int64_t size = number(event, "size");
    const auto& [teller, at] = call.told;
    if (teller != kNoAgent) {
      const auto answered = view.ledger().deadline(view.claimant(id), kRun | kAnswers, at, kAnswer);
      const bool perhaps_before = teller != id && (!answered || event.at <= *answered);
      if (perhaps_before) size = std::max(size, call.participants);
    } else if (const auto since = brought_back(round, size - 1, view)) {
      call.since = since;
    }
    if (teller == kNoAgent) call.known_since = event.at;
    call.now_has(size, event, id, view.agent(id));
  }
  /// One leaves it, perhaps as the first that is told of it.
  void left(const sim::Event& event, AgentId id, const JobView& view) {
    const RoundKey round{view.agent(id).job, number(event, "round")};
    const std::int64_t size = number(event, "participants");
    Call& call = calls_[round];
    const auto since = brought_back(round, size + 1, view);
    if (call.told.first == kNoAgent && since) call.since = since;
    call.now_has(size, event, id, view.agent(id));
  }
  Call& of(const RoundKey& round) { return calls_[round]; }
  /// It is formed.
  Call take(const RoundKey& round, sim::WorldTime at) {
    const auto call = calls_.extract(round);
    const Call formed = call.empty() ? Call{} : call.mapped();
    formed_[round.first] = {round.second, formed, at};
    return formed;
  }
  /// How long the call of a round lasts whose participants are enough since `since`.
  [[nodiscard]] sim::Duration least_of(const RoundKey& round, sim::WorldTime since,
                                       sim::Duration configured) const {
    const Call* const call = before(round);
    if (call == nullptr || (!call->since && !call->were_enough)) return configured;
    const auto [from, to] = call->since ? std::pair(*call->since, since) : *call->were_enough;
    const auto least_before = [&, began = from] {
      return least_of({round.first, round.second - 1}, began, configured);
    };
    const bool was_called = call->took_all_seats || is_over(to - from, least_before());
    return was_called ? std::min(configured, kCalledBefore) : configured;
  }

 private:
  /// Since when the participants of the round before, which so many bring back under this number, are
  /// enough. It was not formed, or the store lost it before all of them had heard that it was.
  [[nodiscard]] std::optional<sim::WorldTime> brought_back(const RoundKey& round, std::int64_t size,
                                                           const JobView& view) const {
    const auto latest = formed_.find(round.first);
    const bool was_formed = latest != formed_.end() && latest->second.round == round.second - 1;
    const Call* const lost = was_formed ? &latest->second.call : before(round);
    if (lost == nullptr || !lost->since || size < lost->participants) return std::nullopt;
    const sim::WorldTime known = was_formed ? latest->second.at : *lost->since;
    const Hindrance* const loss = view.ledger().contents_lost(known);
    const bool too_late = was_formed && loss != nullptr && *loss->from > known + kAnswer;
    return loss == nullptr || too_late ? std::nullopt : lost->since;
  }
  /// Of the round before, which was never formed; null: it was, or there was none.
  [[nodiscard]] const Call* before(const RoundKey& round) const {
    const auto found = calls_.find({round.first, round.second - 1});
    return found == calls_.end() ? nullptr : &found->second;
  }
  struct Formed {
    std::int64_t round = 0;
    Call call;
    sim::WorldTime at{};
  };
  std::map<RoundKey, Call> calls_;
  std::map<JobId, Formed> formed_;  ///< the latest
};

/// A round with seats left is formed no sooner than the last call lasts, as its shortest-tempered
/// participant has it configured, after its participants were enough and stayed so (PyTorch:
/// elastic/rendezvous/dynamic_rendezvous.py, _DistributedRendezvousOpExecutor). An agent may be told
/// that it takes part after those that came behind it.
/// A call that a machine's clock cuts short is no exception: the deadline that PyTorch writes down
/// is one machine's wall time, which the others compare with their own. In legacy etcd the members
/// of a round confirm it when its call is over: where one is lost then, or leaves and takes the round
/// with it, the others have been called, and the call of the next round may be short
/// (liveness.formation).
class LastCall final : public Judge {
 public:
  LastCall()
      : Judge("safety.last_call",
              "A round with seats left is formed only when its last call is over.",
              {&ev::rendezvous_added, &ev::rendezvous_left, &ev::rendezvous_evicted,
               &ev::rendezvous_completed},
              kRun | kAnswers) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    const RoundKey round{agent(id).job, number(event, "round")};
    if (event.type == &ev::rendezvous_added) {
      if (text(event, "list") == "participants") calls_.added(event, id, view());
    } else if (event.type == &ev::rendezvous_left) {
      calls_.left(event, id, view());
    } else if (event.type == &ev::rendezvous_evicted) {
      // Told of the write that has told of its number of participants, it is in that number, and
      // may have had its seat in the round before.
      Call& call = calls_.of(round);
      const bool is_counted = call.told == std::pair(id, event.at);
      if (number(event, "was_participant") != 0 && !is_counted)
        call.now_has(call.participants - 1, event, id, agent(id));
    } else {
      formed(calls_.take(round, event.at), event, id);
    }
  }

  void formed(const Call& call, const sim::Event& event, AgentId id) {
    if (!call.since || number(event, "participants") >= number(event, "max_nodes")) return;
    sim::Duration configured = agent(id).timeouts.last_call;
    for (const AgentId each : job_of(id).agents)
      configured = std::min(configured, agent(each).timeouts.last_call);
    const RoundKey round{agent(id).job, number(event, "round")};
    const sim::Duration least = calls_.least_of(round, *call.since, configured);
    if (is_over(event.at - *call.since, least)) return kept();
    const sim::WorldTime from = std::max(*call.since, call.known_since);
    if (excused(hindrance_of_any(agent(id).job, needs(), from, event.at))) return;
    broken(event,
           "{} forms round {} at {} with {} of {} seats taken; its participants are enough since "
           "{}, and the last call lasts {}",
           id, round.second, event.at, number(event, "participants"), number(event, "max_nodes"),
           *call.since, least);
  }

  Calls calls_;
};

}  // namespace

void add_last_call(InvariantRegistry& registry) {
  registry.add<LastCall>();
}

}  // namespace hooke::properties
