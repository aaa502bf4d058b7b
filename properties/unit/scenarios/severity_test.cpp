// Which violation of a run a person reads first.
#include "scenarios/outcome/severity.h"

#include <gtest/gtest.h>

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;

RunReport run_with(std::vector<properties::Violation> violations) {
  RunReport run;
  run.violations = std::move(violations);
  return run;
}

TEST(Severity, of_one_instant_what_happened_first_comes_first) {
  const sim::WorldTime at{136s};
  const RunReport run = run_with({{"safety.eviction", "gives itself up", at, sim::EventId{240}},
                                  {"safety.close_authority", "closes", at, sim::EventId{239}},
                                  {"safety.exit_code_truth", "never came", at, sim::kNoEvent}});
  EXPECT_LT(severity_of(run, 1), severity_of(run, 0));
  EXPECT_LT(severity_of(run, 0), severity_of(run, 2));
}

TEST(Severity, safety_comes_before_liveness_and_then_time_decides) {
  const RunReport run =
      run_with({{"liveness.exit", "stays", sim::WorldTime{1s}, sim::EventId{1}},
                {"safety.bounds", "too few", sim::WorldTime{9s}, sim::EventId{90}},
                {"safety.bounds", "too few", sim::WorldTime{8s}, sim::EventId{95}}});
  EXPECT_LT(severity_of(run, 1), severity_of(run, 0));
  EXPECT_LT(severity_of(run, 2), severity_of(run, 1));
}

}  // namespace
}  // namespace hooke::scenario
