// Invariants about rounds and their members, each broken once; normal_runs_test.cpp holds what
// must not break them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- rank_sanity

TEST(RankSanity, one_rank_for_two_living_members_breaks_it) {
  Script script;
  script.agent_starts("a").agent_starts("b").joining("a").joining("b").completed("a", 4, 2);
  script.joined("a", 4, 1, 2, "a.sim:1").joined("b", 4, 1, 2, "a.sim:1");
  EXPECT_THAT(witnesses(script.finish(false), "safety.rank_sanity"),
              HasSubstr("in round 4 both the agent on node a (pid 100) and the agent on node b "
                        "(pid 100) have rank 1"));
}

TEST(RankSanity, a_rank_beyond_the_world_size_and_a_disputed_size_break_it) {
  Script script;
  script.agent_starts("a").agent_starts("b").joining("a").joining("b").completed("a", 0, 2);
  script.joined("a", 0, 0, 2, "a.sim:1").joined("b", 0, 1, 1, "a.sim:1");
  EXPECT_THAT(
      witnesses(script.finish(false), "safety.rank_sanity"),
      AllOf(
          HasSubstr(
              "node a (pid 100) was told a world of 2, but the agent on node b (pid 100) one of 1"),
          HasSubstr("joined round 0 with rank 1 in a world of 1")));
}

TEST(RankSanity,
     a_world_that_is_not_as_large_as_its_round_breaks_it_in_whatever_order_they_are_told) {
  for (const bool completed_first : {true, false}) {
    Script script;
    script.agent_starts("a").agent_starts("b").joining("a").joining("b");
    if (completed_first) script.completed("a", 0, 2);
    script.joined("a", 0, 0, 3, "a.sim:1").joined("b", 0, 1, 3, "a.sim:1");
    if (!completed_first) script.completed("a", 0, 2);
    const std::string told = witnesses(script.finish(false), "safety.rank_sanity");
    EXPECT_THAT(told, HasSubstr("in round 0 the agent on node a (pid 100) was told a world of 3, "
                                "and 2 take part"));
    EXPECT_EQ(std::count(told.begin(), told.end(), '\n'), 1) << told;
  }
}

TEST(RankSanity, agents_that_hear_of_a_round_after_one_has_left_must_agree_all_the_same) {
  const auto with = [](sim::Duration pause, bool left_first) {
    Script script;
    script.agent_starts("a").agent_starts("b").joining("a").joining("b").completed("a", 0, 3);
    if (left_first) script.emit("b", 100, ev::rendezvous_left, {"job", 0, 2});
    script.at(pause).joined("a", 0, 0, 2, "a.sim:1").joined("b", 0, 1, 3, "a.sim:1");
    if (!left_first) script.at(2 * pause).emit("b", 100, ev::rendezvous_left, {"job", 0, 2});
    return witnesses(script.finish(false), "safety.rank_sanity");
  };
  EXPECT_THAT(with(3s, true), HasSubstr("node a (pid 100) was told a world of 2, but the agent on "
                                        "node b (pid 100) one of 3"));
  EXPECT_THAT(with(2s, true), IsEmpty()) << "what one was told it says an answer later";
  EXPECT_THAT(with(3s, false), HasSubstr("was told a world of 2, and 3 take part"));
  EXPECT_THAT(with(2s, false), IsEmpty()) << "so does the one that leaves";
}

TEST(RankSanity, an_agent_that_hears_of_a_round_that_one_has_left_is_told_of_fewer) {
  for (const bool one_left : {true, false}) {
    Script script;
    script.agent_starts("a").agent_starts("b").joining("a").joining("b").completed("a", 0, 3);
    if (one_left) script.emit("c", 100, ev::rendezvous_left, {"job", 0, 2});
    if (one_left)
      script.emit("b", 100, ev::rendezvous_evicted,
                  {"job", 0, "c.sim_100_0", sim::Duration(16s), 1});
    script.joined("a", 0, 0, 2, "a.sim:1").joined("b", 0, 1, 2, "a.sim:1");
    EXPECT_EQ(witnesses(script.finish(false), "safety.rank_sanity").empty(), one_left);
  }
}

TEST(RankSanity, a_relaunched_agent_may_inherit_its_dead_predecessors_seat) {
  Script script = two_nodes_at_work();
  script.at(5s).crash("b").agent_starts("b").joining("b").joined("b", 0, 1, 2, "a.sim:29500");
  EXPECT_THAT(witnesses(script.finish(false), "safety.rank_sanity"), IsEmpty());
}

TEST(RankSanity, a_fresh_store_begins_at_round_0_again) {
  Script script = two_nodes_at_work();
  script.agent_starts("c").serves_store("c", 29400).joining("c").joined("c", 0, 0, 1, "c.sim:1");
  EXPECT_THAT(witnesses(script.finish(false), "safety.rank_sanity"), IsEmpty());
}

TEST(RankSanity, so_does_an_etcd_in_which_everything_has_expired) {
  Script script = two_nodes_at_work();
  script.fault(0, "etcd_expiry").agent_starts("c").joining("c").joined("c", 0, 0, 1, "c.sim:1");
  EXPECT_THAT(witnesses(script.finish(false), "safety.rank_sanity"), IsEmpty());
}

TEST(RankSanity, an_agent_that_has_just_joined_a_round_that_the_store_has_lost_could_not_know) {
  const auto limits_with = [](const std::string& kind, sim::Duration later) {
    Script script = two_nodes_at_work();
    script.agent_starts("c").joining("c").at(2s).fault(0, kind, 0s, "s");
    script.at(2s + later).restarts("b", "membership_change").joining("b");
    script.joined("b", 3, 1, 2, "a.sim:29500").joined("c", 3, 1, 2, "c.sim:29500");
    return limits(script.finish(false), "safety.rank_sanity");
  };
  EXPECT_THAT(limits_with("etcd_expiry", 10s), ElementsAre("the store's contents (etcd_expiry)"));
  EXPECT_THAT(limits_with("etcd_expiry", 100s), ElementsAre("")) << "it could have by then";
  EXPECT_THAT(limits_with("etcd_leader_loss", 10s), ElementsAre("")) << "that loses nothing";
}

// ---- round_monotonic, round_isolation

TEST(RoundMonotonic, an_agent_that_falls_back_to_an_earlier_round_breaks_it) {
  Script script = two_nodes_at_work();
  script.joining("a")
      .joined("a", 7, 0, 1, "a.sim:1")
      .at(9s)
      .joining("a")
      .joined("a", 7, 0, 1, "a.sim:1");
  EXPECT_THAT(
      witnesses(script.finish(false), "safety.round_monotonic"),
      HasSubstr(
          "the agent on node a (pid 100) joined round 7 at 9.000 s after it had been in round 7"));
}

TEST(RoundMonotonic, a_relaunched_agent_has_no_past) {
  Script script = two_nodes_at_work();
  script.at(5s).crash("a").crash("b").agent_starts("a").form(0, {"a"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.round_monotonic"), IsEmpty());
}

TEST(RoundIsolation, a_stale_value_breaks_it_with_reader_and_key) {
  Script script = two_nodes_at_work();
  script.at(3s).emit("b", script.worker_pid("b", 0), ev::worker_stale_read,
                     {"process_group/1", "written by round 0"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.round_isolation"),
              AllOf(HasSubstr("worker pid 101 on node b read at 3.000 s"),
                    HasSubstr("process_group/1"), HasSubstr("written by round 0")));
}

/// The limit of a stale read of b's worker at `reads`, beside a store, with a fault from 5 s on. If
/// `given_up`, a has gone on without b since 8 s.
std::string limit_of_a_stale_read(const std::string& kind, const std::string& target,
                                  sim::Duration lasts, sim::Duration reads, bool given_up = true) {
  AgentSettings settings;
  settings.read_timeout = 5s;
  Script script = at_work_beside_a_store({"a", "b"}, settings);
  script.agent_starts("c").at(5s).fault(0, kind, lasts, target);
  if (given_up) script.restarts("a", "member_lost").at(8s).form(1, {"a"});
  script.at(reads).emit("b", script.worker_pid("b", 0), ev::worker_stale_read, {"k", "of another"});
  const auto found = limits(script.finish(false), "safety.round_isolation");
  return found.size() == 1 ? found.front() : "not told once";
}

TEST(RoundIsolation, an_agent_that_is_cut_off_may_not_know_that_the_others_have_gone_on) {
  const std::string path = "the path to the store (net_partition)";
  EXPECT_EQ(limit_of_a_stale_read("net_partition", "b", 0s, 9s), path);
  EXPECT_EQ(limit_of_a_stale_read("net_partition", "s <-> b", 0s, 9s), path);
  EXPECT_EQ(limit_of_a_stale_read("net_partition", "b", 0s, 9s, false), "")
      << "no other has gone on";
  for (const char* const target : {"a", "c", "a <-> b"})
    EXPECT_EQ(limit_of_a_stale_read("net_partition", target, 0s, 9s), "") << target;
}

TEST(RoundIsolation, an_agent_that_stood_still_has_workers_to_stop_when_it_learns_of_the_others) {
  const std::string clock = "the agent's clock (clock_freeze)";
  EXPECT_EQ(limit_of_a_stale_read("clock_freeze", "b", 5s, 45s), clock)
      << "10 s, a heartbeat 5 s, a look 0.1 s, and the stop grace 30 s";
  EXPECT_EQ(limit_of_a_stale_read("clock_freeze", "b", 5s, 46s), "");
  EXPECT_EQ(limit_of_a_stale_read("clock_freeze", "a", 5s, 9s), "");
}

TEST(RoundIsolation, a_worker_in_the_process_group_of_another_round_breaks_it) {
  Script script = two_nodes_at_work();
  script.emit("a", 101, ev::worker_initialized, {"job", 0, 2, "a.sim:29500", 0});
  script.emit("b", 101, ev::worker_initialized, {"job", 1, 2, "a.sim:29500", 3});
  const auto broken = script.finish(false);
  EXPECT_THAT(
      witnesses(broken, "safety.round_isolation"),
      HasSubstr("on node b was started for round 0 but joined the process group of round 3"));
}

// ---- bounds

TEST(Bounds, a_round_with_too_many_participants_breaks_it) {
  Script script;
  script.agent_starts("a").joining("a").completed("a", 2, 5);
  EXPECT_THAT(witnesses(script.finish(false), "safety.bounds"),
              HasSubstr("round 2 of job \"job\" was completed on node a with 5 participants; 1 to "
                        "4 are allowed"));
}

AgentSettings two_seats() {
  AgentSettings settings;
  settings.max_nodes = 2;
  return settings;
}

TEST(Bounds, a_full_group_that_restarts_for_a_surplus_node_is_harmed_by_it) {
  Script script = two_nodes_at_work(two_seats());
  script.at(8s).restarts("b", "membership_change");
  EXPECT_THAT(witnesses(script.finish(false), "safety.bounds"),
              AllOf(HasSubstr("the agent on node b (pid 100) restarts its workers at 8.000 s"),
                    HasSubstr("all 2 seats of round 0")));
}

TEST(Bounds, a_group_that_has_lost_or_evicted_a_member_has_a_seat_to_give) {
  Script lost = two_nodes_at_work(two_seats());
  lost.at(8s).crash("a").at(20s).restarts("b", "membership_change");
  EXPECT_THAT(witnesses(lost.finish(false), "safety.bounds"), IsEmpty());
  Script evicted = two_nodes_at_work(two_seats());
  evicted.emit("b", 100, ev::rendezvous_evicted, {"job", 0, "a.sim_100_0", sim::Duration(16s), 1})
      .restarts("b", "membership_change");
  EXPECT_THAT(witnesses(evicted.finish(false), "safety.bounds"), IsEmpty());
  Script leaving = two_nodes_at_work(two_seats());
  leaving.at(5s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  leaving.at(305s).leaves_barrier("a", "timed_out").restarts("b", "membership_change");
  EXPECT_THAT(witnesses(leaving.finish(false), "safety.bounds"), IsEmpty());
}

TEST(Bounds, no_agent_has_a_seat_by_a_round_of_that_number_which_the_store_has_forgotten) {
  Script script = two_nodes_at_work(two_seats());
  script.at(5s).crash("a").at(6s).agent_starts("a").serves_store("a", 29400);
  script.agent_starts("c").form(0, {"a", "c"}).at(8s).restarts("a", "worker_failure");
  script.emit("a", script.agent_pid("a"), ev::rendezvous_left, {"job", 0, 1});
  script.restarts("c", "membership_change");
  EXPECT_THAT(witnesses(script.finish(false), "safety.bounds"), IsEmpty());
}

TEST(Bounds, no_agent_has_a_seat_by_a_round_whose_keys_have_expired) {
  for (const bool expired : {false, true}) {
    Script script({.max_nodes = 1});
    script.agent_starts("a").form(0, {"a"}).agent_starts("b").at(5s);
    if (expired) script.fault(-1, "etcd_expiry", 0s, "s");
    script.form(0, {"b"}).at(6s).restarts("b", "worker_failure").joining("b").at(7s);
    script.restarts("a", "membership_change");
    const std::string found = witnesses(script.finish(false), "safety.bounds");
    EXPECT_EQ(found.empty(), expired) << found;
  }
}

// ---- closed_is_final

TEST(ClosedIsFinal, a_round_completed_after_the_closing_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(10s).closes("b").at(12s).completed("a", 1, 1);
  EXPECT_THAT(witnesses(script.finish(false), "safety.closed_is_final"),
              HasSubstr("round 1 of job \"job\" was completed at 12.000 s although node b had "
                        "closed the rendezvous in "
                        "round 0 at 10.000 s"));
}

TEST(ClosedIsFinal, a_completion_of_the_same_round_may_be_told_late_but_not_for_ever) {
  Script told_late;
  told_late.agent_starts("a").agent_starts("b").joining("a").joining("b").emit(
      "b", 100, ev::rendezvous_closed, {"job", 0});
  told_late.at(50ms).completed("a", 0, 2);
  EXPECT_THAT(witnesses(told_late.finish(false), "safety.closed_is_final"), IsEmpty());
  Script too_late;
  too_late.agent_starts("a")
      .joining("a")
      .emit("a", 100, ev::rendezvous_closed, {"job", 0})
      .at(61s)
      .completed("a", 0, 2);
  EXPECT_THAT(witnesses(too_late.finish(false), "safety.closed_is_final"),
              HasSubstr("round 0 of job \"job\" was completed at 61.000 s"));
}

TEST(ClosedIsFinal, a_fresh_store_knows_of_no_closing) {
  Script script = two_nodes_at_work();
  script.at(10s).closes("b").serves_store("a", 29400).at(12s).completed("a", 1, 1);
  EXPECT_THAT(witnesses(script.finish(false), "safety.closed_is_final"), IsEmpty());
}

/// b serves a store beside that of a, by a name that is wrong until 15 s or by nothing, and closes
/// the rendezvous at 20 s; `completes` completes a round at 30 s.
std::string closing_beside(bool led_astray, const std::string& completes) {
  Script script;
  script.agent_starts("a").serves_store("a", 29400).form(0, {"a"}).at(10s);
  if (led_astray) script.fault(0, "dns_alias", 0s, "a");
  script.agent_starts("b");
  if (led_astray) script.fault_took_effect(0, "dns_alias");
  script.serves_store("b", 29400).joining("b");
  if (led_astray) script.at(15s).fault_over(0, "dns_alias");
  script.at(20s).closes("b").at(30s).completed(completes, 1, 1);
  return witnesses(script.finish(false), "safety.closed_is_final");
}

TEST(ClosedIsFinal, where_a_name_has_led_an_agent_its_closing_is_that_of_its_own_store) {
  EXPECT_THAT(closing_beside(true, "a"), IsEmpty());
  EXPECT_THAT(closing_beside(true, "b"), HasSubstr("round 1 of job \"job\" was completed"));
  EXPECT_THAT(closing_beside(false, "a"), HasSubstr("round 1 of job \"job\" was completed"));
}

TEST(ClosedIsFinal, nor_does_an_etcd_whose_leases_have_all_ended) {
  Script script = two_nodes_at_work();
  script.at(10s).closes("b").fault(0, "etcd_expiry").at(12s).completed("a", 1, 1);
  EXPECT_THAT(witnesses(script.finish(false), "safety.closed_is_final"), IsEmpty());
}

}  // namespace
}  // namespace hooke::properties::test
