// An agent that ends its job because workers failed must have spent the restarts that it was given.
#include <fmt/format.h>

#include <map>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Judged on processes: a restart is a group of workers that is started after one of the group
/// before had failed by itself, or had let a timer or its heartbeats pass; for the job, a round
/// that follows one in which that happened or an agent died. An agent that ends as failed with
/// restarts left, by both counts, has given up early, unless the job was over already (closed, or
/// all at the exit barrier, or another had failed for good), a policy of the user's or a lost
/// heartbeat forbids restarts, or a worker cannot be killed. A polite departure spends nothing.
class GivesUpEarly final : public Judge {
 public:
  GivesUpEarly()
      : Judge("safety.gives_up_early",
              "An agent ends its job for failed workers only when no restart is left.",
              {&ev::worker_started, &ev::worker_restarting, &ev::rendezvous_completed,
               &ev::heartbeat_lost, &ev::timer_killed, &ev::restart_refused,
               &ev::exit_barrier_entered, &wev::process_ended, &ev::rendezvous_closed},
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
    } else {
      agent_ended(event, id, job);
    }
  }

  void agent_ended(const sim::Event& event, AgentId id, JobSpent& job) {
    const Agent& agent = view().agent(id);
    if (agent.outcome.empty() && agent.round != kNoRound) job.failed = true;  // it was lost
    if (agent.outcome != "failed" || agent.round == kNoRound) return;
    const Spent& spent = agents_[id];
    const bool over = std::exchange(job.over, true);
    if (over || spent.may_stop) return;
    if (spent.restarts >= agent.max_restarts || job.restarts >= agent.max_restarts) return kept();
    broken(event,
           fmt::format("{} ended as failed at {} with {} of {} restarts spent by itself and {} by "
                       "its job, which was not over",
                       view().describe(id), seconds_text(event.at), spent.restarts,
                       agent.max_restarts, job.restarts),
           hindrance(id, needs(), agent.started, event.at));
  }

  std::map<AgentId, Spent> agents_;
  std::map<JobId, JobSpent> jobs_;
};

}  // namespace

void add_giving_up(InvariantRegistry& registry) {
  registry.add<GivesUpEarly>();
}

}  // namespace hooke::properties
