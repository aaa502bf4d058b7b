#pragma once
// Makes a failing scenario small: what a random search has found has a dozen faults that do not
// matter, six nodes where two are enough, and times such as 3.217 s. What is left here is needed:
// without any of its lines the failure does not happen, or another one does.
//
// Every candidate is a scenario that the loader takes, is simpler than the best one so far, and is
// run; it becomes the best one when it fails alike. Candidates are asked for in a fixed order and
// nothing is drawn, so the same start and the same budget give the same result.

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "scenarios/format/scenario.h"
#include "scenarios/hunt/failure.h"
#include "scenarios/simulated/runner.h"

namespace hooke::hunt {

/// Runs a scenario as told: scenario::run with the caller's kernel and invariants.
using RunScenario =
    std::function<scenario::RunReport(const scenario::Scenario&, const scenario::RunOptions&)>;

/// One candidate that was taken.
struct ShrinkStep {
  std::string what;      ///< "without net.delay, net.loss (timeline)"
  std::size_t runs = 0;  ///< so many it had taken until then
};

struct ShrinkOptions {
  FailureKind target;      ///< what must go on happening
  bool any_cause = false;  ///< the same invariant is enough, whatever broke it
  /// What the start's run has shown, if the caller has run it already: saves a run.
  std::optional<scenario::RunReport> start;
  std::size_t runs_max = 4'000;
  /// Asked before each run: true ends the search with what there is. A caller that looks at a clock
  /// here gives up that two searches end alike.
  std::function<bool()> enough;
  std::function<void(const ShrinkStep&)> on_step;
  model::Plugins plugins;
};

struct Shrunk {
  /// Expects the invariants that it breaks, the target's first, and says in its description how.
  scenario::Scenario scenario;
  std::string witness;   ///< of the failure in its run
  bool minimal = false;  ///< the search came to its end: nothing simpler is left to try
  std::size_t runs = 0;
  std::vector<ShrinkStep> steps;
};

/// The failure that a run is about: the most severe (scenario::severity_of) of the invariant
/// `invariant`, or of all when that is empty. nullopt when there is none.
std::optional<FailureKind> target_of(const scenario::RunReport& report,
                                     const std::string& invariant);

/// The smallest scenario found that fails as the target says; nullopt when `start` does not.
std::optional<Shrunk> shrink(const scenario::Scenario& start, const ShrinkOptions& options,
                             const RunScenario& run);

}  // namespace hooke::hunt
