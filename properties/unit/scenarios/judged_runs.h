#pragma once
// Runs judged by invariants that break when a test wants them to.

#include <gtest/gtest.h>

#include "model/observe/trace_events.h"
#include "properties/unit/scenarios/test_scenario.h"
#include "scenarios/simulated/runner.h"

namespace hooke::scenario {

/// Breaks its invariant at each event of one kind.
class Breaks final : public properties::Invariant {
 public:
  Breaks(std::string id, std::string event) : id_(std::move(id)), event_(std::move(event)) {}
  [[nodiscard]] std::string_view id() const override { return id_; }
  [[nodiscard]] std::string_view meaning() const override { return "It never happens."; }
  void on_event(const sim::Event& event) override {
    if (event.type->name == event_ && broken_.empty())
      broken_.push_back({id_, event_ + " happened", event.at, event.id});
  }
  void finish(const properties::RunFacts& facts) override { facts_seen = facts; }
  [[nodiscard]] const std::vector<properties::Violation>& violations() const override {
    return broken_;
  }
  static inline properties::RunFacts facts_seen{};

 private:
  std::string id_;
  std::string event_;
  std::vector<properties::Violation> broken_;
};

inline RunReport run_judged(const Scenario& scenario) {
  properties::InvariantRegistry registry;
  registry.add([] { return std::make_unique<Breaks>("safety.x", "worker.started"); });
  registry.add([] { return std::make_unique<Breaks>("liveness.y", "agent.finished"); });
  registry.add([] { return std::make_unique<Breaks>("safety.z", "node.crashed"); });
  kernel::Kernel kernel;
  return run(kernel, scenario, {}, registry);
}

inline std::vector<std::string> unmet_names(const RunReport& report) {
  std::vector<std::string> names;
  for (const Unmet& each : report.unmet) names.push_back(each.expectation);
  return names;
}

}  // namespace hooke::scenario
