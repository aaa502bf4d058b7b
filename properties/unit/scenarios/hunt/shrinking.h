#pragma once
// Scenarios that fail, made small, and the proof that they still do.

#include <gtest/gtest.h>

#include "properties/unit/scenarios/test_files.h"
#include "properties/unit/scenarios/test_scenario.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"
#include "scenarios/hunt/shrinker.h"

namespace hooke::hunt {

using namespace std::chrono_literals;
using scenario::Scenario;

/// Runs judged by every built-in invariant; counts them.
class Laboratory {
 public:
  scenario::RunReport run(const Scenario& scenario, const scenario::RunOptions& options = {}) {
    ++runs;
    return scenario::run(kernel_, scenario, options, invariants_);
  }
  RunScenario runner() {
    return [this](const Scenario& scenario, const scenario::RunOptions& options) {
      return run(scenario, options);
    };
  }
  std::size_t runs = 0;

 private:
  kernel::Kernel kernel_;
  properties::InvariantRegistry invariants_ = properties::InvariantRegistry::with_builtins();
};

inline Scenario known_issues(const std::string& name) {
  return scenario::load_scenario_file(
      (scenario::source_directory() / "scenarios/library/known_issues" / (name + ".json"))
          .string());
}

inline scenario::TimelineEntry fault(sim::Duration at, const std::string& what,
                                     const std::string& node) {
  scenario::TimelineEntry entry = scenario::at(at, what);
  if (!node.empty()) entry.from = {node};
  return entry;
}

/// What a random search would have around a failure: idle machines, harmless faults, settings.
inline Scenario with_noise(Scenario scenario) {
  scenario.seed = 982451653;
  scenario.references.clear();
  scenario.expect = {};
  for (const char* id : {"x", "y", "z"}) {
    scenario::NodePlan node;
    node.id = id;
    node.start.reset();
    scenario.cluster.nodes.push_back(node);
  }
  scenario.cluster.service_time = 37us;
  scenario.cluster.bandwidth_bits_per_s = 3'000'000'000;
  scenario.protocol.rendezvous.close = 17s;
  scenario.protocol.agent.environment["NCCL_DEBUG"] = "INFO";
  scenario.workers.overrides["x"] = {scenario::exit_with(0)};
  const std::string node = scenario.cluster.nodes.front().id;
  std::vector<scenario::TimelineEntry> noise{
      fault(1234ms, "clock.drift", "y"),   fault(2345ms, "net.delay", node),
      fault(13579ms, "disk.full", "x"),    fault(3217ms, "dns.alias", "y"),
      fault(4711ms, "worker.exit", "z"),   fault(8765ms, "clock.skew", "z"),
      fault(12321ms, "agent.signal", "x"),
  };
  noise[0].amount = 7;
  noise[1].duration = 731ms;
  noise[1].span = 3ms;
  noise[2].duration = 9137ms;
  noise[3].text = "elsewhere";
  noise[5].span = 129ms;
  scenario.timeline.insert(scenario.timeline.begin(), noise.begin(), noise.end());
  return scenario;
}

inline Shrunk shrunk(Laboratory& laboratory, const Scenario& start, ShrinkOptions options = {}) {
  scenario::RunOptions first;
  first.determinism_check = false;
  const auto target = target_of(laboratory.run(start, first), options.target.invariant);
  if (!target) throw std::runtime_error(start.name + " does not fail");
  options.target = *target;
  auto result = shrink(start, options, laboratory.runner());
  if (!result) throw std::runtime_error(start.name + " does not fail again");
  return std::move(*result);
}

/// The written file passes as it is, and still fails in the way it was shrunk for.
inline void expect_proof(Laboratory& laboratory, const Shrunk& shrunk,
                         const std::string& invariant) {
  const std::string text = scenario::write_scenario(shrunk.scenario);
  const scenario::RunOptions options;
  const scenario::RunReport report =
      laboratory.run(scenario::load_scenario(text, "shrunk"), options);
  EXPECT_TRUE(report.passed) << text << scenario::unmet(report);
  EXPECT_EQ(shrunk.scenario.expect.violates.front(), invariant);
  EXPECT_NE(shrunk.scenario.description.find(invariant), std::string::npos);
}

}  // namespace hooke::hunt
