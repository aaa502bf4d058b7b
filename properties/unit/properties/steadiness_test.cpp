// A job at rest stays at rest, and a short disturbance ends no agent.
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
using ::testing::Not;

// ---- no_livelock

void rounds(Script& script, std::int64_t from, std::int64_t to) {
  for (std::int64_t round = from; round <= to; ++round) {
    script.at(std::chrono::seconds(10 + round));
    script.restarts("a", "membership_change")
        .restarts("b", "membership_change")
        .form(round, {"a", "b"});
  }
}

TEST(NoLivelock, five_rounds_keep_it) {
  Script script = two_nodes_at_work();
  rounds(script, 1, 4);
  EXPECT_EQ(verdict(script, "liveness.no_livelock"), "kept");
}

TEST(NoLivelock, six_rounds_for_nothing_break_it) {
  Script script = two_nodes_at_work();
  rounds(script, 1, 6);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.no_livelock"),
              AllOf(HasSubstr("job \"job\" completed 6 rounds from 1.000 s to 15.000 s"),
                    HasSubstr("the latest of them round 5")));
}

TEST(NoLivelock, what_is_new_starts_the_count_anew) {
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

TEST(NoLivelock, what_hinders_an_agent_of_the_job_is_told_with_it_and_nothing_else) {
  const auto limit = [](const std::string& kind, const std::string& target) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.settings.run_id = "other";
    script.agent_starts("c");
    script.settings.run_id = "job";
    script.fault(0, kind, 0s, target);
    rounds(script, 1, 6);
    const auto all = limits(script.finish(false), "liveness.no_livelock");
    return all.size() == 1 ? all.front() : "not told once";
  };
  EXPECT_EQ(limit("service_slow", "s"), "the store (service_slow)");
  EXPECT_EQ(limit("net_partition", "b"), "the path to the store (net_partition)");
  EXPECT_EQ(limit("net_partition", "c"), "") << "that agent is of another job";
  EXPECT_EQ(limit("net_partition", "a <-> b"), "") << "no store is there";
  EXPECT_EQ(limit("disk_full", "b"), "") << "that hinders nothing";
}

TEST(NoLivelock, two_writers_of_one_completion_are_one_round) {
  Script script = two_nodes_at_work();
  for (int i = 0; i < 9; ++i) script.completed("a", 1, 2).completed("b", 1, 2);
  EXPECT_THAT(witnesses(script.finish(false), "liveness.no_livelock"), IsEmpty());
}

// ---- blip_tolerance: a read time-out, 60 s

constexpr const char* kBlip = "liveness.blip_tolerance";
const char* const kLost = "RendezvousConnectionError: the connection to the store is broken";

/// b ends at `end` with a lost connection.
std::string verdict_of_a_lost_connection(Script& script, sim::Duration end) {
  script.at(end).stops_workers("b").finishes("b", "error", 1, kLost);
  return verdict(script, kBlip);
}

/// A fault from 20 s on, beside a store.
Script disturbed(const std::string& kind, const std::string& target, sim::Duration lasts) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.agent_starts("c").at(20s).fault(0, kind, lasts, target);
  return script;
}

TEST(BlipTolerance,
     an_error_that_a_fault_put_into_the_agent_excuses_it_while_it_stops_its_workers) {
  const auto with = [](const std::string& target, bool raised, sim::Duration end) {
    Script script = disturbed("process_raise", target, 0s);
    if (raised) script.fault_took_effect(0, "process_raise");
    return verdict_of_a_lost_connection(script, end);
  };
  EXPECT_EQ(with("b pid 100", true, 55s), "excused by an error put into the agent (process_raise)");
  EXPECT_EQ(with("b pid 100", true, 56s), "broken") << "it has stopped them in 30 s";
  EXPECT_EQ(with("b pid 100", false, 55s), "broken") << "nothing was raised";
  EXPECT_EQ(with("a pid 100", true, 55s), "broken");
}

TEST(BlipTolerance, a_short_disturbance_that_ends_a_healthy_agent_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(20s).fault(0, "service_error", 1s, "a").at(20s + 300ms).stops_workers("b");
  script.finishes("b", "error", 1, kLost);
  EXPECT_THAT(witnesses(script.finish(false), kBlip),
              AllOf(HasSubstr("the agent on node b (pid 100), a healthy member, ended at 20.300 s"),
                    HasSubstr(kLost), HasSubstr("(pid 100 on node a) lived"),
                    HasSubstr("only service_error of a from 20.000 s to 21.000 s, which had "
                              "hindered it for 0.300 s")));
}

TEST(BlipTolerance, an_agent_that_endures_a_disturbance_keeps_it) {
  Script script = disturbed("service_error", "s", 1s);
  script.at(60s).succeed({"a", "b"});
  EXPECT_EQ(verdict(script, kBlip), "kept");
}

TEST(BlipTolerance, what_outlasts_the_read_time_out_is_no_blip) {
  Script partition = disturbed("net_partition", "b", 1000s);
  EXPECT_EQ(verdict_of_a_lost_connection(partition, 80s), "nothing owed");
  Script soon = disturbed("net_partition", "b", 1000s);
  EXPECT_EQ(verdict_of_a_lost_connection(soon, 79s), "broken") << "it had lasted 59 s by then";
  Script caught = disturbed("net_partition", "b", 30s);
  EXPECT_EQ(verdict_of_a_lost_connection(caught, 85s), "broken")
      << "a request that waits for its time-out makes a fault no longer";
}

TEST(BlipTolerance, a_lasting_disturbance_of_another_agent_or_path_is_no_excuse) {
  for (const char* const target : {"a", "c", "a <-> b", "c <-> s"}) {
    Script script = disturbed("net_partition", target, 1000s);
    EXPECT_EQ(verdict_of_a_lost_connection(script, 90s), "broken") << target;
  }
  Script elsewhere = disturbed("net_partition", "c", 1000s);
  elsewhere.at(90s).stops_workers("b").finishes("b", "error", 1, kLost);
  EXPECT_THAT(witnesses(elsewhere.finish(false), kBlip), HasSubstr("nothing had hindered it"));
  Script paused = disturbed("process_pause", "a pid 100", 1000s);
  EXPECT_EQ(verdict_of_a_lost_connection(paused, 90s), "broken");
}

TEST(BlipTolerance, a_wait_for_a_member_ends_as_well_while_that_cannot_write) {
  const auto with = [](const char* target, const std::string& detail) {
    Script script = disturbed("net_delay", target, 1000s);
    script.at(90s).stops_workers("b").finishes("b", "error", 1, detail);
    return verdict(script, kBlip);
  };
  const std::string waited = "DistStoreError: wait timeout after 60000ms, keys: x/role_info/0";
  EXPECT_EQ(with("a", waited), "excused by the path to the store (net_delay)");
  EXPECT_EQ(with("a", kLost), "broken") << "its own connection";
  EXPECT_EQ(with("c", waited), "broken") << "no member";
  const std::string forming = "DistStoreError: the group has not formed in time";
  EXPECT_EQ(with("a", forming), "excused by the path to the store (net_delay)");
  EXPECT_EQ(with("c", forming), "broken") << "no member";
}

TEST(BlipTolerance, a_wait_for_the_nodes_of_a_static_job_ends_where_too_few_come) {
  const auto with = [](const char* backend, const std::string& other) {
    AgentSettings settings;
    settings.backend = backend;
    settings.min_nodes = 2;
    Script script = at_work_beside_a_store({"a", "b"}, settings);
    script.at(20s).stops_workers("b").restarts("b", "worker_failure");
    if (other == "is killed") script.kill_agent("a");
    if (other == "comes") script.stops_workers("a").restarts("a", "worker_failure");
    script.at(920s).finishes("b", "error", 1,
                             "DistStoreError: wait timeout after 900000ms, keys: x");
    return verdict(script, kBlip);
  };
  EXPECT_EQ(with("static", "is killed"), "nothing owed");
  EXPECT_EQ(with("static", "works on"), "nothing owed") << "it is not told that b waits";
  EXPECT_EQ(with("static", "comes"), "broken");
  EXPECT_EQ(with("c10d", "is killed"), "broken") << "one of its nodes may go on alone";
}

TEST(BlipTolerance, agents_that_share_a_rank_of_a_static_job_come_for_one) {
  for (const std::int64_t rank : {1, 2}) {
    AgentSettings settings;
    settings.backend = "static";
    settings.min_nodes = 3;
    Script script = at_work_beside_a_store({"a", "b", "c"}, settings);
    script.agent_starts("d").joining("d").joined("d", 0, rank, 3, "a.sim:29500").kill_agent("c");
    script.workers_start("d").at(20s);
    for (const char* const node : {"a", "b", "d"}) script.restarts(node, "worker_failure");
    script.at(920s).finishes("a", "error", 1,
                             "DistStoreError: wait timeout after 900000ms, keys: x");
    EXPECT_EQ(verdict(script, kBlip), rank == 1 ? "nothing owed" : "broken") << rank;
  }
}

TEST(BlipTolerance, an_agent_that_waits_by_a_clock_that_drifts_may_give_up_a_little_sooner) {
  const auto verdict_by = [](const std::string& whose_clock, sim::Duration held_out) {
    Script script = two_nodes_at_work();
    script.at(10s).fault(0, "clock_drift", {}, whose_clock).at(20s).fault(1, "service_error");
    return verdict_of_a_lost_connection(script, 20s + held_out);
  };
  EXPECT_EQ(verdict_by("b", 55s), "nothing owed");
  EXPECT_EQ(verdict_by("b", 54s), "broken") << "no clock goes wrong by more than a tenth";
  EXPECT_EQ(verdict_by("a", 55s), "broken") << "that is the clock of another";
}

TEST(BlipTolerance, an_agent_that_serves_others_on_was_ended_by_what_disturbed_it_before) {
  const auto is_excused = [](sim::Duration fault_lasts) {
    Script script = two_nodes_at_work();
    script.at(20s).fault(0, "service_stop", fault_lasts, "a").at(100s).stops_workers("a");
    script.emit("a", script.agent_pid("a"), ev::coverage_point, {"store_lingers"});
    script.at(300s).finishes("a", "error", 1, kLost);
    return witnesses(script.finish(false), kBlip).empty();
  };
  EXPECT_TRUE(is_excused(90s));
  EXPECT_FALSE(is_excused(40s)) << "a blip then as well";
}

TEST(BlipTolerance, answers_that_are_lost_one_after_the_other_are_no_blip) {
  AgentSettings settings;
  settings.read_timeout = 5s;
  const auto verdict_of = [&](sim::Duration second, sim::Duration end) {
    Script script = at_work_beside_a_store({"a", "b"}, settings);
    script.at(20s).fault(0, "service_reply_lost").fault_took_effect(0, "service_reply_lost");
    script.at(second).fault(1, "service_reply_lost").fault_took_effect(1, "service_reply_lost");
    return verdict_of_a_lost_connection(script, end);
  };
  EXPECT_EQ(verdict_of(25s, 30s), "nothing owed");
  EXPECT_EQ(verdict_of(24s, 29s), "broken") << "not for a whole read time-out";
  EXPECT_EQ(verdict_of(26s, 31s), "broken") << "these are two blips";
  EXPECT_EQ(verdict_of(25s, 31s), "broken") << "these had been over for long";
}

TEST(BlipTolerance, one_lost_answer_is_a_blip_however_long_it_is_waited_for) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(20s).fault(0, "service_reply_lost").fault_took_effect(0, "service_reply_lost");
  EXPECT_EQ(verdict_of_a_lost_connection(script, 80s), "broken");
}

TEST(BlipTolerance, a_dead_store_is_no_blip) {
  Script script = two_nodes_at_work();
  script.at(20s).crash("a").at(21s).stops_workers("b").finishes("b", "error", 1, kLost);
  EXPECT_EQ(verdict(script, kBlip), "nothing owed");
  Script lives = at_work_beside_a_store({"a", "b"});
  lives.at(20s).crash("a");
  EXPECT_EQ(verdict_of_a_lost_connection(lives, 21s), "broken") << "that was another's crash";
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
  EXPECT_THAT(witnesses(script.finish(false), kBlip), IsEmpty());
}

}  // namespace
}  // namespace hooke::properties::test
