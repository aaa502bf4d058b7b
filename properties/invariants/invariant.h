#pragma once
// A promise judged on the trace alone, so that simulated and real runs are judged by the same code.
// An invariant sees every event once, in order, and says at which event it broke and by what.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/port/trace.h"

namespace hooke::properties {

/// One broken promise.
struct Violation {
  std::string invariant;  ///< "safety.one_world"
  std::string witness;    ///< what a person must know to believe it: who, when, which values
  sim::WorldTime at{};
  sim::EventId event{};  ///< the event that broke it; kNoEvent when it broke by never happening
  /// What kept every agent, however good, from keeping it: "the store was killed". Empty: nothing.
  std::string limit{};
};

/// Facts about the run that are not events: how it ended.
struct RunFacts {
  sim::WorldTime end{};   ///< as of when it is judged: not before its last event
  bool finished = false;  ///< every agent is over; false: the run was cut at a limit
  /// The instant of the last injected or healed fault. The built-in promises take faults from the
  /// trace instead: each puts off only the deadlines it falls into.
  sim::WorldTime last_fault{};
};

class JobView;

class Invariant {
 public:
  virtual ~Invariant() = default;
  /// "safety.…" or "liveness.…", as scenarios name it.
  [[nodiscard]] virtual std::string_view id() const = 0;
  /// One sentence: what is promised.
  [[nodiscard]] virtual std::string_view meaning() const = 0;
  /// The event types it looks at; whoever routes events (InvariantSet) shows it no others. Empty:
  /// all.
  [[nodiscard]] virtual std::span<const sim::EventType* const> interests() const { return {}; }
  /// Called once before the first event with the picture of the jobs that all invariants of a run
  /// share. Each event is in the view before on_event gets it.
  virtual void bind(std::shared_ptr<JobView> view) { static_cast<void>(view); }
  virtual void on_event(const sim::Event& event) = 0;
  /// The first instant at which something that is still owed would be broken; the epoch when
  /// nothing is. A run in which every agent is over goes on until then (within its time limit)
  /// before it is judged: what only an end that came too early hides is seen.
  [[nodiscard]] virtual sim::WorldTime owed_until() const { return {}; }
  /// After the last event.
  virtual void finish(const RunFacts& facts) = 0;
  /// What broke, in order. At most a few per run: the first ones matter.
  [[nodiscard]] virtual const std::vector<Violation>& violations() const = 0;
};

/// Makes fresh invariants for one run.
///
/// How to add a promise of your own, in a project that uses hooke:
///
///   #include <properties/invariants/judge.h>
///   #include <model/observe/trace_events.h>
///
///   class TwoRoundsAtMost final : public hooke::properties::Judge {
///    public:
///     TwoRoundsAtMost() : Judge("safety.two_rounds_at_most", "Our jobs never need a third round.")
///     {} std::span<const hooke::sim::EventType* const> interests() const override { return kSeen;
///     }
///    private:
///     void judge(const hooke::sim::Event& event) override {
///       if (++rounds_ == 3) broken(event, "node " + view().name(event.node) + " completed a third
///       round");
///     }
///     static constexpr const hooke::sim::EventType* kSeen[] =
///     {&hooke::model::events::rendezvous_completed}; int rounds_ = 0;
///   };
///
///   auto registry = hooke::properties::InvariantRegistry::with_builtins();
///   registry.add([] { return std::make_unique<TwoRoundsAtMost>(); });
///
/// then hand the registry to hooke::scenario::run, or judge any stream of events with an
/// InvariantSet. A class derived from Invariant itself works as well; Judge keeps violations, times
/// and the shared JobView. Rules: look at the trace only; do O(1) or O(log n) work per event, for
/// runs have 10^5 agents; build text only for a violation; iterate only over ordered containers;
/// liveness is judged in finish(), and is no violation when the run was cut before the bound was
/// over.
class InvariantRegistry {
 public:
  using Factory = std::function<std::unique_ptr<Invariant>()>;
  /// Appends; two with the same id: std::invalid_argument.
  void add(Factory factory);
  /// Fresh invariants in order of addition, bound to one fresh JobView.
  [[nodiscard]] std::vector<std::unique_ptr<Invariant>> make_all() const;
  /// Ids of all registered invariants, in order.
  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }
  /// Every promise that the trace of this model can judge.
  static InvariantRegistry with_builtins();

 private:
  std::vector<Factory> factories_;
  std::vector<std::string> ids_;
};

/// True if `id` is matched by a pattern such as "safety.*", "*" or an exact id.
bool matches(std::string_view pattern, std::string_view id);

}  // namespace hooke::properties
