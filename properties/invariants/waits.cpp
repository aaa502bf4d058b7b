// What the user says of restarts and of the closing: which workers are started anew, how often, after
// which pause, and for which others an agent waits.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// A clock that drifts is wrong by no more than a tenth.
sim::Duration by_any_clock(sim::Duration span) {
  return span * 9 / 10;
}

/// A group restarts as a whole for a worker that failed, or the worker is started again alone, as the
/// policy says. Where a worker is given up that has failed in so many attempts, its agent starts none
/// anew when it has found the last of them failed, and refuses a restart for that then alone. A worker
/// has failed that ended by itself with a status other than 0, let a timer pass, or was silent.
class RestartPolicy final : public Judge {
 public:
  RestartPolicy()
      : Judge(
            "safety.restart_policy",
            "Workers are started anew after a failure as the policy says, and not when it refuses.",
            {}) {
    on({&wev::process_ended}, [this](auto& event) {
      if (failed_worker(event) != nullptr) failed_.insert(process_of(event));
    });
    on_agent({&ev::heartbeat_lost, &ev::timer_killed},
             [this](auto&, AgentId id) { ++may_have_failed_[id]; });
    on_agent({&ev::worker_ended}, [this](auto& event, AgentId id) {
      if (failed_.erase(worker_of(event)) > 0) ++failures_[{id, number(event, "local_rank")}];
    });
    on_agent({&ev::group_restarting, &ev::worker_restarting}, &RestartPolicy::restarting);
    on_agent({&ev::restart_refused}, &RestartPolicy::refused);
  }

 private:
  using OfWorker = std::map<std::pair<AgentId, std::int64_t>, std::int64_t>;

  /// Of the worker of the agent that has failed most often.
  static std::int64_t most(const OfWorker& failures, AgentId id) {
    std::int64_t out = 0;
    for (auto each = failures.lower_bound({id, 0}); each != failures.end(); ++each) {
      if (each->first.first != id) break;
      out = std::max(out, each->second);
    }
    return out;
  }

  void restarting(const sim::Event& event, AgentId id) {
    const Given* const given = view().given(event.node);
    const bool alone = event.type == &ev::worker_restarting;
    if (given == nullptr || !given->pauses || (!alone && text(event, "cause") != "worker_failure"))
      return;
    if (alone != given->alone) {
      return broken(event, "{} starts {} anew at {}, and its policy {}", id,
                    alone ? "one worker" : "all of its workers", event.at,
                    alone ? "starts all of them" : "starts those that failed");
    }
    const std::int64_t times = most(failures_, id);
    if (!given->attempts || times < *given->attempts) return kept();
    broken(event, "{} restarts at {}, and a worker of it has failed in {} of {} attempts", id,
           event.at, times, *given->attempts);
  }

  void refused(const sim::Event& event, AgentId id) {
    const Given* const given = view().given(event.node);
    if (given == nullptr || !given->pauses || text(event, "reason") == ev::kRestartsSpent) return;
    const std::int64_t times = most(failures_, id) + may_have_failed_[id];
    if (given->attempts && times >= *given->attempts) return kept();
    broken(event,
           "{} refuses to restart at {} (\"{}\"); no worker of it has failed more than {} times",
           id, event.at, text(event, "reason"), times);
  }

  std::set<ProcessKey> failed_;  ///< and not yet found so by their agents
  OfWorker failures_;
  std::map<AgentId, std::int64_t> may_have_failed_;  ///< by silence or a timer, some worker
};

/// When the workers of each agent were over.
class WorkersEnds {
 public:
  /// The agent whose worker this is, all of whose workers are over now.
  AgentId ended(const sim::Event& event, const JobView& view) {
    const Process* const worker = view.process(event.node, event.pid);
    if (worker == nullptr || !worker->worker || worker->owner == kNoAgent) return kNoAgent;
    latest_[worker->owner] = event.at;
    return some_live(worker->owner, view) ? kNoAgent : worker->owner;
  }
  [[nodiscard]] static bool some_live(AgentId id, const JobView& view) {
    return view.any_worker(id, [](const Process& worker) { return !worker.ended; });
  }
  /// nullopt: none has ended.
  [[nodiscard]] std::optional<sim::WorldTime> latest(AgentId id) const {
    const auto found = latest_.find(id);
    return found == latest_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<AgentId, sim::WorldTime> latest_;
};

/// An agent that restarts after a failure.
struct Pausing {
  sim::WorldTime said{};                ///< that it does
  std::optional<sim::WorldTime> since;  ///< when the workers in question were over
  sim::Duration pause{};

  void includes(ProcessKey worker, const JobView& view) {
    const Process* const failed = view.process(worker.node, worker.pid);
    if (failed != nullptr && failed->ended)
      since = std::max(since.value_or(*failed->ended), *failed->ended);
  }
};

bool follows_failure(const sim::Event& event) {
  return event.type == &ev::worker_restarting || text(event, "cause") == "worker_failure" ||
         text(event, "cause") == "heartbeat_loss";
}

/// The pause that the agent was given, after as many restarts for failures as it has made, lies
/// between the end of the workers that failed, and of those that were stopped for that, and the
/// start of the next one. Bound: monitor + pause + slack, from the end of the last of them: by then
/// it is back in the rendezvous, or has started the worker that is started again alone. A static
/// rendezvous does not tell when an agent is back. What makes an agent restart safety.claims_are_true
/// judges; an agent that ends, or is told to, pauses no longer.
class RestartPause final : public Judge {
 public:
  RestartPause()
      : Judge("safety.restart_pause",
              "Workers are started anew after a failure when the pause of the policy is over.", {},
              kAsking | kTasks | kKillable | kOwnErrors) {
    on_agent({&ev::group_restarting, &ev::worker_restarting}, &RestartPause::restarting);
    on({&wev::process_started}, &RestartPause::started);
    on({&wev::process_ended}, &RestartPause::process_ended);
    on_agent({&ev::rendezvous_joining}, [this](auto& event, AgentId id) { owed_.met(id, event); });
    on_agent({&ev::agent_finished, &ev::rendezvous_left, &ev::agent_signalled, &ev::group_state},
             [this](auto& event, AgentId id) {
               if (agent(id).stage != Stage::restarting || agent(id).errors > 0) over(event, id);
             });
    on({&wev::process_signalled}, [this](auto& event) {
      const AgentId id = view().agent_of(event);
      if (id != kNoAgent && agent(id).signalled) over(event, id);
    });
  }

 private:
  void restarting(const sim::Event& event, AgentId id) {
    const Given* const given = view().given(event.node);
    const bool alone = event.type == &ev::worker_restarting;
    const auto of = pausing_.find(id);
    if (alone && of != pausing_.end() && of->second.said == event.at)
      return of->second.includes(worker_of(event), view());  // several that failed together
    over(event, id);
    if (given == nullptr || !given->pauses || !follows_failure(event)) return;
    Pausing& now = pausing_[id] = {event.at, {}, given->pauses->after(restarts_[id]++)};
    if (alone) now.includes(worker_of(event), view());
    if (!alone && !WorkersEnds::some_live(id, view())) now.since = ends_.latest(id);
    if (now.since) owe(event, id, now);
  }

  void process_ended(const sim::Event& event) {
    const AgentId all_over = ends_.ended(event, view());
    if (const AgentId id = view().agent_of(event); id != kNoAgent) return over(event, id);
    const auto of = pausing_.find(all_over);
    if (of == pausing_.end() || agent(all_over).stage != Stage::restarting) return;
    of->second.since = event.at;
    owe(event, all_over, of->second);
  }

  void owe(const sim::Event& event, AgentId id, const Pausing& now) {
    const bool group = event.type != &ev::worker_restarting;
    if (agent(id).signalled || (group && job_of(id).backend == "static")) return;
    owed_.owe(
        id, {*now.since, agent(id).timeouts.monitor + now.pause + kSlack, id, kNoAgent, event.id});
  }

  void started(const sim::Event& event) {
    const Process* const process = view().process(event.node, event.pid);
    const AgentId id = process == nullptr ? kNoAgent : process->owner;
    const auto of = pausing_.find(id);
    if (of == pausing_.end() || agent(id).pid != pid(event, "parent_pid")) return;
    const auto [said, since, pause] = of->second;
    over(event, id);
    if (!since || event.at - *since >= by_any_clock(pause)) return kept();
    if (excused(hindrance(id, kClock, *since, event.at))) return;
    broken(event,
           "the workers of {} were over at {}, and it was to pause for {}; it started {} at {}", id,
           *since, pause, process_of(event), event.at);
  }

  void over(const sim::Event& event, AgentId id) {
    owed_.lapse_unless_late(id, event);
    pausing_.erase(id);
  }

  WorkersEnds ends_;
  std::map<AgentId, Pausing> pausing_;
  std::map<AgentId, std::int64_t> restarts_;  ///< for failures
  Obligations<AgentId> owed_{
      *this, "monitor + pause + slack", [this](AgentId id, const Due& due) {
        return say("the workers of {} had failed and were over at {}; it should have gone on", id,
                   due.since);
      }};
};

/// An agent that is to wait for others closes the rendezvous only when no other member of its round
/// is at work, whose workers run and have not been told to stop, or when it has waited for its limit,
/// from the end of its own workers, or of its wait in the exit barrier, on. One that is to refuse does
/// not close it while others are at work, however long. What keeps one of the two from the store, or
/// from showing that it lives, excuses. Bound: limit + slack, from the moment when the agent has told
/// of its failure or has left the exit barrier, until it closes the rendezvous, unless another does,
/// or goes. A static rendezvous is not closed.
class ShutdownWaits final : public Judge {
 public:
  ShutdownWaits()
      : Judge(
            "safety.shutdown_waits",
            "An agent that is to wait for others at work closes the rendezvous when they are done "
            "or its limit is over.",
            {&ev::exit_barrier_left, &ev::failure_reported, &ev::group_restarting,
             &ev::rendezvous_closed, &ev::rendezvous_left, &ev::agent_finished, &ev::coverage_point,
             &wev::process_signalled, &wev::process_ended},
            kAsking | kTasks | kKillable | kOwnErrors) {}

 private:
  void judge(const sim::Event& event) override {
    if (event.type == &wev::process_ended) static_cast<void>(ends_.ended(event, view()));
    Judge::judge(event);
  }

  void judge_agent(const sim::Event& event, AgentId id) override {
    if (event.type == &ev::exit_barrier_left || event.type == &ev::failure_reported) {
      return owe(event, id);
    }
    if (event.type == &wev::process_signalled) {
      if (agent(id).signalled) owed_.lapse_unless_late(id, event);
    } else if (event.type == &ev::rendezvous_closed) {
      if (number(event, "round") == agent(id).round) closed(event, id);
      closed_.insert(agent(id).job);
      owed_.met(id, event);
      for (const AgentId other : job_of(id).agents) owed_.lapse_unless_late(other, event);
    } else if (event.type != &ev::coverage_point || text(event, "name") == "store_lingers") {
      owed_.met(id, event);
    }
  }

  void owe(const sim::Event& event, AgentId id) {
    const Given* const given = view().given(event.node);
    const bool waits =
        given != nullptr && given->waits > sim::Duration() && given->waits != Given::kForEver;
    if (!waits || agent(id).signalled || job_of(id).backend == "static") return;
    if (!closed_.contains(agent(id).job))
      owed_.owe(id, {event.at, given->waits + kSlack, id, kNoAgent, event.id});
  }

  void closed(const sim::Event& event, AgentId id) {
    const Given* const given = view().given(event.node);
    const auto ended = ends_.latest(id);
    if (given == nullptr || given->waits == sim::Duration() || !ended) return;
    const sim::WorldTime since = std::max(*ended, agent(id).barrier_left.value_or(*ended));
    const AgentId other = one_at_work(event.at, id);
    const bool long_enough =
        given->waits != Given::kForEver && event.at - since >= by_any_clock(given->waits);
    if (other == kNoAgent || long_enough) return kept();
    if (excused(hindrance(id, needs(), since, event.at))) return;
    if (excused(hindrance(other, kAsking | kTasks, agent(other).started, event.at))) return;
    broken(event, "{} was done at {} and closed the rendezvous at {}, while {} was at work", id,
           since, event.at, other);
  }

  [[nodiscard]] AgentId one_at_work(sim::WorldTime at, AgentId but) const {
    AgentId found = kNoAgent;
    static_cast<void>(view().any_agent(agent(but).job, [&](AgentId id, const Agent& other) {
      const bool works =
          id != but && other.alive() && other.member && !other.signalled &&
          other.round == agent(but).round && other.stage == Stage::running &&
          view().any_worker(id, [&](const Process& worker) {
            return !worker.ended && !worker.told_to_stop && worker.started + kAnswer <= at;
          });
      if (works) found = id;
      return works;
    }));
    return found;
  }

  WorkersEnds ends_;
  std::set<JobId> closed_;
  Obligations<AgentId> owed_{*this, "limit + slack", [this](AgentId id, const Due& due) {
                               return say("{} was done at {}; it should have closed the rendezvous",
                                          id, due.since);
                             }};
};

}  // namespace

void add_waits(InvariantRegistry& registry) {
  registry.add<RestartPolicy, RestartPause, ShutdownWaits>();
}

}  // namespace hooke::properties
