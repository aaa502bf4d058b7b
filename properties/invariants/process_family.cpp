// Which process may signal, and which may outlive, which other: an agent and what descends from it
// are one family.
#include <algorithm>
#include <map>

#include "properties/invariants/builtins.h"
#include "properties/invariants/judge.h"

namespace hooke::properties {
namespace {

/// A number names an agent that carries it now. A process that an agent or one of its descendants
/// signals must belong to that agent's family; signals of the harness (from 0) may go anywhere. A
/// worker that its agent has reaped has no number any more, even if no other agent has got it yet.
class KillSafety final : public Judge {
 public:
  KillSafety()
      : Judge("safety.kill_safety", "A signal reaches only the incarnation it was meant for.",
              {&wev::process_signalled, &ev::worker_started, &ev::worker_ended,
               &ev::worker_signalled}) {}

 private:
  void judge(const sim::Event& event) override {
    if (event.type == &wev::process_signalled) return judge_signal(event);
    const ProcessKey worker = worker_of(event);
    if (event.type == &ev::worker_started) {
      reaped_.erase(worker);
    } else if (event.type == &ev::worker_ended) {
      reaped_[worker] = event.at;
    } else if (text(event, "reason") == "grace is over" && !had_grace(event, worker)) {
      broken(event, "{} killed its worker pid {} at {} without the grace that it owes",
             view().agent_of(event), worker.pid, event.at);
    } else if (const auto found = reaped_.find(worker); found != reaped_.end()) {
      broken(event,
             "{} sent {} at {} to its worker pid {}, of whose end it had learnt at {}: the number "
             "may be anybody's by then",
             view().agent_of(event), signal_text(event), event.at, worker.pid, found->second);
    }
  }

  /// Half of what was configured is enough: clocks drift.
  [[nodiscard]] bool had_grace(const sim::Event& event, const ProcessKey& worker) const {
    const AgentId id = view().agent_of(event);
    const Process* const target = view().process(worker.node, worker.pid);
    if (id == kNoAgent || target == nullptr || !target->told_to_stop) return true;
    const sim::Duration grace = std::min(agent(id).timeouts.shutdown, kStopGrace);
    return event.at - *target->told_to_stop >= grace / 2;
  }

  void judge_signal(const sim::Event& event) {
    const sim::Pid from = pid(event, "from_pid");
    if (from.value <= 0 || from == event.pid) return;
    const Process* const sender = view().process(event.node, from);
    const Process* const target = view().process(event.node, event.pid);
    if (sender == nullptr || target == nullptr) return;
    const AgentId family = sender->agent != kNoAgent ? sender->agent : sender->owner;
    const AgentId other = target->agent != kNoAgent ? target->agent : target->owner;
    if (family == kNoAgent) return;
    if (family == other) return kept();
    broken(event,
           "pid {} on node {} ({}) sent {} at {} to pid {}, which {} and was started at {} (event "
           "{}): it is not the process the signal was meant for",
           from, event.node, family, signal_text(event), event.at, event.pid,
           other == kNoAgent ? "no agent has started" : "belongs to " + view().describe(other),
           target->started, number(event, "target_born"));
  }

  std::map<ProcessKey, sim::WorldTime> reaped_;  ///< workers, by when
};

/// Bound: 1 s, the time in which an init process notices and reaps. A node's crash takes the whole
/// family at once and leaves no orphans. An agent that is killed can arrange beforehand that its
/// workers go with it, but not that their children do: the kernel knows parents only.
class NoOrphans final : public Judge {
 public:
  NoOrphans()
      : Judge("safety.no_orphans", "After an agent's end none of its descendants runs.",
              {&wev::process_ended}, kMortal) {}

  [[nodiscard]] sim::WorldTime owed_until() const override { return owed_.latest(); }

 private:
  static constexpr sim::Duration kBound = std::chrono::seconds(1);
  void judge(const sim::Event& event) override {
    if (const AgentId agent = view().agent_of(event); agent != kNoAgent) {
      for (const Process& process : view().processes(event.node)) {
        if (process.owner != agent || process.ended) continue;
        if (!process.worker && number(event, "status") < 0) continue;
        owed_.owe({event.node, process.pid}, {event.at, kBound, agent, kNoAgent, event.id});
      }
      return;
    }
    owed_.met(process_of(event), event);
  }

  Obligations<ProcessKey> owed_{
      *this, "reaping", [this](ProcessKey process, const Due& due) {
        const Process* const orphan = view().process(process.node, process.pid);
        const bool worker = orphan != nullptr && orphan->worker;
        return say("{} had ended at {}; {} pid {}{} should have ended", due.who, due.since,
                   worker ? "its worker" : "its worker's child", process.pid,
                   worker ? say(" (rank {})", orphan->rank) : "");
      }};
};

}  // namespace

void add_process_family(InvariantRegistry& registry) {
  registry.add<KillSafety>();
  registry.add<NoOrphans>();
}

}  // namespace hooke::properties
