// The exit barrier opens when all have come.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kBarrierOpens = "liveness.barrier_opens";

// ---- the bound: 10 s + 5 s

/// a comes at 10 s and b at 20 s, with a store of its own beside them.
Script two_in_the_barrier() {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(20s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  return script;
}

TEST(BarrierOpens, a_barrier_that_stays_shut_when_all_have_come_breaks_it) {
  Script late = two_in_the_barrier();
  late.at(20100ms).leaves_barrier("b", "passed").at(70s).leaves_barrier("a", "timed_out");
  EXPECT_THAT(witnesses(late.finish(false), kBarrierOpens),
              AllOf(HasSubstr("the agent on node b (pid 100) was the last to come to the exit "
                              "barrier, at 20.000 s"),
                    HasSubstr("the agent on node a (pid 100) should have left it by 35.000 s "
                              "(reply + slack: 15.000 s), but "
                              "did so only at 70.000 s")));
  Script never = two_in_the_barrier();
  never.at(40s);
  EXPECT_THAT(witnesses(never.finish(false), kBarrierOpens),
              HasSubstr("had not when the run ended"));
}

TEST(BarrierOpens, a_barrier_that_opens_in_time_keeps_it_and_one_that_is_not_full_owes_nothing) {
  Script opens = two_in_the_barrier();
  opens.at(35s).leaves_barrier("a", "passed").leaves_barrier("b", "passed").at(900s);
  EXPECT_EQ(verdict(opens, kBarrierOpens), "kept");
  Script alone = at_work_beside_a_store({"a", "b"});
  alone.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  alone.at(200s);
  EXPECT_EQ(verdict(alone, kBarrierOpens), "nothing owed");
}

TEST(BarrierOpens, an_agent_that_is_killed_on_coming_may_not_have_been_counted) {
  Script at_once = two_in_the_barrier();
  at_once.at(20s + 1ms).kill_agent("b").at(70s).leaves_barrier("a", "timed_out");
  EXPECT_NE(verdict(at_once, kBarrierOpens), "broken");
  Script first = at_work_beside_a_store({"a", "b"});
  first.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  first.at(10s + 1ms).kill_agent("a");
  first.at(20s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  first.at(70s).leaves_barrier("b", "timed_out");
  EXPECT_EQ(verdict(first, kBarrierOpens), "nothing owed");
  Script later = two_in_the_barrier();
  later.at(31s).kill_agent("b").at(70s).leaves_barrier("a", "timed_out");
  EXPECT_THAT(witnesses(later.finish(false), kBarrierOpens),
              HasSubstr("the agent on node a (pid 100) should have left it by"));
}

TEST(BarrierOpens, an_agent_that_is_told_to_go_on_coming_may_not_have_been_counted) {
  const auto verdict_when_b_is_told_at = [](sim::Duration told) {
    Script script = two_in_the_barrier();
    script.at(told).leaves_barrier("b", "interrupted").at(70s).leaves_barrier("a", "timed_out");
    return verdict(script, kBarrierOpens);
  };
  EXPECT_NE(verdict_when_b_is_told_at(20s + 90ms), "broken");
  EXPECT_EQ(verdict_when_b_is_told_at(31s), "broken");
}

TEST(BarrierOpens, an_agent_that_could_not_reach_the_store_may_not_have_been_counted) {
  for (const std::string how : {"crashes", "timed_out", "failed"}) {
    const auto verdict_when_cut_off_until = [&](sim::Duration healed) {
      Script script = at_work_beside_a_store({"a", "b"});
      script.at(5s).fault(0, "net_partition", 0s, "b");
      script.at(10s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
      script.at(20s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
      script.at(healed).fault_over(0, "net_partition").at(100s);
      if (how == "crashes") script.crash("b");
      if (how != "crashes") script.leaves_barrier("b", how);
      return verdict(script.at(900s), kBarrierOpens);
    };
    EXPECT_NE(verdict_when_cut_off_until(95s), "broken") << how;
    EXPECT_EQ(verdict_when_cut_off_until(21s), "broken") << "60 s for a caught request, and 10 s";
  }
}

TEST(BarrierOpens, opens_for_no_agent_that_waits_beside_another_group_of_the_same_number) {
  Script script;
  script.agent_starts("a").serves_store("a", 29400).agent_starts("b").form(0, {"a", "b"});
  script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.crash("b").fault(0, "dns_alias", 0s, "a").at(15s).agent_starts("b");
  script.fault_took_effect(0, "dns_alias").serves_store("b", 29400).form(0, {"b"});
  script.at(20s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  EXPECT_FALSE(script.view().agent(AgentId{0}).all_came);
  EXPECT_TRUE(script.view().agent(AgentId{2}).all_came);
  script.leaves_barrier("b", "passed").at(310s).leaves_barrier("a", "timed_out");
  EXPECT_EQ(verdict(script, kBarrierOpens), "kept");
}

TEST(BarrierOpens, an_error_that_nothing_brought_about_leaves_no_agent_uncounted) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(10s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  script.at(11s).leaves_barrier("b", "failed");
  script.at(20s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  EXPECT_EQ(verdict(script.at(900s), kBarrierOpens), "broken");
}

/// As a trace may tell that is not hooke's.
TEST(BarrierOpens, an_agent_that_no_round_is_known_of_is_passed_over) {
  Script script;
  script.agent_starts("a").at(5s).fault(0, "net_partition", 0s, "a");
  script.at(10s).emit("a", 100, ev::exit_barrier_entered, {"job", 0, 1});
  script.at(12s).emit("a", 100, ev::exit_barrier_left, {"job", 0, "failed", 0});
  EXPECT_NE(verdict(script.at(900s), kBarrierOpens), "broken");
}

// ---- hindrances: of any agent of the round, for all of them have to be counted

/// With a fault from 15 s to 60 s, or for good; both leave at `leaves`.
std::string verdict_of_a_barrier(const std::string& kind, const std::string& target,
                                 sim::Duration lasts, sim::Duration leaves) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.agent_starts("c");
  script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(15s).fault(0, kind, lasts, target);
  script.at(20s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  script.at(leaves).leaves_barrier("a", "passed").leaves_barrier("b", "passed");
  return verdict(script, kBarrierOpens);
}

TEST(BarrierOpens, what_hinders_one_of_the_round_may_keep_it_shut) {
  for (const char* const target : {"a", "b", "b -> s"}) {
    EXPECT_EQ(verdict_of_a_barrier("net_partition", target, 45s, 135s), "kept")
        << target << ": 60 s, a caught request 60 s, and 15 s";
    EXPECT_EQ(verdict_of_a_barrier("net_partition", target, 45s, 136s), "broken") << target;
    EXPECT_EQ(verdict_of_a_barrier("net_partition", target, 0s, 900s),
              "excused by the path to the store (net_partition)");
  }
  EXPECT_EQ(verdict_of_a_barrier("service_stop", "s", 0s, 900s),
            "excused by the store (service_stop)");
}

TEST(BarrierOpens, what_hinders_another_agent_or_another_path_does_not) {
  for (const char* const target : {"c", "a <-> b", "c <-> s"})
    EXPECT_EQ(verdict_of_a_barrier("net_partition", target, 0s, 36s), "broken") << target;
  EXPECT_EQ(verdict_of_a_barrier("process_pause", "a pid 101", 0s, 36s), "broken")
      << "that is its worker";
}

TEST(BarrierOpens, what_hinders_one_that_has_left_and_gone_excuses_none) {
  Script script = two_in_the_barrier();
  script.at(21s).leaves_barrier("b", "passed").finishes("b", "succeeded", 0);
  script.at(22s).fault(0, "net_partition", 0s, "b").at(36s);
  EXPECT_EQ(verdict(script, kBarrierOpens), "broken");
}

TEST(BarrierOpens, a_store_that_forgets_one_that_had_come_opens_nothing) {
  Script between = at_work_beside_a_store({"a", "b"});
  between.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  between.at(15s).store_dies().at(16s).store_starts();
  between.at(20s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  between.at(900s);
  EXPECT_EQ(verdict(between, kBarrierOpens), "nothing owed");
  Script afterwards = two_in_the_barrier();
  afterwards.at(21s).store_dies().at(900s);
  EXPECT_EQ(verdict(afterwards, kBarrierOpens), "excused by the store (store_gone)");
  Script empty = two_in_the_barrier();
  empty.at(21s).store_dies().at(50s).store_starts().at(900s);
  EXPECT_EQ(verdict(empty, kBarrierOpens), "kept") << "it was put off until then";
}

// ---- safety.exit_barrier

constexpr const char* kExitBarrier = "safety.exit_barrier";

TEST(ExitBarrier, is_passed_behind_all_and_not_before) {
  Script early = at_work_beside_a_store({"a", "b"});
  early.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  early.at(12s).leaves_barrier("a", "passed");
  EXPECT_THAT(
      witnesses(early.finish(false), kExitBarrier),
      HasSubstr("the agent on node a (pid 100) passed the exit barrier of round 0 at 12.000 "
                "s, to which 1 of 2 agents had come"));
  Script both = two_in_the_barrier();
  both.at(21s).leaves_barrier("a", "passed").leaves_barrier("b", "passed");
  EXPECT_EQ(verdict(both, kExitBarrier), "kept");
  Script one_has_gone = two_in_the_barrier();
  one_has_gone.at(21s).kill_agent("b").at(22s).leaves_barrier("a", "passed");
  EXPECT_EQ(verdict(one_has_gone, kExitBarrier), "kept");
}

TEST(ExitBarrier, is_waited_at_for_as_long_as_was_configured) {
  const auto verdict_when_left_after = [](sim::Duration waited, bool slow) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
    if (slow) script.fault(0, "service_slow", 5s);
    script.at(10s + waited).leaves_barrier("a", "timed_out");
    return verdict(script, kExitBarrier);
  };
  EXPECT_EQ(verdict_when_left_after(100s, false), "broken");
  EXPECT_EQ(verdict_when_left_after(271s, false), "kept");
  EXPECT_EQ(verdict_when_left_after(300s, false), "kept");
  EXPECT_NE(verdict_when_left_after(60s, true), "broken");
  EXPECT_EQ(verdict_when_left_after(315s, false), "kept");
  EXPECT_EQ(verdict_when_left_after(316s, false), "broken") << "300 s, a reply 10 s, and 5 s";
  EXPECT_EQ(verdict_when_left_after(320s, true), "kept") << "it was put off by 5 s";
}

TEST(ExitBarrier, an_agent_that_never_leaves_it_breaks_it_unless_it_ends) {
  for (const bool ends : {false, true}) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
    if (ends) script.at(200s).kill_agent("a");
    script.at(600s);
    EXPECT_EQ(verdict(script, kExitBarrier) == "broken", !ends);
  }
}

/// Node a, done, leaves the barrier when b, whose worker has failed, comes back; it ends, having gone
/// back before or not.
TEST(ExitBarrier, an_agent_that_leaves_it_for_others_goes_back_with_them) {
  const auto ends = [](bool goes_back, const char* outcome, const char* fault) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
    script.at(20s).worker_ends("b", 0, 1).reaps("b").restarts("b", "worker_failure").joining("b");
    script.at(21s);
    if (*fault != 0) script.fault(0, fault, 5s, "a");
    script.leaves_barrier("a", "others_return");
    if (goes_back) script.joining("a").at(30s);
    script.finishes("a", outcome, 0);
    return verdict(script, kExitBarrier);
  };
  EXPECT_EQ(ends(false, "succeeded", ""), "broken");
  EXPECT_EQ(ends(true, "succeeded", ""), "kept") << "it is too late for another round";
  EXPECT_EQ(ends(false, "signalled", ""), "kept");
  EXPECT_EQ(ends(false, "succeeded", "net_clog"), "excused by the path to the store (net_clog)");
}

}  // namespace
}  // namespace hooke::properties::test
