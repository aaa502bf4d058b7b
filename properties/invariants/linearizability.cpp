// The place where a job's state lies, as a register that its agents compare and set.
#include <map>
#include <optional>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"
#include "properties/linearizability/told_register.h"

namespace hooke::properties {
namespace {

using Kind = ToldOperation::Kind;

/// etcd keeps a state for two hours after it was written.
constexpr sim::Duration kLifeMin = std::chrono::hours(1);

/// When the job's store changed, and as long as it was not clear which one that is.
std::vector<RegisterHistory::Span> gaps_of(JobId job, const JobView& view) {
  std::vector<RegisterHistory::Span> out;
  std::map<sim::EventId, std::pair<const Service*, bool>> changes;  ///< one begins, or ends
  for (const Service& service : view.services()) {
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

/// An agent that was killed, lost a fiber, or was not over when the run was, may have made one more
/// write, of which it could not tell: over what it told last. Stores that come and go take what
/// stood there along, and while there are several no agent tells which it used. Where no agent has
/// written for an hour, the state's time may be over (S-22).
class StoreLinearizable final : public Judge {
 public:
  StoreLinearizable()
      : Judge("safety.store_linearizable",
              "What agents read and write in the rendezvous store happens in one order.",
              {&ev::rendezvous_exchanged, &ev::store_serving, &ev::store_stopped,
               &ev::etcd_misbehaved, &wev::process_ended, &wev::fault_injected},
              kContents) {}

 private:
  void judge(const sim::Event& event) override {
    if (event.type == &ev::rendezvous_exchanged) return exchanged(event);
    if (event.type == &wev::fault_injected) {
      if (text(event, "kind") == "fiber_dies") fiber_died(text(event, "target"));
    } else if (event.type == &ev::etcd_misbehaved) {
      auto& since = text(event, "how") == "expiry" ? expired_ : stale_;
      if (!since) since = event.at;
    } else if (serves_rendezvous(event) || view().service_ended_at(event) != nullptr) {
      for (auto& [run_id, told] : jobs_) told.keep_reads();
    }
  }

  void fiber_died(std::string_view target) {
    const auto is_target = [&](sim::NodeId node, sim::Pid pid) {
      return target == say("{} pid {}", node, pid);
    };
    for (auto& [run_id, told] : jobs_) told.part_died(is_target);
  }

  void exchanged(const sim::Event& event) {
    const std::string_view word = text(event, "kind");
    const Kind kind = word == "read" ? Kind::read : word == "write" ? Kind::write : Kind::attempt;
    jobs_[std::string(text(event, "run_id"))].take(
        {kind, number(event, "expected"), number(event, "value"), event.at, span(event, "began"),
         span(event, "ended"), event.node, event.pid, view().agent_of(event).value, event.id});
  }

  void at_end(const RunFacts& /*facts*/) override {
    for (auto& [run_id, told] : jobs_) {
      if (!enough()) examine(view().find_job(run_id), told);
    }
  }

  void examine(JobId job, ToldRegister& told) {
    const auto may_write = [&](const ToldOperation& latest) {
      const AgentId id{latest.client};
      return id == kNoAgent || agent(id).outcome != "succeeded";
    };
    const auto stood_still = [&](auto at) { return view().ledger().clock_stood_still(at); };
    const auto wrong =
        told.unexplained({gaps_of(job, view()), expired_, kLifeMin, stood_still, may_write}, 5);
    if (wrong.empty()) kept();
    const auto name = [&](const ToldOperation& each) {
      if (AgentId{each.client} != kNoAgent) return view().describe(AgentId{each.client});
      return say("process {} on node {}", each.pid, each.node);
    };
    for (const ToldOperation& each : wrong) {
      const bool stale = stale_ && *stale_ <= each.at;
      broken(each.at, each.event, told.witness(each, name),
             stale ? hindrance(AgentId{each.client}, needs(), *stale_, each.at) : nullptr);
    }
  }

  std::map<std::string, ToldRegister> jobs_;
  std::optional<sim::WorldTime> stale_, expired_;
};

}  // namespace

void add_linearizability(InvariantRegistry& registry) {
  registry.add<StoreLinearizable>();
}

}  // namespace hooke::properties
