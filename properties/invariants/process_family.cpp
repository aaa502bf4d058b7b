// Who may signal whom, and who may outlive whom: an agent and what descends from it are one family.
#include <fmt/format.h>

#include <map>

#include "model/observe/trace_events.h"
#include "properties/invariants/judge.h"
#include "properties/invariants/processes.h"
#include "sim/port/process_host.h"
#include "sim/world/world_events.h"

namespace hooke::properties {
namespace {

namespace ev = model::events;
namespace wev = world::events;

/// A number names whoever carries it now. A process that an agent or one of its descendants signals
/// must belong to that agent's family; signals of the harness (from 0) may go anywhere. A worker
/// that its agent has reaped has no number any more, even if nobody else has got it yet.
class KillSafety final : public Judge {
 public:
  KillSafety()
      : Judge("safety.kill_safety", "A signal reaches only the incarnation it was meant for.") {}

  [[nodiscard]] std::span<const sim::EventType* const> interests() const override {
    return kInterests;
  }

 private:
  void judge(const sim::Event& event) override {
    if (event.type == &wev::process_signalled) return judge_signal(event);
    const ProcessKey worker{event.node, pid(event, "worker_pid")};
    if (event.type == &ev::worker_started) {
      reaped_.erase(worker);
    } else if (event.type == &ev::worker_ended) {
      reaped_[worker] = event.at;
    } else if (const auto found = reaped_.find(worker); found != reaped_.end() && !enough()) {
      const auto signal = static_cast<sim::Signal>(static_cast<int>(number(event, "signal")));
      broken(event,
             fmt::format("{} sent {} at {} to its worker pid {}, of whose end it had learnt "
                         "at {}: the number may be anybody's by then",
                         view().describe(view().agent_of(event)), to_string(signal),
                         seconds_text(event.at), worker.pid.value, seconds_text(found->second)));
    }
  }

  void judge_signal(const sim::Event& event) {
    const sim::Pid from = pid(event, "from_pid");
    if (from.value <= 0 || from == event.pid || enough()) return;
    const Process* const sender = view().process(event.node, from);
    const Process* const target = view().process(event.node, event.pid);
    if (sender == nullptr || target == nullptr) return;
    const AgentId family = sender->agent != kNoAgent ? sender->agent : sender->owner;
    const AgentId other = target->agent != kNoAgent ? target->agent : target->owner;
    if (family == kNoAgent || family == other) return;
    const auto signal = static_cast<sim::Signal>(static_cast<int>(number(event, "signal")));
    broken(
        event,
        fmt::format(
            "pid {} on node {} ({}) sent {} at {} to pid {}, which {} and was started at {} (event "
            "{}): it is not the process the signal was meant for",
            from.value, view().name(event.node), view().describe(family), to_string(signal),
            seconds_text(event.at), event.pid.value,
            other == kNoAgent ? "no agent has started" : "belongs to " + view().describe(other),
            seconds_text(target->started), number(event, "target_born")));
  }

  static constexpr const sim::EventType* kInterests[] = {
      &wev::process_signalled, &ev::worker_started, &ev::worker_ended, &ev::worker_signalled};
  std::map<ProcessKey, sim::WorldTime> reaped_;  ///< workers, by when
};

/// Bound: 1 s, the time in which an init process notices and reaps. A node's crash takes the whole
/// family at once and leaves no orphans.
class NoOrphans final : public Judge {
 public:
  NoOrphans() : Judge("safety.no_orphans", "After an agent's end none of its descendants runs.") {}

  [[nodiscard]] std::span<const sim::EventType* const> interests() const override {
    return kInterests;
  }

  /// Agents end in order of time: no orphan is owed for longer than those of the last one.
  [[nodiscard]] sim::WorldTime owed_until() const override {
    return orphans_.empty() ? sim::WorldTime() : last_end_ + kBound + sim::Duration(1);
  }

  void finish(const RunFacts& facts) override {
    for (const auto& [process, orphan] : orphans_) {
      if (facts.end - orphan.since > kBound)
        tell(process, orphan, facts.end, sim::kNoEvent, "still runs");
    }
  }

 private:
  static constexpr sim::Duration kBound = std::chrono::seconds(1);
  struct Orphan {
    AgentId agent = kNoAgent;
    sim::WorldTime since{};
    bool worker = false;
    std::int64_t rank = -1;
  };

  void judge(const sim::Event& event) override {
    if (const AgentId agent = view().agent_of(event); agent != kNoAgent) {
      for (const Process& process : view().processes(event.node)) {
        if (process.owner != agent || process.ended) continue;
        last_end_ = event.at;
        orphans_[{event.node, process.pid}] = {agent, event.at, process.worker, process.rank};
      }
      return;
    }
    const auto found = orphans_.find(process_of(event));
    if (found == orphans_.end()) return;
    if (event.at - found->second.since > kBound)
      tell(found->first, found->second, event.at, event.id, "ran on");
    orphans_.erase(found);
  }

  void tell(ProcessKey process, const Orphan& orphan, sim::WorldTime until, sim::EventId event,
            const char* how) {
    if (enough()) return;
    const std::string what =
        orphan.worker ? fmt::format("worker pid {} (rank {})", process.pid.value, orphan.rank)
                      : fmt::format("pid {}, a worker's child,", process.pid.value);
    broken(orphan.since + kBound, event,
           fmt::format("{} on node {} {} at {}, {} after {} had ended at {}", what,
                       view().name(process.node), how, seconds_text(until),
                       seconds_text(until - orphan.since), view().describe(orphan.agent),
                       seconds_text(orphan.since)),
           orphan.worker ? held_back(orphan.since, until) : "nobody was left who knew of it");
  }

  static constexpr const sim::EventType* kInterests[] = {&wev::process_ended};
  std::map<ProcessKey, Orphan> orphans_;
  sim::WorldTime last_end_{};  ///< of an agent that left an orphan
};

}  // namespace

std::unique_ptr<Invariant> make_kill_safety() {
  return std::make_unique<KillSafety>();
}
std::unique_ptr<Invariant> make_no_orphans() {
  return std::make_unique<NoOrphans>();
}

}  // namespace hooke::properties
