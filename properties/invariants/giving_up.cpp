// An agent that ends its job because workers failed or a member was lost must have spent the
// restarts that it was given.
#include <map>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

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
  struct Spent {
    std::int64_t restarts = 0;
    bool failed = false;  ///< a worker of the present group
    bool may_stop = false;
  };
  struct JobSpent {
    std::int64_t restarts = 0;
    bool failed = false;  ///< a worker or an agent, since the latest round was completed
    bool over = false;
  };

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
    } else {
      agent_ended(event, id, job);
    }
  }

  /// The present failure may be counted already.
  void says_left(const sim::Event& event, AgentId id, JobSpent& job) {
    const Agent& agent = view().agent(id);
    job.failed |= text(event, "cause") == "member_lost";
    const Spent& own = agents_[id];
    const std::int64_t spent =
        std::max(own.restarts + (own.failed ? 1 : 0), job.restarts + (job.failed ? 1 : 0));
    const std::int64_t said = number(event, "remaining_restarts");
    if (said >= agent.max_restarts - spent) return kept();
    broken(event, "{} says at {} that {} of {} restarts are left, and {} were made", id, event.at,
           said, agent.max_restarts, spent);
  }

  void agent_ended(const sim::Event& event, AgentId id, JobSpent& job) {
    const Agent& agent = view().agent(id);
    if (agent.outcome.empty() && agent.round != kNoRound) job.failed = true;  // it was lost
    if (agent.outcome == "failed" && agent.round != kNoRound)
      gives_up(event, id, job, "ended as failed");
  }

  void gives_up(const sim::Event& event, AgentId id, JobSpent& job, const char* does) {
    const Agent& agent = view().agent(id);
    const Spent& spent = agents_[id];
    const bool over = std::exchange(job.over, true);
    if (over || spent.may_stop) return;
    if (spent.restarts >= agent.max_restarts || job.restarts >= agent.max_restarts) return kept();
    if (const auto* const by = hindrance(id, needs(), agent.started, event.at)) return excused(*by);
    broken(
        event,
        "{} {} at {} with {} of {} restarts spent by itself and {} by its job, which was not over",
        id, does, event.at, spent.restarts, agent.max_restarts, job.restarts);
  }

  std::map<AgentId, Spent> agents_;
  std::map<JobId, JobSpent> jobs_;
};

}  // namespace

void add_giving_up(InvariantRegistry& registry) {
  registry.add<GivesUpEarly>();
}

}  // namespace hooke::properties
