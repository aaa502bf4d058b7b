// Which violation of a run a person reads first.
#include "reports/findings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hooke::report {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

/// The invariants of a run with these violations, in the order of its findings.
std::vector<std::string> order_of(std::vector<properties::Violation> violations) {
  scenario::RunReport run;
  run.violations = std::move(violations);
  std::vector<std::string> names;
  for (const Finding& finding : findings_of(run)) names.push_back(finding.invariant);
  return names;
}

TEST(Findings, of_one_instant_begin_with_what_happened_first) {
  const sim::WorldTime at{136s};
  EXPECT_THAT(order_of({{"safety.exit_code_truth", "never came", at, sim::kNoEvent},
                        {"safety.eviction", "gives itself up", at, sim::EventId{240}},
                        {"safety.close_authority", "closes", at, sim::EventId{239}}}),
              ElementsAre("safety.close_authority", "safety.eviction", "safety.exit_code_truth"));
}

TEST(Findings, have_safety_before_liveness_and_then_time_decides) {
  EXPECT_THAT(order_of({{"liveness.exit", "stays", sim::WorldTime{1s}, sim::EventId{1}},
                        {"safety.bounds", "too few", sim::WorldTime{9s}, sim::EventId{90}},
                        {"safety.one_world", "two", sim::WorldTime{8s}, sim::EventId{95}}}),
              ElementsAre("safety.one_world", "safety.bounds", "liveness.exit"));
}

}  // namespace
}  // namespace hooke::report
