// Promises about rounds and who is in them, each broken once; normal_runs_test.cpp holds what must
// not break them.
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

// ---- one_world

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
  EXPECT_THAT(witnesses(broken, "safety.one_world"),
              AllOf(HasSubstr("job \"job\" had two living worlds from 50.000 s to 80.000 s"),
                    HasSubstr("round 0 meeting at a.sim:29500 (pid 101 on node a"),
                    HasSubstr("round 1"), HasSubstr("16.100 s at most")));
}

TEST(OneWorld, an_old_world_that_ends_within_the_time_its_death_may_go_unnoticed_is_none) {
  EXPECT_THAT(witnesses(split_world(16s).finish(), "safety.one_world"), IsEmpty());
}

TEST(OneWorld, a_stopped_agent_cannot_end_its_world) {
  Script script = two_nodes_at_work();
  script.at(35s).fault(0, "process_pause", 40s);
  script.at(40s)
      .restarts("a", "membership_change")
      .emit("a", 100, ev::rendezvous_evicted, {"job", 0, "b.sim_100_0", 0, 1});
  script.at(50s).form(1, {"a"});
  script.at(75s).fault_over(0, "process_pause").at(80s).worker_ends("b", 0, 1).reaps("b");
  const auto broken = script.finish(false);
  EXPECT_THAT(limits(broken, "safety.one_world"), testing::ElementsAre("an agent stood still"));
  Script longer = two_nodes_at_work();
  longer.at(35s).fault(0, "process_pause", 10s).at(45s).fault_over(0, "process_pause");
  longer.at(50s)
      .restarts("a", "membership_change")
      .emit("a", 100, ev::rendezvous_evicted, {"job", 0, "b.sim_100_0", 0, 1});
  longer.at(60s).form(1, {"a"}).at(90s).worker_ends("b", 0, 1).reaps("b");
  EXPECT_THAT(limits(longer.finish(false), "safety.one_world"), testing::ElementsAre(""));
}

TEST(OneWorld, two_worlds_at_the_end_of_the_run_are_reported_once) {
  Script script = two_nodes_at_work();
  script.at(40s)
      .restarts("a", "membership_change")
      .emit("a", 100, ev::rendezvous_left, {"job", 0, 1});
  script.at(50s).form(1, {"a"}).at(100s);
  const auto broken = script.finish(false);
  EXPECT_EQ(std::count_if(broken.begin(), broken.end(),
                          [](const Violation& violation) {
                            return violation.invariant == "safety.one_world";
                          }),
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
  EXPECT_THAT(witnesses(script.finish(), "safety.one_world"),
              HasSubstr("from 32.000 s to 80.000 s"));
}

TEST(OneWorld, two_jobs_side_by_side_are_two_jobs) {
  Script script = two_nodes_at_work();
  script.settings.run_id = "other";
  script.agent_starts("c").form(0, {"c"}).at(100s);
  EXPECT_THAT(witnesses(script.finish(false), "safety.one_world"), IsEmpty());
}

TEST(OneWorld, one_round_that_meets_at_two_places_is_two_worlds) {
  Script script;
  script.agent_starts("a").agent_starts("b").at(1s).joining("a").joining("b").completed("b", 0, 2);
  script.joined("a", 0, 0, 2, "a.sim:29500")
      .joined("b", 0, 1, 2, "b.sim:1")
      .workers_start("a")
      .workers_start("b");
  script.at(60s);
  EXPECT_THAT(witnesses(script.finish(false), "safety.one_world"), HasSubstr("meeting at b.sim:1"));
}

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

TEST(RankSanity, who_has_just_joined_a_round_that_the_store_has_lost_could_not_know) {
  for (const sim::Duration later : {10s, 100s}) {
    Script script = two_nodes_at_work();
    script.agent_starts("c").joining("c").at(2s).fault(0, "etcd_expiry");
    script.at(2s + later).restarts("b", "membership_change").joining("b");
    script.joined("b", 3, 1, 2, "a.sim:29500").joined("c", 3, 1, 2, "c.sim:29500");
    EXPECT_THAT(limits(script.finish(false), "safety.rank_sanity"),
                ElementsAre(later == 10s ? "the store had lost what it held" : ""));
  }
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

/// The store is on neither of them.
Script two_nodes_beside_a_store() {
  Script script;
  script.agent_starts("a").agent_starts("b").at(1s).form(0, {"a", "b"});
  return script;
}

TEST(RoundIsolation, who_is_cut_off_from_the_store_may_not_know_that_the_others_have_gone_on) {
  for (const std::string target : {"b", "s <-> b", "a"}) {
    Script script = two_nodes_beside_a_store();
    script.at(5s).fault(0, "net_partition", 0s, target);
    script.restarts("a", "member_lost").at(8s).form(1, {"a"});
    script.at(9s).emit("b", script.worker_pid("b", 0), ev::worker_stale_read, {"k", "of another"});
    EXPECT_THAT(limits(script.finish(false), "safety.round_isolation"),
                ElementsAre(target == "a" ? "" : "an agent was cut off from the store"));
  }
  Script current = two_nodes_beside_a_store();
  current.at(5s).fault(0, "net_partition", 0s, "b");
  current.emit("b", current.worker_pid("b", 0), ev::worker_stale_read, {"k", "of another"});
  EXPECT_THAT(limits(current.finish(false), "safety.round_isolation"), ElementsAre(""))
      << "nobody has gone on";
}

TEST(RoundIsolation,
     who_stood_still_has_workers_to_stop_when_it_learns_that_the_others_have_gone_on) {
  for (const sim::Duration learns : {12s, 19s}) {
    Script script = two_nodes_beside_a_store();
    script.at(5s).fault(0, "clock_freeze", 5s, "b");
    script.restarts("a", "member_lost").at(8s).form(1, {"a"});
    script.at(10s).fault_over(0, "clock_freeze").at(learns).restarts("b", "member_lost");
    script.emit("b", 100, ev::worker_signalled, {script.worker_pid("b", 0), 15, "stop"});
    script.at(learns + 5s)
        .emit("b", script.worker_pid("b", 0), ev::worker_stale_read, {"k", "of another"});
    EXPECT_THAT(limits(script.finish(false), "safety.round_isolation"),
                ElementsAre(learns == 12s ? "an agent stood still" : ""));
  }
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

TEST(Eviction, a_member_that_lives_and_works_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(60s).emit("a", 100, ev::rendezvous_evicted,
                      {"job", 0, "b.sim_100_0", sim::Duration(16s), 1});
  EXPECT_THAT(witnesses(script.finish(false), "safety.eviction"),
              AllOf(HasSubstr("the agent on node b (pid 100) was given up as dead at 60.000 s by "
                              "node a, to which its last heartbeat was 16.000 s old"),
                    HasSubstr("nothing had disturbed it since 30.000 s")));
}

TEST(Eviction, the_dead_the_disturbed_and_whoever_has_done_its_work_may_go) {
  Script dead = two_nodes_at_work();
  dead.at(40s).crash("b").at(60s).emit("a", 100, ev::rendezvous_evicted,
                                       {"job", 0, "b.sim_100_0", sim::Duration(16s), 1});
  EXPECT_THAT(witnesses(dead.finish(false), "safety.eviction"), IsEmpty());
  Script disturbed = two_nodes_at_work();
  disturbed.at(35s).fault(0, "net_partition").at(45s).fault_over(0, "net_partition");
  disturbed.at(60s).emit("a", 100, ev::rendezvous_evicted,
                         {"job", 0, "b.sim_100_0", sim::Duration(16s), 1});
  EXPECT_THAT(witnesses(disturbed.finish(false), "safety.eviction"), IsEmpty());
  Script done = two_nodes_at_work();
  done.worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b").at(60s);
  done.emit("a", 100, ev::rendezvous_evicted, {"job", 0, "b.sim_100_0", sim::Duration(16s), 1});
  EXPECT_THAT(witnesses(done.finish(false), "safety.eviction"), IsEmpty());
}

TEST(Eviction, who_was_held_up_or_had_no_store_or_met_what_lingers_was_disturbed) {
  Script held_up = two_nodes_at_work();
  held_up.at(40s).held_up("b", 5s);
  Script without_store = two_nodes_at_work();
  without_store.serves_store("a", 29'400).at(20s).crash("a").at(45s).agent_starts("a");
  without_store.serves_store("a", 29'400);
  Script lingering = two_nodes_at_work();
  lingering.at(10s).fault(0, "service_slow", 1s).at(11s).fault_over(0, "service_slow", 40s);
  for (Script* const script : {&held_up, &without_store, &lingering}) {
    script->at(60s).emit("a", script == &without_store ? 102 : 100, ev::rendezvous_evicted,
                         {"job", 0, "b.sim_100_0", sim::Duration(16s), 1});
    EXPECT_THAT(witnesses(script->finish(false), "safety.eviction"), IsEmpty());
  }
}

TEST(Eviction, a_fault_of_long_ago_is_no_excuse) {
  Script script = two_nodes_at_work();
  script.at(5s).fault(0, "clock_jump");
  script.at(60s).emit("a", 100, ev::rendezvous_evicted,
                      {"job", 0, "b.sim_100_0", sim::Duration(16s), 1});
  EXPECT_THAT(ids(script.finish(false)), ::testing::Contains("safety.eviction"));
}

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

TEST(Bounds, nobody_has_a_seat_by_a_round_of_that_number_which_the_store_has_forgotten) {
  Script script = two_nodes_at_work(two_seats());
  script.at(5s).crash("a").at(6s).agent_starts("a").serves_store("a", 29400);
  script.agent_starts("c").form(0, {"a", "c"}).at(8s).restarts("a", "worker_failure");
  script.emit("a", script.agent_pid("a"), ev::rendezvous_left, {"job", 0, 1});
  script.restarts("c", "membership_change");
  EXPECT_THAT(witnesses(script.finish(false), "safety.bounds"), IsEmpty());
}

// ---- closed_is_final, close_authority

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
  EXPECT_THAT(ids(too_late.finish(false)), ElementsAre("safety.closed_is_final"));
}

TEST(ClosedIsFinal, a_fresh_store_knows_of_no_closing) {
  Script script = two_nodes_at_work();
  script.at(10s).closes("b").serves_store("a", 29400).at(12s).completed("a", 1, 1);
  EXPECT_THAT(witnesses(script.finish(false), "safety.closed_is_final"), IsEmpty());
}

TEST(ClosedIsFinal, nor_does_an_etcd_whose_leases_have_all_ended) {
  Script script = two_nodes_at_work();
  script.at(10s).closes("b").fault(0, "etcd_expiry").at(12s).completed("a", 1, 1);
  EXPECT_THAT(witnesses(script.finish(false), "safety.closed_is_final"), IsEmpty());
}

TEST(CloseAuthority, an_agent_that_was_told_to_go_must_not_close) {
  Script script = two_nodes_at_work();
  script.at(10s).signal_agent("b", sim::Signal::term).at(11s).stops_workers("b").closes("b");
  EXPECT_THAT(witnesses(script.finish(false), "safety.close_authority"),
              AllOf(HasSubstr("the agent on node b (pid 100) closed the rendezvous of job \"job\" "
                              "at 11.000 s because it "
                              "had been told to end at 10.000 s"),
                    HasSubstr("the agent on node a (pid 100) was a healthy member of round 0")));
}

TEST(CloseAuthority, an_agent_that_gave_up_in_the_exit_barrier_must_not_close) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(310s).leaves_barrier("a", "timed_out").closes("a");
  EXPECT_THAT(witnesses(script.finish(false), "safety.close_authority"),
              HasSubstr("after it had left the exit barrier"));
}

TEST(CloseAuthority, an_error_of_ones_own_is_not_the_jobs_outcome) {
  Script script = two_nodes_at_work();
  script.restarts("b", "membership_change").joining("b").at(20s).closes("b");
  EXPECT_THAT(witnesses(script.finish(false), "safety.close_authority"),
              HasSubstr("because of an error of its own"));
}

TEST(CloseAuthority, in_a_new_store_the_group_that_forms_there_fills_its_own_barrier) {
  Script script;
  script.agent_starts("a").serves_store("a", 29400).agent_starts("b").form(0, {"a", "b"});
  script.at(10s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  script.at(20s).crash("a").at(30s).agent_starts("a").serves_store("a", 29400);
  script.agent_starts("c").joining("c").form(0, {"a"});
  script.at(40s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.leaves_barrier("a", "passed").closes("a");
  EXPECT_THAT(witnesses(script.finish(false), "safety.close_authority"), IsEmpty());
}

TEST(CloseAuthority, who_was_there_when_all_had_come_may_say_so_to_a_store_that_has_forgotten_it) {
  const auto closed_after = [](bool all_came) {
    Script script;
    script.agent_starts("a").serves_store("a", 29400).agent_starts("b").form(0, {"a", "b"});
    script.at(10s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
    if (all_came) script.worker_ends("a", 0, 0).reaps("a").enters_barrier("a");
    script.leaves_barrier("b", "passed").at(11s).crash("a").at(12s).agent_starts("a");
    script.serves_store("a", 29400).form(0, {"a"}).at(13s).closes("b");
    return witnesses(script.finish(false), "safety.close_authority");
  };
  EXPECT_THAT(closed_after(true), IsEmpty());
  EXPECT_THAT(closed_after(false), HasSubstr("after it had left the exit barrier without"));
}

TEST(CloseAuthority, who_takes_the_seats_of_those_who_gave_the_job_up_brings_its_end) {
  const auto closed_after = [](bool given_up) {
    Script script = two_nodes_at_work();
    script.at(10s).agent_starts("c").joining("c");
    if (given_up) script.emit("b", 100, ev::job_given_up, {0});
    script.at(20s).agent_starts("d").joining("d").completed("d", 1, 2).at(21s).closes("c");
    return witnesses(script.finish(false), "safety.close_authority");
  };
  EXPECT_THAT(closed_after(true), IsEmpty());
  EXPECT_THAT(closed_after(false), HasSubstr("because of an error of its own"));
}

TEST(CloseAuthority, whoever_is_the_last_at_work_may_close) {
  Script script = two_nodes_at_work();
  script.at(10s)
      .signal_agent("a", sim::Signal::int_)
      .signal_agent("b", sim::Signal::int_)
      .closes("b");
  EXPECT_THAT(witnesses(script.finish(false), "safety.close_authority"), IsEmpty());
}

}  // namespace
}  // namespace hooke::properties::test
