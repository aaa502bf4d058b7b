// What a failure or a loss costs a job: no restart more than it has, and none of them left unused
// when it gives up.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// A restart of the job is a new round after a failure, of agents of which one at least was in a
/// round that had come to run workers: one restarted for a failed worker or a lost member, or was
/// relaunched on a node whose earlier agent had failed with its workers. However many agents fail
/// in one round, and however late one of them has stopped its workers and comes, it is one restart;
/// growth, polite departure and a newcomer in a dead member's place are none.
class Restarts {
 public:
  static constexpr Needs kNeeds = kPath | kStore | kContents;
  struct Charge {
    std::string cause;
    AgentId spender = kNoAgent;  ///< the first agent to restart because of it; may be none
    sim::WorldTime at{};         ///< when it did
  };

  void relaunched(const sim::Event& event, const JobView& view) {
    const auto lost = lost_nodes_.extract(event.node);
    // What the one before had told of its failure may be gone with the store.
    if (!lost.empty() && view.ledger().contents_lost(lost.mapped()) == nullptr)
      note("the agent on node " + view.name(event.node) + " was relaunched");
  }
  void worker_started() { ran_ = true; }
  /// Unless it was kept from telling the store from its decision on: then no other knows of it.
  void agent_failed(const sim::Event& event, AgentId id, const Job& job, const JobView& view) {
    const bool decided = job.decided && job.decided->round == view.agent(id).round;
    const sim::WorldTime since = decided ? job.decided->at : event.at;
    const auto cut = view.ledger().disturbance(view.claimant(id), kNeeds, event.at);
    if (!cut || cut->from > since || cut->to < event.at) lost_nodes_[event.node] = event.at;
  }

  void restarting(const sim::Event& event, AgentId id, const JobView& view) {
    const std::string_view cause = text(event, "cause");
    const std::string node = view.name(event.node);
    if (is_unheard(event.at, view)) cause_.clear();  // by the agent that restarts now
    const bool first = cause_.empty();
    if (cause == "worker_failure") note("a worker on node " + node + " failed");
    if (cause == "heartbeat_loss") note("a worker on node " + node + " fell silent");
    if (cause == "member_lost") note("the agent on node " + node + " had lost another");
    if (!first || cause_.empty()) return;
    spender_ = id;
    spent_at_ = event.at;
  }

  /// The restart that this round is; nullopt: it is none.
  std::optional<Charge> completed(const sim::Event& event, const Job& job, const JobView& view) {
    const std::int64_t round = number(event, "round");
    // Without an agent that was in a round before, the job is not restarted, but started.
    const bool one_remains = std::ranges::any_of(job.agents, [&](AgentId id) {
      const Agent& agent = view.agent(id);
      return agent.alive() && agent.round != kNoRound && !is_kept_apart(id, event.at, view);
    });
    if (!one_remains) latest_round_ = kNoRound;
    if (round <= latest_round_) return std::nullopt;
    const bool first = std::exchange(latest_round_, round) == kNoRound;
    const bool unheard = is_unheard(event.at, view);
    Charge charge{std::exchange(cause_, {}), std::exchange(spender_, kNoAgent), spent_at_};
    const bool ran = std::exchange(ran_, false);
    if (!one_remains) count_ = 0;
    if (first || charge.cause.empty() || unheard || !ran || !one_remains) return std::nullopt;
    ++count_;
    return charge;
  }

  /// A worker alone, of which no round tells. False: its agent found it failed at the same look as
  /// another, which is one restart.
  bool restarted_alone(const sim::Event& event, AgentId id) {
    if (!alone_.empty() && alone_.back() == Alone{id, event.at}) return false;
    alone_.push_back({id, event.at});
    ++count_;
    return true;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }
  /// How many of the workers that others have started again alone the agent could not count at
  /// `at`: it could not ask then, or they could not tell since, or they have ended and what they told
  /// went with the store's contents.
  [[nodiscard]] std::int64_t unheard_by(AgentId id, sim::WorldTime at, const JobView& view) const {
    const auto own = view.ledger().disturbance(view.claimant(id), kNeeds, at);
    const bool asks_in_vain = own && own->to + kAgain >= at;
    return std::ranges::count_if(alone_, [&](const Alone& other) {
      if (other.agent == id) return false;
      if (asks_in_vain) return true;
      const auto gone = view.agent(other.agent).ended;
      if (gone && view.ledger().contents_lost(other.at) != nullptr) return true;
      const sim::WorldTime until = gone ? std::min(at, *gone) : at;
      const auto cut = view.ledger().disturbance(view.claimant(other.agent), kNeeds, until);
      return cut && cut->from <= other.at + kLook && cut->to + kTold >= until;
    });
  }

 private:
  struct Alone {
    AgentId agent = kNoAgent;
    sim::WorldTime at{};
    bool operator==(const Alone&) const = default;
  };
  static constexpr sim::Duration kAgain = std::chrono::seconds(5);  ///< longest between attempts
  /// Until what was taken in a store's silence is told behind it, by an agent that asks for that
  /// every ten seconds, one second each time.
  static constexpr sim::Duration kTold = std::chrono::seconds(13);
  /// Until others have looked, besides the pause between two looks.
  static constexpr sim::Duration kLook = std::chrono::seconds(2);

  void note(std::string cause) {
    if (cause_.empty()) cause_ = std::move(cause);
  }

  /// No other agent knows of it: the spender was cut off, or the store lost all, before they looked.
  /// Between two looks lies the monitor interval.
  [[nodiscard]] bool is_unheard(sim::WorldTime at, const JobView& view) const {
    if (cause_.empty() || spender_ == kNoAgent) return false;
    const auto gone = view.agent(spender_).ended;
    // Its store may go with it, at the same instant.
    const sim::WorldTime until = gone ? std::min(at, *gone + sim::Duration(1)) : at;
    const auto cut = view.ledger().disturbance(view.claimant(spender_), kNeeds, until);
    return cut && cut->from <= spent_at_ + kLook + view.agent(spender_).timeouts.monitor &&
           cut->to + (gone ? kAgain : sim::Duration()) >= until;
  }

  /// What the agent knows no other can hear: a new store serves the job, and since it has begun to
  /// the agent could not ask it.
  static bool is_kept_apart(AgentId id, sim::WorldTime at, const JobView& view) {
    const Service* const store = view.latest_service(view.agent(id).job);
    if (store == nullptr || store->is_first) return false;
    const auto cut = view.ledger().disturbance(view.claimant(id), kNeeds, at);
    return cut && cut->from <= store->since && cut->to >= at;
  }

  std::int64_t count_ = 0, latest_round_ = kNoRound;
  std::string cause_;           ///< of the next restart; empty: no failure since the latest round
  AgentId spender_ = kNoAgent;  ///< the first agent to restart because of it; may be none
  sim::WorldTime spent_at_{};   ///< when
  bool ran_ = false;            ///< workers were started since the latest round
  std::vector<Alone> alone_;    ///< workers that were started again alone
  std::map<sim::NodeId, sim::WorldTime> lost_nodes_;  ///< whose agent ended with failed workers
};

/// The jobs in which an agent has shown that it counts what others spend.
class CountedTogether {
 public:
  /// The agent takes one more restart than `before`, the job's, and says that `spent` are.
  bool is_shown(JobId job, AgentId id, std::int64_t before, std::int64_t spent) {
    if (before >= ++own_[id] && spent == before + 1) jobs_.insert(job);
    return jobs_.contains(job);
  }

 private:
  std::map<AgentId, std::int64_t> own_;  ///< restarts for failures that each has told of
  std::set<JobId> jobs_;
};

constexpr const char* kTooManyLeft =
    "{} restarts for a failure at {} and says that {} of {} restarts are left; its job had made {} "
    "before";

/// PyTorch counts per agent incarnation and only what that agent saw, so it breaks this
/// (incident 9). Where an agent has counted what others spent, each of a round can have heard, when it
/// had its seat, what the job had spent before: if it restarts for a failure, it says that no more is
/// left than that and this failure leave. So a count that is lost with a store is seen at the next
/// failure, and not only when there is one restart too many.
class RestartBudget final : public Judge {
 public:
  RestartBudget()
      : Judge("safety.restart_budget",
              "Restarts after failures are counted and limited for the job, not per agent.",
              {&ev::rendezvous_completed, &ev::agent_started, &ev::worker_started,
               &ev::group_restarting, &ev::worker_restarting, &wev::process_ended},
              Restarts::kNeeds) {}

 private:
  void judge_agent(const sim::Event& event, AgentId id) override {
    const Agent& self = agent(id);
    const Job& job = job_of(id);
    Restarts& restarts = restarts_[self.job];
    if (event.type == &ev::rendezvous_completed) {
      const auto charge = restarts.completed(event, job, view());
      if (!charge || is_within(restarts, job, charge->spender, charge->at)) return;
      broken(event,
             "round {} at {} is restart {} of job \"{}\" after a failure ({}); max_restarts is {}",
             number(event, "round"), event.at, restarts.count(), job.run_id, charge->cause,
             job.max_restarts);
    } else if (event.type == &ev::agent_started) {
      if (job.living == 1) restarts = {};
      restarts.relaunched(event, view());
    } else if (event.type == &ev::worker_started) {
      restarts.worker_started();
      formed_[id] = event.at;
    } else if (event.type == &ev::group_restarting) {
      // An agent that finds that the others have gone on is a newcomer.
      if (self.round < job.highest_completed) return;
      restarts.restarting(event, id, view());
      says_left(event, id, restarts);
    } else if (event.type == &ev::worker_restarting) {
      if (!restarts.restarted_alone(event, id)) return;
      if (is_within(restarts, job, id, event.at)) return;
      broken(event,
             "rank {} is started again alone at {}, which is restart {} of job \"{}\" after a "
             "failure; max_restarts is {}",
             number(event, "rank"), event.at, restarts.count(), job.run_id, job.max_restarts);
    } else if (self.outcome == "failed" && self.round != kNoRound) {  // process.ended
      restarts.agent_failed(event, id, job, view());
    }
  }

  void says_left(const sim::Event& event, AgentId id, const Restarts& restarts) {
    const std::string_view cause = text(event, "cause");
    const JobId job = agent(id).job;
    const Round* const round = view().round(job, number(event, "round"));
    if (round == nullptr || !round->completed || view().job(job).over) return;
    if (cause != "worker_failure" && cause != "heartbeat_loss" && cause != "member_lost") return;
    const std::int64_t left = number(event, "remaining_restarts"), all = agent(id).max_restarts;
    const std::int64_t before = restarts.count() - restarts.unheard_by(id, event.at, view());
    if (!together_.is_shown(job, id, before, all - left)) return;
    if (left + before + 1 <= all) return kept();
    // With its seat it was answered: no earlier question hangs.
    Claimant who = view().claimant(id);
    who.caught = {};
    if (excused(view().ledger().find(who, needs(), *round->completed, formed_[id]))) return;
    broken(event, kTooManyLeft, id, event.at, left, all, before);
  }

  /// Judges the latest restart, which the agent, if there is one, took at `taken`: it is one of those
  /// that the job has, or more than these only by such that the agent could not count.
  bool is_within(const Restarts& restarts, const Job& job, AgentId id, sim::WorldTime taken) {
    if (restarts.count() <= job.max_restarts) {
      kept();
      return true;
    }
    if (id == kNoAgent) return false;
    const std::int64_t unheard = restarts.unheard_by(id, taken, view());
    return restarts.count() - unheard <= job.max_restarts &&
           excused(hindrance_of_any(agent(id).job, needs(), agent(id).started, taken));
  }

  std::map<JobId, Restarts> restarts_;
  CountedTogether together_;
  std::map<AgentId, sim::WorldTime> formed_;  ///< when each has last started workers
};

/// What an agent has spent by itself.
struct Spent {
  std::int64_t restarts = 0;
  bool failed = false;  ///< a worker of the present group
  bool may_stop = false;
};
/// What its job has spent.
struct JobSpent {
  /// An agent gave up with restarts left, as far as had been heard.
  struct EarlyEnd {
    sim::WorldTime at{};
    sim::EventId event{};
    std::string witness;
  };
  std::optional<EarlyEnd> early{};
  std::int64_t restarts = 0;
  bool failed = false;  ///< a worker or an agent, since the latest round was completed
  bool over = false;
};

/// What an agent's event adds to both.
void count(const sim::Event& event, Spent& own, JobSpent& job) {
  if (event.type == &ev::worker_started) {
    if (std::exchange(own.failed, false)) ++own.restarts;
  } else if (event.type == &ev::worker_restarting) {  // alone: no round tells of it
    ++job.restarts;
  } else if (event.type == &ev::rendezvous_completed) {
    if (std::exchange(job.failed, false)) ++job.restarts;
    job.over = false;
  } else if (event.type == &ev::heartbeat_lost || event.type == &ev::timer_killed) {
    own.failed = job.failed = true;
    if (event.type == &ev::heartbeat_lost) own.may_stop = true;
  } else if (event.type == &ev::restart_refused) {
    own.may_stop |= text(event, "reason") != ev::kRestartsSpent;  // that is judged here
  }
}

/// Judged on processes: a restart is a group of workers that is started after one of the group
/// before had failed by itself, or had let a timer or its heartbeats pass; for the job, a round
/// that follows one in which that happened, an agent died, or one was lost to the others
/// (safety.claims_are_true judges that it was). An agent that ends as failed, or gives
/// its job up, with restarts left, by both counts, has given up early, unless the job was over
/// already (closed, or all at the exit barrier, or another had failed for good), a policy of the
/// user's or a lost heartbeat forbids restarts, or a worker cannot be killed. A polite departure
/// spends nothing, nor does a newcomer: what an agent says of the restarts that are left is not
/// less than the counts leave. Of a worker that is started again alone the store may have been told
/// before its agent has the answer and says so.
class GivesUpEarly final : public Judge {
 public:
  GivesUpEarly()
      : Judge("safety.gives_up_early",
              "An agent ends its job for a failure only when no restart is left.",
              {&ev::worker_started, &ev::worker_restarting, &ev::rendezvous_completed,
               &ev::heartbeat_lost, &ev::timer_killed, &ev::restart_refused,
               &ev::exit_barrier_entered, &ev::group_restarting, &ev::job_given_up,
               &wev::process_ended, &ev::rendezvous_closed},
              kMortal) {}

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (event.type == &ev::rendezvous_closed) {
      if (const JobId job = view().find_job(text(event, "run_id")); job != kNoJob)
        jobs_[job].over = true;
    } else if (const Process* const worker = failed_worker(event)) {
      agents_[worker->owner].failed = true;
      jobs_[view().agent(worker->owner).job].failed = true;
    } else if (id != kNoAgent) {
      agent_event(event, id);
    }
  }

  void agent_event(const sim::Event& event, AgentId id) {
    const Agent& agent = view().agent(id);
    JobSpent& job = jobs_[agent.job];
    if (job.early && event.at > job.early->at + kAnswer) tell(job);
    count(event, agents_[id], job);
    if (event.type == &ev::worker_restarting) {
      if (job.restarts >= agent.max_restarts && std::exchange(job.early, {})) kept();
    } else if (event.type == &ev::exit_barrier_entered) {
      if (view().job(agent.job).over == event.at) job.over = true;
    } else if (event.type == &ev::group_restarting) {
      says_left(event, id, job);
      if (number(event, "round") < 0)
        ++job.restarts;  // static: no round tells of a group's, either
    } else if (event.type == &ev::job_given_up) {
      gives_up(event, id, job, "gave its job up");
    } else if (event.type == &wev::process_ended && agent.round != kNoRound) {
      if (agent.outcome.empty()) job.failed = true;  // it was lost
      if (agent.outcome == "failed") gives_up(event, id, job, "ended as failed");
    }
  }

  /// The present failure may be counted already.
  void says_left(const sim::Event& event, AgentId id, JobSpent& job) {
    const Agent& agent = view().agent(id);
    job.failed |= text(event, "cause") == "member_lost";
    const Spent& own = agents_[id];
    const std::int64_t spent = std::max(own.restarts + own.failed, job.restarts + job.failed);
    const std::int64_t said = number(event, "remaining_restarts"), all = agent.max_restarts;
    if (said >= all - spent) return kept();
    broken(event, "{} says at {} that {} of {} restarts are left, and {} were made", id, event.at,
           said, all, spent);
  }

  void gives_up(const sim::Event& event, AgentId id, JobSpent& job, const char* does) {
    const Agent& agent = view().agent(id);
    const Spent& spent = agents_[id];
    if (std::exchange(job.over, true) || spent.may_stop) return;
    if (spent.restarts >= agent.max_restarts || job.restarts >= agent.max_restarts) return kept();
    if (excused(hindrance(id, needs(), agent.started, event.at))) return;
    job.early = {event.at, event.id,
                 say("{} {} at {} with {} of {} restarts spent by itself and {} by its job, which "
                     "was not over",
                     id, does, event.at, spent.restarts, agent.max_restarts, job.restarts)};
  }
  void tell(JobSpent& job) {
    if (const auto early = std::exchange(job.early, {}))
      broken(early->at, early->event, early->witness);
  }
  void at_end(const RunFacts&) override {
    for (auto& [id, job] : jobs_) tell(job);
  }

  std::map<AgentId, Spent> agents_;
  std::map<JobId, JobSpent> jobs_;
};

}  // namespace

void add_restarts(InvariantRegistry& registry) {
  registry.add<RestartBudget, GivesUpEarly>();
}

}  // namespace hooke::properties
