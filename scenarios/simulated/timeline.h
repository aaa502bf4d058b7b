#pragma once
// When the entries of a scenario's timeline happen: at a time, some span after the n-th event of a
// kind, or at the n-th passage of a fault point, once or again and again. What they do is the
// business of Actions.

#include <deque>
#include <optional>
#include <string_view>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/outcome/timeline_log.h"
#include "scenarios/outcome/trigger.h"
#include "scenarios/outcome/waiting_entries.h"
#include "scenarios/simulated/actions.h"
#include "scenarios/simulated/agenda.h"
#include "scenarios/simulated/runner.h"
#include "sim/kernel/trace_recorder.h"
#include "sim/port/trace.h"
#include "sim/world/world.h"

namespace hooke::scenario {

class Timeline final : public kernel::TraceSink {
 public:
  /// std::invalid_argument for an entry that no loader would have let through.
  Timeline(world::World& world, Actions& actions, Agenda& agenda,
           const std::vector<TimelineEntry>& entries);

  /// Puts what happens at a time on the agenda and begins to watch fault points. Once per run.
  void arm();
  /// Watches for the events that entries wait for.
  void on_event(const sim::Event& event) override;
  /// Nothing acts any more, whatever it waits for.
  void stop();
  /// What has been done so far, in order, and how often it was felt.
  [[nodiscard]] std::vector<InjectedFault> done() const;
  /// What has not, by the end of the run.
  [[nodiscard]] std::vector<NeverHappened> never_happened(sim::WorldTime end) const {
    return log_.never_happened(end);
  }
  /// True time of the last injection; the epoch when there was none.
  [[nodiscard]] sim::WorldTime last() const {
    return done_.empty() ? sim::WorldTime() : done_.back().at;
  }

 private:
  struct Injection {
    std::size_t entry;
    sim::WorldTime at;
    Effect effect;
  };
  void on_fault_point(sim::NodeId node, sim::Pid pid, std::string_view name);
  void later(Duration after, std::size_t entry, std::optional<sim::NodeId> there,
             sim::EventId cause, std::int64_t times_left);
  void act(std::size_t entry, std::optional<sim::NodeId> there, std::int64_t times_left);

  world::World& world_;
  Actions& actions_;
  Agenda& agenda_;
  const std::vector<TimelineEntry>& entries_;
  TimelineLog log_;
  WaitingEntries for_events_;
  WaitingEntries for_passages_;
  bool stopped_ = false;
  std::deque<Injection> done_;  ///< references into it stay valid
};

}  // namespace hooke::scenario
