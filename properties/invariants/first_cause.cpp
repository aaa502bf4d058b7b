// What is named as the cause of a round's end.
#include <algorithm>
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
  /// The agent restarts its workers. What it says later of those before is true still.
  void restarted(AgentId agent) {
    const auto own = own_.extract(agent);
    if (!own.empty()) before_restart_[agent] = own.mapped();
  }

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
  /// A timer of a worker has expired, or its agent tells of its end.
  void see(const sim::Event& event, AgentId agent) {
    if (event.type == &ev::timer_expired) {
      timed_out_.insert(worker_of(event));
      return;
    }
    const auto found = own_.find(agent);
    if (found == own_.end()) return;
    for (Failure& failure : found->second) {
      if (failure.rank == number(event, "rank") && !failure.seen) failure.seen = event.at;
    }
  }

  /// The run was cut while the agent of the round's first failure had not gone on from it, and was not
  /// yet late with its report.
  bool is_report_open(const RoundKey& round, const RunFacts& facts, Needs needs,
                      const JobView& view) {
    const auto& first = of(round).first;
    if (facts.finished || !first || of(first->agent) == nullptr) return false;
    const Agent& origin = view.agent(first->agent);
    if (!origin.alive() || !origin.outcome.empty() || origin.round != round.second) return false;
    const Timeouts& with = origin.timeouts;
    const sim::Duration bound =
        with.monitor + std::max(kStopGrace, with.shutdown) + with.read_timeout + kSlack;
    const auto deadline =
        view.ledger().deadline(view.claimant(first->agent), needs, first->at, bound);
    return !deadline || facts.end <= *deadline;
  }
  /// Of the agent, this is the first failure since its restart, or one to it: failures within one
  /// monitor interval are, for it polls.
  [[nodiscard]] bool is_like_first(AgentId agent, std::int64_t rank, sim::Duration monitor) const {
    const auto* const own = of(agent);
    return own != nullptr && is_like_first(*own, rank, monitor);
  }
  /// Likewise of the failures before its restart.
  [[nodiscard]] bool was_like_first(AgentId agent, std::int64_t rank, sim::Duration monitor) const {
    const auto own = before_restart_.find(agent);
    return own != before_restart_.end() && is_like_first(own->second, rank, monitor);
  }

  /// The agent begins to mend its failures without the others, as under the static rendezvous; it may
  /// pause before that.
  void mends(AgentId agent, sim::WorldTime at) { mending_[agent] = at; }
  /// It has done so: they are no cause of the round's end, which may be what had failed second. False:
  /// none was the first.
  bool mended(AgentId agent, const JobView& view) {
    const auto since = mending_.extract(agent);
    if (!since) return false;
    std::vector<Failure>& own = own_[agent];
    std::erase_if(own, [&](const Failure& each) { return each.at <= since.mapped(); });
    if (own.empty()) own_.erase(agent);
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
  static bool is_like_first(const std::vector<Failure>& own, std::int64_t rank,
                            sim::Duration monitor) {
    const auto named = std::ranges::find(own, rank, &Failure::rank);
    const Failure& first = own.front();
    return named != own.end() &&
           (named->at - first.at <= monitor || (named->seen && named->seen == first.seen));
  }

  std::map<RoundKey, Record> rounds_;
  std::map<AgentId, std::vector<Failure>> own_, before_restart_;
  std::set<ProcessKey> timed_out_;
  std::map<AgentId, sim::WorldTime> mending_;  ///< since when
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

/// The reports of all rounds, and what agents did about failures besides.
class Told {
 public:
  /// An agent of the round reports a failure.
  Reports& reported(const Failure& report, const RoundKey& key, Failures& failures,
                    const JobView& view) {
    Reports& reports = rounds_[key];
    if (!reports.first) reports.first = report;
    const Failures::Record& round = failures.of(key);
    const sim::Duration monitor = view.agent(report.agent).timeouts.monitor;
    if (round.is_first(report.agent))
      reports.named |= round.first->rank == report.rank ||
                       failures.was_like_first(report.agent, report.rank, monitor);
    const auto silent = silent_.find(report.agent);
    if (silent != silent_.end() && !reports.silence) reports.silence = {silent->second, monitor};
    return reports;
  }
  /// An agent has named its own first failure, or one that is like it.
  void named_its_first(AgentId id) { named_.insert(id); }
  /// The agent restarts its group without the others (static), or single workers, maybe after a pause.
  void mends(const sim::Event& event, AgentId id, Failures& failures, const JobView& view) {
    failures.mends(id, event.at);
    if (event.type == &ev::group_restarting) started(id, failures, view);
  }
  /// The agent starts workers; if it has mended the first failure so, that is another one now.
  void started(AgentId id, Failures& failures, const JobView& view) {
    if (!failures.mended(id, view)) return;
    const RoundKey round{view.agent(id).job, view.agent(id).round};
    const auto& first = failures.of(round).first;
    rounds_[round].named = first && named_.contains(first->agent);
  }
  void silence_seen(AgentId id, sim::WorldTime at) { silent_.try_emplace(id, at); }
  /// An agent looks at its workers, and then asks the store whether the others want another round:
  /// its failure may come between.
  void restarting(const sim::Event& event, AgentId id, Failures& failures, const JobView& view) {
    silent_.erase(id);
    restarted_[id] = event.at;
    const auto* const own = failures.of(id);
    if (own == nullptr || own->front().seen) return;
    const Agent& agent = view.agent(id);
    const Failures::Record& round = failures.of(RoundKey{agent.job, agent.round});
    if (round.is_first(id) && event.at - round.first->at <= agent.timeouts.read_timeout)
      rounds_[{agent.job, agent.round}].overtaken = true;
  }
  void forget(const RoundKey& round) { rounds_.erase(round); }
  [[nodiscard]] const std::map<RoundKey, Reports>& rounds() const { return rounds_; }

  /// The report that came first, which is not of the agent that failed first, is explained: that
  /// one's restart came before it could look, the round had lost a member before, the job had
  /// another round before the report, so that no failure of this one has ended it, or the agent went
  /// without a word or because it was told to.
  static bool is_explained(const Reports& reports, const Failures::Record& round,
                           const RoundKey& key, const JobView& view) {
    const sim::WorldTime reported = reports.first->at;
    const auto& rounds = view.job(key.first).rounds;
    const bool went_on =
        std::any_of(rounds.upper_bound(key.second), rounds.end(), [&](const auto& later) {
          return later.second.completed && *later.second.completed < reported;
        });
    const Agent& origin = view.agent(round.first->agent);
    const bool is_mute = !origin.alive() && origin.outcome.empty();
    return reports.overtaken || round.lost_before(round.first->at) || reported < round.first->at ||
           went_on || is_mute || origin.outcome == "signalled";
  }

  /// A worker that falls silent ends a job by itself. A failure that its agent restarts for does
  /// not, and others hear of that restart at their next look: until then the silence is a cause.
  [[nodiscard]] bool silence_ended_it(const Reports& reports, const Failure& first) const {
    const auto restart = restarted_.find(first.agent);
    if (!reports.silence || restart == restarted_.end()) return false;
    const bool is_for_it = first.at <= restart->second && restart->second <= reports.first->at;
    return is_for_it && reports.silence->at <= restart->second + reports.silence->monitor + kSlack;
  }

 private:
  std::map<RoundKey, Reports> rounds_;
  std::map<AgentId, sim::WorldTime> silent_;     ///< when they lost heartbeats in their round
  std::map<AgentId, sim::WorldTime> restarted_;  ///< when they last began to
  std::set<AgentId> named_;
};

// What is said of a cause that is not the first.
constexpr const char* kNotItsFirst =
    "{} names rank {} (status {}) as the cause at {}, but its rank {} had failed first, at {}, "
    "with "
    "status {}";
constexpr const char* kNotTheFirst =
    "the job reports rank {} of node {} (status {}) as the cause of its end in round {}, but the "
    "first failure was that of rank {} on node {} at {}, with status {}; no agent reports it";

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
              {}, kAsking | kMortal) {
    on({&wev::process_ended}, [this](auto& event) { failures_.process_ended(event, view()); });
    on_agent({&ev::timer_expired, &ev::worker_ended},
             [this](auto& event, AgentId id) { failures_.see(event, id); });
    on_agent({&ev::heartbeat_lost}, [this](auto& event, AgentId id) {
      failures_.lost(round_of(id), event.at - span(event, "silent"));  // a loss like others
      told_.silence_seen(id, event.at);
    });
    on_agent({&ev::group_restarting, &ev::worker_restarting}, &FirstCause::restarting);
    on_agent({&ev::worker_started},
             [this](auto&, AgentId id) { told_.started(id, failures_, view()); });
    on_agent({&ev::failure_reported}, &FirstCause::reported);
    on_agent({&ev::rendezvous_completed}, [this](auto& event, AgentId id) {
      const RoundKey again{agent(id).job, number(event, "round")};  // in a store that began anew
      judge_round(again);
      told_.forget(again);
      failures_.forget(again);
    });
  }

 private:
  [[nodiscard]] RoundKey round_of(AgentId id) const { return {agent(id).job, agent(id).round}; }

  void at_end(const RunFacts& facts) override {
    for (const auto& [key, reports] : told_.rounds()) {
      if (!failures_.is_report_open(key, facts, needs(), view())) judge_round(key);
    }
  }

  void restarting(const sim::Event& event, AgentId id) {
    const bool alone = event.type == &ev::worker_restarting || agent(id).round < 0;
    if (alone) return told_.mends(event, id, failures_, view());
    told_.restarting(event, id, failures_, view());
    failures_.restarted(id);
  }

  void reported(const sim::Event& event, AgentId id) {
    const Failure report{event.at, id, number(event, "rank"), number(event, "status")};
    const Failures::Record& round = failures_.of(round_of(id));
    Reports& reports = told_.reported(report, round_of(id), failures_, view());
    const auto* const own = failures_.of(id);
    if (own == nullptr || round.lost_before(own->front().at)) return;
    if (failures_.is_like_first(id, report.rank, agent(id).timeouts.monitor)) {
      reports.named |= round.is_first(id);
      told_.named_its_first(id);
      return kept();
    }
    broken(event, kNotItsFirst, id, report.rank, report.status, event.at, own->front().rank,
           own->front().at, own->front().status);
  }

  void judge_round(const RoundKey& key) {
    const auto found = told_.rounds().find(key);
    const Failures::Record& round = failures_.of(key);
    if (found == told_.rounds().end() || !found->second.first || !round.first) return;
    const Failure &report = *found->second.first, &first = *round.first;
    if (found->second.named || report.agent == first.agent) return kept();
    if (told_.silence_ended_it(found->second, first)) return kept();
    if (Told::is_explained(found->second, round, key, view())) return;
    // One that meets an error of its own reports no other. Without a store no agent knows of
    // another's failure.
    const Agent& origin = agent(first.agent);
    const Hindrance* silenced = origin.errors > 0 ? hindrance(first.agent, kOwnErrors, first.at,
                                                              origin.ended.value_or(report.at))
                                                  : nullptr;
    if (silenced == nullptr) silenced = hindrance(first.agent, needs(), first.at, report.at);
    if (silenced == nullptr) silenced = hindrance(report.agent, needs(), first.at, report.at);
    broken(report.at, sim::kNoEvent,
           say(kNotTheFirst, report.rank, agent(report.agent).node, report.status, key.second,
               first.rank, agent(first.agent).node, first.at, first.status),
           silenced);
  }

  Failures failures_;
  Told told_;
};

}  // namespace

void add_first_cause(InvariantRegistry& registry) {
  registry.add<FirstCause>();
}

}  // namespace hooke::properties
