// A node on the wait list is let in, made a spare, or sent away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kAdmission = "liveness.admission";

// ---- the bound: 15 s + 30 s + 30 s + 5 s

TEST(Admission, a_node_that_is_left_on_the_wait_list_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0).at(120s);
  EXPECT_THAT(
      witnesses(script.finish(false), kAdmission),
      AllOf(HasSubstr("the agent on node c (pid 100) has been on the wait list since 20.000 s"),
            HasSubstr("by 100.000 s"), HasSubstr("had not when the run ended at 120.000 s")));
}

TEST(Admission, admission_a_spares_place_and_a_refusal_in_time_keep_it) {
  Script script = two_nodes_at_work();
  for (const char* node : {"c", "d", "e"}) {
    script.at(20s).agent_starts(node).joining(node).added(node, "wait_list", 0);
  }
  script.at(50s).joined("c", 1, 0, 1, "c.sim:1").added("d", "redundancy_list", 1);
  script.emit("e", 100, ev::rendezvous_failed, {"job", "RendezvousClosedError", ""}).at(300s);
  EXPECT_EQ(verdict(script, kAdmission), "kept");
}

TEST(Admission, a_late_refusal_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0);
  script.at(620s).emit("c", 100, ev::rendezvous_failed, {"job", "RendezvousTimeoutError", ""});
  EXPECT_THAT(witnesses(script.finish(false), kAdmission),
              HasSubstr("but did so only at 620.000 s"));
}

TEST(Admission, needs_the_part_of_a_member_that_hears_later_that_it_is_one) {
  for (const bool hears : {true, false}) {
    Script script;
    script.agent_starts("a").agent_starts("b").joining("a").joining("b").completed("a", 0, 2);
    script.joined("a", 0, 0, 2, "a.sim:1").at(10s).fault(1, "process_unkillable", {}, "b");
    script.agent_starts("c").joining("c").added("c", "wait_list", 0);
    if (hears) script.at(11s).joined("b", 0, 1, 2, "a.sim:1");
    script.at(120s).joined("c", 1, 2, 3, "a.sim:1").at(300s);
    EXPECT_EQ(verdict(script, kAdmission), hears ? "kept" : "broken");
  }
}

TEST(Admission, waits_for_keys_of_gone_members_where_the_clock_of_a_legacy_etcd_stands_still) {
  for (const char* const backend : {"etcd", "c10d"}) {
    AgentSettings settings;
    settings.backend = backend;
    Script script = at_work_beside_a_store({"a", "b"}, settings);
    script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0);
    script.at(30s).fault(1, "clock_freeze", 80s, "s").at(110s).fault_over(1, "clock_freeze");
    script.at(120s).joined("c", 1, 0, 1, "c.sim:1").at(300s);
    EXPECT_EQ(verdict(script, kAdmission), settings.backend == "etcd" ? "kept" : "broken");
  }
}

TEST(Admission, a_node_that_waits_beside_a_full_round_is_a_spare_of_the_legacy_rendezvous) {
  AgentSettings settings;
  settings.max_nodes = 2;
  Script script(settings);
  script.agent_starts("a").agent_starts("b").joining("a").joining("b").completed("a", 0, 2);
  script.at(10s).agent_starts("c").joining("c").added("c", "wait_list", 0);
  script.at(11s).joined("a", 0, 0, 2, "a.sim:1").joined("b", 0, 1, 2, "a.sim:1").at(500s);
  EXPECT_EQ(verdict(script, kAdmission), "nothing owed");
  for (const sim::Duration hears : {11s, 16s}) {
    Script late(settings);
    late.agent_starts("a").agent_starts("b").joining("a").joining("b");
    late.at(10s).agent_starts("c").joining("c").added("c", "wait_list", 0);
    late.at(hears).completed("a", 0, 2).joined("a", 0, 0, 2, "a.sim:1");
    late.joined("b", 0, 1, 2, "a.sim:1").at(500s);
    EXPECT_EQ(verdict(late, kAdmission), hears == 11s ? "nothing owed" : "broken");
  }
  for (const std::string held_up : {"a", "b"}) {
    Script late(settings);
    late.agent_starts("a").agent_starts("b").joining("a").joining("b");
    late.at(9s).fault(0, "process_pause", 10s, held_up + " pid 100");
    late.at(10s).agent_starts("c").joining("c").added("c", "wait_list", 0);
    late.at(19s).fault_over(0, "process_pause").at(20s).completed("a", 0, 2);
    late.joined("a", 0, 0, 2, "a.sim:1").joined("b", 0, 1, 2, "a.sim:1").at(500s);
    EXPECT_EQ(verdict(late, kAdmission), held_up == "a" ? "nothing owed" : "broken");
  }
  Script free(settings);
  free.agent_starts("a").agent_starts("b").form(0, {"a", "b"}).at(5s).crash("b");
  free.at(10s).agent_starts("c").joining("c").added("c", "wait_list", 0).at(500s);
  EXPECT_EQ(verdict(free, kAdmission), "broken") << "a seat is free";
}

// ---- hindrances, of the node that waits and of the members that should let it in

/// c waits from 20 s on, beside a, b and a store. What hinders goes on from 30 s to `until`; zero:
/// for good. c gets in at `enters`.
std::string verdict_of_one_that_waits(const std::string& kind, const std::string& target,
                                      sim::Duration until, sim::Duration enters) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(2s).agent_starts("d");
  script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0);
  script.at(30s).fault(0, kind, 0s, target);
  if (until > 0s) script.at(until).fault_over(0, kind);
  script.at(enters).joined("c", 1, 0, 1, "c.sim:1");
  return verdict(script, kAdmission);
}

TEST(Admission, what_hinders_the_waiting_node_or_a_member_puts_it_off) {
  for (const char* const target : {"c", "b <-> s"}) {
    const auto entered = [&](sim::Duration enters) {
      return verdict_of_one_that_waits("net_partition", target, 300s, enters);
    };
    EXPECT_EQ(entered(440s), "kept") << target << ": 300 s, a caught request 60 s, and 80 s";
    EXPECT_EQ(entered(441s), "broken") << target;
    EXPECT_EQ(verdict_of_one_that_waits("net_partition", target, 0s, 900s),
              "excused by the path to the store (net_partition)");
  }
  EXPECT_EQ(verdict_of_one_that_waits("process_unkillable", "b", 0s, 160s), "kept")
      << "a worker that cannot be killed is given up after 60 s";
  EXPECT_EQ(verdict_of_one_that_waits("process_unkillable", "b", 0s, 161s), "broken");
}

TEST(Admission, a_node_that_is_cut_off_while_a_member_is_waited_for_cannot_be_let_in) {
  const auto cut_off = [](sim::Duration when, const char* unkillable) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0);
    script.at(30s).fault(0, "process_unkillable", 0s, unkillable);
    script.at(when).fault(1, "net_partition", 0s, "c <-> s");
    script.at(900s).emit("c", 100, ev::rendezvous_failed, {"job", "RendezvousTimeoutError", ""});
    return verdict(script, kAdmission);
  };
  EXPECT_EQ(cut_off(120s, "b"), "excused by the path to the store (net_partition)");
  EXPECT_EQ(cut_off(161s, "b"), "broken") << "b has given its worker up before";
  EXPECT_EQ(cut_off(120s, "s"), "broken") << "no member is hindered";
}

TEST(Admission, what_hinders_another_node_excuses_none) {
  for (const char* const target : {"d", "c <-> a", "d <-> s"}) {
    EXPECT_EQ(verdict_of_one_that_waits("net_partition", target, 0s, 120s), "broken") << target;
  }
  EXPECT_EQ(verdict_of_one_that_waits("process_unkillable", "d", 0s, 120s), "broken");
}

TEST(Admission, a_member_that_is_dead_is_waited_for_no_longer_than_its_death_goes_unnoticed) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0);
  script.at(25s).crash("b").at(30s).fault(0, "net_partition", 0s, "b").at(101s);
  EXPECT_EQ(verdict(script, kAdmission), "broken") << "what hinders the dead member comes too late";
}

TEST(Admission, no_node_is_let_in_while_the_store_is_gone) {
  for (const sim::Duration enters : {440s, 441s}) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0);
    script.at(30s).store_dies().at(300s).store_starts();
    script.at(enters).joined("c", 1, 0, 1, "c.sim:1");
    EXPECT_EQ(verdict(script, kAdmission), enters == 440s ? "kept" : "broken");
  }
}

TEST(Admission, an_etcd_without_a_leader_disturbs_it_and_one_that_forgets_history_does_not) {
  EXPECT_EQ(verdict_of_one_that_waits("etcd_leader_loss", "s", 300s, 370s), "kept");
  EXPECT_EQ(verdict_of_one_that_waits("etcd_compaction", "s", 300s, 370s), "broken");
}

}  // namespace
}  // namespace hooke::properties::test
