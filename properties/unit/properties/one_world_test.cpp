// No two disjoint sets of workers believe that they are the job.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kOneWorld = "safety.one_world";

/// b is cut off and evicted; a forms a round alone while b's workers go on.
Script split_world(sim::Duration together) {
  Script script = two_nodes_at_work();
  script.at(40s)
      .restarts("a", "membership_change")
      .emit("a", 100, ev::rendezvous_evicted, {"job", 0, "b.sim_100_0", 0, 1});
  script.at(50s).form(1, {"a"});
  script.at(50s + together)
      .worker_ends("b", 0, 1)
      .reaps("b")
      .finishes("b", "error", 1, "DistNetworkError: gone");
  return script;
}

TEST(OneWorld, two_rounds_whose_workers_live_on_together_are_two_worlds) {
  const auto broken = split_world(30s).finish();
  EXPECT_THAT(witnesses(broken, kOneWorld),
              AllOf(HasSubstr("job \"job\" had two living worlds from 50.000 s to 80.000 s"),
                    HasSubstr("round 0 meeting at a.sim:29500 (pid 101 on node b is one)"),
                    HasSubstr("round 1"), HasSubstr("16.100 s at most")));
}

TEST(OneWorld, an_old_world_that_ends_within_the_time_its_death_may_go_unnoticed_is_none) {
  EXPECT_THAT(witnesses(split_world(16s).finish(), kOneWorld), IsEmpty());
}

TEST(OneWorld, the_witness_names_a_worker_that_still_runs) {
  Script script = at_work_beside_a_store({"a", "b", "c"});
  script.at(20s).process_ends("c", script.worker_pid("c", 0), -9);
  script.at(40s).restarts("a", "membership_change").at(50s).form(1, {"a"}).at(80s);
  EXPECT_THAT(witnesses(script.finish(false), kOneWorld),
              HasSubstr("round 0 meeting at a.sim:29500 (pid 101 on node b is one)"));
}

/// The clock of b stands still, or not, and its machine goes with all that runs there.
TEST(OneWorld, a_machine_takes_along_an_agent_that_could_not_notice_together_with_its_workers) {
  const auto told = [](bool freezes) {
    Script script = at_work_beside_a_store({"a", "b"});
    if (freezes) script.at(35s).fault(0, "clock_freeze", {}, "b");
    script.at(40s).restarts("a", "membership_change");
    script.emit("a", 100, ev::rendezvous_evicted, {"job", 0, "b.sim_100_0", 0, 1});
    return verdict(script.at(50s).form(1, {"a"}).at(90s).crash("b"), kOneWorld);
  };
  EXPECT_NE(told(true), "broken");
  EXPECT_EQ(told(false), "broken");
}

/// b cannot be reached, is stopped, or the like; a goes on without it from 50 s on. The workers of
/// b live until `end`.
std::string verdict_of_a_split(const std::string& kind, const std::string& target,
                               sim::Duration lasts, sim::Duration end) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.agent_starts("c").at(35s).fault(0, kind, lasts, target);
  script.at(40s).restarts("a", "membership_change");
  script.emit("a", 100, ev::rendezvous_evicted, {"job", 0, "b.sim_100_0", 0, 1});
  script.at(50s).form(1, {"a"}).at(end).worker_ends("b", 0, 1).reaps("b");
  return verdict(script, kOneWorld);
}

TEST(OneWorld, what_hinders_an_agent_of_the_older_world_puts_its_end_off) {
  EXPECT_EQ(verdict_of_a_split("process_pause", "b pid 100", 40s, 91s), "kept") << "75 + 16.1 s";
  EXPECT_EQ(verdict_of_a_split("process_pause", "b pid 100", 40s, 92s), "broken");
  EXPECT_EQ(verdict_of_a_split("net_partition", "b", 40s, 151s), "kept") << "and a request, 60 s";
  EXPECT_EQ(verdict_of_a_split("net_partition", "b", 40s, 152s), "broken");
  EXPECT_EQ(verdict_of_a_split("process_pause", "b pid 100", 0s, 900s),
            "excused by the agent's process (process_pause)");
  EXPECT_EQ(verdict_of_a_split("process_unkillable", "b", 0s, 126s), "kept") << "60 s more";
  EXPECT_EQ(verdict_of_a_split("process_unkillable", "b", 0s, 127s), "broken");
  EXPECT_EQ(verdict_of_a_split("process_pause", "b pid 100", 10s, 67s), "broken")
      << "it was over when the others went on";
}

TEST(OneWorld, what_hinders_another_agent_excuses_none) {
  for (const char* const target : {"a pid 100", "c pid 100", "b pid 101"})
    EXPECT_EQ(verdict_of_a_split("process_pause", target, 0s, 67s), "broken") << target;
  for (const char* const target : {"a", "c", "a <-> b"})
    EXPECT_EQ(verdict_of_a_split("net_partition", target, 0s, 67s), "broken") << target;
}

TEST(OneWorld, two_worlds_at_the_end_of_the_run_are_reported_once) {
  Script script = two_nodes_at_work();
  script.at(40s)
      .restarts("a", "membership_change")
      .emit("a", 100, ev::rendezvous_left, {"job", 0, 1});
  script.at(50s).form(1, {"a"}).at(100s);
  const auto broken = script.finish(false);
  EXPECT_EQ(
      std::count_if(broken.begin(), broken.end(),
                    [](const Violation& violation) { return violation.invariant == kOneWorld; }),
      1);
}

TEST(OneWorld, orphans_of_a_dead_agent_are_a_world_of_their_own) {
  Script script = two_nodes_at_work();
  script.at(30s)
      .kill_agent("b")
      .at(31s)
      .restarts("a", "membership_change")
      .at(32s)
      .form(1, {"a"})
      .at(80s);
  EXPECT_THAT(witnesses(script.finish(), kOneWorld), HasSubstr("from 32.000 s to 80.000 s"));
}

TEST(OneWorld, orphans_that_cannot_be_killed_live_as_long_as_that_is_so) {
  const auto told = [](sim::Duration over) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(20s).fault(0, "process_unkillable", {}, "b pid 101").at(30s).kill_agent("b");
    script.at(31s).restarts("a", "membership_change").at(32s).form(1, {"a"});
    return verdict(script.at(over).fault_over(0, "process_unkillable").at(80s), kOneWorld);
  };
  EXPECT_EQ(told(79s), "kept");
  EXPECT_EQ(told(50s), "broken");
}

TEST(OneWorld, two_jobs_side_by_side_are_two_jobs) {
  Script script = two_nodes_at_work();
  script.settings.run_id = "other";
  script.agent_starts("c").form(0, {"c"}).at(100s);
  EXPECT_THAT(witnesses(script.finish(false), kOneWorld), IsEmpty());
}

TEST(OneWorld, one_round_that_meets_at_two_places_is_two_worlds) {
  Script script;
  script.agent_starts("a").agent_starts("b").at(1s).joining("a").joining("b").completed("b", 0, 2);
  script.joined("a", 0, 0, 2, "a.sim:29500")
      .joined("b", 0, 1, 2, "b.sim:1")
      .workers_start("a")
      .workers_start("b");
  script.at(60s);
  EXPECT_THAT(witnesses(script.finish(false), kOneWorld), HasSubstr("meeting at b.sim:1"));
}

}  // namespace
}  // namespace hooke::properties::test
