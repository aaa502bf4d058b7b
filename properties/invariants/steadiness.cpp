// A job at rest stays at rest, and small disturbances leave it alone.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Bound: 5 rounds in a row without anything new: no fault that begins or ends, no agent that
/// starts, ends or is told to, no worker that fails by itself, outlives its timer or falls silent.
/// A group of newcomers is admitted in one or two rounds.
class NoLivelock final : public Judge {
 public:
  NoLivelock()
      : Judge("liveness.no_livelock", "Without new faults, restarts stop.",
              {&ev::rendezvous_completed, &ev::agent_started, &ev::agent_signalled,
               &ev::agent_finished, &wev::process_ended, &wev::fault_injected, &wev::fault_ended,
               &wev::node_restarted, &ev::timer_expired, &ev::heartbeat_lost},
              kAsking | kTasks) {}

 private:
  static constexpr int kRoundsMax = 5;
  struct Count {
    int rounds = 0;
    std::int64_t latest_round = kNoRound;
    sim::WorldTime since{};
  };

  void judge(const sim::Event& event) override {
    if (event.type != &ev::rendezvous_completed) {
      if (is_news(event)) {
        for (auto& [job, count] : counts_) count.rounds = 0;
      }
      return;
    }
    const JobId job = view().find_job(text(event, "run_id"));
    Count& count = counts_[job];
    if (number(event, "round") == count.latest_round) return;  // two writers of one completion
    count.latest_round = number(event, "round");
    if (count.rounds++ == 0) count.since = event.at;
    if (count.rounds != kRoundsMax + 1) return kept();
    broken(
        event,  // What keeps one agent from its store may make the others meet without it again
                // and again.
        hindrance_of_any(job, needs(), count.since, event.at),
        "job \"{}\" completed {} rounds from {} to {}, the latest of them round {}, although "
        "nothing had happened that calls for one: no fault, no failure, no agent that came or went",
        text(event, "run_id"), count.rounds, count.since, event.at, count.latest_round);
  }

  [[nodiscard]] bool is_news(const sim::Event& event) const {
    if (event.type != &wev::process_ended) return true;
    if (view().agent_of(event) != kNoAgent) return true;
    return failed_worker(event) != nullptr;
  }

  std::map<JobId, Count> counts_;
};

bool is_lost_connection(std::string_view detail) {
  return detail.starts_with("RendezvousConnectionError") ||
         detail.starts_with("DistNetworkError") || detail.starts_with("DistStoreError");
}

/// For how long the agent had waited for its members when it ended like this.
std::optional<sim::Duration> waited_for_members(const Agent& agent, std::string_view detail) {
  const Timeouts& timeouts = agent.timeouts;
  if (detail.starts_with("DistStoreError: wait timeout")) return timeouts.read_timeout;
  if (!detail.starts_with("DistStoreError: the group has not formed")) return std::nullopt;
  return std::max(timeouts.join, timeouts.read_timeout);
}

/// How many ranks come at most: of agents that share one only one is counted. Which rank an agent has
/// that was never given any is unknown.
std::int64_t ranks_coming(const Job& job, const JobView& view) {
  std::set<std::int64_t> ranks;
  std::int64_t unknown = 0;
  for (const AgentId id : job.agents) {
    const Agent& agent = view.agent(id);
    if (!agent.alive() || agent.stage == Stage::running) continue;
    if (agent.rank < 0) {
      ++unknown;
    } else {
      ranks.insert(agent.rank);
    }
  }
  return std::ssize(ranks) + unknown;
}

/// Broken when a healthy agent ends with a connection error although its store lives, unless a fault
/// kept the agent from the store for as long as its read time-out.
class BlipTolerance final : public Judge {
 public:
  BlipTolerance()
      : Judge("liveness.blip_tolerance",
              "A short fault of store or network does not end a healthy agent.",
              {&ev::rendezvous_failed, &ev::coverage_point, &ev::agent_finished}, kAsking) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    if (event.type == &ev::rendezvous_failed) {
      failed_[id] = event.at;
    } else if (event.type ==
               &ev::coverage_point) {  // a static rendezvous tells of no failure of its own
      if (text(event, "name") == "store_lingers") failed_.try_emplace(id, event.at);
    } else {
      finished(event, id);
    }
  }

  void finished(const sim::Event& event, AgentId id) {
    const Agent& agent = view().agent(id);
    if (agent.round == kNoRound || agent.signalled) return;
    const auto failed = failed_.find(id);  // long before its end, where it has served others on
    const sim::WorldTime at = failed == failed_.end() ? event.at : failed->second;
    if (text(event, "outcome") != "error" || !is_lost_connection(text(event, "detail"))) {
      if (hindrance(id, needs(), agent.started, event.at) != nullptr) kept();  // it has endured it
      return;
    }
    if (view().job(agent.job).over || view().store_is_gone()) return;
    // Such an error says nothing of the store. The agent ends later, when its workers have stopped.
    if (excused(error_put_into(id, at))) return;
    // Faults no further apart than the time for a caught request are one disturbance.
    const auto disturbance = view().ledger().disturbance(view().claimant(id), needs(), at);
    const sim::Duration held_out =
        disturbance ? disturbance->to - disturbance->from : sim::Duration::zero();
    const bool drifts = view().ledger().drifts(agent.node);
    // By its own clock: no clock of a simulated machine is wrong by more than a tenth.
    const sim::Duration patience = agent.timeouts.read_timeout;
    if (held_out >= (drifts ? patience * 10 / 11 : patience)) return;  // no short fault
    if (const auto waited = waited_for_members(agent, text(event, "detail"))) {
      const Job& job = view().job(agent.job);
      // Fewer ranks come than it waits for: a static agent at work is not told that others wait.
      if (job.backend == "static" && ranks_coming(job, view()) < job.min_nodes) return;
      // It waited for what another member has to write, or for the group to form, and a fault kept
      // that member from its part.
      if (excused(hindrance_of_a_member(agent, at - *waited, at))) return;
    }
    const std::string blip =
        disturbance ? say("there was only {}, which had hindered it for {}",
                          hindrance(id, needs(), disturbance->from, at)->text(), held_out)
                    : "nothing had hindered it";
    broken(event, "{}, a healthy member, ended at {} with \"{}\" although its store ({}) lived: {}",
           id, at, text(event, "detail"),
           view().services().empty() ? ProcessKey{} : view().services().back().process, blip);
  }

  /// Of what another agent that had come to the rendezvous needed while it waited.
  [[nodiscard]] const Hindrance* hindrance_of_a_member(const Agent& agent, sim::WorldTime from,
                                                       sim::WorldTime to) const {
    const Hindrance* found = nullptr;
    static_cast<void>(view().any_agent(agent.job, [&](AgentId id, const Agent& other) {
      if (other.stage == Stage::starting) return false;
      found = hindrance(id, needs(), from, to);
      return found != nullptr;
    }));
    return found;
  }

  /// When the rendezvous failed last; else when the agent, done for, began to serve others on.
  std::map<AgentId, sim::WorldTime> failed_;
};

}  // namespace

void add_steadiness(InvariantRegistry& registry) {
  registry.add<NoLivelock, BlipTolerance>();
}

}  // namespace hooke::properties
