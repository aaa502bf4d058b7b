// What agents say of themselves, compared with what processes, the wire and the store did.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// The ports on which processes listen. The real world does not tell of them.
class Ports {
 public:
  void see(const sim::Event& event) {
    are_told_ = true;
    const std::pair port{event.node, number(event, "port")};
    if (event.type == &wev::listener_opened) {
      open_.insert(port);
    } else {
      open_.erase(port);
    }
  }
  [[nodiscard]] bool are_told() const { return are_told_; }
  [[nodiscard]] bool contain(sim::NodeId node, std::int64_t port) const {
    return open_.contains({node, port});
  }

 private:
  bool are_told_ = false;
  std::set<std::pair<sim::NodeId, std::int64_t>> open_;
};

/// What agents went through, and what follows from it.
class Past {
 public:
  void see(const sim::Event& event, AgentId id) {
    if (event.type == &ev::worker_started) failed_.erase(id);
    if (event.type == &ev::rendezvous_joining) joining_[id] = event.at;
    if (event.type == &ev::rendezvous_failed) waited_until_[id] = event.at;
    if (event.type != &ev::heartbeat_lost && event.type != &ev::timer_killed) return;
    silent_.insert(id);
    failed(id);
  }
  /// A worker of the agent's present group has failed by itself.
  void failed(AgentId id) { failed_.insert(id); }

  /// A worker was: what is said of it is no exit status.
  [[nodiscard]] bool was_silent(AgentId id) const { return silent_.contains(id); }
  /// Since when it tries, or last tried, to join.
  [[nodiscard]] std::optional<sim::WorldTime> joining_since(AgentId id) const {
    const auto found = joining_.find(id);
    return found == joining_.end() ? std::nullopt : std::optional(found->second);
  }
  /// There is such a reason to restart the agent's group.
  [[nodiscard]] bool hold(std::string_view cause, AgentId id, sim::WorldTime now,
                          const JobView& view) const {
    if (cause == "worker_failure") return failed_.contains(id);
    if (cause == "membership_change") return others_wait(id, now, view);
    return cause != "member_lost" || one_is_missing(view.agent(id), view);
  }

 private:
  /// Another agent of the job wants in, or did so until its end, or until a moment ago, which the
  /// others find out later: one that was not answered, when it is again.
  [[nodiscard]] bool others_wait(AgentId id, sim::WorldTime now, const JobView& view) const {
    const Agent& self = view.agent(id);
    return view.any_agent(self.job, [&](AgentId each, const Agent& other) {
      const bool in_group =
          other.member && other.round == self.round && other.stage == Stage::running;
      const auto waited = waited_until_.find(each);
      const bool just =
          waited != waited_until_.end() && may_not_know(id, waited->second, now, view);
      const bool waits = other.alive() || other.stage == Stage::joining || just;
      return each != id && !in_group && waits;
    });
  }

  /// What happened to another at `of`: it was not answered, or not for long.
  [[nodiscard]] static bool may_not_know(AgentId id, sim::WorldTime of, sim::WorldTime now,
                                         const JobView& view) {
    const auto known = view.ledger().deadline(view.claimant(id), kAsking, of, kSlack);
    return !known || now <= *known;
  }

  [[nodiscard]] static bool one_is_missing(const Agent& self, const JobView& view) {
    const Round* const round = view.round(self.job, self.round);
    const bool left_behind = self.round < view.job(self.job).highest_completed || !self.member;
    return round == nullptr || left_behind || round->current_members < self.world_size;
  }

  std::set<AgentId> failed_, silent_;
  std::map<AgentId, sim::WorldTime> joining_;
  std::map<AgentId, sim::WorldTime> waited_until_;  ///< agents that gave up joining, and when
};

/// Which rendezvous were closed, and which agents have seen that before it was told: the agent that
/// closes hears of it last.
class Closings {
 public:
  struct Seen {
    sim::WorldTime at{};
    sim::EventId event{};
    AgentId agent = kNoAgent;
  };

  /// How many had seen it no longer ago than a read time-out: they are explained.
  std::size_t closed(sim::WorldTime now, JobId job, const JobView& view) {
    closed_.insert(job);
    return std::erase_if(unexplained_, [&](const Seen& seen) {
      const Agent& agent = view.agent(seen.agent);
      return agent.job == job && now - seen.at <= agent.timeouts.read_timeout;
    });
  }
  /// False: no agent has told of it yet.
  bool seen(const sim::Event& event, AgentId id, const JobView& view) {
    if (closed_.contains(view.agent(id).job)) return true;
    unexplained_.push_back({event.at, event.id, id});
    return false;
  }
  [[nodiscard]] const std::vector<Seen>& unexplained() const { return unexplained_; }
  /// An agent has ended. One that was killed when its part was over may have closed the rendezvous,
  /// and told nothing.
  std::size_t ended(sim::WorldTime now, AgentId id, const JobView& view) {
    if (id == kNoAgent || !view.job(view.agent(id).job).over) return 0;
    const Agent& agent = view.agent(id);
    const bool may_have = agent.outcome.empty() && (agent.barrier_left || agent.failed_for_good);
    return may_have ? closed(now, agent.job, view) : 0;
  }

 private:
  std::set<JobId> closed_;
  std::vector<Seen> unexplained_;
};

/// So long ago may be what an agent finds lost.
sim::Duration notice(const Timeouts& with) {
  return with.monitor + 2 * with.keep_alive;
}

/// The worker has the rank that `event` says, and has ended so, unless it `was_silent`: then it may
/// still run.
bool is_so(const Process& worker, const sim::Event& event, bool was_silent) {
  const bool ended_so = worker.ended && worker.status == number(event, "status");
  return worker.rank == number(event, "rank") && (was_silent || ended_so);
}

// What is said of a claim that is not true.
constexpr const char* kNotServed =
    "{} says at {} that it serves a store at port {}, where it does not listen";
constexpr const char* kNotSoEnded =
    "{} says at {} that its worker pid {} ended as rank {} with status {}; it was rank {} and {}";
constexpr const char* kNoSuchCause = "{} restarts its workers at {} for \"{}\", and there is none";
constexpr const char* kNotClosed =
    "{} says at {} that the rendezvous is closed; no agent has closed it";
constexpr const char* kNotTimedOut =
    "{} says at {} that its join timed out; it had tried for {} of {}";

/// What an agent needs, or it may find that it is a lost member itself. In a legacy rendezvous the key
/// of one that is not heard ends, and its own agent may be the first to see that.
Needs needs_of_a_member(const Job& job) {
  return job.backend == "etcd" ? kItself | kAsking : kItself;
}

/// Claims that are judged: the rank and the status of a worker that is reported as failed or
/// reaped; that a group restarts for a failed worker, for others that come or go, or for a lost
/// member; that a join timed out, or found the rendezvous closed; that a process serves a store.
class ClaimsAreTrue final : public Judge {
 public:
  ClaimsAreTrue()
      : Judge("safety.claims_are_true", "What an agent reports of its workers and its job is true.",
              {}, kClock | kContents | kNames) {
    on({&wev::process_ended}, [this](auto& event) {
      if (const Process* const worker = failed_worker(event)) past_.failed(worker->owner);
      kept(closings_.ended(event.at, view().agent_of(event), view()));
    });
    on({&wev::listener_opened, &wev::listener_closed}, [this](auto& event) { ports_.see(event); });
    on({&ev::store_serving}, &ClaimsAreTrue::serving);
    on({&ev::rendezvous_closed}, [this](auto& event) {
      kept(closings_.closed(event.at, view().find_job(text(event, "run_id")), view()));
    });
    on_agent({&ev::job_given_up}, [this](auto& event, AgentId id) {  // ends a static job, too
      kept(closings_.closed(event.at, agent(id).job, view()));
    });
    on_agent({&ev::worker_started, &ev::rendezvous_joining, &ev::rendezvous_failed,
              &ev::heartbeat_lost, &ev::timer_killed},
             [this](auto& event, AgentId id) { past_.see(event, id); });
    on_agent({&ev::failure_reported, &ev::worker_ended}, &ClaimsAreTrue::of_worker);
    on_agent({&ev::group_restarting}, &ClaimsAreTrue::restarting);
    on_agent({&ev::agent_finished}, &ClaimsAreTrue::finished);
  }

 private:
  void serving(const sim::Event& event) {
    if (!ports_.are_told()) return;
    if (ports_.contain(event.node, number(event, "port"))) return kept();
    broken(event, kNotServed, process_of(event), event.at, number(event, "port"));
  }

  void of_worker(const sim::Event& event, AgentId id) {
    const Process* const worker = view().process(event.node, pid(event, "worker_pid"));
    if (worker == nullptr || worker->owner != id) return;
    if (is_so(*worker, event, past_.was_silent(id))) return kept();
    broken(event, kNotSoEnded, id, event.at, worker->pid.value, number(event, "rank"),
           number(event, "status"), worker->rank,
           worker->ended ? say("ended with {}", worker->status) : "runs");
  }

  void restarting(const sim::Event& event, AgentId id) {
    if (past_.hold(text(event, "cause"), id, event.at, view())) return kept();
    // One that stood still or is unheard is lost to the others; the first may find so itself.
    const sim::WorldTime since = event.at - notice(agent(id).timeouts);
    if (excused(hindrance(id, needs_of_a_member(job_of(id)) | needs(), since, event.at))) return;
    if (excused(hindrance_of_any(agent(id).job, kAsking | kTasks, since, event.at, id))) return;
    broken(event, kNoSuchCause, id, event.at, text(event, "cause"));
  }

  void at_end(const RunFacts& /*facts*/) override {
    // An agent does not say that it has closed what it was not answered about.
    for (const auto& [at, event, id] : closings_.unexplained()) {
      if (excused(hindrance_of_any(agent(id).job, kAsking, sim::WorldTime(), at))) continue;
      broken(at, event, say(kNotClosed, id, at));
    }
  }

  void finished(const sim::Event& event, AgentId id) {
    const std::string_view detail = text(event, "detail");
    const bool claims =
        detail.starts_with("RendezvousClosedError") || detail.starts_with("RendezvousTimeoutError");
    if (claims && excused(error_put_into(id, event.at))) return;
    if (detail.starts_with("RendezvousClosedError") && closings_.seen(event, id, view())) kept();
    if (detail.starts_with("RendezvousTimeoutError")) timed_out(event, id);
  }

  void timed_out(const sim::Event& event, AgentId id) {
    const auto since = past_.joining_since(id);
    if (!since) return;
    const sim::Duration tried = event.at - *since;
    if (tried >= agent(id).timeouts.join * 9 / 10) return kept();
    broken(event, hindrance(id, needs(), *since, event.at), kNotTimedOut, id, event.at, tried,
           agent(id).timeouts.join);
  }

  Ports ports_;
  Past past_;
  Closings closings_;
};

}  // namespace

void add_claims(InvariantRegistry& registry) {
  registry.add<ClaimsAreTrue>();
}

}  // namespace hooke::properties
