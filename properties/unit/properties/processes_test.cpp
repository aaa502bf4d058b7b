// Promises about processes, stores and reports, each broken once; normal_runs_test.cpp holds what
// must not break them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- kill_safety

TEST(KillSafety, a_signal_to_the_next_owner_of_a_dead_workers_number_breaks_it) {
  Script script = two_nodes_at_work();
  const std::int64_t pid = script.worker_pid("b", 0);
  script.at(5s).worker_ends("b", 0, 1).reaps("b").at(8s).emit("b", pid, wev::process_started,
                                                              {0, "cron", pid});
  script.at(9s).emit("b", pid, wev::process_signalled, {script.agent_pid("b"), pid, 9, 77});
  EXPECT_THAT(witnesses(script.finish(false), "safety.kill_safety"),
              AllOf(HasSubstr("pid 100 on node b (the agent on node b (pid 100)) sent SIGKILL at "
                              "9.000 s to pid 101"),
                    HasSubstr("which no agent has started and was started at 8.000 s (event 77)")));
}

TEST(KillSafety, another_agents_worker_is_out_of_bounds) {
  Script script = two_nodes_at_work();
  script.settings.run_id = "other";
  const std::int64_t first_agent = script.agent_pid("b");
  script.agent_starts("b").form(0, {"b"});
  const std::int64_t worker = script.worker_pid("b", 0);
  script.emit("b", worker, wev::process_signalled, {first_agent, worker, 15, 1});
  EXPECT_THAT(witnesses(script.finish(false), "safety.kill_safety"),
              HasSubstr("belongs to the agent on node b (pid 102)"));
}

TEST(KillSafety, descendants_oneself_and_the_harness_are_fair_game) {
  Script script = two_nodes_at_work();
  const std::int64_t worker = script.worker_pid("b", 0);
  const std::int64_t child = script.next_pid("b");
  script.emit("b", child, wev::process_started, {worker, "child", worker});
  script.emit("b", child, wev::process_signalled, {script.agent_pid("b"), child, 15, 1});
  script.emit("b", worker, wev::process_signalled, {worker, worker, 10, 1});
  script.emit("b", worker, wev::process_signalled, {0, worker, 19, 1});
  EXPECT_THAT(witnesses(script.finish(false), "safety.kill_safety"), IsEmpty());
}

TEST(KillSafety, a_worker_that_has_been_reaped_has_no_number_any_more) {
  Script script = two_nodes_at_work();
  const std::int64_t worker = script.worker_pid("b", 0);
  script.at(5s).worker_ends("b", 0, 1).emit("b", 100, ev::worker_signalled, {worker, 15, "stop"});
  EXPECT_EQ(script.view().process(sim::NodeId{1}, sim::Pid{101})->status, 1);
  script.at(6s).reaps("b").at(7s).emit("b", 100, ev::worker_signalled, {worker, 9, "stop"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.kill_safety"),
              AllOf(HasSubstr("the agent on node b (pid 100) sent SIGKILL at 7.000 s to its worker "
                              "pid 101, of whose end it had learnt at 6.000 s"),
                    ::testing::Not(HasSubstr("SIGTERM"))));
}

// ---- no_escaped_error

TEST(NoEscapedError, an_agent_that_ends_of_a_key_error_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(5s).finishes("b", "error", 1, "KeyError: b_100_0");
  EXPECT_THAT(witnesses(script.finish(false), "safety.no_escaped_error"),
              HasSubstr("the agent on node b (pid 100) ended at 5.000 s of an error that nobody "
                        "catches: KeyError: b_100_0"));
}

TEST(NoEscapedError, endings_of_the_protocol_and_refused_settings_keep_it) {
  Script script = two_nodes_at_work();
  script.at(5s).finishes("b", "error", 1, "RendezvousTimeoutError: ").agent_starts("c");
  script.finishes("c", "error", 1, "ValueError: the maximum number of nodes (0)");
  EXPECT_THAT(witnesses(script.finish(false), "safety.no_escaped_error"), IsEmpty());
}

// ---- no_orphans

TEST(NoOrphans, a_worker_that_runs_on_after_its_agent_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(10s).kill_agent("b").at(25s).worker_ends("b", 0, 1);
  EXPECT_THAT(witnesses(script.finish(false), "safety.no_orphans"),
              HasSubstr("worker pid 101 (rank 1) on node b ran on at 25.000 s, 15.000 s after the "
                        "agent on node b (pid "
                        "100) had ended at 10.000 s"));
}

TEST(NoOrphans, is_owed_for_a_second_after_the_end_of_an_agent_that_leaves_any) {
  Script script = two_nodes_at_work();
  EXPECT_EQ(script.owed_until(), sim::WorldTime());
  script.at(10s).kill_agent("b");
  EXPECT_EQ(script.owed_until(), sim::WorldTime(11s + 1ns));
  script.at(10500ms).worker_ends("b", 0, -9);
  EXPECT_EQ(script.owed_until(), sim::WorldTime());
}

TEST(NoOrphans, an_orphan_that_outlives_the_run_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(10s).kill_agent("b").at(12s);
  EXPECT_THAT(witnesses(script.finish(false), "safety.no_orphans"),
              HasSubstr("still runs at 12.000 s"));
}

TEST(NoOrphans, a_workers_child_is_a_descendant_too) {
  Script script = two_nodes_at_work();
  const std::int64_t child = script.next_pid("b");
  script.emit("b", child, wev::process_started, {script.worker_pid("b", 0), "child", 101});
  script.at(10s).crash("b").at(30s).process_ends("b", child, 0);
  EXPECT_THAT(witnesses(script.finish(false), "safety.no_orphans"),
              HasSubstr("pid 102, a worker's child, on node b"));
}

TEST(NoOrphans, descendants_may_take_a_second_to_follow) {
  Script script = two_nodes_at_work();
  script.at(10s).kill_agent("b").at(11s).worker_ends("b", 0, -9);
  EXPECT_THAT(witnesses(script.finish(false), "safety.no_orphans"), IsEmpty());
}

// ---- restart_budget

AgentSettings budget_of(std::int64_t restarts) {
  AgentSettings settings;
  settings.max_restarts = restarts;
  return settings;
}

TEST(RestartBudget, failures_of_different_agents_count_for_one_job) {
  Script script = two_nodes_at_work(budget_of(1));
  script.at(10s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure").joining("a");
  script.restarts("b", "membership_change").at(41s).form(1, {"a", "b"});
  script.at(50s).worker_ends("b", 0, 1).reaps("b").restarts("b", "worker_failure").joining("b");
  script.restarts("a", "membership_change").at(81s).form(2, {"a", "b"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.restart_budget"),
              HasSubstr("round 2 at 81.000 s is restart 2 of job \"job\" after a failure (a worker "
                        "on node b failed); "
                        "max_restarts is 1"));
}

TEST(RestartBudget, agents_that_fail_together_restart_the_job_once) {
  Script script = two_nodes_at_work(budget_of(1));
  for (const char* node : {"a", "b"}) {
    script.at(10s)
        .worker_ends(node, 0, 1)
        .reaps(node)
        .restarts(node, "worker_failure")
        .joining(node);
  }
  script.at(41s).form(1, {"a", "b"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.restart_budget"), IsEmpty());
}

TEST(RestartBudget, who_fails_with_the_others_and_comes_later_restarts_the_job_no_second_time) {
  Script script = two_nodes_at_work(budget_of(1));
  script.at(10s).worker_ends("a", 0, 1).reaps("a").worker_ends("b", 0, 1).reaps("b");
  script.restarts("a", "worker_failure").joining("a").at(20s).form(1, {"a"});
  script.at(40s).restarts("b", "worker_failure").restarts("a", "membership_change");
  script.at(51s).form(2, {"a", "b"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.restart_budget"), IsEmpty());
}

TEST(RestartBudget, a_node_that_fails_and_returns_restarts_a_job_that_may_not_restart) {
  const auto told = [](bool store_has_forgotten) {
    Script script = two_nodes_at_work(budget_of(0));
    script.at(20s).worker_ends("b", 0, 3).reaps("b").finishes("b", "failed", 1);
    if (store_has_forgotten) script.at(21s).fault(0, "etcd_expiry");
    script.at(22s)
        .agent_starts("b")
        .joining("b")
        .added("b", "wait_list", 0)
        .restarts("a", "membership_change");
    script.at(53s).form(1, {"a", "b"});
    return witnesses(script.finish(false), "safety.restart_budget");
  };
  EXPECT_THAT(
      told(false),
      HasSubstr("restart 1 of job \"job\" after a failure (the agent on node b was relaunched)"));
  EXPECT_THAT(told(true), IsEmpty()) << "nobody can know how it ended";
}

TEST(RestartBudget, nobody_counts_a_restart_of_a_node_that_is_cut_off_ever_since) {
  for (const bool heals : {false, true}) {
    Script script(budget_of(1));
    script.agent_starts("a").form(0, {"a"});
    script.at(5s).fault(0, "net_partition", {}, "a");
    script.at(10s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure").joining("a");
    if (heals) script.at(15s).fault_over(0, "net_partition");
    script.at(20s).agent_starts("b").form(1, {"b"});
    script.at(30s).worker_ends("b", 0, 1).reaps("b").restarts("b", "worker_failure").joining("b");
    script.at(40s).form(2, {"b"});
    const auto broken = witnesses(script.finish(false), "safety.restart_budget");
    EXPECT_EQ(broken.find("round 2 at 40.000 s is restart 2") != std::string::npos, heals)
        << broken;
  }
}

TEST(RestartBudget, nobody_counts_a_restart_of_a_node_that_went_before_its_store_could_be_heard) {
  for (const sim::Duration goes : {16s, 21s}) {
    Script script(budget_of(1));
    script.agent_starts("a").agent_starts("b").form(0, {"a", "b"});
    script.at(5s).fault(0, "service_error", 10s, "store");
    script.at(10s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure").joining("a");
    script.at(15s).fault_over(0, "service_error").at(goes).finishes("a", "error", 1);
    script.at(25s).restarts("b", "rendezvous_lost").form(1, {"b"});
    script.at(30s).worker_ends("b", 0, 1).reaps("b").restarts("b", "worker_failure").joining("b");
    script.at(40s).form(2, {"b"});
    const auto broken = witnesses(script.finish(false), "safety.restart_budget");
    EXPECT_EQ(broken.find("round 2 at 40.000 s is restart 2") != std::string::npos, goes > 20s)
        << broken;
  }
}

TEST(RestartBudget, a_loss_counts_and_growth_and_polite_departure_do_not) {
  Script death = two_nodes_at_work(budget_of(0));
  death.at(20s).crash("b").at(30s).restarts("a", "member_lost").at(61s).form(1, {"a"});
  EXPECT_THAT(witnesses(death.finish(false), "safety.restart_budget"),
              HasSubstr("the agent on node a had lost another"));
  Script peaceful = two_nodes_at_work(budget_of(0));
  peaceful.at(20s)
      .signal_agent("b", sim::Signal::term)
      .stops_workers("b")
      .finishes("b", "signalled", 1);
  peaceful.agent_starts("c")
      .joining("c")
      .added("c", "wait_list", 0)
      .restarts("a", "membership_change");
  peaceful.at(51s).form(1, {"a", "c"});
  EXPECT_THAT(witnesses(peaceful.finish(false), "safety.restart_budget"), IsEmpty());
}

TEST(RestartBudget, whoever_fails_in_a_round_that_the_others_have_left_is_a_newcomer) {
  AgentSettings settings;
  settings.max_restarts = 1;
  Script script(settings);
  script.agent_starts("a").agent_starts("b").agent_starts("c").form(0, {"a", "b", "c"});
  script.at(10s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure");
  script.restarts("b", "membership_change").at(11s).form(1, {"a", "b"});
  script.at(20s).worker_ends("c", 0, 1).reaps("c").restarts("c", "worker_failure");
  script.restarts("a", "membership_change").restarts("b", "membership_change");
  script.at(21s).form(2, {"a", "b", "c"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.restart_budget"), IsEmpty());
}

// ---- first_cause

TEST(FirstCause, an_agent_that_names_a_later_failure_of_its_own_breaks_it) {
  AgentSettings settings;
  settings.local_world_size = 2;
  Script script(settings);
  script.agent_starts("a").form(0, {"a"});
  script.at(10s).worker_ends("a", 1, 3).reaps("a").at(12s).worker_ends("a", 0, 1).reaps("a");
  script.emit("a", 100, ev::failure_reported, {0, script.worker_pid("a", 0), 1});
  EXPECT_THAT(witnesses(script.finish(false), "safety.first_cause"),
              AllOf(HasSubstr("names rank 0 (status 1) as the cause at 12.000 s"),
                    HasSubstr("its rank 1 had failed first, at 10.000 s, with status 3")));
}

TEST(FirstCause, failures_within_one_look_of_the_agent_are_one) {
  AgentSettings settings;
  settings.local_world_size = 2;
  Script script(settings);
  script.agent_starts("a").form(0, {"a"});
  script.at(10s).worker_ends("a", 1, 3).at(10s + 80ms).worker_ends("a", 0, 1).reaps("a");
  script.emit("a", 100, ev::failure_reported, {0, script.worker_pid("a", 0), 1});
  EXPECT_THAT(witnesses(script.finish(false), "safety.first_cause"), IsEmpty());
}

Script consequence_is_reported() {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 3).reaps("a").restarts("a", "worker_failure").joining("a");
  script.at(70s).worker_ends("b", 0, 1).reaps("b");
  script.emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), 1})
      .finishes("b", "failed", 1);
  return script;
}

TEST(FirstCause, a_job_that_reports_only_the_consequence_breaks_it) {
  EXPECT_THAT(
      witnesses(consequence_is_reported().finish(false), "safety.first_cause"),
      AllOf(HasSubstr("the job reports rank 1 of node b (status 1)"),
            HasSubstr("that of rank 0 on node a at 10.000 s, with status 3; nobody reports it")));
}

TEST(FirstCause, the_report_of_the_origin_makes_up_for_those_of_the_consequences) {
  Script script = consequence_is_reported();
  script.at(71s).emit("a", 100, ev::failure_reported, {0, script.worker_pid("a", 0), 3});
  EXPECT_THAT(witnesses(script.finish(false), "safety.first_cause"), IsEmpty())
      << "it wanted to restart for that failure, and could not";
  Script kept = two_nodes_at_work();
  kept.at(10s).worker_ends("a", 0, 3).reaps("a").at(70s).worker_ends("b", 0, 1).reaps("b");
  kept.emit("b", 100, ev::failure_reported, {1, kept.worker_pid("b", 0), 1});
  kept.emit("a", 100, ev::failure_reported, {0, kept.worker_pid("a", 0), 3});
  EXPECT_THAT(witnesses(kept.finish(false), "safety.first_cause"), IsEmpty());
}

/// The agent on b reports and is gone while that on a, whose worker was the first to fail, still
/// stops its workers.
Script report_is_still_to_come() {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 3).reaps("a").at(20s).worker_ends("b", 0, 1).reaps("b");
  script.emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), 1})
      .finishes("b", "failed", 1);
  return script;
}

TEST(FirstCause, a_run_that_is_cut_before_the_origin_is_late_shows_nothing) {
  Script script = report_is_still_to_come();
  EXPECT_THAT(witnesses(script.at(39s).finish(false), "safety.first_cause"), IsEmpty());
}

TEST(FirstCause, an_origin_that_ends_or_lets_its_time_go_by_without_a_report_breaks_it) {
  const auto told = HasSubstr("rank 0 on node a at 10.000 s, with status 3; nobody reports it");
  Script ended = report_is_still_to_come();
  ended.at(39s).finishes("a", "error", 1);
  EXPECT_THAT(witnesses(ended.finish(), "safety.first_cause"), told);
  Script late = report_is_still_to_come();
  EXPECT_THAT(witnesses(late.at(106s).finish(false), "safety.first_cause"), told)
      << "monitor 100 ms, grace 30 s, read 60 s, and 5 s";
}

TEST(FirstCause, a_round_that_another_has_followed_did_not_end_the_job) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 3).reaps("a").restarts("a", "worker_failure");
  script.at(20s).form(1, {"a"}).at(70s).worker_ends("b", 0, 1).reaps("b");
  script.emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), 1});
  EXPECT_THAT(witnesses(script.finish(false), "safety.first_cause"), IsEmpty());
}

TEST(FirstCause, nobody_can_report_what_died_with_its_node) {
  Script script;
  script.agent_starts("a")
      .agent_starts("b")
      .agent_starts("c")
      .form(0, {"a", "b", "c"})
      .at(10s)
      .crash("c");
  script.at(70s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure").joining("a");
  script.at(71s).worker_ends("b", 0, 1).reaps("b");
  script.emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), 1});
  EXPECT_THAT(witnesses(script.finish(false), "safety.first_cause"), IsEmpty());
}

TEST(FirstCause, rounds_that_are_counted_anew_are_other_rounds) {
  Script script;
  script.agent_starts("a").form(0, {"a"}).at(10s).worker_ends("a", 0, 3).reaps("a").restarts(
      "a", "worker_failure");
  script.signal_agent("a", sim::Signal::term).finishes("a", "signalled", 143);
  script.at(20s).agent_starts("a").agent_starts("b").form(0, {"a", "b"});
  script.at(30s).worker_ends("b", 0, 1).reaps("b");
  script.emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), 1});
  EXPECT_THAT(witnesses(script.finish(false), "safety.first_cause"), IsEmpty());
}

TEST(FirstCause, no_failure_after_the_report_has_caused_it) {
  Script script = two_nodes_at_work();
  script.at(10s).emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), 1});
  script.at(70s).worker_ends("a", 0, 3).reaps("a");
  EXPECT_THAT(witnesses(script.finish(false), "safety.first_cause"), IsEmpty());
}

TEST(FirstCause, who_ends_while_its_agent_restarts_is_no_cause) {
  Script script = two_nodes_at_work();
  script.at(10s).emit("a", 100, ev::group_restarting, {"membership_change", 3, 0});
  script.worker_ends("a", 0, 3).reaps("a").group("a", "STOPPED");
  script.restarts("b", "membership_change").at(20s).form(1, {"a", "b"});
  script.at(30s).worker_ends("a", 0, 4).reaps("a");
  script.emit("a", 100, ev::failure_reported, {0, script.worker_pid("a", 0), 4});
  EXPECT_THAT(witnesses(script.finish(false), "safety.first_cause"), IsEmpty());
}

/// Under the static rendezvous b, c and a fail in that order. Then `reporter` reports its own
/// failure, before or after b's agent restarts for itself.
Script after_a_failure_that_was_mended(const std::string& reporter, bool before = false) {
  Script script;
  const std::vector<std::string> nodes{"a", "b", "c"};
  for (const std::string& node : nodes) script.agent_starts(node);
  for (const std::string& node : nodes) {
    script.emit(node, 100, ev::ranks_assigned, {"job", -1, 0, 3, 0, 3}).workers_start(node);
  }
  script.at(10s).worker_ends("b", 0, 3).reaps("b").at(12s).worker_ends("c", 0, 4).reaps("c");
  const auto mend = [&] { script.emit("b", 100, ev::group_restarting, {"worker_failure", 3, -1}); };
  script.at(14s);
  if (!before) mend();
  script.at(15s).worker_ends("a", 0, 1).reaps("a").at(20s);
  script.emit(reporter, 100, ev::failure_reported,
              {0, script.worker_pid(reporter, 0), reporter == "a" ? 1 : 4});
  if (before) mend();
  for (const std::string& node : nodes) script.finishes(node, "failed", 1);
  return script;
}

TEST(FirstCause, behind_a_failure_that_was_mended_the_next_one_is_the_first) {
  EXPECT_THAT(witnesses(after_a_failure_that_was_mended("c").finish(), "safety.first_cause"),
              IsEmpty());
  EXPECT_THAT(witnesses(after_a_failure_that_was_mended("c", true).finish(), "safety.first_cause"),
              IsEmpty())
      << "it was reported before it was the first";
  EXPECT_THAT(witnesses(after_a_failure_that_was_mended("a").finish(), "safety.first_cause"),
              HasSubstr("the first failure was that of rank 0 on node c at 12.000 s"));
}

/// The worker of a is the first to fail; its agent, which restarts for a newcomer `later`, has not
/// seen it (or has).
std::vector<std::string> limits_of_the_overtaken(sim::Duration later, bool seen) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 3).worker_ends("b", 0, 1);
  if (seen) script.reaps("a");
  script.at(10s + later).emit("a", 100, ev::group_restarting, {"membership_change", 3, 0});
  if (!seen) script.reaps("a");
  script.reaps("b").emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), 1});
  return limits(script.finish(false), "safety.first_cause");
}

TEST(FirstCause, who_restarts_between_the_failure_and_its_look_does_not_report_it) {
  EXPECT_THAT(limits_of_the_overtaken(4ms, false), testing::ElementsAre(HasSubstr("had begun to")));
  EXPECT_THAT(limits_of_the_overtaken(4ms, true), testing::ElementsAre(""));
  EXPECT_THAT(limits_of_the_overtaken(61s, false), testing::ElementsAre("")) << "it looks too late";
}

TEST(FirstCause, who_ends_because_it_was_told_to_reports_nothing) {
  for (const bool told : {true, false}) {
    Script script = two_nodes_at_work();
    script.at(10s).worker_ends("a", 0, 3).worker_ends("b", 0, 3).reaps("a").reaps("b");
    if (told) script.signal_agent("a", sim::Signal::quit);
    script.finishes("a", told ? "signalled" : "error", 1);
    script.emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), 3});
    EXPECT_EQ(witnesses(script.finish(false), "safety.first_cause").empty(), told);
  }
}

// ---- exit_code_truth

TEST(ExitCodeTruth, outcome_and_exit_code_must_agree) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 0).reaps("a").finishes("a", "succeeded", 1);
  script.at(11s).stops_workers("b").finishes("b", "error", 0, "RendezvousTimeoutError");
  script.at(12s).agent_starts("c").joining("c").finishes("c", "graceful_exit", 1,
                                                         "AttributeError: no result");
  EXPECT_THAT(
      witnesses(script.finish(false), "safety.exit_code_truth"),
      AllOf(
          HasSubstr("node a (pid 100) ended as \"succeeded\" at 10.000 s, but its exit code is 1"),
          HasSubstr("node b (pid 100) ended as \"error\" at 11.000 s, but its exit code is 0"),
          HasSubstr(
              "node c (pid 100) ended as \"graceful_exit\" at 12.000 s, but its exit code is 1 "
              "(AttributeError: no result)")));
}

TEST(ExitCodeTruth, success_with_a_failed_worker_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 7).reaps("a").finishes("a", "succeeded", 0);
  EXPECT_THAT(
      witnesses(script.finish(false), "safety.exit_code_truth"),
      HasSubstr("reports success at 10.000 s although its worker pid 101 ended with status 7"));
}

TEST(ExitCodeTruth, workers_of_an_earlier_incarnation_do_not_count) {
  Script script = two_nodes_at_work();
  script.at(5s).restarts("a", "membership_change").at(6s).form(1, {"a"});
  script.at(10s).worker_ends("a", 0, 0).reaps("a").finishes("a", "succeeded", 0);
  EXPECT_THAT(witnesses(script.finish(false), "safety.exit_code_truth"), IsEmpty());
}

TEST(ExitCodeTruth, an_exit_that_contradicts_what_was_announced_or_was_never_announced_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(10s).emit("a", 100, ev::agent_finished, {"failed", 1, ""}).process_ends("a", 100, 0);
  script.process_ends("b", 100, 0);
  EXPECT_THAT(
      witnesses(script.finish(false), "safety.exit_code_truth"),
      AllOf(HasSubstr("node a (pid 100) exited with code 0 at 10.000 s, but had announced 1"),
            HasSubstr(
                "node b (pid 100) exited with code 0 at 10.000 s, but never said how it ended")));
}

TEST(ExitCodeTruth, who_is_killed_owes_no_announcement) {
  Script script = two_nodes_at_work();
  script.at(10s).kill_agent("a").crash("b");
  EXPECT_THAT(witnesses(script.finish(false), "safety.exit_code_truth"), IsEmpty());
}

}  // namespace
}  // namespace hooke::properties::test
