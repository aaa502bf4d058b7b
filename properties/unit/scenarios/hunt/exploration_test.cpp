#include "scenarios/hunt/exploration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/observe/coverage_points.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/swarm/swarm.h"

namespace hooke::hunt {
namespace {

using scenario::ScenarioError;
using testing::ElementsAre;
using testing::HasSubstr;

const FailureKind kOne{"safety.bounds", "too many"};
const FailureKind kOther{"liveness.exit", "too late"};

WorldResult world(std::uint64_t seed, std::vector<FailureKind> kinds) {
  WorldResult out;
  out.seed = seed;
  out.kinds = std::move(kinds);
  out.coverage = {"cas_lost"};
  out.faults = {{"net.delay", true}, {"node.crash", false}};
  out.events = 10;
  out.wall = std::chrono::milliseconds(3);
  out.hash = "hash " + std::to_string(seed);
  return out;
}

Exploration some() {
  Exploration out;
  out.shards = {{0, 10, 0, 2}};
  out.wall = std::chrono::seconds(2);
  const KnownIssues known_issues{
      {"too many", {kOne}}, {"both", {kOther, kOne}}, {"never", {{"x", "y"}}}};
  out.add(world(4, {kOne}), known_issues);
  out.add(world(2, {kOther, kOne}), known_issues);
  out.add(world(6, {}), known_issues);
  return out;
}

TEST(Exploration, CountsAsBrokenOnlyWhatSomebodyCouldHaveKept) {
  const FailureKind limit{"safety.x", "the store went", "the store was killed"};
  Exploration out;
  out.add(world(1, {limit}), {});
  EXPECT_EQ(out.broken, 0U);
  EXPECT_EQ(out.ways(), 0U);
  out.add(world(2, {limit, kOne}), {});
  EXPECT_EQ(out.broken, 1U);
  EXPECT_EQ(out.ways(), 1U);
  const Exploration again = load_exploration(write_exploration(out), "test");
  EXPECT_EQ(again.findings.at(limit).worlds, 2U);
  EXPECT_EQ(again.ways(), 1U);
  EXPECT_TRUE(out.findings_beyond(Exploration{}).contains(kOne));
  EXPECT_FALSE(out.findings_beyond(Exploration{}).contains(limit));
}

TEST(Exploration, CountsWorldsByWhatTheyShow) {
  const Exploration seen = some();
  EXPECT_EQ(seen.worlds, 3U);
  EXPECT_EQ(seen.broken, 2U);
  EXPECT_EQ(seen.events, 30U);
  EXPECT_EQ(seen.findings.at(kOne).worlds, 2U);
  EXPECT_EQ(seen.findings.at(kOne).first_seed, 2U);
  EXPECT_EQ(seen.findings.at(kOther).first_seed, 2U);
  EXPECT_EQ(seen.coverage.at("cas_lost"), 3U);
  EXPECT_EQ(seen.faults.at("net.delay").felt, 3U);
  EXPECT_EQ(seen.faults.at("node.crash").felt, 0U);
  EXPECT_EQ(seen.faults.at("node.crash").happened, 3U);
  EXPECT_EQ(seen.known_issues.at("too many").met.worlds, 2U);
  EXPECT_EQ(seen.known_issues.at("both").met.first_seed, 2U);
  EXPECT_EQ(seen.known_issues.at("never").met.worlds, 0U);
  EXPECT_EQ(seen.coverage_never_reached().size(), model::coverage::kAll.size() - 1);
}

TEST(Exploration, WhatIsWrittenIsReadBack) {
  Exploration seen = some();
  seen.findings[kOne].reproducer = "bounds-1.json";
  const std::string text = write_exploration(seen);
  EXPECT_EQ(write_exploration(load_exploration(text, "x")), text);
  WorldResult one = world(9, {kOne, kOther});
  one.determinism_failures = one.cut = true;
  const std::string line = write_world(one);
  EXPECT_EQ(write_world(load_world(line, "x")), line);
}

TEST(Exploration, PartsOfOneSpaceMakeAWholeInAnyOrder) {
  const Exploration first = some();
  Exploration second;
  second.shards = {{0, 10, 1, 2}};
  second.add(world(1, {kOther}), {{"both", {kOther, kOne}}});
  Exploration forward = first;
  forward.merge(second, "second.json");
  Exploration backward = second;
  backward.merge(first, "first.json");
  std::sort(backward.shards.begin(), backward.shards.end());
  EXPECT_EQ(write_exploration(forward), write_exploration(backward));
  EXPECT_EQ(forward.worlds, 4U);
  EXPECT_EQ(forward.findings.at(kOther).first_seed, 1U);
  EXPECT_EQ(forward.known_issues.at("both").met.worlds, 1U);
}

TEST(Exploration, WhatDoesNotBelongTogetherIsNotMerged) {
  Exploration whole = some();
  EXPECT_THROW(whole.merge(some(), "again.json"), ScenarioError);
  Exploration elsewhere;
  elsewhere.space = "{}";
  EXPECT_THROW(whole.merge(elsewhere, "other.json"), ScenarioError);
  Exploration of_other_known_issues;
  of_other_known_issues.add(world(9, {kOther}), {{"both", {kOther}}});
  EXPECT_THROW(whole.merge(of_other_known_issues, "known issues.json"), ScenarioError);
}

TEST(Exploration, PartsThatShareASeedAreNotMergedHoweverTheyWereDealt) {
  const auto shared_by_counting = [](const Shard& one, const Shard& other) {
    std::optional<std::uint64_t> found;
    for (std::uint64_t seed = 0; seed < 40 && !found; ++seed) {
      const auto has = [&](const Shard& shard) {
        return seed >= shard.first + shard.index && seed < shard.first + shard.count &&
               (seed - shard.first - shard.index) % shard.of == 0;
      };
      if (has(one) && has(other)) found = seed;
    }
    return found;
  };
  std::vector<Shard> shards;
  for (std::uint64_t first : {0U, 3U, 11U}) {
    for (std::uint64_t count : {0U, 1U, 9U, 25U}) {
      for (std::uint64_t of : {1U, 2U, 3U, 4U, 7U}) {
        for (std::uint64_t index = 0; index < of; ++index) {
          shards.push_back({first, count, index, of});
        }
      }
    }
  }
  for (const Shard& one : shards) {
    for (const Shard& other : shards) {
      ASSERT_EQ(shared_seed(one, other), shared_by_counting(one, other))
          << one.first << "+" << one.count << " " << one.index << "/" << one.of << " and "
          << other.first << "+" << other.count << " " << other.index << "/" << other.of;
    }
  }
  Exploration whole;
  whole.shards = {{0, 1'000, 0, 1}};
  Exploration last;
  last.shards = {{999, 1, 0, 1}};
  EXPECT_THROW(whole.merge(last, "last.json"), ScenarioError);
}

TEST(Exploration, BadFilesAreRefusedWithThePlace) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      load_exploration(text, "r.json");
    } catch (const ScenarioError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("[]"), HasSubstr("r.json: (top): expected an object"));
  EXPECT_THAT(refusal(R"({"version": 1})"), HasSubstr("expected the key \"space\""));
  std::string text = write_exploration(some());
  text.replace(text.find("\"of\": 2"), 7, "\"of\": 0");
  EXPECT_THAT(refusal(text), HasSubstr("/shards/0/index"));
  text = write_exploration(some());
  text.replace(text.find("\"of\": 2"), 7, "\"of\": 9000000");
  EXPECT_THAT(refusal(text), HasSubstr("/shards/0/of: expected at most 1000000"));
  text = write_exploration(some());
  text.replace(text.find("\"count\": 10"), 11, "\"count\": 18446744073709551615");
  EXPECT_EQ(refusal(text), "accepted");  // all of them
  text.replace(text.find("\"first\": 0"), 10, "\"first\": 1");
  EXPECT_THAT(refusal(text), HasSubstr("/shards/0/count: expected seeds of at most 64 bits"));
  text = write_exploration(some());
  text.replace(text.find("\"digest\": \"") + 11, 1, "x");
  EXPECT_THAT(refusal(text), HasSubstr("/digest: expected 32 hexadecimal digits"));
  text = write_exploration(some());
  text.replace(text.find("\"worlds\": 3"), 11, "\"worlds\": 1");
  EXPECT_THAT(refusal(text), HasSubstr("/findings/1/worlds: expected at most all worlds, 1"));
}

TEST(Exploration, AWorldThatIsPlayedShowsTheSameEachTime) {
  kernel::Kernel kernel;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    WorldResult once = play(kernel, draw(Swarm(), seed), seed, invariants);
    WorldResult again = play(kernel, draw(Swarm(), seed), seed, invariants);
    EXPECT_FALSE(once.determinism_failures);
    once.wall = again.wall = {};
    EXPECT_EQ(write_world(once), write_world(again));
  }
}

TEST(KnownIssue, IsMetByAWorldThatFailsInAllItsWaysAndMore) {
  const KnownIssue known_issue{"both", {kOther, kOne}};
  EXPECT_TRUE(known_issue.is_met_by({kOther, kOne}));
  EXPECT_TRUE(known_issue.is_met_by({kOther, {"m", "n"}, kOne}));
  EXPECT_FALSE(known_issue.is_met_by({kOne}));
  EXPECT_FALSE((KnownIssue{"nothing", {}}.is_met_by({kOne})));
}

}  // namespace
}  // namespace hooke::hunt
