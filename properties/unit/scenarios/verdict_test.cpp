// What the verdict of a run says: expectations, outcomes, invariants.
#include "scenarios/outcome/verdict.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/observe/trace_events.h"
#include "properties/unit/scenarios/judged_runs.h"
#include "properties/unit/scenarios/test_scenario.h"
#include "scenarios/outcome/outcomes.h"
#include "scenarios/simulated/runner.h"

namespace hooke::scenario {
namespace {

TEST(Verdict, each_expectation_that_does_not_come_true_is_named_with_a_reason) {
  Scenario scenario = job(2);
  scenario.expect.outcome = {{"a", "failed"}};
  scenario.expect.exit_code = {{"b", 3}};
  scenario.expect.rounds_min = 2;
  scenario.expect.within = 5s;
  scenario.expect.coverage = {"never_reached"};
  Trigger completed;
  completed.event = "rendezvous.completed";
  completed.passage = 2;
  scenario.expect.events = {completed};
  const RunReport report = run_bare(scenario);
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(unmet_names(report),
            (std::vector<std::string>{"expect.outcome.a", "expect.exit_code.b", "expect.rounds.min",
                                      "expect.within", "expect.coverage", "expect.events.0"}));
  EXPECT_EQ(report.unmet[0].reason, "expected failed, but it ended as succeeded");
  EXPECT_EQ(report.unmet[1].reason, "expected 3, but it was 0");
  EXPECT_EQ(report.unmet[5].reason, "rendezvous.completed was met 1 times, expected at least 2");
}

TEST(Verdict, an_expected_event_counts_only_in_its_span) {
  Scenario scenario =
      job(1);  // its round completes in the first second, its worker ends after 20 s
  Trigger completed, ended;
  completed.event = "rendezvous.completed";
  completed.not_after = 5s;
  ended.event = "worker.ended";
  ended.not_before = 5s;
  scenario.expect.events = {completed, ended};
  EXPECT_EQ(unmet_names(run_bare(scenario)), std::vector<std::string>{});
  scenario.expect.events[0].not_before = 4s;
  scenario.expect.events[1].not_before = Duration::zero();
  scenario.expect.events[1].not_after = 5s;
  EXPECT_EQ(unmet_names(run_bare(scenario)),
            (std::vector<std::string>{"expect.events.0", "expect.events.1"}));
}

TEST(Verdict, of_an_expected_event_that_never_came_the_nearest_is_told) {
  Scenario scenario = job(2);
  Trigger completed;
  completed.event = "rendezvous.completed";
  completed.fields = {{"round", "7"}, {"participants", "2"}};
  scenario.expect.events = {completed};
  const RunReport report = run_bare(scenario);
  ASSERT_EQ(unmet_names(report), std::vector<std::string>{"expect.events.0"});
  EXPECT_THAT(
      report.unmet[0].reason,
      testing::MatchesRegex("rendezvous.completed was met 0 times, expected at least 1; the "
                            "nearest came at [0-9.]+ s, but round 0"));
}

/// The nodes of the round as each tells, added up.
ExpectedSum sum_of_participants(CountRange range) {
  ExpectedSum sum;
  sum.events.event = "rendezvous.completed";
  sum.field = "participants";
  sum.range = range;
  return sum;
}

/// Why the sum is not what was expected; empty: it is.
std::string unmet_sum(const ExpectedSum& sum) {
  Scenario scenario = job(2);
  scenario.expect.sums = {sum};
  const RunReport report = run_bare(scenario);
  EXPECT_EQ(report.passed, report.unmet.empty());
  if (report.unmet.empty()) return "";
  EXPECT_EQ(report.unmet.front().expectation, "expect.sums.0");
  return report.unmet.front().reason;
}

TEST(Verdict, a_sum_is_compared_with_its_limits_and_its_largest_part_is_told) {
  std::int64_t told = 0;  // by so many events of two participants each
  {
    Scenario scenario = job(2);
    scenario.expect.sums = {sum_of_participants({0, std::nullopt})};
    told = run_bare(scenario).sums.front().total;
  }
  ASSERT_GT(told, 0);
  ASSERT_EQ(told % 2, 0);
  EXPECT_EQ(unmet_sum(sum_of_participants({told, told})), "");
  EXPECT_EQ(unmet_sum(sum_of_participants({told, std::nullopt})), "");
  EXPECT_EQ(unmet_sum(sum_of_participants({std::nullopt, told})), "");
  EXPECT_THAT(unmet_sum(sum_of_participants({told + 1, std::nullopt})),
              testing::MatchesRegex(fmt::format(
                  "participants of rendezvous.completed adds up to {}, expected at least {}; the "
                  "largest of {} is 2, at [0-9.]+ s on [ab]",
                  told, told + 1, told / 2)));
  EXPECT_THAT(unmet_sum(sum_of_participants({std::nullopt, told - 1})),
              testing::HasSubstr(fmt::format("expected at most {};", told - 1)));
  EXPECT_THAT(unmet_sum(sum_of_participants({told - 1, told - 1})),
              testing::HasSubstr(fmt::format("expected exactly {};", told - 1)));
}

TEST(Verdict, of_a_sum_of_nothing_the_nearest_event_is_told_and_a_text_adds_up_to_nothing) {
  ExpectedSum sum = sum_of_participants({1, std::nullopt});
  sum.events.fields = {{"round", "7"}};
  EXPECT_THAT(unmet_sum(sum), testing::MatchesRegex(
                                  "participants of rendezvous.completed adds up to 0, expected at "
                                  "least 1; none was met, the nearest came at [0-9.]+ s, but "
                                  "round 0"));
  ExpectedSum text = sum_of_participants({1, std::nullopt});
  text.field = "run_id";
  EXPECT_EQ(unmet_sum(text), "run_id of rendezvous.completed is a text, which adds up to nothing");
  ExpectedSum never = sum_of_participants({1, std::nullopt});
  never.events.event = "rendezvous.evicted";
  never.field = "round";
  EXPECT_EQ(unmet_sum(never),
            "round of rendezvous.evicted adds up to 0, expected at least 1; none was met");
}

TEST(Verdict, a_sum_of_spans_is_told_in_seconds) {
  ExpectedSum sum;
  sum.events.event = "exit_barrier.left";
  sum.field = "elapsed";
  sum.is_a_span = true;
  sum.range = {Duration(2h).count(), std::nullopt};
  EXPECT_THAT(unmet_sum(sum), testing::MatchesRegex(
                                  "elapsed of exit_barrier.left adds up to [0-9.]+ s, expected at "
                                  "least 7200.000 s; the largest of 2 is [0-9.]+ s, at .*"));
}

TEST(Verdict, in_a_field_of_an_event_a_star_stands_for_any_characters) {
  Scenario scenario = job(2);
  Trigger joined;
  joined.event = "rendezvous.joined";
  for (const char* const pattern : {"a_*_0", "*", "a*", "*0"}) {
    joined.fields = {{"descriptor", pattern}};
    scenario.expect.events = {joined};
    EXPECT_EQ(unmet_names(run_bare(scenario)), std::vector<std::string>{}) << pattern;
  }
  for (const char* const pattern : {"a_*_1", "z*", "*a", "a_*_0_*"}) {
    joined.fields = {{"descriptor", pattern}};
    scenario.expect.events = {joined};
    EXPECT_EQ(unmet_names(run_bare(scenario)), std::vector<std::string>{"expect.events.0"})
        << pattern;
  }
}

TEST(Verdict, a_number_of_an_event_can_be_compared_with_one) {
  Scenario scenario = job(2);
  Trigger completed;
  completed.event = "rendezvous.completed";
  for (const char* const text : {"2", ">= 2", "<=2", "> 1", "<3", "!= 3"}) {
    completed.fields = {{"participants", text}};
    scenario.expect.events = {completed};
    EXPECT_EQ(unmet_names(run_bare(scenario)), std::vector<std::string>{}) << text;
  }
  for (const char* const text : {"3", ">= 3", "<=1", "> 2", "<2", "!= 2", ">=", "> two"}) {
    completed.fields = {{"participants", text}};
    scenario.expect.events = {completed};
    EXPECT_EQ(unmet_names(run_bare(scenario)), std::vector<std::string>{"expect.events.0"}) << text;
  }
}

TEST(Verdict, an_event_may_be_expected_a_number_of_times_at_most) {
  Scenario scenario = job(2);  // its two workers end
  Trigger ended;
  ended.event = "worker.ended";
  ended.at_most = 2;
  scenario.expect.events = {ended};
  EXPECT_EQ(unmet_names(run_bare(scenario)), std::vector<std::string>{});
  scenario.expect.events[0].at_most = 1;
  const RunReport report = run_bare(scenario);
  ASSERT_EQ(unmet_names(report), std::vector<std::string>{"expect.events.0"});
  EXPECT_EQ(report.unmet[0].reason, "worker.ended was met 2 times, expected at most 1");
}

TEST(Verdict, the_nodes_that_end_in_a_way_are_counted) {
  Scenario scenario = job(2);
  scenario.expect.count = {{"succeeded", {2, 2}}, {"failed", {std::nullopt, 0}}};
  EXPECT_EQ(unmet_names(run_bare(scenario)), std::vector<std::string>{});
  scenario.expect.count = {{"succeeded", {std::nullopt, 1}}, {"failed", {1, std::nullopt}}};
  const RunReport report = run_bare(scenario);
  ASSERT_EQ(unmet_names(report),
            (std::vector<std::string>{"expect.count.failed", "expect.count.succeeded"}));
  EXPECT_EQ(report.unmet[0].reason, "expected at least 1 nodes, 0 ended so");
  EXPECT_EQ(report.unmet[1].reason, "expected at most 1 nodes, 2 ended so");
}

TEST(Verdict, what_must_never_happen_is_named_when_it_does) {
  Scenario scenario = job(1);
  Trigger lost, ended;
  lost.event = "rendezvous.evicted";
  ended.event = "worker.ended";
  scenario.expect.events = {ended};
  scenario.expect.never = {lost, ended};
  const RunReport report = run_bare(scenario);
  EXPECT_EQ(unmet_names(report), std::vector<std::string>{"expect.never.1"});
  EXPECT_EQ(report.unmet.at(0).reason, "worker.ended was met 1 times, expected never");
  scenario.expect.never[1].not_after = 5s;
  EXPECT_TRUE(run_bare(scenario).passed);
}

TEST(Verdict, a_node_without_an_agent_meets_no_outcome) {
  Scenario scenario = job(2);
  scenario.protocol.rendezvous.min_nodes = 1;
  scenario.cluster.nodes[1].start.reset();
  scenario.expect.outcome = {{"b", "succeeded"}};
  const RunReport report = run_bare(scenario);
  ASSERT_EQ(unmet_names(report), std::vector<std::string>{"expect.outcome.b"});
  EXPECT_EQ(report.unmet[0].reason, "no agent was ever started there");
}

TEST(Verdict, the_latest_incarnation_counts_for_a_node) {
  Scenario scenario = job(1);
  scenario.timeline = {at(10s, "agent.kill", {"a"}), at(20s, "agent.restart", {"a"})};
  scenario.expect.outcome = {{"a", "succeeded"}};
  const RunReport report = run_bare(scenario);
  EXPECT_EQ(outcomes(report), (std::vector<std::string>{"a killed", "a succeeded"}));
  EXPECT_TRUE(report.passed) << unmet(report);
}

std::string endings(const RunReport& report) {
  std::string text;
  for (const JobResult& job : report.jobs) {
    text += job.run_id + " " + job.outcome + ":";
    for (const auto& [outcome, count] : job.agents) text += " " + std::to_string(count) + outcome;
    text += "; ";
  }
  return text;
}

TEST(Verdict, each_job_ends_as_the_last_agents_of_its_nodes_say_together) {
  EXPECT_EQ(endings(run_bare(job(3))), "job succeeded: 3succeeded; ");
  Scenario scenario = job(1);
  scenario.timeline = {at(10s, "agent.kill", {"a"}), at(20s, "agent.restart", {"a"})};
  EXPECT_EQ(endings(run_bare(scenario)), "job succeeded: 1killed 1succeeded; ");
  scenario.timeline.pop_back();
  EXPECT_EQ(endings(run_bare(scenario)), "job killed: 1killed; ");
  scenario.timeline.clear();
  scenario.protocol.agent.max_restarts = 0;
  scenario.workers.program = {exit_with(1)};
  EXPECT_EQ(endings(run_bare(scenario)), "job failed: 1failed; ");
  const auto of = [](std::vector<std::pair<const char*, const char*>> agents) {
    RunReport report;
    for (const auto& [node, outcome] : agents) {
      report.agents.push_back({node, outcome, std::nullopt, "", {}, "job"});
    }
    report.agents.push_back({"z", "succeeded", std::nullopt, "", {}, "another"});
    report.jobs = jobs_of(report.agents);
    return endings(report);
  };
  EXPECT_EQ(of({{"a", "succeeded"}, {"b", "crashed"}}),
            "job succeeded: 1crashed 1succeeded; another succeeded: 1succeeded; ");
  EXPECT_EQ(of({{"a", "succeeded"}, {"b", "failed"}}).substr(0, 11), "job failed:");
  EXPECT_EQ(of({{"a", "failed"}, {"b", "running"}}).substr(0, 12), "job running:");
  EXPECT_EQ(of({{"a", "killed"}, {"b", "crashed"}}).substr(0, 10), "job ended:");
}

TEST(Verdict, without_words_about_invariants_every_invariant_must_hold) {
  const RunReport report = run_judged(job(1));
  EXPECT_EQ(report.violations.size(), 2U);
  EXPECT_EQ(unmet_names(report), (std::vector<std::string>{"safety.x", "liveness.y"}));
  EXPECT_EQ(report.unmet[0].reason, "worker.started happened");
  EXPECT_EQ(report.unmet[0].violation, 0U);
  EXPECT_EQ(report.unmet[1].violation, 1U);
}

TEST(Verdict, what_is_listed_as_violated_must_be_violated_and_nothing_else_may_be) {
  Scenario scenario = job(1);
  scenario.expect.violates = {"safety.x"};
  EXPECT_EQ(unmet_names(run_judged(scenario)), std::vector<std::string>{"liveness.y"});
  scenario.expect.violates = {"safety.x", "liveness.y"};
  EXPECT_TRUE(run_judged(scenario).passed);
  scenario.expect.violates = {"safety.x", "liveness.y", "safety.z"};
  EXPECT_EQ(unmet_names(run_judged(scenario)), std::vector<std::string>{"expect.violates"});
}

TEST(Verdict, what_lies_outside_of_what_must_hold_may_be_violated) {
  Scenario scenario = job(1);
  scenario.expect.holds = {"safety.z"};
  EXPECT_TRUE(run_judged(scenario).passed);
  scenario.expect.holds = {"safety.*"};
  EXPECT_EQ(unmet_names(run_judged(scenario)), std::vector<std::string>{"safety.x"});
}

TEST(Verdict, what_no_agent_could_have_avoided_fails_only_where_it_must_hold) {
  Scenario scenario = job(1);
  const auto unmet_in = [&] {
    RunReport report;
    report.violations = {{"safety.x", "it went", {}, {}, "the store (store_taken)"}};
    judge(scenario, true, report);
    return unmet_names(report);
  };
  EXPECT_EQ(unmet_in(), std::vector<std::string>());
  scenario.expect.holds = {"safety.*"};
  EXPECT_EQ(unmet_in(), std::vector<std::string>{"safety.x"});
}

TEST(Verdict, a_world_in_which_nothing_can_happen_any_more_is_judged_as_of_its_time_limit) {
  Scenario scenario = job(2);
  scenario.cluster.store_host.clear();
  scenario.timeline = {at(5s, "store.stop")};
  scenario.time_limit = 900s;
  scenario.expect.holds = {"nothing"};
  const RunReport report = run_judged(scenario);
  ASSERT_EQ(report.end, kernel::RunEnd::idle);
  EXPECT_LT(report.world_time, 900s);
  EXPECT_EQ(report.judged_at, sim::WorldTime(900s));
  EXPECT_EQ(Breaks::facts_seen.end, sim::WorldTime(900s));
  EXPECT_FALSE(Breaks::facts_seen.finished);
  // What never happens does not change because of it: no event, no step, the same hash.
  scenario.time_limit = 1'800s;
  const RunReport longer = run_judged(scenario);
  EXPECT_EQ(longer.hash, report.hash);
  EXPECT_EQ(longer.steps, report.steps);
  EXPECT_EQ(longer.world_time, report.world_time);
  EXPECT_EQ(Breaks::facts_seen.end, sim::WorldTime(1'800s));
}

TEST(Verdict, invariants_learn_how_the_run_ended) {
  Scenario scenario = job(1);
  scenario.timeline = {at(10s, "clock.jump", {"a"})};
  scenario.timeline[0].span = 1s;
  scenario.expect.holds = {"nothing"};
  const RunReport report = run_judged(scenario);
  EXPECT_TRUE(Breaks::facts_seen.finished);
  EXPECT_EQ(Breaks::facts_seen.last_fault, sim::WorldTime(10s));
  EXPECT_EQ(Breaks::facts_seen.end.time_since_epoch(), report.world_time);
  EXPECT_EQ(report.judged_at.time_since_epoch(), report.world_time);
}

}  // namespace
}  // namespace hooke::scenario
