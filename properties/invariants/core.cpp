// One span for the whole core, measured from the latest thing that befell it; when it is over, each
// agent that is left must have an excuse.
#include "properties/invariants/core.h"

#include <algorithm>
#include <map>
#include <set>

#include "properties/invariants/builtins.h"
#include "properties/invariants/core_excuses.h"
#include "properties/invariants/heartbeat_roll.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// Polls, state caches and network in between.
constexpr sim::Duration kCoreSlack = std::chrono::seconds(10);
/// Workers that are stopped for a restart get this at least, whatever was configured (weakness
/// A-5 in scenarios/library/README.md).
constexpr sim::Duration kLeastGrace = std::chrono::seconds(30);

/// The part of a span by which the clock of an agent may go wrong.
constexpr int kClockTolerance = 10;

/// Excuses hold for long, and events are many.
constexpr sim::Duration kLook = std::chrono::seconds(5);

const char* text_of(Stage stage) {
  switch (stage) {
    case Stage::starting: return "starts";
    case Stage::joining: return "wants to join";
    case Stage::joined: return "has joined";
    case Stage::running: return "runs its workers";
    case Stage::restarting: return "restarts";
    case Stage::stopping: return "stops";
    case Stage::barrier: return "waits in the exit barrier";
    case Stage::finished: return "has said how it ended";
  }
  return "?";
}

/// How long an agent may try to get into a round.
sim::Duration join_patience(const Job& job) {
  if (job.backend == "static") return wait_for_ranks("static", job.timeouts);
  return job.timeouts.join + job.timeouts.read_timeout;
}

/// Since when nothing has befallen the core.
class CoreSpan {
 public:
  /// What an agent outside of the core did or suffered may have been what the core waited for.
  static bool is_of_outsiders(const sim::Event& event, const HealedCore& core,
                              const JobView& view) {
    const AgentId id = view.agent_of(event);
    if (event.type == &ev::rendezvous_evicted) {
      const AgentId gone = view.agent_described(text(event, "descriptor"));
      return gone == kNoAgent || !core.has(view.agent(gone).node);
    }
    return id != kNoAgent && !core.has(view.agent(id).node);
  }

  /// An event that is in the view and in the picture of the core.
  void see(const sim::Event& event, const HealedCore& core, const JobView& view) {
    const bool silence = restarts_for_silence(event, view);
    hear(event, view);
    if (core.is_healed() && (silence || is_news(event, core, view))) begin_anew(event);
  }
  [[nodiscard]] sim::WorldTime since() const { return since_; }

 private:
  /// A worker was not heard for as long as it may be silent; a restart for that is in the budget.
  [[nodiscard]] bool restarts_for_silence(const sim::Event& event, const JobView& view) {
    const AgentId id = view.agent_of(event);
    if (event.type != &ev::group_restarting || id == kNoAgent) return false;
    const bool silent = roll_.any([&](const ExpectedWorker& worker) {
      const auto patience = worker.patience();
      return worker.agent == id && patience &&
             event.at - worker.since >= *patience - *patience / kClockTolerance;
    });
    return silent && silences_[id]++ < view.agent(id).max_restarts;
  }

  void hear(const sim::Event& event, const JobView& view) {
    const AgentId id = view.agent_of(event);
    if (event.type == &ev::group_restarting) {
      roll_.drop([&](const ExpectedWorker& worker) { return worker.agent == id; });
    } else if (event.type == &wev::process_ended) {
      const ProcessKey ended = process_of(event);
      roll_.drop([&](const ExpectedWorker& worker) { return worker.process == ended; });
    } else if (event.type == &ev::heartbeat_expected && id != kNoAgent) {
      roll_.take(event, id);
    } else if (event.type == &ev::heartbeat_received && id != kNoAgent) {
      ExpectedWorker* const worker = roll_.take(event, id);
      if (worker == nullptr) return;
      worker->heard = worker->since = event.at;
      const ProcessKey beats = worker->process;
      if (number(event, "last") == 0) return;
      roll_.drop([&](const ExpectedWorker& of) { return of.process == beats; });
    }
  }

  [[nodiscard]] bool is_news(const sim::Event& event, const HealedCore& core, const JobView& view) {
    if (event.type == &wev::core_healed || event.type == &wev::fiber_held_up) return true;
    if (event.type == &wev::process_ended) {
      const Process* const process = view.process(event.node, event.pid);
      if (process == nullptr) return false;
      return process->agent != kNoAgent || has_failed(*process, view);
    }
    if (event.type == &ev::rendezvous_added && came_.insert(view.agent_of(event)).second)
      return true;
    const bool moves = event.type == &ev::rendezvous_added || event.type == &ev::rendezvous_left ||
                       event.type == &ev::rendezvous_evicted;
    return event.type == &ev::agent_started || (moves && is_of_outsiders(event, core, view));
  }

  /// It was not stopped: what follows costs a restart, of which there are only so many.
  static bool has_failed(const Process& process, const JobView& view) {
    if (!process.worker || process.status == 0 || process.owner == kNoAgent) return false;
    const Stage stage = view.agent(process.owner).stage;
    return stage == Stage::running || stage == Stage::joined;
  }

  void begin_anew(const sim::Event& event) {
    sim::WorldTime from = event.at;
    if (event.type == &wev::fiber_held_up) from += sim::Duration(number(event, "span"));
    since_ = std::max(since_, from);
  }

  sim::WorldTime since_{};
  HeartbeatRoll roll_;
  std::map<AgentId, std::int64_t> silences_;  ///< restarts for a silent worker
  std::set<AgentId> came_;                    ///< to a round, since the healing
};

/// Bound: core_bound, from the healing of the core. The span begins anew when an agent starts or
/// ends, comes to a round for the first time, or is held up; when a worker fails, or is silent and
/// its agent restarts, which the budget of restarts bounds; and when an agent outside of the core
/// comes, goes or is given up. What agents do of their own accord is none of that, so that a job
/// that goes round in circles, each round in time, is late as well as one that stands still. An agent that no predicate of
/// core_excuses.h excuses when the span is over breaks it, however it ends afterwards. A process that
/// runs its job again has ended as an agent of the run before.
class Core final : public Judge {
 public:
  Core()
      : Judge("liveness.core", "A job whose core has been healed ends in bounded time.",
              {&wev::core_healed,         &wev::process_ended,       &wev::fiber_held_up,
               &ev::agent_started,        &ev::agent_settings,       &ev::agent_finished,
               &ev::group_state,          &ev::group_restarting,     &ev::worker_started,
               &ev::exit_barrier_entered, &ev::exit_barrier_left,    &ev::rendezvous_joining,
               &ev::rendezvous_joined,    &ev::rendezvous_completed, &ev::rendezvous_added,
               &ev::rendezvous_left,      &ev::rendezvous_failed,    &ev::rendezvous_evicted,
               &ev::ranks_assigned,       &ev::store_serving,        &ev::coverage_point,
               &ev::heartbeat_expected,   &ev::heartbeat_received}) {}

  void at_end(const RunFacts& facts) override {
    next_look_ = {};
    examine(facts.end, sim::kNoEvent);
  }

 private:
  void judge(const sim::Event& event) override {
    const bool own = !CoreSpan::is_of_outsiders(event, core_, view());
    if (core_.is_healed() && own) examine(event.at, event.id);
    core_.see(event, view());
    take_in(event);
    span_.see(event, core_, view());
  }

  /// How its agents are is kept as it was before the event that may show one of them late.
  void take_in(const sim::Event& event) {
    if (core_.is_healed() &&
        (event.type == &wev::core_healed || event.type == &ev::agent_started)) {
      for (std::uint32_t i = 0; i < view().agent_count(); ++i) follow(AgentId{i});
    } else if (const AgentId id = view().agent_of(event); id != kNoAgent) {
      follow(id);
    }
  }

  void follow(AgentId id) {
    const Agent& agent = view().agent(id);
    if (agent.ended || !core_.has(agent.node)) {
      if (living_.erase(id) > 0 && !told_.contains(id)) kept();
    } else {
      living_[id] = {id, agent.stage, agent.stage_since, agent.round, agent.spare};
    }
  }

  [[nodiscard]] sim::Duration bound_of(const CoreAgent& agent) const {
    const Job& job = job_of(agent.id);
    return core_bound(job.backend, job.timeouts, core_.work());
  }
  void examine(sim::WorldTime now, sim::EventId event) {
    if (now < next_look_) return;
    next_look_ = now + kLook;
    for (const auto& [id, agent] : living_) {
      if (enough()) return;
      const sim::WorldTime due = span_.since() + bound_of(agent);
      if (now <= due || told_.contains(id)) continue;
      if (const auto excuse = excuse_of(core_, view(), agent)) {
        if (!excuse->until_join_timeout || now <= due + join_patience(job_of(id))) continue;
      }
      told_.insert(id);
      tell(agent, due, now, event);
    }
  }

  void tell(const CoreAgent& agent, sim::WorldTime due, sim::WorldTime now, sim::EventId event) {
    const std::string round = agent.round == kNoRound ? "" : say(" of round {}", agent.round);
    broken(due, event,
           say("{} belongs to the core that was healed at {}, and nothing has befallen it since "
               "{}; it should have ended by {}, but at {} it still lived: it {}{} since {}",
               agent.id, core_.since(), span_.since(), due, now, text_of(agent.stage), round,
               agent.stage_since));
  }

  HealedCore core_;
  CoreSpan span_;
  std::map<AgentId, CoreAgent> living_;  ///< of the core
  sim::WorldTime next_look_{};
  std::set<AgentId> told_;
};

}  // namespace

sim::Duration wait_for_ranks(std::string_view backend, const Timeouts& with) {
  // torchrun's default for a static rendezvous; EtcdStore's (etcd_store.py) over any etcd.
  if (backend == "static") return std::chrono::seconds(900);
  return backend.starts_with("etcd") ? std::chrono::seconds(300) : with.read_timeout;
}

sim::Duration core_bound(std::string_view backend, const Timeouts& with, sim::Duration work) {
  const sim::Duration grace = std::max(kLeastGrace, with.shutdown);
  const sim::Duration loss = with.keep_alive + 2 * with.monitor + grace + with.pause;
  const sim::Duration meeting = with.last_call + wait_for_ranks(backend, with);
  const sim::Duration parting =
      with.exit_barrier + with.read_timeout + with.close + with.shutdown + with.parting;
  return loss + meeting + work + parting + kCoreSlack;
}

void add_core(InvariantRegistry& registry) {
  registry.add<Core>();
}

}  // namespace hooke::properties
