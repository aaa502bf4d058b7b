// What programs read: verdicts in JSON. JUnit is in junit_test.cpp.
#include "reports/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hooke::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

/// One result of each verdict.
std::vector<Result> one_of_each() {
  Result passed{"a.json", false, {}, "sim"};
  passed.run.name = "a";
  passed.run.passed = true;
  Result failed{"b.json", false, {}, "sim"};
  failed.run.name = "b";
  failed.run.unmet = {{"expect.rounds.min", "expected at least 2, completed 1"}};
  Result cut{"c.json", false, {}, "sim"};
  cut.run.name = "c";
  cut.run.inconclusive = "the limit of real time was reached";
  Result unsupported{"d.json", false, {}, "real"};
  unsupported.run.name = "d";
  unsupported.run.unsupported = "dns.alias";
  Result harness{"e.json", false, {}, "sim"};
  harness.run.name = "e";
  harness.run.harness_failure = "two runs are not the same";
  return {passed, failed, cut, unsupported, harness};
}

TEST(Json, counts_what_is_inconclusive_apart_from_what_failed) {
  const auto document = nlohmann::json::parse(to_json(one_of_each()));
  EXPECT_EQ(document.at("passed"), 1);
  EXPECT_EQ(document.at("failed"), 2);
  EXPECT_EQ(document.at("inconclusive"), 1);
  EXPECT_EQ(document.at("results").at(1).at("verdict"), "failed");
  EXPECT_EQ(document.at("results").at(2).at("verdict"), "inconclusive");
  EXPECT_EQ(document.at("results").at(2).at("inconclusive"), "the limit of real time was reached");
  EXPECT_EQ(document.at("results").at(3).at("verdict"), "unsupported");
}

/// Passed, but of its timeline one entry had no effect, another one never happened, and a third
/// happened less often than it was to.
Result with_an_idle_timeline() {
  Result result = one_of_each().at(0);
  result.run.faults = {{"net.reset", sim::WorldTime(std::chrono::seconds(2)), 0, 3},
                       {"net.reset", sim::WorldTime(std::chrono::seconds(4)), 0, 3},
                       {"agent.kill", sim::WorldTime(std::chrono::seconds(5)), 0, 4},
                       {"agent.kill", sim::WorldTime(std::chrono::seconds(6)), 1, 4}};
  result.run.never_happened = {{0, "node.crash", "rendezvous.evicted was met 0 of 1 times"},
                               {4, "agent.kill", "it happened 2 of 9 times; due at 7.000 s"}};
  return result;
}

TEST(Summary, says_of_a_passing_scenario_what_its_timeline_did_not_do) {
  const std::string text = explanation(with_an_idle_timeline(), Style{}, false);
  EXPECT_THAT(text,
              HasSubstr("timeline.3 net.reset\n          had no effect at 2.000 s, nor later"));
  EXPECT_THAT(text,
              HasSubstr("timeline.0 node.crash\n          never happened: rendezvous.evicted"));
  EXPECT_THAT(text, HasSubstr("timeline.4 agent.kill\n          it happened 2 of 9 times"));
  EXPECT_THAT(text, Not(HasSubstr("agent.kill\n          had no effect")));
}

TEST(Json, has_what_the_timeline_did_not_do) {
  const auto run = nlohmann::json::parse(to_json({with_an_idle_timeline()})).at("results").at(0);
  EXPECT_EQ(run.at("verdict"), "passed");
  EXPECT_EQ(run.at("faults").at(0).at("felt"), 0);
  EXPECT_EQ(run.at("faults").at(0).at("entry"), 3);
  EXPECT_EQ(run.at("never_happened").at(0),
            (nlohmann::json{{"entry", 0},
                            {"what", "node.crash"},
                            {"why", "rendezvous.evicted was met 0 of 1 times"}}));
}

/// Two violations, of which the scenario allows the second; its job has failed.
Result with_violations() {
  Result result = one_of_each().at(1);
  result.run.violations = {{"safety.bounds", "three agents are in a round of two", {}, {}, ""},
                           {"liveness.exit", "the agent on node a was late", {}, {}, ""}};
  result.run.unmet = {{"safety.bounds", "three agents are in a round of two", true, 0}};
  result.run.jobs = {{"job", "failed", {{"crashed", 1}, {"failed", 2}}}};
  return result;
}

std::size_t times(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != text.npos; at = text.find(part, at + 1)) ++count;
  return count;
}

TEST(Summary, tells_each_violation_once) {
  const std::string text = explanation(with_violations(), Style{}, false);
  EXPECT_EQ(times(text, "three agents are in a round of two"), 1U) << text;
  EXPECT_THAT(text, HasSubstr("safety.bounds violated at 0.000 s\n"));
  EXPECT_THAT(text, HasSubstr("liveness.exit violated at 0.000 s, allowed by expect\n"));
  EXPECT_THAT(text, Not(HasSubstr("expect.holds")));
}

TEST(Summary, of_one_scenario_that_passed_names_what_it_violates_as_expected) {
  Result result = one_of_each().at(0);
  result.run.violations = {{"liveness.exit", "the agent on node a was late", {}, {}, ""}};
  EXPECT_EQ(explanation(result, Style{}, false), "") << "one row of many";
  const std::string text = explanation(result, Style{}, false, true);
  EXPECT_THAT(text, HasSubstr("violated, as the scenario expects; --explain says how\n"
                              "          liveness.exit\n"));
  EXPECT_THAT(text, Not(HasSubstr("was late")));
  EXPECT_THAT(explanation(result, Style{}, true, true), HasSubstr("was late"));
}

TEST(Summary, of_a_canary_says_that_it_must_fail) {
  Result result = one_of_each().at(1);
  result.must_fail = true;
  EXPECT_THAT(explanation(result, Style{}, false, true),
              HasSubstr("passed\n          because it failed: this scenario must\n"));
}

TEST(Summary, groups_violations_by_invariant_and_unmet_expectations_beyond_a_few) {
  Result result = with_violations();
  const properties::Violation again{
      "safety.bounds", "four agents are in a round of two", {}, {}, ""};
  for (const std::size_t index : {2U, 3U}) {
    result.run.violations.push_back(again);
    result.run.unmet.push_back({"safety.bounds", again.witness, true, index});
  }
  for (int node = 0; node < 7; ++node) {
    result.run.unmet.push_back({"expect.outcome." + std::to_string(node), "it failed", {}, {}});
  }
  const std::string text = explanation(result, Style{}, false);
  EXPECT_THAT(text, HasSubstr("safety.bounds violated at 0.000 s, and 2 more\n"));
  EXPECT_THAT(text, Not(HasSubstr("four agents")));
  EXPECT_EQ(times(text, "it failed"), 5U) << text;
  EXPECT_THAT(text, HasSubstr("and 2 more expectations not met"));
  EXPECT_EQ(times(explanation(result, Style{}, true), "it failed"), 7U);
}

TEST(Summary, a_run_that_failed_names_the_next_command) {
  Result result = with_violations();
  result.file = "my job.json";
  result.run.passed = false;
  result.replay = " --seed 7";
  EXPECT_THAT(explanation(result, Style{}, false),
              HasSubstr("next: hooke explain 'my job.json' --seed 7 "));
  result.run.violations.clear();
  result.run.unmet = {{"expect.rounds", "too few", {}, {}}};
  EXPECT_THAT(explanation(result, Style{}, false),
              HasSubstr("next: hooke run 'my job.json' --seed 7 --timeline\n"));
  result.file = "-";
  EXPECT_THAT(explanation(result, Style{}, false), Not(HasSubstr("next:")));
  EXPECT_THAT(explanation(one_of_each().at(0), Style{}, false, true), Not(HasSubstr("next:")));
}

TEST(Summary, says_how_each_job_ended) {
  EXPECT_THAT(explanation(with_violations(), Style{}, false),
              HasSubstr("job \"job\": failed (1 agent crashed, 2 failed)\n"));
  Result alone = one_of_each().at(0);
  alone.run.jobs = {{"job", "succeeded", {{"succeeded", 4}}}};
  EXPECT_EQ(explanation(alone, Style{}, false), "");
  EXPECT_EQ(explanation(alone, Style{}, false, true),
            "a  seed 0  a.json\n  job \"job\": succeeded (4 agents succeeded)\n");
}

TEST(Json, says_which_violations_were_not_expected_and_how_each_job_ended) {
  const auto run = nlohmann::json::parse(to_json({with_violations()})).at("results").at(0);
  EXPECT_EQ(run.at("violations").at(0).at("unexpected"), true);
  EXPECT_EQ(run.at("violations").at(1).at("unexpected"), false);
  EXPECT_EQ(run.at("unmet").at(0).at("expectation"), "safety.bounds");
  EXPECT_EQ(run.at("jobs").at(0), (nlohmann::json{{"run_id", "job"},
                                                  {"outcome", "failed"},
                                                  {"agents", {{"crashed", 1}, {"failed", 2}}}}));
}

TEST(Summary, says_inconclusive_and_counts_it) {
  const std::vector<Result> results = one_of_each();
  const Style plain;
  EXPECT_THAT(row(results[2], plain, 10), HasSubstr("inconclusive  c"));
  EXPECT_THAT(explanation(results[2], plain, false),
              HasSubstr("the limit of real time was reached"));
  EXPECT_THAT(closing_line(results),
              HasSubstr("1 passed, 2 failed, 1 inconclusive, 1 unsupported"));
  EXPECT_THAT(closing_line({results[0]}), Not(HasSubstr("inconclusive")));
}

}  // namespace
}  // namespace hooke::report
