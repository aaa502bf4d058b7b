// What the exit codes and the errors of agents say of their ends.
#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Whether the store had counted all of the round in its exit barrier is unknown: one of them ended
/// there before it could be answered.
bool may_be_short_of_one(const Job& job, const JobView& view) {
  return job.decided && view.any_agent(view.find_job(job.run_id), [&](AgentId, const Agent& agent) {
    const bool went_there = agent.ended && agent.stage == Stage::barrier;
    return went_there && agent.round == job.decided->round &&
           *agent.ended - agent.stage_since <= kAnswer;
  });
}

/// What a shell adds to the number of the signal that has ended a process.
constexpr std::int64_t kSignalled = 128;

/// Whether an agent that has such an outcome may end with that exit code.
bool go_together(std::string_view outcome, std::int64_t code, const Agent& agent) {
  const bool done = outcome == "succeeded" || outcome == "graceful_exit";
  const bool got_it = code <= kSignalled || agent.signals.contains(code - kSignalled);
  return done == (code == 0) && got_it;
}

/// How an agent ends, and its workers.
struct Ending {
  std::int64_t bad_worker = 0;  ///< pid of a worker of this incarnation that ended badly
  std::int64_t status = 0;
  std::optional<std::int64_t> said;
};

/// "succeeded" and exit code 0 go together, and both mean that each worker of the last incarnation
/// ended with 0. A spare that leaves a finished job has done its part: its graceful exit is code 0
/// (incident 33). So is any other end of one that was a spare when all members had come to the exit
/// barrier and been counted there, was not told to go, could ask the store since, as the members
/// could, and into which no fault has put an error. An exit code above 128 names a signal that the
/// agent got.
class ExitCodeTruth final : public Judge {
 public:
  ExitCodeTruth()
      : Judge("safety.exit_code_truth",
              "An agent exits with 0 exactly when its part of the job is done.",
              {&ev::worker_started, &ev::worker_ended, &ev::exit_barrier_entered,
               &ev::agent_finished, &wev::process_ended},
              kAsking) {}

 private:
  void judge_agent(const sim::Event& event, AgentId agent) override {
    Ending& ending = endings_[agent];
    if (event.type == &ev::worker_started) {
      ending = {};
    } else if (event.type == &ev::worker_ended) {
      const std::int64_t status = number(event, "status");
      if (status != 0) ending = {number(event, "worker_pid"), status, ending.said};
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
    if (may_be_short_of_one(view().job(agent.job), view())) return;
    const std::string_view outcome = text(event, "outcome");
    const std::int64_t code = number(event, "exit_code");
    if (agent.signalled || outcome == "graceful_exit") return;
    if (code == 0) return kept();
    if (excused(error_put_into(id, event.at))) return;
    // It hears of it from the members, which must be able to tell.
    if (excused(hindrance_of_any(agent.job, needs(), done->second, event.at))) return;
    broken(event,
           "{} was a spare when the members of its job were done, at {}, and ended as \"{}\" with "
           "exit code {} at {} ({})",
           id, done->second, outcome, code, event.at, text(event, "detail"));
  }

  void finished(const sim::Event& event, AgentId agent, const Ending& ending) {
    const std::string_view outcome = text(event, "outcome");
    const std::int64_t code = number(event, "exit_code");
    const std::string who = view().describe(agent);
    kept();
    if (!go_together(outcome, code, view().agent(agent))) {
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
/// Before its first rendezvous an agent may refuse its configuration by one of them. An agent that
/// meets one in its rendezvous, as it joins or leaves, and ends in another way has met it all the same.
class NoEscapedError final : public Judge {
 public:
  NoEscapedError()
      : Judge("safety.no_escaped_error",
              "No agent that takes part in a job meets an error in its own code.", {}) {
    on_agent({&ev::rendezvous_joining}, [this](auto&, AgentId id) { joined_.insert(id); });
    on_agent({&ev::rendezvous_failed}, [this](auto& event, AgentId id) {
      if (!is_own(text(event, "error"))) return;
      met_.try_emplace(id, Met{event.at, event.id, std::string(text(event, "detail"))});
    });
    on_agent({&ev::agent_finished}, &NoEscapedError::finished);
  }

 private:
  struct Met {
    sim::WorldTime at{};
    sim::EventId event{};
    std::string detail;
  };

  void finished(const sim::Event& event, AgentId agent) {
    if (!joined_.contains(agent)) return;
    const std::string_view detail = text(event, "detail");
    if (text(event, "outcome") != "error" || !is_own(detail.substr(0, detail.find(':')))) {
      if (!met_.contains(agent)) kept();
      return;
    }
    met_.erase(agent);
    broken(event, "{} ended at {} of an error that nothing catches: {}", agent, event.at, detail);
  }

  void at_end(const RunFacts& /*facts*/) override {
    for (const auto& [id, met] : met_) {
      broken(met.at, met.event,
             say("{} met an error of its own code at {}, in its rendezvous: {}", id, met.at,
                 met.detail));
    }
  }

  [[nodiscard]] static bool is_own(std::string_view error) {
    return std::ranges::find(kEscaped, error) != kEscaped.end();
  }

  static constexpr std::array<std::string_view, 6> kEscaped{
      "AssertionError", "IndexError", "JSONDecodeError", "KeyError", "TypeError", "ValueError"};
  std::set<AgentId> joined_;  ///< those that have tried to
  std::map<AgentId, Met> met_;
};

}  // namespace

void add_failures(InvariantRegistry& registry) {
  registry.add<NoEscapedError, ExitCodeTruth>();
}

}  // namespace hooke::properties
