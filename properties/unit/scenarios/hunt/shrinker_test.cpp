// Shrinking as a whole: what is left, at what cost, and that it still fails.
#include "scenarios/hunt/shrinker.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "properties/unit/scenarios/hunt/shrinking.h"
#include "properties/unit/scenarios/test_files.h"
#include "properties/unit/scenarios/test_scenario.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"
#include "scenarios/hunt/shrink_search.h"

namespace hooke::hunt {
namespace {

TEST(Shrinker, FindsTheKnownIssuesUnderTheNoise) {
  for (const char* name :
       {"incident-01-dead-participant", "incident-02-departure-closes",
        "incident-03-sigterm-closes-for-good", "incident-05-stale-worker-keys",
        "incident-09-restart-budget", "incident-10-store-host", "incident-11-endless-restarts",
        "incident-13-exit-barrier", "incident-15-transient-store-error",
        "incident-33-spare-crashes-on-clean-close"}) {
    SCOPED_TRACE(name);
    Laboratory laboratory;
    const Scenario bare = known_issues(name);
    ShrinkOptions options;
    options.target.invariant = bare.expect.violates.front();
    // Some of them need the right draws, too.
    Scenario noisy = with_noise(bare);
    const std::uint64_t last = noisy.seed + 500;
    while (!target_of(laboratory.run(noisy), options.target.invariant)) {
      ASSERT_LT(++noisy.seed, last)
          << "the noise averts what it was put upon: " << scenario::write_scenario(noisy);
    }
    const Shrunk small = shrunk(laboratory, noisy, options);
    EXPECT_TRUE(small.minimal);
    EXPECT_LE(small.scenario.cluster.nodes.size(), bare.cluster.nodes.size());
    EXPECT_LE(small.scenario.timeline.size(), bare.timeline.size());
    EXPECT_LE(scenario::write_scenario(small.scenario).size(),
              scenario::write_scenario(noisy).size());
    expect_proof(laboratory, small, bare.expect.violates.front());
  }
}

/// Every element of every list and object of the file, one at a time.
void without_each(
    const nlohmann::ordered_json& whole, const nlohmann::ordered_json& part,
    const nlohmann::ordered_json::json_pointer& place,
    const std::function<void(const nlohmann::ordered_json&, const std::string&)>& act) {
  std::size_t index = 0;
  for (const auto& [key, value] : part.items()) {
    nlohmann::ordered_json candidate = whole;
    if (part.is_array()) {
      candidate.at(place).erase(index);
    } else {
      candidate.at(place).erase(key);
    }
    const auto below = part.is_array() ? place / index : place / key;
    act(candidate, below.to_string());
    if (value.is_structured()) without_each(whole, value, below, act);
    ++index;
  }
}

TEST(Shrinker, LeavesNoLineThatIsNotNeeded) {
  Laboratory laboratory;
  ShrinkOptions options;
  options.target.invariant = "safety.bounds";
  const Shrunk small =
      shrunk(laboratory, with_noise(known_issues("incident-11-endless-restarts")), options);
  Scenario bare = small.scenario;
  bare.description.clear();
  bare.expect = {};
  const auto target = target_of(laboratory.run(bare), "safety.bounds");
  const auto json = nlohmann::ordered_json::parse(scenario::write_scenario(bare));
  int valid = 0;
  without_each(json, json, nlohmann::ordered_json::json_pointer(),
               [&](const nlohmann::ordered_json& candidate, const std::string& what) {
                 // What is no choice of the shrinker's: its name, which protocol, and when to stop
                 // looking.
                 for (const char* kept :
                      {"/version", "/name", "/seed", "/protocol/variant", "/time_limit"}) {
                   if (what == kept) return;
                 }
                 Scenario without;
                 try {
                   without = scenario::load_scenario(candidate.dump(), "candidate");
                 } catch (const scenario::ScenarioError&) {
                   return;
                 }
                 if (without == bare) return;
                 ++valid;
                 const auto kinds = kinds_of(laboratory.run(without));
                 EXPECT_EQ(std::count(kinds.begin(), kinds.end(), *target), 0)
                     << what << " is not needed";
               });
  EXPECT_GE(valid, 5);
}

TEST(Shrinker, GivesTheSameResultEachTime) {
  const Scenario noisy = with_noise(known_issues("incident-10-store-host"));
  Laboratory laboratory;
  const Shrunk first = shrunk(laboratory, noisy);
  EXPECT_EQ(laboratory.runs, first.runs + 1);
  const Shrunk second = shrunk(laboratory, noisy);
  EXPECT_EQ(first.scenario, second.scenario);
  EXPECT_EQ(first.runs, second.runs);
}

TEST(Shrinker, TakesTheCallersWordForTheStart) {
  const Scenario noisy = with_noise(known_issues("incident-10-store-host"));
  Laboratory laboratory;
  const Shrunk by_itself = shrunk(laboratory, noisy);
  ShrinkOptions options;
  scenario::RunOptions once;
  once.determinism_check = false;
  options.start = laboratory.run(noisy, once);
  const Shrunk told = shrunk(laboratory, noisy, options);
  EXPECT_EQ(told.scenario, by_itself.scenario);
  EXPECT_EQ(told.runs + 1, by_itself.runs);
  options.target = {"safety.one_world", "whatever"};
  EXPECT_FALSE(shrink(noisy, options, laboratory.runner()).has_value());
}

TEST(Shrinker, MakesASeedOfAReproducer) {
  // What an explorer hands over: a random schedule, with every choice on a tape.
  Laboratory laboratory;
  Scenario reproducer = with_noise(known_issues("incident-05-stale-worker-keys"));
  scenario::RunOptions recorded;
  reproducer.schedule = kernel::Strategy::random;
  recorded.record_tape = true;
  reproducer.tape = laboratory.run(reproducer, recorded).tape;
  ASSERT_GT(reproducer.tape->size(), 100U);
  ShrinkOptions options;
  options.target.invariant = "safety.round_isolation";
  const Shrunk small = shrunk(laboratory, reproducer, options);
  EXPECT_TRUE(small.minimal);
  EXPECT_FALSE(small.scenario.tape.has_value());
  EXPECT_EQ(small.scenario.schedule.strategy, kernel::Strategy::fifo);
  EXPECT_LE(small.scenario.cluster.nodes.size(), 2U);
  EXPECT_EQ(small.scenario.timeline.size(), 0U);
  expect_proof(laboratory, small, "safety.round_isolation");
}

TEST(Shrinker, KeepsToItsBudgetAndSaysSo) {
  ShrinkOptions options;
  options.runs_max = 10;
  options.target.invariant = "safety.store_lifetime";
  Laboratory laboratory;
  const Shrunk small =
      shrunk(laboratory, with_noise(known_issues("incident-10-store-host")), options);
  EXPECT_FALSE(small.minimal);
  EXPECT_EQ(small.runs, 10U);
  expect_proof(laboratory, small, "safety.store_lifetime");
}

TEST(Shrinker, HasNothingToDoWhereEveryInvariantHolds) {
  Laboratory laboratory;
  const Scenario healthy = scenario::job(2);
  EXPECT_FALSE(target_of(laboratory.run(healthy), "").has_value());
  ShrinkOptions options;
  options.target = {"safety.one_world", "whatever"};
  EXPECT_FALSE(shrink(healthy, options, laboratory.runner()).has_value());
}

TEST(Shrinker, FollowsTheMostSevereViolationAsTheFindingsOfARunDo) {
  scenario::RunReport report;
  report.violations = {{"safety.x", "node a", sim::WorldTime(2s), {}},
                       {"safety.y", "node b", sim::WorldTime(1s), {}},
                       {"safety.z", "node c", sim::WorldTime(3s), {}},
                       {"liveness.v", "node d", sim::WorldTime(0s), {}},
                       {"safety.u", "node e", sim::WorldTime(0s), {}, "the store"}};
  EXPECT_EQ(target_of(report, "")->invariant, "safety.y");
  report.unmet = {{"liveness.v", "", false, 3}};
  EXPECT_EQ(target_of(report, "")->invariant, "liveness.v") << "the others are expected";
  report.unmet.push_back({"safety.z", "", false, 2});
  EXPECT_EQ(target_of(report, "")->invariant, "safety.z");
  EXPECT_EQ(target_of(report, "safety.x")->invariant, "safety.x");
  EXPECT_FALSE(target_of(report, "safety.w").has_value());
  report.harness_failure = "two runs of seed 5 differ";
  EXPECT_EQ(target_of(report, "")->invariant, "harness");
}

TEST(Shrinker, TakesAnotherCauseOnlyWhenToldTo) {
  // The same invariant is violated in two ways; the simpler one is of the other kind.
  const auto run = [](const Scenario& scenario, const scenario::RunOptions&) {
    scenario::RunReport report;
    report.violations = {{"safety.bounds",
                          scenario.timeline.empty() ? "a round too small" : "a round too big",
                          {},
                          {}}};
    return report;
  };
  Scenario start = scenario::job(1);
  start.timeline = {fault(1s, "agent.kill", "a")};
  ShrinkOptions options;
  options.target = {"safety.bounds", "a round too big"};
  EXPECT_EQ(shrink(start, options, run)->scenario.timeline.size(), 1U);
  options.any_cause = true;
  EXPECT_EQ(shrink(start, options, run)->scenario.timeline.size(), 0U);
}

}  // namespace
}  // namespace hooke::hunt
