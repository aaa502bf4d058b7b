// A lost member makes the others move: late, never, in time, hindered, or hindered elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"
#include "model/observe/restart_events.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kLossDetection = "liveness.loss_detection";

// ---- the bound: 15 s + 0.1 s + 5 s

TEST(LossDetection, a_survivor_that_never_moves_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(40s).crash("b").at(1800s);
  EXPECT_THAT(
      witnesses(script.finish(false), kLossDetection),
      AllOf(
          HasSubstr("the agent on node b (pid 100) died at 40.000 s as rank 1 of round 0"),
          HasSubstr(
              "the agent on node a (pid 100) should have started a new round or ended by 60.100 s"),
          HasSubstr("but had not when the run ended at 1800.000 s")));
}

TEST(LossDetection, the_silence_of_a_member_has_begun_with_its_latest_heartbeat) {
  for (const sim::Duration moves : {57s, 58s}) {
    Script script = two_nodes_at_work();
    script.at(37s).emit("b", 100, ev::rendezvous_write, {"job", "KEEP_ALIVE", 0, 100});
    script.at(40s).crash("b").at(moves).restarts("a", "member_lost").at(900s);
    EXPECT_EQ(verdict(script, kLossDetection), moves == 57s ? "kept" : "broken")
        << "15 s, twice a look of 0.1 s, and 5 s";
  }
}

TEST(LossDetection, a_survivor_that_moves_late_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(40s).kill_agent("b").at(101s).worker_ends("a", 0, 1).restarts("a", "worker_failure");
  EXPECT_THAT(witnesses(script.finish(false), kLossDetection),
              HasSubstr("but did so only at 101.000 s"));
}

TEST(LossDetection, a_new_round_an_end_or_the_exit_barrier_in_time_keep_it) {
  Script restarts = two_nodes_at_work();
  restarts.at(40s).crash("b").at(60s).restarts("a", "membership_change").at(900s);
  EXPECT_EQ(verdict(restarts, kLossDetection), "kept");
  Script ends = two_nodes_at_work();
  ends.at(40s).crash("b").at(60s).stops_workers("a").finishes("a", "error", 1).at(900s);
  EXPECT_EQ(verdict(ends, kLossDetection), "kept");
  Script done = two_nodes_at_work();
  done.at(40s).crash("b").at(50s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED");
  done.enters_barrier("a").at(200s);
  EXPECT_EQ(verdict(done, kLossDetection), "kept");
}

TEST(LossDetection, an_agent_that_only_says_that_it_gives_up_has_not_moved) {
  Script script = two_nodes_at_work();
  script.at(40s).crash("b").at(45s).emit("a", 100, ev::job_given_up, {0}).at(100s);
  EXPECT_EQ(verdict(script, kLossDetection), "broken");
}

TEST(LossDetection, an_agent_that_reports_a_failure_has_moved_when_it_has_no_worker_left) {
  for (const bool has_worker : {true, false}) {
    Script script = two_nodes_at_work();
    script.at(40s).crash("b").at(45s);
    if (!has_worker) script.worker_ends("a", 0, 1);
    script.emit("a", 100, ev::failure_reported, {0, script.worker_pid("a", 0), 1}).at(100s);
    EXPECT_EQ(verdict(script, kLossDetection), has_worker ? "broken" : "kept");
  }
}

TEST(LossDetection, an_agent_that_leaves_its_round_has_moved_when_it_has_no_worker_left) {
  for (const bool has_worker : {true, false}) {
    Script script = two_nodes_at_work();
    if (!has_worker) script.at(39s).worker_ends("a", 0, 1);
    script.at(40s).crash("b").at(45s).emit("a", 100, ev::rendezvous_left, {"job", 0, 0}).at(100s);
    EXPECT_EQ(verdict(script, kLossDetection), has_worker ? "broken" : "kept");
  }
}

TEST(LossDetection, a_survivor_that_is_busy_stopping_its_workers_has_moved) {
  Script script = two_nodes_at_work();
  script.at(40s).crash("b").at(55s).emit("a", 100, ev::worker_signalled, {101, 15, "stop"}).at(85s);
  script.restarts("a", "worker_failure");
  EXPECT_EQ(verdict(script, kLossDetection), "kept");
}

TEST(LossDetection, a_survivor_that_was_ending_its_workers_already_has_moved) {
  AgentSettings settings;
  settings.local_world_size = 2;
  Script script = two_nodes_at_work(settings);
  script.at(39s).worker_ends("a", 0, 1);
  script.emit("a", 100, ev::worker_signalled, {script.worker_pid("a", 1), 15, "peer_failed"});
  script.at(40s).crash("b").at(69s).worker_ends("a", 1, -9).restarts("a", "worker_failure");
  EXPECT_EQ(verdict(script, kLossDetection), "nothing owed");
  Script before = two_nodes_at_work();
  before.at(39s).restarts("a", "membership_change").restarts("b", "membership_change");
  before.form(1, {"a", "b"}).at(40s).crash("b").at(69s).restarts("a", "worker_failure");
  EXPECT_THAT(witnesses(before.finish(false), kLossDetection), HasSubstr("did so only at 69.000 s"))
      << "those of an earlier round are no excuse";
}

TEST(LossDetection, a_run_that_is_cut_before_the_bound_leaves_it_open) {
  Script script = two_nodes_at_work();
  script.at(40s).crash("b").at(60s);
  EXPECT_EQ(verdict(script, kLossDetection), "open");
}

TEST(LossDetection, a_member_that_said_how_it_ends_has_departed) {
  Script script = two_nodes_at_work();
  script.at(40s)
      .signal_agent("b", sim::Signal::term)
      .stops_workers("b")
      .finishes("b", "signalled", 1)
      .at(900s);
  EXPECT_EQ(verdict(script, kLossDetection), "nothing owed");
}

// ---- hindrances

/// b dies at 40 s, beside a store of its own; a moves at 70 s, which is 10 s too late. A request
/// that is caught takes 5 s.
std::string verdict_of_a_late_move(sim::Duration when, const std::string& kind,
                                   const std::string& target) {
  AgentSettings settings;
  settings.read_timeout = 5s;
  Script script = at_work_beside_a_store({"a", "b"}, settings);
  if (when < 40s) script.at(when).fault(0, kind, 1s, target);
  script.at(40s).crash("b");
  if (when > 40s) script.at(when).fault(0, kind, 1s, target);
  script.at(70s).restarts("a", "membership_change");
  return verdict(script, kLossDetection);
}

TEST(LossDetection, only_what_hinders_the_survivor_inside_the_bound_puts_it_off) {
  EXPECT_EQ(verdict_of_a_late_move(55s, "net_reset", "a"), "kept");
  EXPECT_EQ(verdict_of_a_late_move(55s, "net_reset", "a <-> s"), "kept");
  EXPECT_EQ(verdict_of_a_late_move(55s, "process_pause", "a pid 100"), "kept");
  EXPECT_EQ(verdict_of_a_late_move(55s, "service_error", "s"), "kept");
  EXPECT_EQ(verdict_of_a_late_move(65s, "net_reset", "a"), "broken") << "it was overdue by then";
  EXPECT_EQ(verdict_of_a_late_move(30s, "net_reset", "a"), "broken") << "that was over by then";
  EXPECT_EQ(verdict_of_a_late_move(55s, "net_reset", "b"), "broken") << "the dead member's path";
  EXPECT_EQ(verdict_of_a_late_move(55s, "net_reset", "a <-> b"), "broken") << "no store is there";
  EXPECT_EQ(verdict_of_a_late_move(55s, "process_pause", "b pid 100"), "broken");
  EXPECT_EQ(verdict_of_a_late_move(55s, "process_pause", "a pid 101"), "broken") << "its worker";
  EXPECT_EQ(verdict_of_a_late_move(55s, "disk_full", "a"), "broken") << "that hinders nothing";
}

TEST(LossDetection, what_hinders_one_survivor_for_good_is_no_excuse_for_the_other) {
  Script script = at_work_beside_a_store({"a", "b", "c"});
  script.at(40s).crash("c").at(45s).fault(0, "net_partition", 0s, "a").at(900s);
  EXPECT_THAT(witnesses(script.finish(false), kLossDetection),
              AllOf(HasSubstr("the agent on node b (pid 100) should have"),
                    Not(HasSubstr("the agent on node a (pid 100) should have"))));
  const Account account = script.accounts().at(kLossDetection);
  EXPECT_EQ(account.broken, 1);
  EXPECT_EQ(account.excused_by.at("the path to the store (net_partition)"), 1);
}

TEST(LossDetection, a_store_that_went_with_the_lost_member_excuses_until_one_serves) {
  AgentSettings settings;
  settings.read_timeout = 5s;
  Script gone = two_nodes_at_work(settings);
  gone.at(40s).crash("a").at(900s);
  EXPECT_EQ(verdict(gone, kLossDetection), "excused by the store (store_gone)");
  for (const sim::Duration moves : {85s, 86s}) {
    Script back = two_nodes_at_work(settings);
    back.at(40s).crash("a").at(60s).store_starts().at(moves).restarts("b", "membership_change");
    EXPECT_EQ(verdict(back, kLossDetection), moves == 85s ? "kept" : "broken")
        << "60 s, a caught request 5 s, and 20.1 s";
  }
  Script lives = at_work_beside_a_store({"a", "b"}, settings);
  lives.at(40s).crash("a").at(900s);
  EXPECT_EQ(verdict(lives, kLossDetection), "broken") << "the store was not on its machine";
}

}  // namespace
}  // namespace hooke::properties::test
