// Invariants about processes, stores and reports, each broken once; normal_runs_test.cpp holds what
// must not break them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"
#include "properties/invariants/judge.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// ---- one_worker_per_place

TEST(OneWorkerPerPlace, a_worker_beside_one_that_still_runs_breaks_it) {
  for (const bool ends : {false, true}) {
    Script script = two_nodes_at_work();
    script.at(5s).emit("b", 100, ev::group_restarting, {"membership_change", 3, 0});
    if (ends) script.stops_workers("b");
    script.at(40s).workers_start("b");
    const std::string found = witnesses(script.finish(false), "safety.one_worker_per_place");
    if (ends) {
      EXPECT_THAT(found, IsEmpty());
    } else {
      EXPECT_THAT(found,
                  HasSubstr("the agent on node b (pid 100) started pid 102 at 40.000 s as its "
                            "worker 0, while pid 101, which was that, still ran"));
    }
  }
}

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

TEST(KillSafety, a_worker_is_killed_only_when_its_grace_is_over) {
  for (const sim::Duration after : {2s, 15s, 27s, 30s}) {
    Script script = two_nodes_at_work();
    const std::int64_t worker = script.worker_pid("b", 0);
    script.at(5s).emit("b", 100, ev::worker_signalled, {worker, 15, "stop"});
    script.at(5s + after).emit("b", 100, ev::worker_signalled, {worker, 9, "grace is over"});
    const std::string found = witnesses(script.finish(false), "safety.kill_safety");
    if (after >= 27s) {
      EXPECT_THAT(found, IsEmpty()) << "clocks drift";
    } else {
      EXPECT_THAT(found, HasSubstr("killed its worker pid 101 at " + seconds_text(5s + after) +
                                   " without the grace that it owes"));
    }
  }
}

TEST(KillSafety, a_worker_is_asked_to_stop_before_it_is_killed) {
  Script script = two_nodes_at_work();
  const std::int64_t worker = script.worker_pid("b", 0);
  script.at(5s).emit("b", 100, ev::worker_signalled, {worker, 9, "stop"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.kill_safety"),
              HasSubstr("killed its worker pid 101 at 5.000 s without the grace"));
}

// ---- no_escaped_error

TEST(NoEscapedError, an_agent_that_ends_of_a_key_error_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(5s).finishes("b", "error", 1, "KeyError: b_100_0");
  EXPECT_THAT(witnesses(script.finish(false), "safety.no_escaped_error"),
              HasSubstr("the agent on node b (pid 100) ended at 5.000 s of an error that nothing "
                        "catches: KeyError: b_100_0"));
}

TEST(NoEscapedError, endings_of_the_protocol_and_refused_settings_keep_it) {
  Script script = two_nodes_at_work();
  script.at(5s).finishes("b", "error", 1, "RendezvousTimeoutError: ").agent_starts("c");
  script.finishes("c", "error", 1, "ValueError: the maximum number of nodes (0)");
  EXPECT_THAT(witnesses(script.finish(false), "safety.no_escaped_error"), IsEmpty());
}

/// A spare that leaves a closed rendezvous, say, and finds itself on no list.
TEST(NoEscapedError, is_met_by_an_agent_that_ends_in_another_way) {
  const auto meets = [](const char* error, const char* outcome, std::int64_t code) {
    Script script = two_nodes_at_work();
    script.at(4s).restarts("b", "membership_change").joining("b").at(5s);
    script.emit("b", script.agent_pid("b"), ev::rendezvous_failed,
                {"job", error, std::string(error) + ": b_100_0"});
    if (*outcome != 0) script.finishes("b", outcome, code, std::string(error) + ": b_100_0");
    return witnesses(script.finish(false), "safety.no_escaped_error");
  };
  const char* const met =
      "the agent on node b (pid 100) met an error of its own code at 5.000 s, "
      "in its rendezvous: KeyError: b_100_0";
  EXPECT_THAT(meets("KeyError", "graceful_exit", 0), HasSubstr(met));
  EXPECT_THAT(meets("KeyError", "", 0), HasSubstr(met)) << "it is killed, or never ends";
  EXPECT_THAT(meets("KeyError", "error", 1), Not(HasSubstr("in its rendezvous")))
      << "it is told once";
  EXPECT_THAT(meets("RendezvousTimeoutError", "graceful_exit", 0), IsEmpty());
}

// ---- no_orphans

TEST(NoOrphans, a_worker_that_runs_on_after_its_agent_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(10s).kill_agent("b").at(25s).worker_ends("b", 0, 1);
  EXPECT_THAT(witnesses(script.finish(false), "safety.no_orphans"),
              HasSubstr("the agent on node b (pid 100) had ended at 10.000 s; its worker pid 101 "
                        "(rank 1) should have ended by 11.000 s (reaping: 1.000 s), but did so "
                        "only at 25.000 s"));
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
              HasSubstr("had not when the run ended at 12.000 s"));
}

TEST(NoOrphans, a_workers_child_is_a_descendant_too) {
  for (const bool killed : {false, true}) {
    Script script = two_nodes_at_work();
    const std::int64_t child = script.next_pid("b");
    script.emit("b", child, wev::process_started, {script.worker_pid("b", 0), "child", 101});
    script.at(10s).stops_workers("b");
    if (killed) script.kill_agent("b");
    if (!killed) script.finishes("b", "error", 1);
    script.at(30s).process_ends("b", child, 0);
    const auto found = witnesses(script.finish(false), "safety.no_orphans");
    EXPECT_EQ(found.find("its worker's child pid 102") != std::string::npos, !killed)
        << found << "an agent that is killed can end its workers, but not their children";
  }
}

TEST(NoOrphans, a_worker_that_cannot_be_killed_is_excused_and_one_elsewhere_excuses_none) {
  for (const std::string target : {"b pid 101", "a pid 101"}) {
    Script script = two_nodes_at_work();
    script.at(9s).fault(0, "process_unkillable", 0s, target).at(10s).kill_agent("b").at(30s);
    EXPECT_EQ(verdict(script, "safety.no_orphans"),
              target == "b pid 101"
                  ? "excused by a worker that cannot be killed (process_unkillable)"
                  : "broken");
  }
  for (const char* const kind : {"net_partition", "process_pause", "clock_freeze"}) {
    Script script = two_nodes_at_work();
    script.at(9s).fault(0, kind, 0s, "b").at(10s).kill_agent("b").at(30s);
    EXPECT_EQ(verdict(script, "safety.no_orphans"), "broken") << kind;
  }
}

TEST(NoOrphans, descendants_may_take_a_second_to_follow) {
  Script script = two_nodes_at_work();
  script.at(10s).kill_agent("b").at(11s).worker_ends("b", 0, -9);
  EXPECT_THAT(witnesses(script.finish(false), "safety.no_orphans"), IsEmpty());
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

TEST(ExitCodeTruth, an_exit_code_names_a_signal_that_the_agent_got) {
  for (const std::int64_t code : {130, 143}) {
    Script script = two_nodes_at_work();
    script.at(10s).signal_agent("a", sim::Signal::int_).finishes("a", "signalled", code, "SIGINT");
    EXPECT_EQ(verdict(script, "safety.exit_code_truth"), code == 130 ? "kept" : "broken");
  }
  Script real = two_nodes_at_work();
  real.at(10s).emit("a", 100, ev::agent_signalled, {15, "running"});
  real.finishes("a", "signalled", 143, "SIGTERM");
  EXPECT_EQ(verdict(real, "safety.exit_code_truth"), "kept");
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

TEST(ExitCodeTruth, a_spare_of_a_job_that_is_done_has_not_failed) {
  const auto verdict_of = [](const std::string& what) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.agent_starts("c").joining("c").added("c", "redundancy_list", 0).at(60s);
    if (what == "lost path") script.fault(0, "net_partition", 10s, "c");
    if (what == "told to go") script.signal_agent("c", sim::Signal::term);
    if (what == "the job fails") {
      script.worker_ends("b", 0, 1).reaps("b").emit("b", 100, ev::failure_reported, {1, 101, 1});
      script.finishes("b", "failed", 1);
    } else {
      for (const char* const node : {"a", "b"})
        script.worker_ends(node, 0, 0).reaps(node).group(node, "SUCCEEDED").enters_barrier(node);
      if (what == "one is killed there") script.kill_agent("a");
      if (what == "one is killed there later") script.at(63s).kill_agent("a");
      if (!what.starts_with("one"))
        script.leaves_barrier("b", "passed").closes("b").finishes("b", "succeeded", 0);
    }
    if (what == "the job goes on") script.at(61s).completed("c", 1, 1);
    const std::int64_t code = what == "exit code 0" ? 0 : 1;
    script.at(64s).finishes("c", code == 0 ? "graceful_exit" : "error", code, "Closed");
    return verdict(script, "safety.exit_code_truth");
  };
  EXPECT_EQ(verdict_of(""), "broken");
  EXPECT_EQ(verdict_of("exit code 0"), "kept");
  EXPECT_EQ(verdict_of("lost path"), "excused by the path to the store (net_partition)");
  EXPECT_EQ(verdict_of("told to go"), "kept");
  EXPECT_EQ(verdict_of("the job fails"), "kept");
  EXPECT_EQ(verdict_of("the job goes on"), "kept");
  EXPECT_EQ(verdict_of("one is killed there"), "kept");
  EXPECT_EQ(verdict_of("one is killed there later"), "broken");
}

TEST(ExitCodeTruth, an_agent_that_is_killed_owes_no_announcement) {
  Script script = two_nodes_at_work();
  script.at(10s).kill_agent("a").crash("b");
  EXPECT_THAT(witnesses(script.finish(false), "safety.exit_code_truth"), IsEmpty());
}

}  // namespace
}  // namespace hooke::properties::test
