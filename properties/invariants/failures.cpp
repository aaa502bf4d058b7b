// What is named as the cause of an end, and what exit codes say of it.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// One round of one job.
using RoundKey = std::pair<JobId, std::int64_t>;

struct Failure {
  sim::WorldTime at{};
  AgentId agent = kNoAgent;
  std::int64_t rank = -1, status = 0;
  std::optional<sim::WorldTime> seen{};  ///< by its agent: what one look finds has no order
};

/// The failures of workers, by round and by agent, and when a round first lost an agent, or heard
/// no more of a worker.
class Failures {
 public:
  struct Record {
    std::optional<Failure> first;
    std::optional<sim::WorldTime> first_loss;
    [[nodiscard]] bool is_first(AgentId agent) const { return first && first->agent == agent; }
    [[nodiscard]] bool lost_before(sim::WorldTime at) const {
      return first_loss && *first_loss <= at;
    }
  };
  Record& of(const RoundKey& round) { return rounds_[round]; }
  /// Since the agent's last restart; null: none.
  [[nodiscard]] const std::vector<Failure>* of(AgentId agent) const {
    const auto found = own_.find(agent);
    return found == own_.end() ? nullptr : &found->second;
  }
  void forget(const RoundKey& round) { rounds_.erase(round); }
  void forget(AgentId agent) { own_.erase(agent); }

  void process_ended(const sim::Event& event, const JobView& view) {
    const Process* const worker = view.process(event.node, event.pid);
    if (const AgentId agent = view.agent_of(event); agent != kNoAgent) {
      const Agent& self = view.agent(agent);
      if (self.outcome.empty() && self.round != kNoRound) lost({self.job, self.round}, event.at);
      return;
    }
    // A worker that its agent's timer ends has failed; one that the agent stops for others has not,
    // nor has one that ends when the agent was about to stop it.
    if (worker == nullptr || !worker->worker || number(event, "status") == 0) return;
    const Agent& owner = view.agent(worker->owner);
    if (owner.stage == Stage::restarting || owner.stage == Stage::joining) return;
    const bool timed_out = timed_out_.erase(process_of(event)) > 0 && owner.stage == Stage::running;
    if ((worker->told_to_stop && !timed_out) || !owner.alive()) return;
    const Failure failure{event.at, worker->owner, worker->rank, number(event, "status")};
    own_[worker->owner].push_back(failure);
    auto& first = rounds_[{owner.job, worker->round}].first;
    if (!first) first = failure;
  }

  void lost(const RoundKey& round, sim::WorldTime at) {
    auto& loss = rounds_[round].first_loss;
    if (!loss) loss = at;
  }
  void timer_expired(ProcessKey worker) { timed_out_.insert(worker); }
  void looked(const sim::Event& event, AgentId agent) {
    const auto found = own_.find(agent);
    if (found == own_.end()) return;
    for (Failure& failure : found->second) {
      if (failure.rank == number(event, "rank") && !failure.seen) failure.seen = event.at;
    }
  }

  /// The agent has mended its failures without the others, as under the static rendezvous: they are
  /// no cause of the round's end, which may be what had failed second. False: none was the first.
  bool mended(AgentId agent, const JobView& view) {
    own_.erase(agent);
    const RoundKey key{view.agent(agent).job, view.agent(agent).round};
    Record& round = rounds_[key];
    if (!round.is_first(agent)) return false;
    round.first.reset();
    for (const auto& [other, failures] : own_) {
      if (RoundKey(view.agent(other).job, view.agent(other).round) != key) continue;
      if (!round.first || failures.front().at < round.first->at) round.first = failures.front();
    }
    return true;
  }

 private:
  std::map<RoundKey, Record> rounds_;
  std::map<AgentId, std::vector<Failure>> own_;
  std::set<ProcessKey> timed_out_;
};

/// What the agents of a round have said of its failures.
struct Reports {
  std::optional<Failure> first;
  bool named = false;  ///< some report named the first failure
  struct Silence {
    sim::WorldTime at{};      ///< a worker's, when its agent saw it
    sim::Duration monitor{};  ///< between two looks of that agent
  };
  std::optional<Silence> silence;
  bool overtaken = false;  ///< that came between its agent's look and that one's restart
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

 private:
  void judge(const sim::Event& event) override {
    if (event.type == &wev::process_ended) return failures_.process_ended(event, view());
    Judge::judge(event);
  }

  void judge_agent(const sim::Event& event, AgentId id) override {
    const Agent& self = agent(id);
    const RoundKey round{self.job, self.round};
    if (event.type == &ev::rendezvous_completed) {
      // In a store that begins anew, rounds are counted from the first again.
      const RoundKey again{self.job, number(event, "round")};
      judge_round(again);
      reports_.erase(again);
      failures_.forget(again);
    } else if (event.type == &ev::timer_expired) {
      failures_.timer_expired(worker_of(event));
    } else if (event.type == &ev::heartbeat_lost) {  // a silent worker is a loss, too
      failures_.lost(round, event.at - span(event, "silent"));
      silent_.try_emplace(id, event.at);
    } else if (event.type == &ev::group_restarting && self.round >= 0) {
      perhaps_overtaken(event, id);
      failures_.forget(id);
      silent_.erase(id);
      restarted_[id] = event.at;
    } else if (event.type == &ev::group_restarting || event.type == &ev::worker_restarting) {
      if (!failures_.mended(id, view())) return;
      const auto& first = failures_.of(round).first;
      reports_[round].named = first && told_.contains({first->agent, first->rank});
    } else if (event.type == &ev::worker_ended) {
      failures_.looked(event, id);
    } else {
      reported(event, id, round);
    }
  }

  void at_end(const RunFacts& facts) override {
    for (const auto& [key, reports] : reports_) {
      if (!is_still_to_come(key, facts)) judge_round(key);
    }
  }

  /// An agent looks at its workers, and then asks the store whether the others want another round.
  void perhaps_overtaken(const sim::Event& event, AgentId id) {
    const auto* const own = failures_.of(id);
    if (own == nullptr || own->front().seen) return;
    const RoundKey key{agent(id).job, agent(id).round};
    const Failures::Record& round = failures_.of(key);
    if (round.is_first(id) && event.at - round.first->at <= agent(id).timeouts.read_timeout)
      reports_[key].overtaken = true;
  }

  void reported(const sim::Event& event, AgentId id, const RoundKey& key) {
    const Failure report{event.at, id, number(event, "rank"), number(event, "status")};
    const Failures::Record& round = failures_.of(key);
    Reports& reports = reports_[key];
    if (!reports.first) reports.first = report;
    if (const auto silent = silent_.find(id); silent != silent_.end() && !reports.silence)
      reports.silence = {silent->second, agent(id).timeouts.monitor};
    told_.insert({id, report.rank});
    if (round.is_first(id) && round.first->rank == report.rank) reports.named = true;
    const auto* const own = failures_.of(id);
    if (own == nullptr || round.lost_before(own->front().at)) return;
    const Failure& first = own->front();
    const auto named = std::find_if(own->begin(), own->end(), [&](const Failure& failure) {
      return failure.rank == report.rank;
    });
    if (named != own->end() && (named->at - first.at <= agent(id).timeouts.monitor ||
                                (named->seen && named->seen == first.seen))) {
      reports.named |= round.is_first(id);
      return kept();
    }
    broken(event,
           "{} names rank {} (status {}) as the cause at {}, but its rank {} had failed first, at "
           "{}, with status {}",
           id, report.rank, report.status, event.at, first.rank, first.at, first.status);
  }

  /// The run was cut while the agent of the first failure, which it has not gone on from, was not
  /// yet late with its report.
  [[nodiscard]] bool is_still_to_come(const RoundKey& key, const RunFacts& facts) {
    const auto& first = failures_.of(key).first;
    if (facts.finished || !first || failures_.of(first->agent) == nullptr) return false;
    const Agent& origin = agent(first->agent);
    if (!origin.alive() || !origin.outcome.empty() || origin.round != key.second) return false;
    const Timeouts& with = origin.timeouts;
    const sim::Duration bound =
        with.monitor + std::max(kStopGrace, with.shutdown) + with.read_timeout + kSlack;
    const auto deadline =
        view().ledger().deadline(view().claimant(first->agent), needs(), first->at, bound);
    return !deadline || facts.end <= *deadline;
  }

  /// The job had another round before the report: no failure of this one has ended it.
  [[nodiscard]] bool went_on(const RoundKey& key, sim::WorldTime report) const {
    const auto& rounds = view().job(key.first).rounds;
    return std::any_of(rounds.upper_bound(key.second), rounds.end(), [&](const auto& later) {
      return later.second.completed && *later.second.completed < report;
    });
  }

  /// A worker that falls silent ends a job by itself. A failure that its agent restarts for does
  /// not, and others hear of that restart at their next look: until then the silence is a cause.
  [[nodiscard]] bool silence_ended_it(const Reports& reports, const Failure& first) const {
    const auto restart = restarted_.find(first.agent);
    if (!reports.silence || restart == restarted_.end()) return false;
    const bool is_for_it = first.at <= restart->second && restart->second <= reports.first->at;
    return is_for_it && reports.silence->at <= restart->second + reports.silence->monitor + kSlack;
  }

  void judge_round(const RoundKey& key) {
    const auto found = reports_.find(key);
    const Failures::Record& round = failures_.of(key);
    if (found == reports_.end() || !found->second.first || !round.first) return;
    const Failure &report = *found->second.first, &first = *round.first;
    if (found->second.named || report.agent == first.agent) return kept();
    if (silence_ended_it(found->second, first)) return kept();
    if (found->second.overtaken || round.lost_before(first.at)) return;
    if (report.at < first.at || went_on(key, report.at)) return;
    const Agent& origin = agent(first.agent);
    if ((!origin.alive() && origin.outcome.empty()) || origin.outcome == "signalled") return;
    // Without a store no agent knows of another's failure.
    const Hindrance* silenced = hindrance(first.agent, needs(), first.at, report.at);
    if (silenced == nullptr) silenced = hindrance(report.agent, needs(), first.at, report.at);
    broken(report.at, sim::kNoEvent,
           say("the job reports rank {} of node {} (status {}) as the cause of its end in round "
               "{}, but the first failure was that of rank {} on node {} at {}, with status {}; "
               "no agent reports it",
               report.rank, agent(report.agent).node, report.status, key.second, first.rank,
               origin.node, first.at, first.status),
           silenced);
  }

  Failures failures_;
  std::map<AgentId, sim::WorldTime> silent_;     ///< when they lost heartbeats in their round
  std::map<AgentId, sim::WorldTime> restarted_;  ///< when they last began to
  std::map<RoundKey, Reports> reports_;
  std::set<std::pair<AgentId, std::int64_t>> told_;  ///< the agent that told, and the rank it named
};

/// How an agent ends, and its workers.
struct Ending {
  std::int64_t bad_worker = 0;  ///< pid of a worker of this incarnation that ended badly
  std::int64_t status = 0;
  std::optional<std::int64_t> said;
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
    const bool escaped = std::ranges::find(kEscaped, name) != kEscaped.end();
    if (text(event, "outcome") != "error" || !escaped) return kept();
    broken(event, "{} ended at {} of an error that nothing catches: {}", agent, event.at, detail);
  }

  static constexpr std::array<std::string_view, 6> kEscaped{
      "AssertionError", "IndexError", "JSONDecodeError", "KeyError", "TypeError", "ValueError"};
  std::set<AgentId> joined_;  ///< those that have tried to
};

}  // namespace

void add_failures(InvariantRegistry& registry) {
  registry.add<FirstCause, NoEscapedError, ExitCodeTruth>();
}

}  // namespace hooke::properties
