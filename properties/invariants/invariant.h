#pragma once
// An invariant judged on the trace alone, so that simulated and real runs are judged by the same
// code. An invariant sees every event once, in order, and says at which event it broke and by what.

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "properties/invariants/account.h"
#include "properties/invariants/fault_effects.h"
#include "sim/port/trace.h"

namespace hooke::properties {

/// One violation of an invariant.
struct Violation {
  std::string invariant;  ///< "safety.one_world"
  std::string witness;  ///< what a person must know to believe it: which agent, when, which values
  sim::WorldTime at{};
  sim::EventId event{};  ///< the event that broke it; kNoEvent when it broke by never happening
  /// The resource that every agent lacked, however good, and the fault that took it: "the store
  /// (service_stop)". Empty: none.
  std::string limit{};
};

/// Facts about the run that are not events: how it ended.
struct RunFacts {
  sim::WorldTime end{};   ///< as of when it is judged: not before its last event
  bool finished = false;  ///< every agent is over; false: the run was cut at a limit
  /// The instant of the last injected or healed fault. The built-in invariants take faults from the
  /// trace instead: each puts off only the obligations that it hinders (ledger.h).
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
  /// The event types it looks at; the router of events (InvariantSet) shows it no others. Empty:
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
  /// The resources that an agent needs in order to keep it: a fault that takes one of them excuses.
  [[nodiscard]] virtual Needs needs() const { return 0; }
  /// What it has judged so far.
  [[nodiscard]] virtual const Account& account() const {
    static const Account kNone;
    return kNone;
  }
};

// clang-format off
/// Makes fresh invariants for one run.
///
/// An invariant of your own, in a project that uses hooke:
///
///   #include <properties/invariants/judge.h>
///
///   class TwoRoundsAtMost final : public hooke::properties::Judge {
///    public:
///     TwoRoundsAtMost()
///         : Judge("safety.two_rounds_at_most", "Our jobs never need a third round.",
///                 {&hooke::model::events::rendezvous_completed}) {}
///    private:
///     void judge(const hooke::sim::Event& event) override {
///       if (++rounds_ < 3) return kept();
///       broken(event, "node " + view().name(event.node) + " completed a third round");
///     }
///     int rounds_ = 0;
///   };
///
///   auto registry = hooke::properties::InvariantRegistry::with_builtins();
///   registry.add<TwoRoundsAtMost>();
///
/// Then hand the registry to hooke::scenario::run, or judge any stream of events with an
/// InvariantSet. Rules: look at the trace only. Do O(1) or O(log n) work per event, for runs have
/// 10^5 agents. Iterate only over ordered containers. What must happen in time is an Obligation
/// (judge.h): say which agent owes it, what that agent needs for it, and the bound that follows
/// from the settings. Make no exception for a fault: it is in the ledger (ledger.h), or the ledger
/// lacks a resource.
// clang-format on
class InvariantRegistry {
 public:
  using Factory = std::function<std::unique_ptr<Invariant>()>;
  /// Appends; two with the same id: std::invalid_argument.
  void add(Factory factory);
  /// Likewise, of classes.
  template <class... Kinds>
  void add() {
    (add([] { return std::make_unique<Kinds>(); }), ...);
  }
  /// Fresh invariants in order of addition, bound to one fresh JobView.
  [[nodiscard]] std::vector<std::unique_ptr<Invariant>> make_all() const;
  /// Ids of all registered invariants, in order.
  [[nodiscard]] const std::vector<std::string>& ids() const { return ids_; }
  /// Every invariant that the trace of this model can judge.
  static InvariantRegistry with_builtins();

 private:
  std::vector<Factory> factories_;
  std::vector<std::string> ids_;
};

/// True if `id` is matched by a pattern such as "safety.*", "*" or an exact id.
bool matches(std::string_view pattern, std::string_view id);

}  // namespace hooke::properties
