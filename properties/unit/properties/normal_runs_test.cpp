// Ordinary lives of a job violate no invariant, whatever their order of events.
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

/// All invariants hold; otherwise the witnesses are shown.
void expect_all_hold(Script& script) {
  for (const Violation& violation : script.finish()) {
    ADD_FAILURE() << violation.invariant << ": " << violation.witness;
  }
}

TEST(NormalRuns, a_job_of_two_nodes_that_ends_well_keeps_every_invariant) {
  Script script = two_nodes_at_work();
  script.at(60s).succeed({"a", "b"});
  expect_all_hold(script);
}

TEST(NormalRuns, a_restart_for_a_failed_worker_whose_peers_abort_keeps_every_invariant) {
  Script script = two_nodes_at_work();
  script.at(10s)
      .worker_ends("a", 0, 3)
      .at(10s + 50ms)
      .reaps("a")
      .restarts("a", "worker_failure")
      .joining("a");
  script.at(70s).worker_ends("b", 0, 1).at(70s + 50ms).reaps("b").restarts("b", "worker_failure");
  script.at(71s).form(1, {"a", "b"}).at(120s).succeed({"a", "b"});
  expect_all_hold(script);
}

TEST(NormalRuns, a_late_joiner_that_makes_everybody_restart_keeps_every_invariant) {
  Script script = two_nodes_at_work();
  script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0);
  script.at(21s)
      .restarts("a", "membership_change")
      .at(21s + 500ms)
      .restarts("b", "membership_change");
  script.at(52s).form(1, {"a", "b", "c"}).at(100s).succeed({"a", "b", "c"});
  expect_all_hold(script);
}

TEST(NormalRuns, workers_that_take_their_whole_grace_to_stop_are_no_second_world) {
  Script script = two_nodes_at_work();
  script.at(20s).agent_starts("c").joining("c").added("c", "wait_list", 0);
  script.at(21s).emit("a", 100, model::events::group_restarting, {"membership_change", 3, 0});
  script.emit("a", 101, world::events::process_signalled, {100, 101, 15, 0});
  script.at(22s).restarts("b", "membership_change").joining("b");
  script.at(51s).process_ends("a", 101, -9).reaps("a").group("a", "STOPPED").joining("a");
  script.at(82s).form(1, {"a", "b", "c"}).at(100s).succeed({"a", "b", "c"});
  expect_all_hold(script);
}

TEST(NormalRuns, a_node_that_is_told_to_go_leaves_the_others_in_peace) {
  Script script = two_nodes_at_work();
  script.at(30s)
      .signal_agent("b", sim::Signal::term)
      .stops_workers("b")
      .finishes("b", "signalled", 1);
  script.at(45s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure");
  script.at(76s).form(1, {"a"}).at(120s).succeed({"a"});
  expect_all_hold(script);
}

TEST(NormalRuns, stopping_every_agent_by_signal_keeps_every_invariant) {
  Script script = two_nodes_at_work();
  script.at(30s).signal_agent("a", sim::Signal::term).signal_agent("b", sim::Signal::term);
  script.at(31s).stops_workers("a").finishes("a", "signalled", 1);
  script.at(40s).stops_workers("b").finishes("b", "signalled", 1);
  expect_all_hold(script);
}

TEST(NormalRuns, a_spent_restart_budget_ends_the_job_for_everybody) {
  AgentSettings settings;
  settings.max_restarts = 1;
  Script script(settings);
  script.agent_starts("a").serves_store("a", 29400).agent_starts("b").at(1s).form(0, {"a", "b"});
  script.at(10s).worker_ends("a", 0, 3).reaps("a").restarts("a", "worker_failure").joining("a");
  script.at(11s).restarts("b", "membership_change").at(42s).form(1, {"a", "b"});
  script.at(50s).worker_ends("a", 0, 3).reaps("a").group("a", "FAILED");
  script.emit("a", 100, model::events::failure_reported, {0, script.worker_pid("a", 0), 3});
  script.closes("a").finishes("a", "failed", 1, "ChildFailedError: rank 0");
  script.at(51s).stops_workers("b").finishes("b", "error", 1, "RendezvousConnectionError: gone");
  expect_all_hold(script);
}

TEST(NormalRuns, a_spare_that_is_sent_home_with_exit_code_0_keeps_every_invariant) {
  AgentSettings settings;
  settings.max_nodes = 2;
  Script script(settings);
  script.agent_starts("a").serves_store("a", 29400).agent_starts("b").at(1s).form(0, {"a", "b"});
  script.at(5s).agent_starts("c").joining("c").added("c", "redundancy_list", 0);
  script.at(900s).succeed({"a", "b"});
  script.at(901s).finishes("c", "graceful_exit", 0);
  expect_all_hold(script);
}

TEST(NormalRuns, a_spare_takes_the_seat_of_a_member_that_left_to_restart) {
  AgentSettings settings;
  settings.max_nodes = 2;
  Script script(settings);
  script.agent_starts("a").serves_store("a", 29400).agent_starts("b").at(1s).form(0, {"a", "b"});
  script.at(5s).agent_starts("c").joining("c").added("c", "redundancy_list", 0);
  script.at(20s).worker_ends("b", 0, 1).reaps("b").restarts("b", "worker_failure").joining("b");
  script.emit("b", 100, model::events::rendezvous_left, {"job", 0, 1}).added("b", "wait_list", 0);
  script.at(21s).added("c", "wait_list", 0).restarts("a", "membership_change");
  script.at(22s).form(1, {"a", "c"}).added("b", "redundancy_list", 1);
  script.at(60s).succeed({"a", "c"}).at(61s).finishes("b", "graceful_exit", 0);
  expect_all_hold(script);
}

TEST(NormalRuns, the_store_host_may_leave_while_others_still_hear_of_the_full_exit_barrier) {
  Script script = two_nodes_at_work();
  for (const char* node : {"a", "b"}) {
    script.at(60s)
        .worker_ends(node, 0, 0)
        .reaps(node)
        .group(node, "SUCCEEDED")
        .enters_barrier(node);
  }
  script.leaves_barrier("a", "passed").closes("a").finishes("a", "succeeded", 0);
  script.at(60s + 2ms).leaves_barrier("b", "passed").finishes("b", "succeeded", 0);
  expect_all_hold(script);
}

TEST(NormalRuns, a_short_partition_that_no_agent_minds_keeps_every_invariant) {
  Script script = two_nodes_at_work();
  script.at(20s).fault(0, "net_partition", 10s).at(30s).fault_over(0, "net_partition");
  script.at(60s).succeed({"a", "b"});
  expect_all_hold(script);
}

TEST(NormalRuns, a_crash_to_which_the_others_react_at_once_keeps_every_invariant) {
  Script script;
  script.agent_starts("a")
      .serves_store("a", 29400)
      .agent_starts("b")
      .agent_starts("c")
      .at(1s)
      .form(0, {"a", "b", "c"});
  script.at(30s).crash("c");
  script.at(40s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure").joining("a");
  script.at(41s)
      .restarts("b", "membership_change")
      .at(72s)
      .form(1, {"a", "b"})
      .at(100s)
      .succeed({"a", "b"});
  expect_all_hold(script);
}

}  // namespace
}  // namespace hooke::properties::test
