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
/// growth, polite departure and a newcomer in a dead member's
/// place are none. PyTorch counts per agent incarnation and only what that agent saw, so it breaks
/// this (incident 9).
class RestartBudget final : public Judge {
 public:
  RestartBudget()
      : Judge("safety.restart_budget",
              "Restarts after failures are counted and limited for the job, not per agent.",
              {&ev::rendezvous_completed, &ev::agent_started, &ev::worker_started,
               &ev::group_restarting, &ev::worker_restarting, &wev::process_ended},
              kPath | kStore | kContents) {}

 private:
  /// The longest pause between two attempts to reach a store.
  static constexpr sim::Duration kAgain = std::chrono::seconds(5);
  struct Count {
    std::int64_t restarts = 0;
    std::int64_t latest_round = kNoRound;
    std::string cause;           ///< of the next restart; empty: no failure since the latest round
    AgentId spender = kNoAgent;  ///< who was the first to restart because of it; may be none
    sim::WorldTime spent_at{};   ///< when
    bool ran = false;            ///< workers were started since the latest round
    std::optional<std::pair<sim::NodeId, sim::WorldTime>> latest_alone;
    std::map<sim::NodeId, sim::WorldTime> lost_nodes;  ///< whose agent ended with failed workers
  };

  void judge(const sim::Event& event) override {
    const AgentId id = view().agent_of(event);
    if (id == kNoAgent) return;
    const Agent& agent = view().agent(id);
    Count& count = counts_[agent.job];
    if (event.type == &ev::rendezvous_completed) {
      completed(event, count, view().job(agent.job));
    } else if (event.type == &ev::agent_started) {
      if (view().job(agent.job).living == 1) count = {};
      relaunched(event, count);
    } else if (event.type == &ev::worker_started) {
      count.ran = true;
    } else if (event.type == &ev::group_restarting) {
      restarting(event, count, agent);
    } else if (event.type == &ev::worker_restarting) {
      restarted_alone(event, count, view().job(agent.job));
    } else if (agent.outcome != "succeeded" && agent.round != kNoRound) {  // process.ended
      if (agent.outcome == "failed") count.lost_nodes[event.node] = event.at;
    }
  }

  /// What the one before had told of its failure may be gone with the store.
  void relaunched(const sim::Event& event, Count& count) const {
    const auto lost = count.lost_nodes.find(event.node);
    if (lost == count.lost_nodes.end()) return;
    if (view().ledger().contents_lost(lost->second) == nullptr)
      note(count, "the agent on node ", event.node, " was relaunched");
    count.lost_nodes.erase(lost);
  }

  void restarting(const sim::Event& event, Count& count, const Agent& agent) const {
    // An agent that finds that the others have gone on is a newcomer.
    if (agent.round < view().job(agent.job).highest_completed) return;
    const std::string_view cause = text(event, "cause");
    if (is_unheard(count, event.at)) count.cause.clear();  // by the agent that restarts now
    const bool first = count.cause.empty();
    if (cause == "worker_failure") {
      note(count, "a worker on node ", event.node, " failed");
    } else if (cause == "heartbeat_loss") {
      note(count, "a worker on node ", event.node, " fell silent");
    } else if (cause == "member_lost") {
      note(count, "the agent on node ", event.node, " had lost another");
    }
    if (!first || count.cause.empty()) return;
    count.spender = view().agent_of(event);
    count.spent_at = event.at;
  }

  /// No other agent can know of what the spender has spent: it has been cut off ever since, or
  /// until it was gone, which may be before it has found the store again.
  [[nodiscard]] bool is_unheard(const Count& count, sim::WorldTime at) const {
    if (count.cause.empty() || count.spender == kNoAgent) return false;
    const auto gone = view().agent(count.spender).ended;
    const sim::WorldTime until = gone ? std::min(at, *gone) : at;
    const auto cut = view().ledger().disturbance(view().claimant(count.spender), needs(), until);
    return cut && cut->from <= count.spent_at &&
           cut->to + (gone ? kAgain : sim::Duration()) >= until;
  }

  void note(Count& count, const char* who, sim::NodeId node, const char* what) const {
    if (count.cause.empty()) count.cause = who + view().name(node) + what;
  }

  /// An agent that is left was in a round before: without one the job is not restarted, but
  /// started.
  [[nodiscard]] bool one_remains(const Job& job) const {
    return std::any_of(job.agents.begin(), job.agents.end(), [&](AgentId id) {
      const Agent& agent = view().agent(id);
      return agent.alive() && agent.round != kNoRound;
    });
  }

  void completed(const sim::Event& event, Count& count, const Job& job) {
    const std::int64_t round = number(event, "round");
    if (round <= count.latest_round) return;
    const bool first = count.latest_round == kNoRound;
    count.latest_round = round;
    const bool unheard = is_unheard(count, event.at);
    const std::string cause = std::exchange(count.cause, {});
    count.spender = kNoAgent;
    const bool ran = std::exchange(count.ran, false);
    if (!one_remains(job)) count.restarts = 0;
    if (first || cause.empty() || unheard || !ran || !one_remains(job)) return;
    if (++count.restarts <= job.max_restarts) return kept();
    broken(event,
           "round {} at {} is restart {} of job \"{}\" after a failure ({}); max_restarts is {}",
           round, event.at, count.restarts, job.run_id, cause, job.max_restarts);
  }

  /// No round tells of it. All that one agent found failed at one look are one restart.
  void restarted_alone(const sim::Event& event, Count& count, const Job& job) {
    const std::pair look{event.node, event.at};
    if (std::exchange(count.latest_alone, look) == look) return;
    if (++count.restarts <= job.max_restarts) return kept();
    broken(event,
           "rank {} is started again alone at {}, which is restart {} of job "
           "\"{}\" after a failure; max_restarts is {}",
           number(event, "rank"), event.at, count.restarts, job.run_id, job.max_restarts);
  }

  std::map<JobId, Count> counts_;
};

/// An agent must name its own first failure; failures within one monitor interval are one to it,
/// for it polls. Of all that the agents of a round report, one must be the round's first failure,
/// unless that agent could not report (it died, ended because it was told to, or had begun to
/// restart before it looked) or a member had been lost before, which no worker's failure explains.
/// It may have been about to when the run was cut: before it reports it stops its other workers and
/// asks the store what is left to do. Bound: monitor interval + stop grace + read + slack, from the
/// failure.
class FirstCause final : public Judge {
 public:
  FirstCause()
      : Judge("safety.first_cause", "The failure that is reported is the first one of the round.",
              {&wev::process_ended, &ev::group_restarting, &ev::worker_restarting,
               &ev::worker_ended, &ev::failure_reported, &ev::heartbeat_lost, &ev::timer_expired,
               &ev::rendezvous_completed},
              kAsking | kMortal) {}

  void at_end(const RunFacts& facts) override {
    for (const auto& [key, round] : rounds_) {
      if (!is_still_to_come(key.second, round, facts)) judge_round(key, round);
    }
  }

 private:
  struct Failure {
    sim::WorldTime at{};
    AgentId agent = kNoAgent;
    std::int64_t rank = -1, status = 0;
    std::optional<sim::WorldTime> seen;  ///< by its agent: what one look finds has no order
  };
  struct RoundRecord {
    std::optional<Failure> first;
    std::optional<sim::WorldTime> first_loss;
    std::optional<Failure> report;  ///< the first that came
    bool named = false;             ///< some report named `first`
    bool overtaken = false;  ///< `first` came between its agent's look and that one's restart
  };

  void judge(const sim::Event& event) override {
    if (event.type == &wev::process_ended) {
      process_ended(event);
      return;
    }
    const AgentId agent = view().agent_of(event);
    if (agent == kNoAgent) return;
    if (event.type == &ev::rendezvous_completed) {
      begin_round(event, view().agent(agent).job);
    } else if (event.type == &ev::timer_expired) {
      timed_out_.insert({event.node, pid(event, "worker_pid")});
    } else if (event.type == &ev::heartbeat_lost) {  // a silent worker is a loss, too
      auto& loss = rounds_[{view().agent(agent).job, view().agent(agent).round}].first_loss;
      if (!loss) loss = event.at - sim::Duration(number(event, "silent"));
    } else if (event.type == &ev::group_restarting && view().agent(agent).round >= 0) {
      perhaps_overtaken(event, agent);
      own_.erase(agent);
    } else if (event.type == &ev::group_restarting || event.type == &ev::worker_restarting) {
      started_again(agent);
    } else if (event.type == &ev::worker_ended) {
      look(event, agent);
    } else {
      reported(event, agent);
    }
  }

  /// In a store that begins anew, rounds are counted from the first again.
  void begin_round(const sim::Event& event, JobId job) {
    const auto earlier = rounds_.find({job, number(event, "round")});
    if (earlier == rounds_.end()) return;
    judge_round(earlier->first, earlier->second);
    rounds_.erase(earlier);
  }

  void process_ended(const sim::Event& event) {
    const AgentId agent = view().agent_of(event);
    if (agent != kNoAgent) {
      const Agent& self = view().agent(agent);
      if (!self.outcome.empty() || self.round == kNoRound) return;
      auto& loss = rounds_[{self.job, self.round}].first_loss;
      if (!loss) loss = event.at;
      return;
    }
    const Process* const worker = view().process(event.node, event.pid);
    // Whom its agent's timer ends has failed; whom the agent stops for others has not, nor has who
    // ends when the agent was about to.
    if (worker == nullptr || !worker->worker || number(event, "status") == 0) return;
    const Stage stage = view().agent(worker->owner).stage;
    if (stage == Stage::restarting || stage == Stage::joining) return;
    const bool running = stage == Stage::running;
    const bool timed_out = timed_out_.erase(process_of(event)) > 0 && running;
    if (worker->told_to_stop && !timed_out) return;
    const Agent& owner = view().agent(worker->owner);
    if (!owner.alive()) return;
    const Failure failure{event.at, worker->owner, worker->rank, number(event, "status"), {}};
    own_[worker->owner].push_back(failure);
    auto& first = rounds_[{owner.job, worker->round}].first;
    if (!first) first = failure;
  }

  /// An agent looks at its workers, and then asks the store whether the others want another round.
  void perhaps_overtaken(const sim::Event& event, AgentId agent) {
    const auto found = own_.find(agent);
    if (found == own_.end() || found->second.front().seen) return;
    const Agent& self = view().agent(agent);
    RoundRecord& round = rounds_[{self.job, self.round}];
    const bool is_first = round.first && round.first->agent == agent;
    if (is_first && event.at - round.first->at <= self.timeouts.read_timeout)
      round.overtaken = true;
  }

  void look(const sim::Event& event, AgentId agent) {
    const auto found = own_.find(agent);
    if (found == own_.end()) return;
    for (Failure& failure : found->second) {
      if (failure.rank == number(event, "rank") && !failure.seen) failure.seen = event.at;
    }
  }

  /// What has been mended without the others, as under the static rendezvous, is no cause of the
  /// round's end: that may be what had failed second.
  void started_again(AgentId agent) {
    own_.erase(agent);
    const Agent& self = view().agent(agent);
    RoundRecord& round = rounds_[{self.job, self.round}];
    auto& first = round.first;
    if (!first || first->agent != agent) return;
    first.reset();
    for (const auto& [other, failures] : own_) {
      const Agent& neighbour = view().agent(other);
      if (neighbour.job != self.job || neighbour.round != self.round) continue;
      if (!first || failures.front().at < first->at) first = failures.front();
    }
    round.named = first && reports_.contains({first->agent, first->rank});
  }

  void reported(const sim::Event& event, AgentId agent) {
    const Agent& self = view().agent(agent);
    const Failure report{event.at, agent, number(event, "rank"), number(event, "status"), {}};
    RoundRecord& round = rounds_[{self.job, self.round}];
    if (!round.report) round.report = report;
    reports_.insert({agent, report.rank});
    const bool same =
        round.first && round.first->agent == agent && round.first->rank == report.rank;
    if (same) round.named = true;
    const auto found = own_.find(agent);
    if (found == own_.end()) return;
    const Failure& first = found->second.front();
    if (round.first_loss && *round.first_loss <= first.at) return;
    const auto named =
        std::find_if(found->second.begin(), found->second.end(),
                     [&](const Failure& failure) { return failure.rank == report.rank; });
    if (named != found->second.end() && (named->at - first.at <= self.timeouts.monitor ||
                                         (named->seen && named->seen == first.seen))) {
      if (round.first && round.first->agent == agent) round.named = true;
      return kept();
    }
    broken(event,
           "{} names rank {} (status {}) as the cause at {}, but its rank {} had failed first, at "
           "{}, with status {}",
           agent, report.rank, report.status, event.at, first.rank, first.at, first.status);
  }

  /// The job had another round before the report: no failure of this one has ended it.
  [[nodiscard]] bool went_on(std::pair<JobId, std::int64_t> key, sim::WorldTime report) const {
    const auto& rounds = view().job(key.first).rounds;
    return std::any_of(rounds.upper_bound(key.second), rounds.end(), [&](const auto& later) {
      return later.second.completed && *later.second.completed < report;
    });
  }

  /// The run was cut while the agent of the first failure, which it has not gone on from, was not
  /// yet late with its report.
  [[nodiscard]] bool is_still_to_come(std::int64_t number, const RoundRecord& round,
                                      const RunFacts& facts) const {
    if (facts.finished || !round.first || !own_.contains(round.first->agent)) return false;
    const Agent& origin = view().agent(round.first->agent);
    if (!origin.alive() || !origin.outcome.empty() || origin.round != number) return false;
    const Timeouts& with = origin.timeouts;
    const sim::Duration bound =
        with.monitor + std::max(kStopGrace, with.shutdown) + with.read_timeout + kSlack;
    const auto deadline = view().ledger().deadline(view().claimant(round.first->agent), needs(),
                                                   round.first->at, bound);
    return !deadline || facts.end <= *deadline;
  }

  void judge_round(std::pair<JobId, std::int64_t> key, const RoundRecord& round) {
    if (!round.report || !round.first) return;
    if (round.named || round.report->agent == round.first->agent) return kept();
    if (round.overtaken) return;
    if (round.first_loss && *round.first_loss <= round.first->at) return;
    if (round.report->at < round.first->at) return;
    if (went_on(key, round.report->at)) return;
    const Agent& origin = view().agent(round.first->agent);
    if (!origin.alive() && origin.outcome.empty()) return;
    if (origin.outcome == "signalled") return;
    broken(
        round.report->at, sim::kNoEvent,
        say("the job reports rank {} of node {} (status {}) as the cause of its end in round {}, "
            "but the "
            "first failure was that of rank {} on node {} at {}, with status {}; nobody reports it",
            round.report->rank, view().agent(round.report->agent).node, round.report->status,
            key.second, round.first->rank, origin.node, round.first->at, round.first->status),
        silenced(round));
  }

  /// Without a store no agent knows of another's failure.
  [[nodiscard]] const Hindrance* silenced(const RoundRecord& round) const {
    const auto* const found =
        hindrance(round.first->agent, needs(), round.first->at, round.report->at);
    if (found != nullptr) return found;
    return hindrance(round.report->agent, needs(), round.first->at, round.report->at);
  }

  std::map<std::pair<JobId, std::int64_t>, RoundRecord> rounds_;
  std::map<AgentId, std::vector<Failure>> own_;         ///< since the agent's last restart
  std::set<std::pair<AgentId, std::int64_t>> reports_;  ///< by whom, naming which rank
  std::set<ProcessKey> timed_out_;
};

/// "succeeded" and exit code 0 go together, and both mean that each worker of the last incarnation
/// ended with 0. A spare that leaves a finished job has done its part: its graceful exit is code 0
/// (incident 33). So is any other end of one that was a spare when all members had come to the exit
/// barrier, was not told to go, and could ask the store since.
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

  void judge(const sim::Event& event) override {
    const AgentId agent = view().agent_of(event);
    if (agent == kNoAgent) return;
    if (agent.value >= endings_.size()) endings_.resize(view().agent_count());
    Ending& ending = endings_[agent.value];
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
    if (const auto* by = hindrance(id, needs(), done->second, event.at)) return excused(*by);
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

  std::vector<Ending> endings_;                    ///< by agent
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
  void judge(const sim::Event& event) override {
    const AgentId agent = view().agent_of(event);
    if (agent == kNoAgent) return;
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
  std::set<AgentId> joined_;  ///< who has tried to
};

}  // namespace

void add_failures(InvariantRegistry& registry) {
  registry.add<RestartBudget>();
  registry.add<FirstCause>();
  registry.add<NoEscapedError>();
  registry.add<ExitCodeTruth>();
}

}  // namespace hooke::properties
