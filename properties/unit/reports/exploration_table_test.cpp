#include "reports/exploration_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <sstream>

#include "reports/exploration_summary.h"

namespace hooke::report {
namespace {

using hunt::FailureKind;
using testing::HasSubstr;
using testing::Not;

const FailureKind kOne{"safety.bounds", "too many"};
const FailureKind kOther{"liveness.exit", "too late"};

/// 100 worlds in 50 s: 10 met `bounds` and its double, none met `both`.
hunt::Exploration some() {
  hunt::Exploration out;
  const hunt::KnownIssues known_issues{
      {"bounds", {kOne}}, {"both", {kOther, kOne}}, {"double", {kOne}}};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    hunt::WorldResult world;
    world.seed = seed;
    if (seed % 10 == 3) world.kinds = {kOne};
    out.add(world, known_issues);
  }
  out.wall = std::chrono::seconds(50);
  return out;
}

TEST(MedianWorlds, IsTheFirstNumberByWhichHalfOfAllHuntsHaveFound) {
  EXPECT_EQ(median_worlds(7, 7), 1U);
  EXPECT_EQ(median_worlds(1, 2), 1U);
  EXPECT_EQ(median_worlds(1, 10), 7U);
  EXPECT_EQ(median_worlds(1, 1'000'000), 693'147U);
  for (const std::uint64_t met : {1U, 3U, 17U, 40U, 99U}) {
    const double rate = static_cast<double>(met) / 100;
    const auto median = static_cast<double>(median_worlds(met, 100));
    EXPECT_GE(1 - std::pow(1 - rate, median), 0.5 - 1e-12) << met;
    EXPECT_LT(1 - std::pow(1 - rate, median - 1), 0.5) << met;
  }
}

TEST(KnownIssuesCsv, TellsHowLongAHuntTakesAndWhoCannotBeToldApart) {
  EXPECT_EQ(known_issues_csv(some()),
            "known_issue,met,worlds,median_worlds,median_seconds,fails_like\n"
            "both,0,100,,,\n"
            "bounds,10,100,7,3.5,both double\n"
            "double,10,100,7,3.5,both bounds\n");
}

TEST(ExplorationTable, HasTheDigestOfWhatWasPlayed) {
  EXPECT_THAT(exploration_table(some(), Style{}),
              HasSubstr("\ndigest " + some().digest.hex() + "\n"));
}

TEST(ExplorationTable, ListsApartWhatNobodyCouldKeep) {
  hunt::Exploration exploration;
  hunt::WorldResult world;
  world.kinds = {{"safety.x", "the store went", "the store was killed"}};
  exploration.add(world, {});
  const std::string table = exploration_table(exploration, Style{});
  EXPECT_THAT(table,
              HasSubstr("every invariant that an agent could keep was kept in every world\n"));
  EXPECT_THAT(table, HasSubstr("unavoidable violation\n"));
  EXPECT_THAT(table, HasSubstr("safety.x: the store was killed\n"));
}

TEST(ExplorationTable, SaysThatWorldsWereStopped) {
  hunt::Exploration exploration;
  hunt::WorldResult world;
  exploration.add(world, {});
  EXPECT_THAT(exploration_table(exploration, Style{}), Not(HasSubstr("stopped")));
  world.cut = true;
  exploration.add(world, {});
  EXPECT_THAT(exploration_table(exploration, Style{}),
              HasSubstr("\n1 world stopped by a limit of the harness, judged up to there\n"));
}

TEST(ExplorationTable, SaysThatItWasInterrupted) {
  hunt::Exploration exploration;
  exploration.add(hunt::WorldResult(), {});
  EXPECT_THAT(exploration_summary(exploration, Style{}, ""), Not(HasSubstr("interrupted")));
  exploration.not_begun = 1'813;
  EXPECT_THAT(
      exploration_summary(exploration, Style{}, ""),
      HasSubstr("\ninterrupted, or stopped by its limit of time: 1,813 of what was asked for "
                "were not played\n"));
}

TEST(ExplorationTable, HasTheMediansAndSaysWhatWasNotMet) {
  const std::string table = exploration_table(some(), Style{});
  EXPECT_THAT(table, HasSubstr("of 3 looked for, 2 met"));
  EXPECT_THAT(table,
              HasSubstr("     10           3             7         3.5 s  bounds, or 2 like it"));
  EXPECT_THAT(table, HasSubstr("      -           -             -             -  both\n"));
}

/// Two ways of a safety invariant, and one of a liveness invariant that more worlds violated.
hunt::Exploration of_three_ways() {
  hunt::Exploration out;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    hunt::WorldResult world;
    world.seed = seed;
    world.kinds = {kOther};
    if (seed == 4 || seed == 5) world.kinds.push_back({"safety.bounds", "too few"});
    if (seed == 7) world.kinds.push_back(kOne);
    if (seed == 8) world.kinds.push_back({"safety.x", "gone", "the store was killed"});
    std::sort(world.kinds.begin(), world.kinds.end());
    out.add(world, {{"bounds", {kOne}}, {"other", {{"safety.y", "y"}}}});
  }
  return out;
}

TEST(ExplorationSummary, HasOneLineForEachInvariantTheMostSevereFirst) {
  const std::string text = exploration_summary(of_three_ways(), Style{}, "next: this\n");
  EXPECT_THAT(text, HasSubstr("10 worlds violated an invariant, in 3 ways\n"));
  EXPECT_THAT(text,
              HasSubstr("\n"
                        "      2     2          4     3  safety.bounds                too few\n"
                        "     10     1          0     -  liveness.exit                too late\n"));
  EXPECT_THAT(text, HasSubstr("unavoidable: 1 way in which no agent could have kept an invariant, "
                              "most for the store was killed\n"));
  EXPECT_THAT(text, HasSubstr("known issues: 1 of 2 met: bounds (1)\n"));
  EXPECT_THAT(text, testing::EndsWith("next: this\n"));
  EXPECT_THAT(text, Not(HasSubstr("too many"))) << "it is in the table";
}

TEST(ExplorationSummary, FitsOnAScreenHoweverManyWaysThereAre) {
  hunt::Exploration out;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    hunt::WorldResult world;
    world.seed = seed;
    world.kinds = {{"safety." + std::to_string(seed % 20), std::string(seed, 'x')}};
    out.add(world, {});
  }
  const std::string text = exploration_summary(out, Style{}, "");
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 40);
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), Style{}.width) << line;
}

}  // namespace
}  // namespace hooke::report
