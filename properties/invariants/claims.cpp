// What agents say of themselves, compared with what processes, the wire and the store did.
#include <algorithm>
#include <iterator>
#include <map>
#include <set>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Claims that are judged: the rank and the status of a worker that is reported as failed or
/// reaped; that a group restarts for a failed worker, for others that come or go, or for a lost
/// member; that a join timed out, or found the rendezvous closed; that a process serves a store.
class ClaimsAreTrue final : public Judge {
 public:
  ClaimsAreTrue()
      : Judge("safety.claims_are_true", "What an agent says of its workers and its job happened.",
              {}, kClock | kContents | kNames) {
    on({&wev::process_ended}, [this](const auto& event) {
      if (const Process* const worker = failed_worker(event)) failed_.insert(worker->owner);
    });
    on({&wev::listener_opened}, [this](const auto& event) {
      listeners_are_told_ = true;
      open_.insert({event.node, number(event, "port")});
    });
    on({&wev::listener_closed}, [this](const auto& event) {
      open_.erase({event.node, number(event, "port")});
    });
    on({&ev::store_serving}, [this](const auto& event) { serving(event); });
    on({&ev::rendezvous_closed},
       [this](const auto& event) { closed(event, view().find_job(text(event, "run_id"))); });
    // Hardened agents end a static job so.
    on_agent({&ev::job_given_up},
             [this](const auto& event, AgentId id) { closed(event, agent(id).job); });
    on_agent({&ev::worker_started}, [this](const auto&, AgentId id) { failed_.erase(id); });
    on_agent({&ev::rendezvous_joining},
             [this](const auto& event, AgentId id) { joining_[id] = event.at; });
    on_agent({&ev::rendezvous_failed},
             [this](const auto& event, AgentId id) { waited_until_[id] = event.at; });
    on_agent({&ev::heartbeat_lost, &ev::timer_killed}, [this](const auto&, AgentId id) {
      silent_.insert(id);
      failed_.insert(id);
    });
    on_agent({&ev::failure_reported, &ev::worker_ended},
             [this](const auto& event, AgentId id) { of_worker(event, id); });
    on_agent({&ev::group_restarting},
             [this](const auto& event, AgentId id) { restarting(event, id); });
    on_agent({&ev::agent_finished}, [this](const auto& event, AgentId id) { finished(event, id); });
  }

 private:
  void serving(const sim::Event& event) {
    if (!listeners_are_told_) return;
    if (open_.contains({event.node, number(event, "port")})) return kept();
    broken(event,
           "pid {} on node {} says at {} that it serves a store at port {}, "
           "where it does not listen",
           event.pid, event.node, event.at, number(event, "port"));
  }

  void of_worker(const sim::Event& event, AgentId id) {
    const Process* const worker = view().process(event.node, pid(event, "worker_pid"));
    if (worker == nullptr || worker->owner != id || silent_.contains(id)) return;
    const bool rank = worker->rank == number(event, "rank");
    const bool status = worker->ended && worker->status == number(event, "status");
    if (rank && status) return kept();
    broken(event,
           "{} says at {} that its worker pid {} ended as rank {} with status {}; it "
           "was rank {} and {}",
           id, event.at, worker->pid.value, number(event, "rank"), number(event, "status"),
           worker->rank, worker->ended ? say("ended with {}", worker->status) : "runs");
  }

  void restarting(const sim::Event& event, AgentId id) {
    const std::string_view cause = text(event, "cause");
    const bool true_cause = cause == "worker_failure"      ? failed_.contains(id)
                            : cause == "membership_change" ? others_wait(id, event.at)
                            : cause == "member_lost"       ? one_is_missing(id)
                                                           : true;
    if (true_cause) return kept();
    // An agent that stood still is lost to the others and may find so itself; one that could not be
    // heard is lost to the others, too.
    const Agent& self = view().agent(id);
    const sim::WorldTime since = event.at - self.timeouts.monitor - 2 * self.timeouts.keep_alive;
    const auto* by = hindrance(id, kItself | needs(), since, event.at);
    if (by == nullptr) by = hindrance_of_any(self.job, kAsking | kTasks, since, event.at, id);
    if (by != nullptr) return excused(*by);
    broken(event, "{} restarts its workers at {} for \"{}\", and there is none", id, event.at,
           cause);
  }

  /// Another agent of the job wants in, or did so until its end, or until a moment ago, which the
  /// others find out later.
  [[nodiscard]] bool others_wait(AgentId id, sim::WorldTime now) const {
    const Agent& self = view().agent(id);
    const auto& agents = view().job(self.job).agents;
    return std::ranges::any_of(agents, [&](AgentId each) {
      const Agent& other = view().agent(each);
      const bool in_group =
          other.member && other.round == self.round && other.stage == Stage::running;
      const auto waited = waited_until_.find(each);
      const bool just = waited != waited_until_.end() && now - waited->second <= kSlack;
      const bool waits = other.alive() || other.stage == Stage::joining || just;
      return each != id && !in_group && waits;
    });
  }

  [[nodiscard]] bool one_is_missing(AgentId id) const {
    const Agent& self = view().agent(id);
    const Round* const round = view().round(self.job, self.round);
    const bool left_behind = self.round < view().job(self.job).highest_completed || !self.member;
    return round == nullptr || left_behind || round->current_members < self.world_size;
  }

  /// The agent that closes hears of it last: others may have seen it already.
  void closed(const sim::Event& event, JobId job) {
    closed_.insert(job);
    const auto [from, to] = seen_closed_.equal_range(job);
    for (auto seen = from; seen != to;) {
      const bool in_time =
          event.at - seen->second.at <= view().agent(seen->second.agent).timeouts.read_timeout;
      if (in_time) kept();
      seen = in_time ? seen_closed_.erase(seen) : std::next(seen);
    }
  }

  void at_end(const RunFacts& /*facts*/) override {
    for (const auto& [job, seen] : seen_closed_) {
      // An agent does not say that it has closed what it was not answered about.
      if (const auto* by = hindrance_of_any(job, kAsking, sim::WorldTime(), seen.at)) {
        excused(*by);
        continue;
      }
      broken(seen.at, seen.event,
             say("{} says at {} that the rendezvous is closed; no agent has closed it", seen.agent,
                 seen.at));
    }
  }

  void finished(const sim::Event& event, AgentId id) {
    const Agent& agent = view().agent(id);
    const std::string_view detail = text(event, "detail");
    const auto joining = joining_.find(id);
    if (detail.starts_with("RendezvousTimeoutError") && joining != joining_.end()) {
      const sim::Duration tried = event.at - joining->second;
      if (tried >= agent.timeouts.join * 9 / 10) return kept();
      broken(event, hindrance(id, needs(), joining->second, event.at),
             "{} says at {} that its join timed out; it had tried for {} of {}", id, event.at,
             tried, agent.timeouts.join);
    } else if (detail.starts_with("RendezvousClosedError")) {
      if (closed_.contains(agent.job)) return kept();
      seen_closed_.insert({agent.job, {event.at, event.id, id}});
    }
  }

  bool listeners_are_told_ = false;                      ///< the real world does not tell of them
  std::set<std::pair<sim::NodeId, std::int64_t>> open_;  ///< ports on which a process listens
  std::set<JobId> closed_;
  struct Seen {
    sim::WorldTime at{};
    sim::EventId event{};
    AgentId agent = kNoAgent;
  };
  std::multimap<JobId, Seen> seen_closed_;  ///< by agents, when none had said that it had closed it
  std::set<AgentId> failed_;                ///< a worker of the present group has failed by itself
  std::set<AgentId> silent_;                ///< what is said of a silent worker is no exit status
  std::map<AgentId, sim::WorldTime> joining_;
  std::map<AgentId, sim::WorldTime> waited_until_;  ///< agents that gave up joining, and when
};

}  // namespace

void add_claims(InvariantRegistry& registry) {
  registry.add<ClaimsAreTrue>();
}

}  // namespace hooke::properties
