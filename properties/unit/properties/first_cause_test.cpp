// What is named as the cause of a failed job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

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

/// Worker 1 fails, is to be started again alone, and worker 0 fails in the pause before that or behind
/// it; then the agent names one of them.
std::string named_after_a_restart_alone(bool started, int named) {
  AgentSettings settings;
  settings.local_world_size = 2;
  Script script(settings);
  script.agent_starts("a").form(0, {"a"});
  const std::int64_t first = script.worker_pid("a", 1);
  script.at(10s).worker_ends("a", 1, 3).reaps("a");
  script.emit("a", 100, ev::worker_restarting, {first, 1, 1, 2}).at(12s);
  if (started)
    script.emit("a", 100, ev::worker_started, {"job", 0, 109, 1, 1, 2, 1, "a.sim:29500"});
  script.at(14s).worker_ends("a", 0, 1).reaps("a");
  const std::int64_t pid = named == 1 ? first : script.worker_pid("a", 0);
  script.emit("a", 100, ev::failure_reported, {named, pid, named == 1 ? 3 : 1});
  return witnesses(script.finish(false), "safety.first_cause");
}

TEST(FirstCause, a_worker_that_is_to_be_started_again_has_failed_until_it_is) {
  EXPECT_THAT(named_after_a_restart_alone(false, 1), IsEmpty());
  EXPECT_THAT(named_after_a_restart_alone(false, 0), HasSubstr("its rank 1 had failed first"));
  EXPECT_THAT(named_after_a_restart_alone(true, 0), IsEmpty());
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
            HasSubstr("that of rank 0 on node a at 10.000 s, with status 3; no agent reports it")));
}

TEST(FirstCause, a_silent_worker_ends_a_job_beside_a_failure_that_is_restarted_for) {
  // The worker of a fails at 10 s; that b's is silent is seen at `seen`, with a look each 100 ms.
  const auto verdict_when = [](bool restarts, sim::Duration seen) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(10s).worker_ends("a", 0, 3).at(14s).reaps("a");
    if (restarts) script.restarts("a", "worker_failure").joining("a");
    script.at(seen).emit("b", 100, ev::heartbeat_lost, {"1-7", sim::Duration(1s)});
    script.stops_workers("b");
    script.emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), -15})
        .finishes("b", "failed", 1);
    if (!restarts) script.finishes("a", "error", 1);
    return verdict(script, "safety.first_cause");
  };
  EXPECT_EQ(verdict_when(true, 18s), "kept");
  EXPECT_EQ(verdict_when(false, 18s), "broken");
  EXPECT_EQ(verdict_when(true, 20s), "broken") << "b had time to follow a, which has gone";
}

TEST(FirstCause, a_restart_before_the_failure_or_after_the_report_is_not_for_that_failure) {
  // The agent on a restarts at 5 s, or 25 s; its worker fails at 10 s, and b reports a silence.
  const auto verdict_when = [](sim::Duration restarts) {
    Script script = at_work_beside_a_store({"a", "b"});
    const auto restart = [&] { script.restarts("a", "membership_change").joining("a"); };
    if (restarts == 5s) {
      script.at(5s).stops_workers("a").stops_workers("b").restarts("b", "membership_change");
      restart();
      script.joining("b").at(8s).form(1, {"a", "b"});
    }
    script.at(10s).worker_ends("a", 0, 3).reaps("a").at(11s);
    script.emit("b", 100, ev::heartbeat_lost, {"1-7", sim::Duration(0s)}).at(20s);
    script.emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), -15})
        .finishes("b", "failed", 1)
        .at(25s);
    restarts == 25s ? restart() : static_cast<void>(script.finishes("a", "error", 1));
    return verdict(script.at(60s), "safety.first_cause");
  };
  EXPECT_EQ(verdict_when(5s), "broken");
  EXPECT_EQ(verdict_when(25s), "broken");
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

/// Both workers of b fail, and one of a; b, which follows a departure with its restart, names one.
TEST(FirstCause, an_agent_may_name_behind_its_restart_either_of_two_that_failed_at_once) {
  for (const sim::Duration apart : {sim::Duration(1ms), sim::Duration(1s)}) {
    AgentSettings settings;
    settings.local_world_size = 2;
    Script script = at_work_beside_a_store({"a", "b"}, settings);
    script.at(10s).worker_ends("b", 1, 1);
    if (apart == 1s) script.reaps("b");
    script.at(10s + apart).worker_ends("b", 0, 1).reaps("b");
    script.at(10s + apart + 1ms).worker_ends("a", 0, 1).reaps("a");
    script.emit("a", 100, ev::failure_reported, {0, script.worker_pid("a", 0), 1});
    script.restarts("b", "member_left").joining("b").at(12s);
    script.emit("b", 100, ev::failure_reported, {2, script.worker_pid("b", 0), 1});
    for (const char* const node : {"a", "b"}) script.finishes(node, "failed", 1);
    EXPECT_EQ(verdict(script, "safety.first_cause"), apart == 1ms ? "kept" : "broken");
  }
}

TEST(FirstCause, a_run_that_is_cut_before_the_origin_is_late_shows_nothing) {
  Script script = report_is_still_to_come();
  EXPECT_THAT(witnesses(script.at(39s).finish(false), "safety.first_cause"), IsEmpty());
}

TEST(FirstCause, an_origin_that_ends_or_lets_its_time_go_by_without_a_report_breaks_it) {
  const auto told = HasSubstr("rank 0 on node a at 10.000 s, with status 3; no agent reports it");
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

TEST(FirstCause, no_agent_can_report_what_died_with_its_node) {
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

TEST(FirstCause, a_worker_that_ends_while_its_agent_restarts_is_no_cause) {
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

TEST(FirstCause, a_failure_like_the_first_is_named_also_when_one_before_it_is_mended_later) {
  for (const bool c_reports : {true, false}) {
    AgentSettings settings;
    settings.local_world_size = 2;
    Script script(settings);
    for (const char* const node : {"a", "b", "c"}) script.agent_starts(node);
    for (const char* const node : {"a", "b", "c"})
      script.emit(node, 100, ev::ranks_assigned, {"job", -1, 0, 3, 0, 6}).workers_start(node);
    script.at(10s).worker_ends("b", 0, 3).at(12s).worker_ends("c", 1, 4).worker_ends("c", 0, 4);
    script.at(13s).worker_ends("a", 0, 1).at(20s);
    script.emit("a", 100, ev::failure_reported, {0, script.worker_pid("a", 0), 1});
    if (c_reports) script.emit("c", 100, ev::failure_reported, {0, script.worker_pid("c", 0), 4});
    script.emit("b", 100, ev::group_restarting, {"worker_failure", 3, -1});
    for (const char* const node : {"a", "b", "c"}) script.finishes(node, "failed", 1);
    EXPECT_THAT(limits(script.finish(), "safety.first_cause"), SizeIs(c_reports ? 0 : 1));
  }
}

/// The worker of a is the first to fail; its agent, which restarts for a newcomer `later`, has not
/// seen it (or has).
std::string verdict_of_the_overtaken(sim::Duration later, bool seen) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 3).worker_ends("b", 0, 1);
  if (seen) script.reaps("a");
  script.at(10s + later).emit("a", 100, ev::group_restarting, {"membership_change", 3, 0});
  if (!seen) script.reaps("a");
  script.reaps("b").emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), 1});
  return verdict(script, "safety.first_cause");
}

TEST(FirstCause, an_agent_that_restarts_between_the_failure_and_its_look_does_not_report_it) {
  EXPECT_NE(verdict_of_the_overtaken(4ms, false), "broken");
  EXPECT_EQ(verdict_of_the_overtaken(4ms, true), "broken");
  EXPECT_EQ(verdict_of_the_overtaken(61s, false), "broken") << "it looks too late";
}

TEST(FirstCause, what_keeps_one_of_the_two_from_the_store_is_told_with_it_and_nothing_else) {
  const auto limit = [](const std::string& kind, const std::string& target) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.agent_starts("c").at(5s).fault(0, kind, 0s, target);
    script.at(10s).worker_ends("a", 0, 3).reaps("a").at(20s).worker_ends("b", 0, 1).reaps("b");
    script.emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), 1});
    script.finishes("b", "failed", 1).finishes("a", "error", 1);
    const auto found = limits(script.finish(), "safety.first_cause");
    return found.size() == 1 ? found.front() : "not told once";
  };
  EXPECT_EQ(limit("net_partition", "a"), "the path to the store (net_partition)");
  EXPECT_EQ(limit("net_partition", "b -> s"), "the path to the store (net_partition)");
  EXPECT_EQ(limit("service_stop", "s"), "the store (service_stop)");
  EXPECT_EQ(limit("net_partition", "c"), "");
  EXPECT_EQ(limit("net_partition", "a <-> b"), "");
  EXPECT_EQ(limit("process_pause", "c pid 100"), "");
}

TEST(FirstCause, an_agent_that_ends_because_it_was_told_to_reports_nothing) {
  for (const bool told : {true, false}) {
    Script script = two_nodes_at_work();
    script.at(10s).worker_ends("a", 0, 3).worker_ends("b", 0, 3).reaps("a").reaps("b");
    if (told) script.signal_agent("a", sim::Signal::quit);
    script.finishes("a", told ? "signalled" : "error", 1);
    script.emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), 3});
    EXPECT_EQ(witnesses(script.finish(false), "safety.first_cause").empty(), told);
  }
}

}  // namespace
}  // namespace hooke::properties::test
