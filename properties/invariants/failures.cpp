// How often a job may fail, what it names as the cause, and what its agents' exit codes say of it.
#include <algorithm>
#include <array>
#include <map>
#include <set>

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

  void relaunched(const sim::Event& event, const JobView& view) {
    const auto lost = lost_nodes_.extract(event.node);
    // What the one before had told of its failure may be gone with the store.
    if (!lost.empty() && view.ledger().contents_lost(lost.mapped()) == nullptr)
      note("the agent on node " + view.name(event.node) + " was relaunched");
  }
  void worker_started() { ran_ = true; }
  void agent_failed(const sim::Event& event) { lost_nodes_[event.node] = event.at; }

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
    const bool one_remains = std::any_of(job.agents.begin(), job.agents.end(), [&](AgentId id) {
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
  /// The longest pause between two attempts to reach a store.
  static constexpr sim::Duration kAgain = std::chrono::seconds(5);

  void note(std::string cause) {
    if (cause_.empty()) cause_ = std::move(cause);
  }

  /// No other agent can know of what the spender has spent: it has been cut off ever since, or
  /// until it was gone, which may be before it has found the store again.
  [[nodiscard]] bool is_unheard(sim::WorldTime at, const JobView& view) const {
    if (cause_.empty() || spender_ == kNoAgent) return false;
    const auto gone = view.agent(spender_).ended;
    const sim::WorldTime until = gone ? std::min(at, *gone) : at;
    const auto cut = view.ledger().disturbance(view.claimant(spender_), kNeeds, until);
    return cut && cut->from <= spent_at_ && cut->to + (gone ? kAgain : sim::Duration()) >= until;
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
      restarts.agent_failed(event);
    }
  }

  std::map<JobId, Restarts> restarts_;
};

/// "succeeded" and exit code 0 go together, and both mean that each worker of the last incarnation
/// ended with 0. A spare that leaves a finished job has done its part: its graceful exit is code 0
/// (incident 33). So is any other end of one that was a spare when all members had come to the exit
/// barrier, was not told to go, and could ask the store since, as the members could.
class ExitCodeTruth final : public Judge {
 public:
  ExitCodeTruth()
      : Judge("safety.exit_code_truth",
              "Exit code 0 exactly when the agent's part of the job is done.",
              {&ev::worker_started, &ev::worker_ended, &ev::exit_barrier_entered,
               &ev::agent_finished, &wev::process_ended},
              kAsking) {}

 private:
  struct Ending {
    std::int64_t bad_worker = 0;  ///< pid of a worker of this incarnation that ended badly
    std::int64_t status = 0;
    std::optional<std::int64_t> said;
  };

  void judge_agent(const sim::Event& event, AgentId agent) override {
    Ending& ending = endings_[agent];
    if (event.type == &ev::worker_started) {
      ending = {};
    } else if (event.type == &ev::worker_ended) {
      if (number(event, "status") == 0) return;
      ending.bad_worker = number(event, "worker_pid");
      ending.status = number(event, "status");
    } else if (event.type == &ev::exit_barrier_entered) {
      if (view().job(view().agent(agent).job).over == event.at) spares_are_done(event, agent);
    } else if (event.type == &ev::agent_finished) {
      ending.said = number(event, "exit_code");
      finished(event, agent, ending);
      spare_finished(event, agent);
    } else {
      exited(event, agent, ending);
    }
  }

  void spares_are_done(const sim::Event& event, AgentId last_member) {
    for (const AgentId id : view().job(view().agent(last_member).job).agents) {
      if (view().agent(id).alive() && view().agent(id).spare) done_spares_[id] = event.at;
    }
  }

  void spare_finished(const sim::Event& event, AgentId id) {
    const auto done = done_spares_.find(id);
    const Agent& agent = view().agent(id);
    if (done == done_spares_.end() || view().job(agent.job).over != done->second) return;
    const std::string_view outcome = text(event, "outcome");
    if (agent.signalled || outcome == "graceful_exit") return;
    if (number(event, "exit_code") == 0) return kept();
    // It hears of it from the members, which must be able to tell.
    if (const auto* by = hindrance_of_any(agent.job, needs(), done->second, event.at))
      return excused(*by);
    broken(event,
           "{} was a spare when the members of its job were done, at {}, and ended as \"{}\" with "
           "exit code {} at {} ({})",
           id, done->second, outcome, number(event, "exit_code"), event.at, text(event, "detail"));
  }

  void finished(const sim::Event& event, AgentId agent, const Ending& ending) {
    const std::string_view outcome = text(event, "outcome");
    const std::int64_t code = number(event, "exit_code");
    const std::string who = view().describe(agent);
    const bool done = outcome == "succeeded" || outcome == "graceful_exit";
    kept();
    if (done != (code == 0)) {
      broken(event, "{} ended as \"{}\" at {}, but its exit code is {} ({})", who, outcome,
             event.at, code, text(event, "detail"));
    }
    if (outcome == "succeeded" && ending.bad_worker != 0) {
      broken(event, "{} reports success at {} although its worker pid {} ended with status {}", who,
             event.at, ending.bad_worker, ending.status);
    }
  }

  void exited(const sim::Event& event, AgentId agent, const Ending& ending) {
    const std::int64_t status = number(event, "status");
    if (status < 0 || ending.said == status) return;
    if (!ending.said && status != 0) return;  // ended from outside, or before it could say anything
    broken(event, "{} exited with code {} at {}, but {}", agent, status, event.at,
           ending.said ? say("had announced {}", *ending.said)
                       : std::string("never said how it ended"));
  }

  std::map<AgentId, Ending> endings_;
  std::map<AgentId, sim::WorldTime> done_spares_;  ///< spares of a job that is done, and since when
};

/// Time-outs, a closed rendezvous, a lost connection and failed workers are endings that the
/// protocol knows. These errors are Python's own, of code that met a state it does not expect.
/// Before its first rendezvous an agent may refuse its configuration by one of them.
class NoEscapedError final : public Judge {
 public:
  NoEscapedError()
      : Judge("safety.no_escaped_error",
              "No agent that takes part in a job ends of an error in its own code.",
              {&ev::rendezvous_joining, &ev::agent_finished}) {}

 private:
  void judge_agent(const sim::Event& event, AgentId agent) override {
    if (event.type == &ev::rendezvous_joining) {
      joined_.insert(agent);
      return;
    }
    const std::string_view detail = text(event, "detail");
    if (!joined_.contains(agent)) return;
    const std::string_view name = detail.substr(0, detail.find(':'));
    const bool escaped = std::find(kEscaped.begin(), kEscaped.end(), name) != kEscaped.end();
    if (text(event, "outcome") != "error" || !escaped) return kept();
    broken(event, "{} ended at {} of an error that nothing catches: {}", agent, event.at, detail);
  }

  static constexpr std::array<std::string_view, 6> kEscaped{
      "AssertionError", "IndexError", "JSONDecodeError", "KeyError", "TypeError", "ValueError"};
  std::set<AgentId> joined_;  ///< those that have tried to
};

}  // namespace

void add_failures(InvariantRegistry& registry) {
  registry.add<RestartBudget>();
  add_first_cause(registry);
  registry.add<NoEscapedError>();
  registry.add<ExitCodeTruth>();
}

}  // namespace hooke::properties
