#pragma once
// Judges a stream of events by many invariants at once. Most events concern only a few of them, and
// runs have 10^8 events: each type of event is looked up once and shown only to those that declared
// an interest.

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "properties/invariants/invariant.h"
#include "properties/invariants/job_view.h"
#include "sim/kernel/trace_recorder.h"

namespace hooke::properties {

/// All invariants of one run, as a sink of its trace.
class InvariantSet final : public kernel::TraceSink {
 public:
  explicit InvariantSet(const InvariantRegistry& registry);

  /// What the node is called, before the first event that is about it or names it.
  void call(sim::NodeId node, std::string_view name);
  /// What its agents are started with, likewise.
  void give(sim::NodeId node, std::shared_ptr<const Given> given);
  void on_event(const sim::Event& event) override;
  /// The latest of what the invariants still owe (Invariant::owed_until).
  [[nodiscard]] sim::WorldTime owed_until() const;
  /// After the last event: every violation, invariant by invariant in order of registration. Once
  /// per set.
  [[nodiscard]] std::vector<Violation> finish(const RunFacts& facts);

  /// What each invariant has judged, by id. After finish(): with what was owed at the end.
  [[nodiscard]] std::map<std::string, Account> accounts() const;

  [[nodiscard]] const JobView& view() const { return *view_; }

 private:
  struct Route {
    const sim::EventType* type = nullptr;
    bool in_view = false;
    std::vector<Invariant*> invariants;
  };
  [[nodiscard]] const Route* find(const sim::EventType* type) const;
  Route& route_to(const sim::EventType* type);

  std::shared_ptr<JobView> view_;
  std::vector<std::unique_ptr<Invariant>> all_;
  std::vector<Invariant*> curious_;  ///< want every event
  std::vector<Route> routes_;        ///< sorted by address, for look-up alone
};

}  // namespace hooke::properties
