#include "scenarios/hunt/failure.h"

#include <gtest/gtest.h>

namespace hooke::hunt {
namespace {

properties::Violation violation(const char* invariant, const char* witness) {
  return {invariant, witness, {}, {}, {}};
}

TEST(Failure, SameKindOnOtherNodesAtOtherTimes) {
  const FailureKind one = kind_of(violation(
      "safety.bootstrap", "worker pid 100 on node a of round 1 is sent to b.cluster:29500"));
  const FailureKind other = kind_of(
      violation("safety.bootstrap", "worker pid 7 on node node-17 of round 22 is sent to a:1024"));
  EXPECT_EQ(one, other);
  EXPECT_EQ(one.cause, "worker pid # on node # of round # is sent to #:#");
}

TEST(Failure, SaysOfQuotedTextsOnlyThatTheyAreThere) {
  EXPECT_EQ(kind_of(violation("safety.x", "a member of round -1 - or not")).cause,
            "a member of round # - or not");
  EXPECT_EQ(kind_of(violation("safety.x", R"(job "seven" at 72.189 s, "a lone quote)")).cause,
            "job \"…\" at # s, \"a lone quote");
}

TEST(Failure, KeepsWhatWasWrong) {
  EXPECT_NE(kind_of(violation("safety.x", "node a closed it because of an error of its own")),
            kind_of(violation("safety.x", "node a closed it after it had left the exit barrier")));
  EXPECT_NE(kind_of(violation("safety.x", "node a")), kind_of(violation("safety.y", "node a")));
}

TEST(Failure, IsAnotherWhereNoAgentCouldHaveKeptTheInvariant) {
  properties::Violation limited = violation("safety.x", "node a");
  limited.limit = "the store was killed";
  EXPECT_EQ(kind_of(limited).limit, "the store was killed");
  EXPECT_NE(kind_of(limited), kind_of(violation("safety.x", "node a")));
}

TEST(Failure, ARunHasEachKindOnce) {
  scenario::RunReport report;
  report.violations = {violation("safety.y", "node b"), violation("safety.x", "node a"),
                       violation("safety.y", "node c")};
  report.harness_failure = "two runs of seed 5 differ";
  EXPECT_EQ(kinds_of(report), (std::vector<FailureKind>{{"harness", "two runs of seed # differ"},
                                                        {"safety.x", "node #"},
                                                        {"safety.y", "node #"}}));
}

}  // namespace
}  // namespace hooke::hunt
