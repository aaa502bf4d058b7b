// Promises that something happens in time: late, never, in time, put off by a fault, cut off by the
// run's end.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"
#include "model/observe/restart_events.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- loss_detection: 15 s + 0.1 s + 5 s

TEST(LossDetection, a_survivor_that_never_moves_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(40s).crash("b").at(1800s);
  EXPECT_THAT(
      witnesses(script.finish(false), "liveness.loss_detection"),
      AllOf(
          HasSubstr("the agent on node b (pid 100) died at 40.000 s as rank 1 of round 0"),
          HasSubstr(
              "the agent on node a (pid 100) should have started a new round or ended by 60.100 s"),
          HasSubstr("but had not when the run ended at 1800.000 s")));
}

TEST(LossDetection, a_survivor_that_moves_late_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(40s).kill_agent("b").at(101s).worker_ends("a", 0, 1).restarts("a", "worker_failure");
  EXPECT_THAT(witnesses(script.finish(false), "liveness.loss_detection"),
              HasSubstr("but did so only at 101.000 s"));
}

TEST(LossDetection, a_new_round_an_end_or_the_exit_barrier_in_time_keep_it) {
  Script restarts = two_nodes_at_work();
  restarts.at(40s).crash("b").at(60s).restarts("a", "membership_change").at(900s);
  EXPECT_THAT(witnesses(restarts.finish(false), "liveness.loss_detection"), IsEmpty());
  Script done = two_nodes_at_work();
  done.at(40s)
      .crash("b")
      .at(50s)
      .worker_ends("a", 0, 0)
      .reaps("a")
      .group("a", "SUCCEEDED")
      .enters_barrier("a");
  done.at(200s);
  EXPECT_THAT(witnesses(done.finish(false), "liveness.loss_detection"), IsEmpty());
}

TEST(LossDetection, a_survivor_that_is_busy_stopping_its_workers_has_moved) {
  Script script = two_nodes_at_work();
  script.at(40s).crash("b").at(55s).emit("a", 100, ev::worker_signalled, {101, 15, "stop"}).at(85s);
  script.restarts("a", "worker_failure");
  EXPECT_THAT(witnesses(script.finish(false), "liveness.loss_detection"), IsEmpty());
}

TEST(LossDetection, a_survivor_that_was_ending_its_workers_already_has_moved) {
  AgentSettings settings;
  settings.local_world_size = 2;
  Script script = two_nodes_at_work(settings);
  script.at(39s).worker_ends("a", 0, 1);
  script.emit("a", 100, ev::worker_signalled, {script.worker_pid("a", 1), 15, "peer_failed"});
  script.at(40s).crash("b").at(69s).worker_ends("a", 1, -9).restarts("a", "worker_failure");
  EXPECT_THAT(witnesses(script.finish(false), "liveness.loss_detection"), IsEmpty());
  Script before = two_nodes_at_work();
  before.at(39s).restarts("a", "membership_change").restarts("b", "membership_change");
  before.form(1, {"a", "b"}).at(40s).crash("b").at(69s).restarts("a", "worker_failure");
  EXPECT_THAT(witnesses(before.finish(false), "liveness.loss_detection"),
              HasSubstr("did so only at 69.000 s"))
      << "those of an earlier round are no excuse";
}

TEST(LossDetection, a_run_that_is_cut_before_the_bound_breaks_nothing) {
  Script script = two_nodes_at_work();
  script.at(40s).crash("b").at(60s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.loss_detection"), IsEmpty());
}

TEST(LossDetection, a_fault_inside_the_bound_starts_it_anew_and_a_later_one_does_not) {
  Script inside = two_nodes_at_work();
  inside.at(40s)
      .crash("b")
      .at(55s)
      .fault(0, "net_reset")
      .at(70s)
      .restarts("a", "membership_change");
  EXPECT_THAT(witnesses(inside.finish(false), "liveness.loss_detection"), IsEmpty());
  Script later = two_nodes_at_work();
  later.at(40s).crash("b").at(65s).fault(0, "net_reset").at(70s).restarts("a", "membership_change");
  EXPECT_THAT(witnesses(later.finish(false), "liveness.loss_detection"),
              HasSubstr("only at 70.000 s"));
}

TEST(LossDetection, who_asks_a_store_that_went_with_the_lost_member_may_be_late_by_its_questions) {
  AgentSettings settings;
  settings.read_timeout = 5s;
  for (const sim::Duration gives_up : {89s, 91s}) {
    Script script = two_nodes_at_work(settings);
    script.at(40s).crash("a").at(gives_up).emit("b", 100, model::events::job_given_up, {0});
    EXPECT_EQ(witnesses(script.finish(false), "liveness.loss_detection").empty(), gives_up == 89s);
  }
}

TEST(LossDetection, a_member_that_said_how_it_ends_has_departed) {
  Script script = two_nodes_at_work();
  script.at(40s)
      .signal_agent("b", sim::Signal::term)
      .stops_workers("b")
      .finishes("b", "signalled", 1)
      .at(900s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.loss_detection"), IsEmpty());
}

// ---- formation: 15 s + 30 s + 30 s + 5 s

Script two_that_never_form(AgentSettings settings = {}) {
  settings.min_nodes = 2;
  Script script(settings);
  script.agent_starts("a").agent_starts("b").at(5s).joining("a").at(10s).joining("b");
  return script;
}

TEST(Formation, enough_nodes_that_never_form_a_round_break_it) {
  Script script = two_that_never_form();
  script.at(91s);
  EXPECT_THAT(
      witnesses(script.finish(false), "liveness.formation"),
      AllOf(HasSubstr(
                "at least 2 agents, which are enough, wanted to join job \"job\" from 10.000 s on"),
            HasSubstr("should have completed by 90.000 s"),
            HasSubstr("none had when the run ended")));
}

TEST(Formation, a_round_that_completes_late_breaks_it) {
  Script script = two_that_never_form();
  script.at(95s).completed("a", 0, 2);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.formation"),
              HasSubstr("it did so only at 95.000 s"));
}

TEST(Formation, too_few_nodes_or_a_run_that_is_cut_owe_nothing) {
  AgentSettings settings;
  settings.min_nodes = 2;
  Script alone(settings);
  alone.agent_starts("a").joining("a").at(590s);
  EXPECT_THAT(witnesses(alone.finish(false), "liveness.formation"), IsEmpty());
  Script cut = two_that_never_form();
  cut.at(89s);
  EXPECT_THAT(witnesses(cut.finish(false), "liveness.formation"), IsEmpty());
}

TEST(Formation, an_attempt_that_loses_a_node_begins_again_with_the_next) {
  Script script = two_that_never_form();
  script.at(60s).crash("b").at(80s).agent_starts("b").joining("b").at(150s).completed("a", 0, 2);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.formation"), IsEmpty());
}

TEST(Formation, spares_of_a_running_job_wait_for_no_round) {
  Script script = two_nodes_at_work();
  script.agent_starts("c").joining("c").added("c", "redundancy_list", 0).at(900s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.formation"), IsEmpty());
}

TEST(Formation, spares_that_take_no_free_seat_break_it) {
  Script script = two_nodes_at_work();
  script.agent_starts("c").joining("c").added("c", "redundancy_list", 0);
  script.at(100s).crash("a").crash("b").at(181s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.formation"),
              HasSubstr("wanted to join job \"job\" from 100.000 s on"));
}

TEST(Formation, nobody_can_form_a_round_while_the_network_is_cut) {
  Script healed = two_that_never_form();
  healed.at(20s)
      .fault(0, "net_partition")
      .at(200s)
      .fault_over(0, "net_partition")
      .at(270s)
      .completed("a", 0, 2);
  EXPECT_THAT(witnesses(healed.finish(false), "liveness.formation"), IsEmpty());
  Script cut_for_good = two_that_never_form();
  cut_for_good.at(20s).fault(0, "net_partition").at(600s);
  EXPECT_THAT(witnesses(cut_for_good.finish(false), "liveness.formation"), IsEmpty());
}

// ---- admission

TEST(Admission, a_node_that_is_left_on_the_wait_list_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0).at(120s);
  EXPECT_THAT(
      witnesses(script.finish(false), "liveness.admission"),
      AllOf(HasSubstr("the agent on node c (pid 100) has been on the wait list since 20.000 s"),
            HasSubstr("by 100.000 s"),
            HasSubstr("it still waited when the run ended at 120.000 s")));
}

TEST(Admission, admission_a_spares_place_and_a_refusal_in_time_keep_it) {
  Script script = two_nodes_at_work();
  for (const char* node : {"c", "d", "e"}) {
    script.at(20s).agent_starts(node).joining(node).added(node, "wait_list", 0);
  }
  script.at(50s).joined("c", 1, 0, 1, "c.sim:1").added("d", "redundancy_list", 1);
  script.emit("e", 100, ev::rendezvous_failed, {"job", "RendezvousClosedError", ""}).at(300s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.admission"), IsEmpty());
}

/// One that no agent serves; its process number.
std::int64_t store_starts(Script& script) {
  const std::int64_t store = script.next_pid("s");
  script.emit("s", store, wev::process_started, {0, "store", store});
  script.emit("s", store, ev::store_serving, {29400, "rendezvous"});
  return store;
}

Script two_nodes_beside_a_store(std::int64_t& store) {
  Script script;
  store = store_starts(script);
  script.agent_starts("a").agent_starts("b").at(1s).form(0, {"a", "b"});
  return script;
}

TEST(Admission, who_waits_beside_a_full_round_is_a_spare_of_the_legacy_rendezvous) {
  AgentSettings settings;
  settings.max_nodes = 2;
  Script script(settings);
  script.agent_starts("a").agent_starts("b").joining("a").joining("b").completed("a", 0, 2);
  script.at(10s).agent_starts("c").joining("c").added("c", "wait_list", 0);
  script.at(11s).joined("a", 0, 0, 2, "a.sim:1").joined("b", 0, 1, 2, "a.sim:1").at(500s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.admission"), IsEmpty());
  for (const sim::Duration hears : {11s, 16s}) {
    Script late(settings);
    late.agent_starts("a").agent_starts("b").joining("a").joining("b");
    late.at(10s).agent_starts("c").joining("c").added("c", "wait_list", 0);
    late.at(hears).completed("a", 0, 2).joined("a", 0, 0, 2, "a.sim:1");
    late.joined("b", 0, 1, 2, "a.sim:1").at(500s);
    EXPECT_EQ(witnesses(late.finish(false), "liveness.admission").empty(), hears == 11s);
  }
  Script free(settings);
  free.agent_starts("a").agent_starts("b").form(0, {"a", "b"}).at(5s).crash("b");
  free.at(10s).agent_starts("c").joining("c").added("c", "wait_list", 0).at(500s);
  EXPECT_THAT(witnesses(free.finish(false), "liveness.admission"),
              HasSubstr("it still waited when the run ended"));
}

TEST(Admission, nobody_is_let_in_while_the_store_is_gone) {
  std::int64_t store = 0;
  Script script = two_nodes_beside_a_store(store);
  script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0);
  script.at(30s).process_ends("s", store, -9).at(300s);
  store_starts(script);
  script.at(370s).joined("c", 1, 0, 1, "c.sim:1");
  EXPECT_THAT(witnesses(script.finish(false), "liveness.admission"), IsEmpty());
}

TEST(Admission, an_etcd_without_a_leader_disturbs_it_and_one_that_forgets_history_does_not) {
  for (const char* kind : {"etcd_leader_loss", "etcd_compaction"}) {
    Script script = two_nodes_at_work();
    script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0);
    script.at(30s).fault(0, kind).at(300s).fault_over(0, kind);
    script.at(370s).joined("c", 1, 0, 1, "c.sim:1");
    const bool excused = std::string_view(kind) == "etcd_leader_loss";
    EXPECT_EQ(witnesses(script.finish(false), "liveness.admission").empty(), excused) << kind;
  }
}

TEST(Admission, a_late_refusal_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0);
  script.at(620s).emit("c", 100, ev::rendezvous_failed, {"job", "RendezvousTimeoutError", ""});
  EXPECT_THAT(witnesses(script.finish(false), "liveness.admission"),
              HasSubstr("but that happened only at 620.000 s"));
}

// ---- join_timeout: 600 s + 60 s + 5 s

TEST(JoinTimeout, a_node_that_tries_for_ever_breaks_it) {
  AgentSettings settings;
  settings.min_nodes = 2;
  Script script(settings);
  script.agent_starts("a").at(5s).joining("a").added("a", "participants", 0).at(671s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.join_timeout"),
              AllOf(HasSubstr("the agent on node a (pid 100) has tried to join since 5.000 s"),
                    HasSubstr("gone by 670.000 s"),
                    HasSubstr("it tried on when the run ended at 671.000 s")));
}

TEST(JoinTimeout, who_joins_again_after_a_group_that_came_apart_has_its_time_anew) {
  AgentSettings settings;
  settings.min_nodes = 2;
  Script script(settings);
  script.agent_starts("a").at(5s).joining("a").added("a", "participants", 0);
  script.at(600s).joining("a").at(1200s).emit("a", 100, ev::rendezvous_failed,
                                              {"job", "RendezvousTimeoutError", ""});
  EXPECT_THAT(witnesses(script.finish(false), "liveness.join_timeout"), IsEmpty());
  Script late(settings);
  late.agent_starts("a").at(5s).joining("a").at(700s).joining("a");
  EXPECT_THAT(witnesses(late.finish(false), "liveness.join_timeout"), HasSubstr("it began anew"));
}

TEST(JoinTimeout, whoever_gives_up_gets_in_or_becomes_a_spare_keeps_it) {
  AgentSettings settings;
  settings.min_nodes = 2;
  Script script(settings);
  script.agent_starts("a").joining("a").agent_starts("b").joining("b").agent_starts("c");
  script.joining("c").at(600s);
  script.emit("a", 100, ev::rendezvous_failed, {"job", "RendezvousTimeoutError", ""});
  script.joined("b", 0, 0, 1, "b:1").added("c", "redundancy_list", 0).at(3600s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.join_timeout"), IsEmpty());
  Script let_in(settings);
  let_in.agent_starts("c").joining("c").added("c", "redundancy_list", 0).at(1000s);
  let_in.added("c", "wait_list", 0).at(1600s);
  EXPECT_THAT(witnesses(let_in.finish(false), "liveness.join_timeout"), IsEmpty());
}

// ---- exit: 300 s + 60 s + 30 s + 30 s + 5 s

TEST(Exit, an_agent_that_outlives_a_failed_job_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 1).reaps("a").emit("a", 100, ev::group_state, {"FAILED", 3});
  script.closes("a").finishes("a", "failed", 1).at(3600s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.exit"),
              AllOf(HasSubstr("job \"job\" was decided (the workers of node a had failed and no "
                              "restart was left) at "
                              "10.000 s"),
                    HasSubstr("the agent on node b (pid 100) should have ended by 435.000 s"),
                    HasSubstr("was still there when the run ended at 3600.000 s")));
}

TEST(Exit, an_agent_that_stays_in_the_exit_barrier_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  script.at(450s).leaves_barrier("b", "failed").finishes("b", "succeeded", 0);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.exit"),
              AllOf(HasSubstr("the work of node b was done at 10.000 s"),
                    HasSubstr("ended only at 450.000 s")));
}

TEST(Exit, a_slow_store_may_hold_up_the_closing_as_well_as_the_barrier) {
  const auto limits_of_an_end_at = [](sim::Duration end) {
    Script script = two_nodes_at_work();
    script.at(5s).fault(0, "service_slow").at(10s).worker_ends("b", 0, 0).reaps("b");
    script.group("b", "SUCCEEDED").enters_barrier("b");
    script.at(end).leaves_barrier("b", "failed").finishes("b", "succeeded", 0);
    return limits(script.finish(false), "liveness.exit");
  };
  EXPECT_THAT(limits_of_an_end_at(490s), ElementsAre("the store was slow"));
  EXPECT_THAT(limits_of_an_end_at(500s), ElementsAre(""));
}

TEST(Exit, a_store_that_becomes_slow_meanwhile_puts_it_off) {
  const auto limits_of_an_end_at = [](sim::Duration end) {
    Script script = two_nodes_at_work();
    script.at(10s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
    script.at(100s).fault(0, "service_slow");
    script.at(end).leaves_barrier("b", "failed").finishes("b", "succeeded", 0);
    return limits(script.finish(false), "liveness.exit");
  };
  EXPECT_THAT(limits_of_an_end_at(580s), ElementsAre("the store was slow"));
  EXPECT_THAT(limits_of_an_end_at(590s), ElementsAre(""));
}

TEST(Exit, who_serves_the_store_may_serve_the_others_until_they_are_gone) {
  for (const sim::Duration end : {5420s, 5430s}) {
    Script script = two_nodes_at_work();
    script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
    script.at(310s).leaves_barrier("a", "timed_out");
    script.at(5000s).finishes("b", "signalled", 1);
    script.at(end).finishes("a", "succeeded", 0);
    const std::string found = witnesses(script.finish(false), "liveness.exit");
    EXPECT_EQ(found.find("ended only at 5430.000 s") != std::string::npos, end == 5430s) << found;
  }
}

TEST(Exit, nobody_ends_a_worker_that_sleeps_in_the_kernel) {
  Script script = two_nodes_at_work();
  script.at(5s).fault(0, "process_unkillable");
  script.at(10s).emit("a", 100, ev::group_restarting, {"membership_change", 3, 0}).at(60s);
  const auto violations = script.finish(false);
  EXPECT_THAT(witnesses(violations, "liveness.exit"), HasSubstr("they were not"));
  EXPECT_THAT(limits(violations, "liveness.exit"), ElementsAre("a worker slept in the kernel"));
}

TEST(Exit, who_goes_back_to_work_from_the_exit_barrier_need_not_end) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  script.at(20s).leaves_barrier("b", "others_return");
  script.emit("b", 100, ev::group_restarting, {"membership_change", 3, 0}).joining("b");
  script.at(400s).finishes("b", "succeeded", 0);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.exit"), IsEmpty());
}

TEST(Exit, an_agent_that_is_told_to_go_while_it_stops_its_workers_stops_them_for_that) {
  Script script = two_nodes_at_work();
  script.at(10s).emit("a", 100, ev::group_restarting, {"membership_change", 3, 0});
  script.at(20s).signal_agent("a", sim::Signal::term).at(60s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.exit"), IsEmpty());
}

TEST(Exit, workers_that_cannot_be_stopped_hold_up_their_agent) {
  Script script = two_nodes_at_work();
  script.at(10s).emit("a", 100, ev::group_restarting, {"membership_change", 3, 0}).at(60s);
  EXPECT_THAT(
      witnesses(script.finish(false), "liveness.exit"),
      AllOf(HasSubstr("the agent on node a (pid 100) began to stop its workers at 10.000 s"),
            HasSubstr("gone by 45.000 s"), HasSubstr("they were not when the run ended")));
}

TEST(Exit, an_agent_that_has_stopped_its_workers_keeps_it_also_where_nobody_joins_again) {
  Script script = two_nodes_at_work();
  script.at(10s).emit("a", 100, ev::group_restarting, {"worker_failure", 3, 0});
  script.at(12s).group("a", "STOPPED").at(60s);  // as under the static rendezvous
  EXPECT_THAT(witnesses(script.finish(false), "liveness.exit"), IsEmpty());
}

Script two_in_the_barrier() {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(20s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  return script;
}

TEST(Exit, a_barrier_that_stays_shut_when_all_have_come_breaks_it) {
  Script late = two_in_the_barrier();
  late.at(20100ms).leaves_barrier("b", "passed").at(70s).leaves_barrier("a", "timed_out");
  EXPECT_THAT(witnesses(late.finish(false), "liveness.exit"),
              AllOf(HasSubstr("the agent on node b (pid 100) was the last to come to the exit "
                              "barrier, at 20.000 s"),
                    HasSubstr("the agent on node a (pid 100) should have left it by 35.000 s, but "
                              "left it only at 70.000 s")));
  Script never = two_in_the_barrier();
  never.at(40s);
  EXPECT_THAT(witnesses(never.finish(false), "liveness.exit"),
              HasSubstr("was still in it when the run ended"));
}

TEST(Exit, who_is_killed_on_coming_to_the_barrier_may_not_have_been_counted) {
  Script at_once = two_in_the_barrier();
  at_once.at(20s + 1ms).kill_agent("b").at(70s).leaves_barrier("a", "timed_out");
  EXPECT_THAT(witnesses(at_once.finish(false), "liveness.exit"), IsEmpty());
  Script first = two_nodes_at_work();
  first.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  first.at(10s + 1ms).kill_agent("a");
  first.at(20s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  first.at(70s).leaves_barrier("b", "timed_out");
  EXPECT_THAT(witnesses(first.finish(false), "liveness.exit"), IsEmpty());
  Script later = two_in_the_barrier();
  later.at(31s).kill_agent("b").at(70s).leaves_barrier("a", "timed_out");
  EXPECT_THAT(witnesses(later.finish(false), "liveness.exit"),
              HasSubstr("the agent on node a (pid 100) should have left it by"));
}

TEST(Exit, nobody_hears_of_an_outcome_that_the_store_has_forgotten) {
  std::int64_t store = 0;
  Script script = two_nodes_beside_a_store(store);
  script.agent_starts("c").joining("c");
  script.at(10s).succeed({"a", "b"}).process_ends("s", store, -9).at(11s);
  store_starts(script);
  script.at(900s);
  EXPECT_THAT(limits(script.finish(false), "liveness.exit"),
              testing::Contains("the store had lost what it held"));
}

/// c joins in vain from 3 s on; a and b end their job at 10 s. `target`: of a partition at 5 s.
std::vector<std::string> limits_of_a_joiner(const std::string& target, sim::Duration lasts,
                                            sim::Duration gone) {
  std::int64_t store = 0;
  Script script = two_nodes_beside_a_store(store);
  script.at(3s).agent_starts("c").joining("c");
  script.at(5s).fault(0, "net_partition", lasts, target).at(10s).succeed({"a", "b"});
  if (lasts > 0s) script.at(5s + lasts).fault_over(0, "net_partition");
  script.at(gone).finishes("c", "error", 1);
  return limits(script.finish(false), "liveness.exit");
}

TEST(Exit, who_is_cut_off_from_the_store_may_try_to_join_as_long_as_it_may) {
  const auto cut_off = ElementsAre("an agent was cut off from the store");
  EXPECT_THAT(limits_of_a_joiner("c", 0s, 603s), cut_off);
  EXPECT_THAT(limits_of_a_joiner("s -> c", 0s, 603s), cut_off);
  EXPECT_THAT(limits_of_a_joiner("s", 0s, 603s), cut_off);
  EXPECT_THAT(limits_of_a_joiner("c", 0s, 1000s), ElementsAre("")) << "and no longer";
  EXPECT_THAT(limits_of_a_joiner("c", 30s, 603s), ElementsAre("")) << "it could hear again";
  EXPECT_THAT(limits_of_a_joiner("a <-> c", 0s, 603s), ElementsAre(""))
      << "there is no store at the other end";
}

/// c joins in vain from 3 s on; a and b end their job at 10 s, and go at 70 s. The store is silent
/// from 5 s to `until`.
std::vector<std::string> limits_of_an_untold_joiner(sim::Duration until) {
  std::int64_t store = 0;
  Script script = two_nodes_beside_a_store(store);
  script.at(3s).agent_starts("c").joining("c").at(5s).fault(0, "service_slow", until - 5s, "s");
  const std::vector<std::string> members{"a", "b"};
  if (until < 10s) script.at(until).fault_over(0, "service_slow");
  script.at(10s);
  for (const auto& node : members)
    script.worker_ends(node, 0, 0).reaps(node).group(node, "SUCCEEDED").enters_barrier(node);
  script.at(70s);
  for (const auto& node : members)
    script.leaves_barrier(node, "timed_out").finishes(node, "succeeded", 0);
  if (until > 70s) script.at(until).fault_over(0, "service_slow");
  script.at(603s).finishes("c", "error", 1);
  return limits(script.finish(false), "liveness.exit");
}

TEST(Exit, nobody_hears_of_what_nobody_could_tell_the_store) {
  EXPECT_THAT(limits_of_an_untold_joiner(90s), ElementsAre("an agent was cut off from the store"));
  EXPECT_THAT(limits_of_an_untold_joiner(7s), testing::Each("")) << "a and b went 60 s later";
}

/// a and b are done at 10 s, with a clog of `target` from 5 s on. a goes at 70 s; b goes back at 20
/// s, for c, and joins in vain until its time-out.
std::vector<std::string> limits_of_one_that_went_back(const std::string& target) {
  std::int64_t store = 0;
  Script script = two_nodes_beside_a_store(store);
  script.at(5s).fault(0, "net_clog", 0s, target).at(10s);
  for (const auto& node : {"a", "b"})
    script.worker_ends(node, 0, 0).reaps(node).group(node, "SUCCEEDED").enters_barrier(node);
  script.at(20s).leaves_barrier("b", "others_return").restarts("b", "membership_change");
  script.joining("b").at(70s).leaves_barrier("a", "failed").finishes("a", "succeeded", 0);
  script.at(620s).finishes("b", "succeeded", 0);
  return limits(script.finish(false), "liveness.exit");
}

TEST(Exit, nobody_knows_of_all_that_they_have_come_when_one_could_not_say_so) {
  EXPECT_THAT(limits_of_one_that_went_back("s <-> a"),
              testing::Each("an agent was cut off from the store"));
  EXPECT_THAT(limits_of_one_that_went_back("b <-> a"), testing::Each(""));
}

/// In a static job, whose agents never introduce themselves, the workers of the last of the nodes
/// fail for good at 10 s, and its agent goes at 70 s. a has the store. `target`: of a clog at 5 s.
Script static_failure(const std::vector<std::string>& nodes, const std::string& target) {
  AgentSettings settings;
  settings.max_restarts = 0;
  Script script(settings);
  for (const std::string& node : nodes) script.agent_starts(node);
  script.serves_store("a", 29400).at(1s);
  std::int64_t rank = 0;
  for (const std::string& node : nodes) {
    script.emit(node, 100, ev::ranks_assigned,
                {"job", -1, rank, std::ssize(nodes), rank, std::ssize(nodes)});
    script.workers_start(node);
    ++rank;
  }
  script.at(5s).fault(0, "net_clog", 0s, target);
  script.at(10s).worker_ends(nodes.back(), 0, 1).reaps(nodes.back()).group(nodes.back(), "FAILED");
  script.at(70s).finishes(nodes.back(), "failed", 1);
  return script;
}

/// a never goes.
std::vector<std::string> limits_of_an_untold_static_member(const std::string& target) {
  return limits(static_failure({"a", "b"}, target).at(3600s).finish(false), "liveness.exit");
}

/// b goes then, and a serves the store until the run is over.
std::vector<std::string> limits_of_a_deaf_static_member(const std::string& target,
                                                        sim::Duration then) {
  Script script = static_failure({"a", "b", "c"}, target);
  return limits(script.at(then).finishes("b", "error", 1).finish(false), "liveness.exit");
}

TEST(Exit, nobody_takes_for_dead_a_static_member_that_could_not_tell_of_its_failure) {
  EXPECT_THAT(limits_of_an_untold_static_member("b <-> a"),
              ElementsAre("an agent was cut off from the store"));
  EXPECT_THAT(limits_of_an_untold_static_member("c <-> a"), ElementsAre(""));
}

TEST(Exit, a_static_member_that_could_not_hear_of_a_failure_may_lose_its_patience_first) {
  EXPECT_THAT(limits_of_a_deaf_static_member("b <-> a", 460s),
              ElementsAre("an agent was cut off from the store"));
  EXPECT_THAT(limits_of_a_deaf_static_member("b <-> a", 1000s), ElementsAre(""));
  EXPECT_THAT(limits_of_a_deaf_static_member("b <-> c", 460s), ElementsAre(""));
}

TEST(Exit, a_disturbance_may_keep_the_barrier_shut) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(15s).fault(0, "net_partition");
  script.at(20s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  script.at(60s).fault_over(0, "net_partition").at(64s);
  script.leaves_barrier("a", "passed").leaves_barrier("b", "passed");
  EXPECT_THAT(witnesses(script.finish(false), "liveness.exit"), IsEmpty());
}

TEST(Exit, everybody_who_is_gone_in_time_keeps_it) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(310s).leaves_barrier("a", "timed_out").finishes("a", "succeeded", 0).at(3600s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.exit"), IsEmpty())
      << "b is not done, and nothing is decided";
}

// ---- signals_take_effect: 30 s + 30 s + 5 s

TEST(SignalsTakeEffect, an_agent_that_is_deaf_in_its_exit_barrier_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(20s).signal_agent("a", sim::Signal::term).at(40s).signal_agent("a", sim::Signal::int_);
  script.at(310s).leaves_barrier("a", "interrupted").finishes("a", "signalled", 1);
  EXPECT_THAT(
      witnesses(script.finish(false), "liveness.signals_take_effect"),
      AllOf(HasSubstr("the agent on node a (pid 100) got SIGTERM at 20.000 s while it waited in "
                      "the exit barrier"),
            HasSubstr("should have ended by 85.000 s (grace 30.000 s + close 30.000 s + 5.000 s)"),
            HasSubstr("ended only at 310.000 s")));
}

TEST(SignalsTakeEffect, the_configured_grace_counts_and_other_signals_do_not) {
  AgentSettings settings;
  settings.shutdown = 120s;
  Script script = two_nodes_at_work(settings);
  script.at(20s).signal_agent("a", sim::Signal::hup).signal_agent("b", sim::Signal::usr1);
  script.at(150s).stops_workers("a").finishes("a", "signalled", 1).at(900s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.signals_take_effect"), IsEmpty());
}

TEST(SignalsTakeEffect, an_agent_that_never_ends_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(20s).signal_agent("b", sim::Signal::quit).at(90s);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.signals_take_effect"),
              HasSubstr("got SIGQUIT at 20.000 s while it had healthy workers"));
}

// ---- no_livelock

void rounds(Script& script, std::int64_t from, std::int64_t to) {
  for (std::int64_t round = from; round <= to; ++round) {
    script.at(std::chrono::seconds(10 + round));
    script.restarts("a", "membership_change")
        .restarts("b", "membership_change")
        .form(round, {"a", "b"});
  }
}

TEST(NoLivelock, six_rounds_for_nothing_break_it) {
  Script script = two_nodes_at_work();
  rounds(script, 1, 6);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.no_livelock"),
              AllOf(HasSubstr("job \"job\" completed 6 rounds from 1.000 s to 15.000 s"),
                    HasSubstr("the latest of them round 5")));
}

TEST(NoLivelock, whatever_is_new_starts_the_count_anew) {
  Script script = two_nodes_at_work();
  rounds(script, 1, 4);
  script.agent_starts("c");
  rounds(script, 5, 8);
  script.worker_ends("a", 0, 1);
  rounds(script, 9, 12);
  script.fault(0, "clock_jump");
  rounds(script, 13, 16);
  script.emit("a", 100, ev::timer_expired, {script.worker_pid("a", 0), "step", 0, 0});
  rounds(script, 17, 20);
  script.emit("a", 100, ev::heartbeat_lost, {"w", sim::Duration(5s)});
  rounds(script, 21, 24);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.no_livelock"), IsEmpty());
}

TEST(NoLivelock, a_fault_in_force_is_told_with_it) {
  Script script = two_nodes_at_work();
  script.fault(0, "service_slow");
  rounds(script, 1, 6);
  EXPECT_THAT(limits(script.finish(false), "liveness.no_livelock"),
              ElementsAre("a fault was still in force"));
}

TEST(NoLivelock, two_writers_of_one_completion_are_one_round) {
  Script script = two_nodes_at_work();
  for (int i = 0; i < 9; ++i) script.completed("a", 1, 2).completed("b", 1, 2);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.no_livelock"), IsEmpty());
}

// ---- blip_tolerance

const char* const kLost = "RendezvousConnectionError: the connection to the store is broken";

TEST(BlipTolerance, a_short_disturbance_that_ends_a_healthy_agent_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(20s)
      .fault(0, "service_error", 1s)
      .at(20s + 300ms)
      .stops_workers("b")
      .finishes("b", "error", 1, kLost);
  EXPECT_THAT(
      witnesses(script.finish(false), "liveness.blip_tolerance"),
      AllOf(HasSubstr("the agent on node b (pid 100), a healthy member, ended at 20.300 s"),
            HasSubstr(kLost), HasSubstr("(pid 100 on node a) lived"),
            HasSubstr("only a service_error from 20.000 s on"), HasSubstr("lasted 1.000 s")));
}

TEST(BlipTolerance, a_lasting_disturbance_excuses_it) {
  Script script = two_nodes_at_work();
  script.at(20s)
      .fault(0, "net_partition", 1000s)
      .at(90s)
      .stops_workers("b")
      .finishes("b", "error", 1, kLost);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.blip_tolerance"), IsEmpty());
}

TEST(BlipTolerance, who_waits_by_a_clock_that_drifts_may_give_up_a_little_sooner) {
  const auto is_excused = [](const std::string& whose_clock, sim::Duration held_out) {
    Script script = two_nodes_at_work();
    script.at(10s).fault(0, "clock_drift", {}, whose_clock).at(20s).fault(1, "service_error");
    script.at(20s + held_out).stops_workers("b").finishes("b", "error", 1, kLost);
    return witnesses(script.finish(false), "liveness.blip_tolerance").empty();
  };
  EXPECT_TRUE(is_excused("b", 55s));
  EXPECT_FALSE(is_excused("b", 54s)) << "no clock goes wrong by more than a tenth";
  EXPECT_FALSE(is_excused("a", 55s)) << "that is the clock of another";
}

TEST(BlipTolerance, who_serves_others_on_was_ended_by_what_disturbed_it_before) {
  const auto is_excused = [](sim::Duration fault_lasts) {
    Script script = two_nodes_at_work();
    script.at(20s).fault(0, "net_partition", fault_lasts).at(100s).stops_workers("a");
    script.emit("a", script.agent_pid("a"), ev::mark, {"store_lingers"});
    script.at(300s).finishes("a", "error", 1, kLost);
    return witnesses(script.finish(false), "liveness.blip_tolerance").empty();
  };
  EXPECT_TRUE(is_excused(90s));
  EXPECT_FALSE(is_excused(40s)) << "a blip then as well";
}

TEST(BlipTolerance, answers_that_are_lost_one_after_the_other_are_no_blip) {
  AgentSettings settings;
  settings.read_timeout = 5s;
  const auto is_excused = [&](sim::Duration second) {
    Script script = two_nodes_at_work(settings);
    script.at(20s).fault(0, "service_reply_lost").fault_felt(0, "service_reply_lost");
    script.at(second).fault(1, "service_reply_lost").fault_felt(1, "service_reply_lost");
    script.at(35s).stops_workers("b").finishes("b", "error", 1, kLost);
    return witnesses(script.finish(false), "liveness.blip_tolerance").empty();
  };
  EXPECT_TRUE(is_excused(29s));
  EXPECT_FALSE(is_excused(31s)) << "these are two blips";
  EXPECT_FALSE(is_excused(22s)) << "these had been over for long";
}

TEST(BlipTolerance, a_dead_store_is_no_blip) {
  Script script = two_nodes_at_work();
  script.at(20s).crash("a").at(21s).stops_workers("b").finishes("b", "error", 1, kLost);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.blip_tolerance"), IsEmpty());
}

TEST(BlipTolerance, newcomers_departing_agents_and_other_errors_are_not_meant) {
  Script script = two_nodes_at_work();
  script.at(20s)
      .fault(0, "net_reset")
      .agent_starts("c")
      .joining("c")
      .finishes("c", "error", 1, kLost);
  script.signal_agent("b", sim::Signal::term).stops_workers("b").finishes("b", "error", 1, kLost);
  script.at(30s).stops_workers("a").finishes("a", "error", 1, "RendezvousTimeoutError: ");
  EXPECT_THAT(witnesses(script.finish(false), "liveness.blip_tolerance"), IsEmpty());
}

}  // namespace
}  // namespace hooke::properties::test
