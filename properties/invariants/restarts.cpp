// What a failure, a loss or a departure costs a job: no restart more than it has, none of them left
// unused when it gives up, and none for a member that is told to go.
#include <algorithm>
#include <map>
#include <set>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"
#include "sim/port/process_host.h"

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

  /// The cause of the restart that this round is; empty: it is none.
  std::string completed(const sim::Event& event, const Job& job, const JobView& view) {
    const std::int64_t round = number(event, "round");
    if (round <= latest_round_) return {};
    const bool first = std::exchange(latest_round_, round) == kNoRound;
    const bool unheard = is_unheard(event.at, view);
    const std::string cause = std::exchange(cause_, {});
    spender_ = kNoAgent;
    const bool ran = std::exchange(ran_, false);
    // Without an agent that was in a round before, the job is not restarted, but started.
    const bool one_remains = std::ranges::any_of(job.agents, [&](AgentId id) {
      return view.agent(id).alive() && view.agent(id).round != kNoRound;
    });
    if (!one_remains) count_ = 0;
    if (first || cause.empty() || unheard || !ran || !one_remains) return {};
    ++count_;
    return cause;
  }

  /// A worker alone, of which no round tells. False: its agent found it failed at the same look as
  /// another, which is one restart.
  bool restarted_alone(const sim::Event& event) {
    const std::pair look{event.node, event.at};
    if (std::exchange(latest_alone_, look) == look) return false;
    ++count_;
    return true;
  }
  [[nodiscard]] std::int64_t count() const { return count_; }

 private:
  static constexpr sim::Duration kAgain = std::chrono::seconds(5);  ///< longest between attempts
  static constexpr sim::Duration kLook = std::chrono::seconds(2);   ///< until others have looked

  void note(std::string cause) {
    if (cause_.empty()) cause_ = std::move(cause);
  }

  /// No other agent knows of it: the spender was cut off, or the store lost all, before they looked.
  [[nodiscard]] bool is_unheard(sim::WorldTime at, const JobView& view) const {
    if (cause_.empty() || spender_ == kNoAgent) return false;
    const auto gone = view.agent(spender_).ended;
    const sim::WorldTime until = gone ? std::min(at, *gone) : at;
    const auto cut = view.ledger().disturbance(view.claimant(spender_), kNeeds, until);
    return cut && cut->from <= spent_at_ + kLook &&
           cut->to + (gone ? kAgain : sim::Duration()) >= until;
  }

  std::int64_t count_ = 0, latest_round_ = kNoRound;
  std::string cause_;           ///< of the next restart; empty: no failure since the latest round
  AgentId spender_ = kNoAgent;  ///< the first agent to restart because of it; may be none
  sim::WorldTime spent_at_{};   ///< when
  bool ran_ = false;            ///< workers were started since the latest round
  std::optional<std::pair<sim::NodeId, sim::WorldTime>> latest_alone_;
  std::map<sim::NodeId, sim::WorldTime> lost_nodes_;  ///< whose agent ended with failed workers
};

/// PyTorch counts per agent incarnation and only what that agent saw, so it breaks this
/// (incident 9).
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
      const std::string cause = restarts.completed(event, job, view());
      if (cause.empty()) return;
      if (restarts.count() <= job.max_restarts) return kept();
      broken(event,
             "round {} at {} is restart {} of job \"{}\" after a failure ({}); max_restarts is {}",
             number(event, "round"), event.at, restarts.count(), job.run_id, cause,
             job.max_restarts);
    } else if (event.type == &ev::agent_started) {
      if (job.living == 1) restarts = {};
      restarts.relaunched(event, view());
    } else if (event.type == &ev::worker_started) {
      restarts.worker_started();
    } else if (event.type == &ev::group_restarting) {
      // An agent that finds that the others have gone on is a newcomer.
      if (self.round >= job.highest_completed) restarts.restarting(event, id, view());
    } else if (event.type == &ev::worker_restarting) {
      if (!restarts.restarted_alone(event)) return;
      if (restarts.count() <= job.max_restarts) return kept();
      broken(event,
             "rank {} is started again alone at {}, which is restart {} of job \"{}\" after a "
             "failure; max_restarts is {}",
             number(event, "rank"), event.at, restarts.count(), job.run_id, job.max_restarts);
    } else if (self.outcome == "failed" && self.round != kNoRound) {  // process.ended
      restarts.agent_failed(event, id, job, view());
    }
  }

  std::map<JobId, Restarts> restarts_;
};

/// What an agent has spent by itself.
struct Spent {
  std::int64_t restarts = 0;
  bool failed = false;  ///< a worker of the present group
  bool may_stop = false;
};
/// What its job has spent.
struct JobSpent {
  std::int64_t restarts = 0;
  bool failed = false;  ///< a worker or an agent, since the latest round was completed
  bool over = false;
};

/// Judged on processes: a restart is a group of workers that is started after one of the group
/// before had failed by itself, or had let a timer or its heartbeats pass; for the job, a round
/// that follows one in which that happened, an agent died, or one was lost to the others
/// (safety.claims_are_true judges that it was). An agent that ends as failed, or gives
/// its job up, with restarts left, by both counts, has given up early, unless the job was over
/// already (closed, or all at the exit barrier, or another had failed for good), a policy of the
/// user's or a lost heartbeat forbids restarts, or a worker cannot be killed. A polite departure
/// spends nothing, nor does a newcomer: what an agent says of the restarts that are left is not
/// less than the counts leave.
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
    if (event.type == &ev::worker_started) {
      if (std::exchange(agents_[id].failed, false)) ++agents_[id].restarts;
    } else if (event.type == &ev::worker_restarting) {  // alone: no round tells of it
      ++job.restarts;
    } else if (event.type == &ev::rendezvous_completed) {
      if (std::exchange(job.failed, false)) ++job.restarts;
      job.over = false;
    } else if (event.type == &ev::heartbeat_lost || event.type == &ev::timer_killed) {
      agents_[id].failed = job.failed = true;
      if (event.type == &ev::heartbeat_lost) agents_[id].may_stop = true;
    } else if (event.type == &ev::restart_refused) {
      agents_[id].may_stop |= text(event, "reason") != ev::kRestartsSpent;  // that is judged here
    } else if (event.type == &ev::exit_barrier_entered) {
      if (view().job(agent.job).over == event.at) job.over = true;
    } else if (event.type == &ev::group_restarting) {
      says_left(event, id, job);
    } else if (event.type == &ev::job_given_up) {
      gives_up(event, id, job, "gave its job up");
    } else if (agent.round != kNoRound) {
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
    const std::int64_t said = number(event, "remaining_restarts");
    if (said >= agent.max_restarts - spent) return kept();
    broken(event, "{} says at {} that {} of {} restarts are left, and {} were made", id, event.at,
           said, agent.max_restarts, spent);
  }

  void gives_up(const sim::Event& event, AgentId id, JobSpent& job, const char* does) {
    const Agent& agent = view().agent(id);
    const Spent& spent = agents_[id];
    if (std::exchange(job.over, true) || spent.may_stop) return;
    if (spent.restarts >= agent.max_restarts || job.restarts >= agent.max_restarts) return kept();
    if (excused(hindrance(id, needs(), agent.started, event.at))) return;
    broken(
        event,
        "{} {} at {} with {} of {} restarts spent by itself and {} by its job, which was not over",
        id, does, event.at, spent.restarts, agent.max_restarts, job.restarts);
  }

  std::map<AgentId, Spent> agents_;
  std::map<JobId, JobSpent> jobs_;
};

/// The end of a process that could do nothing about it.
constexpr std::int64_t kKilled = -static_cast<std::int64_t>(sim::Signal::kill);

/// What became of the agents of a round.
struct RoundLoss {
  bool all_polite;  ///< those that are gone were told to go, and nothing else has failed
  AgentId left;     ///< one that was told to go
  AgentId ghost;    ///< one that was on the lists until it was given up as dead
};

/// What agents and their workers went through.
struct Departures {
  std::map<AgentId, std::int64_t> seats;  ///< in rounds that are not complete
  std::set<AgentId> given_up;             ///< as dead
  std::set<AgentId> killed;               ///< by SIGKILL
  std::set<AgentId> failed;  ///< a worker of theirs has failed by itself, fallen silent, or been
                             ///< ended by a timer; or they have given their job up. So has one
                             ///< into which a fault has put an error

  void see(const sim::Event& event, AgentId id) {
    if (event.type == &wev::process_ended) {
      if (number(event, "status") == kKilled) killed.insert(id);
    } else if (event.type == &ev::rendezvous_added) {
      if (text(event, "list") == "participants") seats[id] = number(event, "round");
    } else if (event.type == &ev::rendezvous_left) {
      seats.erase(id);
    } else if (event.type != &ev::group_restarting) {  // what it is told afterwards changes nothing
      failed.insert(id);
    }
  }

  /// Of the round of agent `id`, which restarts or ends its job.
  [[nodiscard]] RoundLoss loss_of(const Round& round, AgentId id, const JobView& view) const {
    bool all_polite = !failed.contains(id);
    AgentId left = kNoAgent, ghost = kNoAgent;
    for (const AgentId each : round.members) {
      const Agent& member = view.agent(each);
      const bool has_failed = failed.contains(each) || member.errors > 0;
      const bool polite =
          member.signalled && !has_failed && (member.alive() || member.outcome == "signalled");
      if (member.signalled) left = each;
      if (polite && !member.alive() && given_up.contains(each)) ghost = each;
      all_polite =
          all_polite && !given_up.contains(each) && !has_failed && (polite || member.alive());
    }
    return {all_polite, left, ghost};
  }

  /// Not one that was killed, with its machine perhaps, or met an error, before it could act.
  [[nodiscard]] bool has_gone_politely(AgentId id, sim::WorldTime now, const JobView& view) const {
    const Agent& agent = view.agent(id);
    const bool could_act = !killed.contains(id) && agent.errors == 0;
    return agent.signalled && agent.ended && *agent.ended < now && could_act;
  }
};

/// A member has left politely when it was told to end, no worker of it had failed before, and it
/// ended as signalled. Where a round has lost nothing else, its agents neither give the job up nor
/// restart as for a loss; where no member was told to end, none restarts as for a departure, nor
/// for one that was on the lists until it was given up as dead. An agent that was told to go, and
/// that SIGKILL did not end before it could, has no seat in a round that completes later, nor until
/// it is given up as dead. An agent that was given up as dead (PyTorch's agents take themselves off
/// no list) counts as lost.
class PoliteDeparture final : public Judge {
 public:
  PoliteDeparture()
      : Judge("safety.polite_departure",
              "A member that is told to go and goes costs no restart, and leaves no ghost.",
              {&wev::process_ended, &ev::rendezvous_evicted, &ev::rendezvous_added,
               &ev::rendezvous_left, &ev::group_restarting, &ev::rendezvous_completed,
               &ev::job_given_up, &ev::heartbeat_lost, &ev::timer_killed},
              kAsking | kTasks) {}

 private:
  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (const Process* const worker = failed_worker(event)) past_.failed.insert(worker->owner);
    if (event.type == &ev::rendezvous_evicted)
      return evicted(event, view().agent_described(text(event, "descriptor")));
    if (id == kNoAgent) return;
    if (event.type == &ev::rendezvous_completed) return completed(event, agent(id).job);
    if (event.type == &ev::job_given_up) restarts(event, id, "member_lost", "gives its job up");
    if (event.type == &ev::group_restarting)
      restarts(event, id, text(event, "cause"), "restarts as for a loss");
    past_.see(event, id);
  }

  void restarts(const sim::Event& event, AgentId id, std::string_view cause, const char* does) {
    const JobId job = agent(id).job;
    const Round* const round = view().round(job, number(event, "round"));
    if (round == nullptr || (cause != "member_lost" && cause != "member_left")) return;
    const auto [all_polite, left, ghost] = past_.loss_of(*round, id, view());
    if (cause == "member_left" && ghost != kNoAgent) return left_a_ghost(event, id, ghost);
    const bool wrong = cause == "member_left" ? left == kNoAgent : left != kNoAgent && all_polite;
    if (!wrong) return kept();
    const sim::WorldTime since = round->completed.value_or(sim::WorldTime());
    if (excused(hindrance_of_any(job, needs(), since, event.at))) return;
    if (cause == "member_left")
      return broken(
          event, "{} restarts at {} as for a member that was told to go, and none of its round was",
          id, event.at);
    broken(event, "{} {} at {}, and its round has lost only {}, which was told to go at {}", id,
           does, event.at, left, *agent(left).signalled);
  }

  void left_a_ghost(const sim::Event& event, AgentId id, AgentId ghost) {
    const sim::WorldTime ended = *agent(ghost).ended;
    broken(event, hindrance(ghost, needs(), *agent(ghost).signalled, ended),
           "{} restarts only at {} for the departure of {}, which ended at {} and was on the lists "
           "until it was given up as dead",
           id, event.at, ghost, ended);
  }

  void completed(const sim::Event& event, JobId job) {
    for (const auto& [id, round] : std::exchange(past_.seats, {})) {
      const Agent& agent = view().agent(id);
      if (agent.job != job || round != number(event, "round")) {
        past_.seats[id] = round;
      } else if (past_.has_gone_politely(id, event.at, view())) {
        broken(event, hindrance(id, needs(), agent.started, *agent.ended),
               "round {} completes at {} with a seat for {}, which was told to go at {} and ended "
               "at {}",
               round, event.at, id, *agent.signalled, *agent.ended);
      }
    }
  }

  /// Of a round that has not completed, an agent that has no seat any more.
  void evicted(const sim::Event& event, AgentId id) {
    if (id == kNoAgent) return;
    past_.given_up.insert(id);
    const auto seat = past_.seats.extract(id);
    const Agent& agent = view().agent(id);
    if (!seat || !past_.has_gone_politely(id, event.at, view())) return;
    broken(
        event, hindrance(id, needs(), agent.started, *agent.ended),
        "{}, which was told to go at {} and ended at {}, had its seat in round {} until {}, when "
        "it was given up as dead",
        id, *agent.signalled, *agent.ended, seat.mapped(), event.at);
  }

  Departures past_;
};

}  // namespace

void add_restarts(InvariantRegistry& registry) {
  registry.add<RestartBudget, GivesUpEarly, PoliteDeparture>();
}

}  // namespace hooke::properties
