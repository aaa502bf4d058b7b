// Clocks of several machines, set beside each other by the rounds that their agents share.
#include "scenarios/recorded/clock_alignment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

sim::WorldTime at(sim::Duration since) {
  return sim::WorldTime(since);
}

/// Agent 0 completes the round at 10 s of its clock; both wanted it before and have it after.
std::vector<RoundTimes> round_of_two(sim::Duration wanted, sim::Duration joined) {
  return {{0, "job", 1, at(5s), at(11s), at(10s)}, {1, "job", 1, at(wanted), at(joined), at(0s)}};
}

TEST(ClockAlignment, leaves_clocks_alone_that_nothing_contradicts) {
  EXPECT_THAT(align_clocks(2, round_of_two(1s, 10s)).behind, ElementsAre(0s, 0s));
  EXPECT_THAT(align_clocks(2, round_of_two(10s, 200s)).behind, ElementsAre(0s, 0s));
}

TEST(ClockAlignment, a_clock_is_behind_where_a_round_was_joined_before_it_was_completed) {
  const ClockAlignment clocks = align_clocks(2, round_of_two(1s, 7s));
  EXPECT_TRUE(clocks.consistent);
  EXPECT_THAT(clocks.behind, ElementsAre(0s, 3s));
}

TEST(ClockAlignment, the_completers_is_behind_where_a_member_wanted_to_join_afterwards) {
  EXPECT_THAT(align_clocks(2, round_of_two(14s, 30s)).behind, ElementsAre(4s, 0s));
}

TEST(ClockAlignment, corrections_carry_on_from_round_to_round) {
  std::vector<RoundTimes> rounds = round_of_two(1s, 7s);  // 1 is 3 s behind
  rounds.push_back({1, "job", 2, at(20s), at(26s), at(25s)});
  rounds.push_back({2, "job", 2, at(20s), at(24s), at(0s)});  // 2 is 1 s behind 1
  EXPECT_THAT(align_clocks(3, rounds).behind, ElementsAre(0s, 3s, 4s));
}

TEST(ClockAlignment, says_so_when_no_constant_difference_explains_the_times) {
  std::vector<RoundTimes> rounds = round_of_two(1s, 7s);  // 1 is behind 0 by at least 3 s …
  rounds.push_back({0, "job", 2, at(20s), at(22s), at(21s)});
  rounds.push_back({1, "job", 2, at(22s), at(30s), at(0s)});  // … and ahead of it by at least 1 s
  const ClockAlignment clocks = align_clocks(2, rounds);
  EXPECT_FALSE(clocks.consistent);
  EXPECT_THAT(clocks.behind, ElementsAre(0s, 0s));
}

TEST(ClockAlignment, a_round_that_two_completed_or_none_says_nothing) {
  std::vector<RoundTimes> rounds = round_of_two(1s, 7s);
  rounds[1].completed = at(6s);
  EXPECT_THAT(align_clocks(2, rounds).behind, ElementsAre(0s, 0s));
  rounds[0].completed = rounds[1].completed = at(0s);
  EXPECT_THAT(align_clocks(2, rounds).behind, ElementsAre(0s, 0s));
}

}  // namespace
}  // namespace hooke::scenario
