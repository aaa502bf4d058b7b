// The place where a job's state lies, as a register that its agents compare and set.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"
#include "properties/invariants/register_history.h"

namespace hooke::properties {
namespace {

using Kind = RegisterOperation::Kind;

/// What agents tell is kept until the run ends, for what is known of an operation only at its end
/// may explain others that ended earlier. Of the reads of one state two are enough, the one that
/// ended first and the one that began last, until somebody writes that state again: so there are no
/// more operations than three for each write. An agent that was killed, lost a fiber, or was not
/// over when the run was, may have made one more write, of which it could not tell: over what it
/// told last. Stores
/// that come and go take what stood there along, and while there are several nobody knows who used
/// which. Where nobody has written for an hour, the state's time may be over (S-22).
class StoreLinearizable final : public Judge {
 public:
  StoreLinearizable()
      : Judge("safety.store_linearizable",
              "What agents read and write in the rendezvous store happens in one order.",
              {&ev::rendezvous_exchanged, &ev::store_serving, &ev::store_stopped,
               &ev::etcd_misbehaved, &wev::process_ended, &wev::fault_injected},
              kContents) {}

 private:
  /// One operation, and who has told it.
  struct Told {
    Kind kind{};
    std::int64_t expected = 0, value = 0;
    sim::WorldTime at{};
    sim::Duration began{}, ended{};  ///< before `at`, by the clock of the agent's node
    ProcessKey who{};
    AgentId agent = kNoAgent;
    sim::EventId event{};

    [[nodiscard]] sim::WorldTime first() const { return at - began; }
    [[nodiscard]] sim::WorldTime last() const { return at - ended; }
  };
  struct Reads {
    Told first, last;  ///< that ended first, that began last
  };
  struct Register {
    std::vector<Told> operations;
    std::map<std::int64_t, Reads> reads;  ///< by state, since it was written
    std::map<ProcessKey, Told> latest;
    std::vector<Told> before_deaths;  ///< what the owner of a fiber that died had told last
  };
  void at_end(const RunFacts& facts) override {
    static_cast<void>(facts);
    for (auto& [run_id, told] : jobs_) {
      if (!enough()) examine(run_id, told);
    }
  }

  void judge(const sim::Event& event) override {
    if (event.type == &ev::rendezvous_exchanged) return exchanged(event);
    if (event.type == &wev::fault_injected) {
      if (text(event, "kind") == "fiber_dies") fiber_died(text(event, "target"));
      return;
    }
    if (event.type == &ev::etcd_misbehaved) {
      auto& since = text(event, "how") == "expiry" ? expired_ : stale_;
      if (!since) since = event.at;
    } else if (serves_rendezvous(event) || view().service_ended_at(event) != nullptr) {
      for (auto& [run_id, told] : jobs_) keep_reads(told);
    }
  }

  void fiber_died(std::string_view target) {
    for (auto& [run_id, told] : jobs_) {
      for (const auto& [who, latest] : told.latest) {
        if (target == say("{} pid {}", who.node, who.pid)) told.before_deaths.push_back(latest);
      }
    }
  }

  void exchanged(const sim::Event& event) {
    Register& told = jobs_[std::string(text(event, "run_id"))];
    const std::string_view kind = text(event, "kind");
    Told operation{kind == "read"    ? Kind::read
                   : kind == "write" ? Kind::write
                                     : Kind::attempt,
                   number(event, "expected"),
                   number(event, "value"),
                   event.at,
                   span(event, "began"),
                   span(event, "ended"),
                   process_of(event),
                   view().agent_of(event),
                   event.id};
    told.latest[operation.who] = operation;
    if (operation.kind == Kind::read) {
      const auto [known, is_new] = told.reads.try_emplace(operation.value);
      Reads& reads = known->second;
      if (is_new || operation.last() < reads.first.last()) reads.first = operation;
      if (is_new || operation.first() > reads.last.first()) reads.last = operation;
      return;
    }
    if (const auto known = told.reads.extract(operation.value)) keep(told, known.mapped());
    told.operations.push_back(operation);
  }

  static void keep(Register& told, const Reads& reads) {
    told.operations.push_back(reads.first);
    if (reads.last.event != reads.first.event) told.operations.push_back(reads.last);
  }

  static void keep_reads(Register& told) {
    for (const auto& [state, reads] : std::exchange(told.reads, {})) keep(told, reads);
  }

  void examine(std::string_view run_id, Register& told) {
    keep_reads(told);
    RegisterHistory history;
    history.gaps = gaps_of(view().find_job(run_id));
    history.may_vanish = expired_;
    sim::WorldTime written{};
    for (const Told& operation : told.operations) {
      history.operations.push_back(timed(operation));
      if (operation.kind == Kind::read) continue;
      if (operation.at - written >= kLifeMin &&
          (!history.may_vanish || written < *history.may_vanish))
        history.may_vanish = written + kLifeMin;
      written = operation.at;
    }
    for (const auto& [who, latest] : told.latest) {
      if (latest.agent != kNoAgent && agent(latest.agent).outcome == "succeeded") continue;
      history.operations.push_back(unseen_after(latest));
    }
    for (const Told& told_last : told.before_deaths)
      history.operations.push_back(unseen_after(told_last));
    const std::vector<std::size_t> impossible = contradictions(history, 5);
    if (impossible.empty()) kept();
    for (const std::size_t index : impossible) {
      const Told& operation = told.operations[index];
      broken(operation.at, operation.event, witness(told.operations, operation),
             stale_ && *stale_ <= operation.at
                 ? hindrance(operation.agent, needs(), *stale_, operation.at)
                 : nullptr);
    }
  }

  [[nodiscard]] RegisterOperation unseen_after(const Told& latest) const {
    const bool knows_value = latest.kind != Kind::attempt;
    return {Kind::unseen, knows_value ? latest.value : latest.expected, 0, timed(latest).ended, {}};
  }

  /// On the world's clock, and never shorter than it was: a node's clock may run a tenth slow or
  /// fast, or stand still.
  [[nodiscard]] RegisterOperation timed(const Told& told) const {
    const sim::Duration stood_still = view().ledger().clock_stood_still(told.at);
    return {told.kind, told.expected, told.value, told.at - told.began * 9 / 8 - stood_still,
            told.at - told.ended * 7 / 8};
  }

  /// When the job's store changed, and as long as it was not clear which one that is.
  [[nodiscard]] std::vector<RegisterHistory::Span> gaps_of(JobId job) const {
    std::vector<RegisterHistory::Span> out;
    std::map<sim::EventId, std::pair<const Service*, bool>> changes;  ///< one begins, or ends
    for (const Service& service : view().services()) {
      changes[service.began] = {&service, true};
      if (service.ended != sim::kNoEvent) changes[service.ended] = {&service, false};
    }
    std::map<JobId, std::int64_t> serving;
    std::int64_t all = 0;
    std::optional<sim::WorldTime> unclear;
    for (const auto& [event, change] : changes) {
      const auto& [service, begins] = change;
      const sim::WorldTime at = begins ? service->since : service->to;
      serving[service->job] += begins ? 1 : -1;
      all += begins ? 1 : -1;
      // An agent of another job serves this one only if no agent of its own does.
      const std::int64_t own = serving[job] + (job == kNoJob ? 0 : serving[kNoJob]);
      const bool is_unclear = (own > 0 ? own : all) > 1;
      if (is_unclear && !unclear) unclear = at;
      if (!is_unclear) out.push_back({std::exchange(unclear, std::nullopt).value_or(at), at});
    }
    if (unclear) out.push_back({*unclear, sim::WorldTime::max()});
    return out;
  }

  // ---- what a person reads

  [[nodiscard]] std::string who(const Told& told) const {
    if (told.agent != kNoAgent) return view().describe(told.agent);
    return say("process {} on node {}", told.who.pid, told.who.node);
  }
  /// States are named by the end of their digests.
  static std::string state(std::int64_t digest) {
    return digest == 0 ? "no state" : fmt::format("state \"{:08x}\"", digest & 0xffffffff);
  }
  [[nodiscard]] std::string when(const Told& told) const {
    return say("({} to {})", told.first(), told.last());
  }

  /// The latest write of another state over `expected` that is over by `until`.
  static const Told* replacement(const std::vector<Told>& all, const Told& other,
                                 sim::WorldTime until) {
    const Told* found = nullptr;
    for (const Told& each : all) {
      if (each.kind != Kind::write || each.event == other.event || each.value == each.expected)
        continue;
      const std::int64_t expected = other.kind == Kind::read ? other.value : other.expected;
      if (each.expected != expected || each.last() > until) continue;
      if (found == nullptr || each.last() > found->last()) found = &each;
    }
    return found;
  }
  /// Whether anybody has, or may have, put `value` there since `since`.
  static bool put_back(const std::vector<Told>& all, std::int64_t value, sim::WorldTime since,
                       sim::WorldTime until) {
    return std::any_of(all.begin(), all.end(), [&](const Told& each) {
      return each.kind != Kind::read && each.value == value && each.first() <= until &&
             (each.kind == Kind::attempt || each.last() >= since);
    });
  }

  [[nodiscard]] std::string witness(const std::vector<Told>& all, const Told& told) const {
    if (told.kind == Kind::read) {
      const std::string read = say("{} found {} {}", who(told), state(told.value), when(told));
      const Told* const gone = replacement(all, told, told.first());
      if (gone != nullptr && !put_back(all, told.value, gone->last(), told.last())) {
        return say("{}, which {} had replaced {}, and which no process had put back", read,
                   who(*gone), when(*gone));
      }
      return say("{}, {}", read, last_fitting(all, told));
    }
    const std::string wrote = say("{} replaced {} {}", who(told), state(told.expected), when(told));
    const Told* const other = replacement(all, told, told.last());
    if (other != nullptr && !put_back(all, told.expected, other->last(), told.last())) {
      return say("{}, and so had {} {}: one of the two writes was lost", wrote, who(*other),
                 when(*other));
    }
    return say("{}, {}", wrote, last_fitting(all, told));
  }

  [[nodiscard]] std::string last_fitting(const std::vector<Told>& all, const Told& told) const {
    const Told* last = nullptr;
    for (const Told& each : all) {
      if (each.kind == Kind::attempt || each.last() >= told.first()) continue;
      if (last == nullptr || each.last() > last->last()) last = &each;
    }
    if (last == nullptr) return "which no order of what agents did at that time explains";
    return say(
        "which no order of what agents did explains: the last of them before that was {}, who {} "
        "{} {}",
        who(*last), last->kind == Kind::read ? "found" : "wrote", state(last->value), when(*last));
  }

  /// etcd keeps a state for two hours after it was written.
  static constexpr sim::Duration kLifeMin = std::chrono::hours(1);
  std::map<std::string, Register> jobs_;
  std::optional<sim::WorldTime> stale_, expired_;
};

}  // namespace

void add_linearizability(InvariantRegistry& registry) {
  registry.add<StoreLinearizable>();
}

}  // namespace hooke::properties
