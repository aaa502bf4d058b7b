// Agents that stop: their workers, in order to restart them; themselves, when they are told to.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// ---- restart_stops: 30 s + 5 s

constexpr const char* kRestartStops = "liveness.restart_stops";

/// a begins to stop its workers at 10 s, in order to restart.
Script one_that_restarts(AgentSettings settings = {}) {
  Script script = at_work_beside_a_store({"a", "b"}, std::move(settings));
  script.at(10s).emit("a", 100, ev::group_restarting, {"membership_change", 3, 0});
  return script;
}

TEST(RestartStops, an_agent_whose_workers_never_stop_breaks_it) {
  Script script = one_that_restarts();
  script.at(60s);
  EXPECT_THAT(
      witnesses(script.finish(false), kRestartStops),
      AllOf(HasSubstr("the agent on node a (pid 100) began to stop its workers at 10.000 s"),
            HasSubstr("gone by 45.000 s"), HasSubstr("had not when the run ended")));
  Script late = one_that_restarts();
  late.at(46s).joining("a");
  EXPECT_THAT(witnesses(late.finish(false), kRestartStops), HasSubstr("did so only at 46.000 s"));
}

TEST(RestartStops, an_agent_that_joins_again_says_that_they_are_stopped_or_ends_keeps_it) {
  Script joins = one_that_restarts();
  joins.at(45s).joining("a").at(900s);
  EXPECT_EQ(verdict(joins, kRestartStops), "kept");
  Script stays = one_that_restarts();
  stays.at(12s).group("a", "STOPPED").at(60s);
  EXPECT_EQ(verdict(stays, kRestartStops), "kept") << "as under the static rendezvous";
  Script ends = one_that_restarts();
  ends.at(20s).kill_agent("a").at(60s);
  EXPECT_EQ(verdict(ends, kRestartStops), "kept");
}

TEST(RestartStops, an_agent_may_leave_only_without_a_worker_that_cannot_be_killed) {
  for (const bool killable : {true, false}) {
    Script script = one_that_restarts();
    if (!killable) script.fault(0, "process_unkillable", 0s, "a pid 101");
    script.at(20s).emit("a", 100, ev::rendezvous_left, {"job", 0, 1}).at(60s);
    EXPECT_EQ(verdict(script, kRestartStops), killable ? "broken" : "kept");
  }
}

TEST(RestartStops, an_agent_that_has_given_up_all_that_cannot_be_killed_need_not_reach_the_store) {
  const auto verdict_of = [](const char* consequence, bool killable) {
    Script script = one_that_restarts();
    if (!killable) script.fault(0, "process_unkillable", 0s, "a pid 101");
    script.at(100s).emit("a", 100, ev::worker_uninterruptible, {101, 0, 0, 0, consequence});
    return verdict(script.at(120s), kRestartStops);
  };
  EXPECT_EQ(verdict_of("abandoned", false), "kept");
  EXPECT_EQ(verdict_of("waited_for", false), "broken");
  EXPECT_EQ(verdict_of("abandoned", true), "broken");
}

TEST(RestartStops, a_shutdown_grace_that_is_longer_counts) {
  AgentSettings settings;
  settings.shutdown = 120s;
  for (const sim::Duration stops : {135s, 136s}) {
    Script script = one_that_restarts(settings);
    script.at(stops).group("a", "STOPPED");
    EXPECT_EQ(verdict(script, kRestartStops), stops == 135s ? "kept" : "broken");
  }
}

// ---- grace: 30 s + 2 s

constexpr const char* kGrace = "liveness.grace";

/// a tells its worker (pid 101) to stop at 10 s.
Script one_that_stops(AgentSettings settings = {}) {
  Script script = at_work_beside_a_store({"a", "b"}, settings);
  script.at(10s).emit("a", 101, wev::process_signalled, {100, 101, 15, 0});
  return script;
}

TEST(Grace, a_worker_that_outlives_its_grace_unkilled_breaks_it) {
  Script late = one_that_stops();
  late.at(43s).emit("a", 101, wev::process_signalled, {100, 101, 9, 0});
  EXPECT_THAT(witnesses(late.finish(false), kGrace),
              AllOf(HasSubstr("the agent on node a (pid 100) told its worker pid 101 on node a to "
                              "stop at 10.000 s"),
                    HasSubstr("killed, by 42.000 s (grace + answer: 32.000 s), but did so only at "
                              "43.000 s")));
  Script by_itself = one_that_stops();
  by_itself.at(70s).process_ends("a", 101, -15);
  EXPECT_EQ(verdict(by_itself, kGrace), "broken");
}

TEST(Grace, a_worker_that_is_killed_or_ends_in_time_keeps_it) {
  Script killed = one_that_stops();
  killed.at(42s).emit("a", 101, wev::process_signalled, {100, 101, 9, 0}).at(90s);
  EXPECT_EQ(verdict(killed, kGrace), "kept");
  Script ends = one_that_stops();
  ends.at(20s).process_ends("a", 101, -15).at(90s);
  EXPECT_EQ(verdict(ends, kGrace), "kept");
}

TEST(Grace, it_begins_anew_with_each_word_and_ends_with_the_agent) {
  Script again = one_that_stops();
  again.at(30s).emit("a", 101, wev::process_signalled, {100, 101, 15, 0});
  again.at(62s).emit("a", 101, wev::process_signalled, {100, 101, 9, 0}).at(90s);
  EXPECT_EQ(verdict(again, kGrace), "kept");
  Script gone = one_that_stops();
  gone.at(30s).kill_agent("a").at(90s);
  EXPECT_NE(verdict(gone, kGrace), "broken");
}

TEST(Grace, what_an_agent_is_given_before_a_restart_and_at_its_end_counts) {
  AgentSettings given;
  given.shutdown = 5s;
  for (const sim::Duration stop : {5s, 30s}) {
    Script script(given);
    given.stop = stop;
    script.given("a", given).agent_starts("a").serves_store("a", 29400).form(0, {"a"});
    script.at(10s).emit("a", script.worker_pid("a", 0), wev::process_signalled,
                        {script.agent_pid("a"), script.worker_pid("a", 0), 15, 0});
    script.at(20s).process_ends("a", script.worker_pid("a", 0), -15);
    EXPECT_EQ(verdict(script, kGrace), stop == 5s ? "broken" : "kept");
  }
}

TEST(RestartStops, an_agent_that_is_told_to_go_meanwhile_stops_them_for_that) {
  Script script = one_that_restarts();
  script.at(20s).signal_agent("a", sim::Signal::term).at(60s);
  EXPECT_EQ(verdict(script, kRestartStops), "nothing owed");
}

TEST(RestartStops, what_hinders_the_agent_excuses_and_the_same_fault_elsewhere_does_not) {
  const auto verdict_with = [](const std::string& kind, const std::string& target,
                               sim::Duration stops = 60s) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(5s).fault(0, kind, 0s, target);
    script.at(10s).emit("a", 100, ev::group_restarting, {"membership_change", 3, 0}).at(stops);
    script.group("a", "STOPPED");
    return verdict(script, kRestartStops);
  };
  EXPECT_EQ(verdict_with("process_unkillable", "a pid 101", 105s), "kept")
      << "it is given up after 60 s";
  EXPECT_EQ(verdict_with("process_unkillable", "a pid 101", 106s), "broken");
  EXPECT_EQ(verdict_with("process_unkillable", "b pid 101"), "broken");
  EXPECT_EQ(verdict_with("clock_freeze", "a"), "excused by the agent's clock (clock_freeze)");
  EXPECT_EQ(verdict_with("clock_freeze", "b"), "broken");
  EXPECT_EQ(verdict_with("net_partition", "a"), "broken") << "it takes no store to stop a worker";
  EXPECT_EQ(verdict_with("service_stop", "s"), "broken");
}

// ---- signals_take_effect: 30 s + 30 s + 5 s

constexpr const char* kSignals = "liveness.signals_take_effect";

TEST(SignalsTakeEffect, an_agent_that_is_deaf_in_its_exit_barrier_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(20s).signal_agent("a", sim::Signal::term).at(40s).signal_agent("a", sim::Signal::int_);
  script.at(310s).leaves_barrier("a", "interrupted").finishes("a", "signalled", 1);
  EXPECT_THAT(
      witnesses(script.finish(false), kSignals),
      AllOf(HasSubstr("the agent on node a (pid 100) got SIGTERM at 20.000 s while it waited in "
                      "the exit barrier"),
            HasSubstr("should have ended by 85.000 s (grace + close + slack: 65.000 s)"),
            HasSubstr("did so only at 310.000 s")));
}

TEST(SignalsTakeEffect, the_configured_grace_counts_and_other_signals_do_not) {
  AgentSettings settings;
  settings.shutdown = 120s;
  Script script = two_nodes_at_work(settings);
  script.at(20s).signal_agent("a", sim::Signal::hup).signal_agent("b", sim::Signal::usr1);
  script.at(150s).stops_workers("a").finishes("a", "signalled", 1).at(900s);
  EXPECT_EQ(verdict(script, kSignals), "kept");
}

TEST(SignalsTakeEffect, an_agent_that_never_ends_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(20s).signal_agent("b", sim::Signal::quit).at(90s);
  EXPECT_THAT(witnesses(script.finish(false), kSignals),
              HasSubstr("got SIGQUIT at 20.000 s while it had healthy workers"));
}

TEST(SignalsTakeEffect, without_a_store_the_last_two_questions_take_a_lost_connection_each) {
  for (const sim::Duration ends : {95s, 96s}) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(20s).signal_agent("b", sim::Signal::term).at(30s).store_dies();
    script.at(ends).finishes("b", "signalled", 1);
    EXPECT_EQ(verdict(script, kSignals), ends == 95s ? "kept" : "broken");
  }
}

/// b is told to go at 20 s, with a fault from 15 s on.
std::string verdict_of_a_deaf_agent(const std::string& kind, const std::string& target,
                                    sim::Duration ends = 900s) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(15s).fault(0, kind, 0s, target);
  script.at(20s).signal_agent("b", sim::Signal::term).at(ends).finishes("b", "signalled", 1);
  return verdict(script, kSignals);
}

TEST(SignalsTakeEffect, what_hinders_the_agent_excuses_and_the_same_fault_elsewhere_does_not) {
  EXPECT_EQ(verdict_of_a_deaf_agent("process_pause", "b pid 100"),
            "excused by the agent's process (process_pause)");
  EXPECT_EQ(verdict_of_a_deaf_agent("process_pause", "a pid 100"), "broken");
  EXPECT_EQ(verdict_of_a_deaf_agent("process_unkillable", "b pid 101", 145s), "kept");
  EXPECT_EQ(verdict_of_a_deaf_agent("process_unkillable", "b pid 101", 146s), "broken");
  EXPECT_EQ(verdict_of_a_deaf_agent("process_unkillable", "a pid 101"), "broken");
  EXPECT_EQ(verdict_of_a_deaf_agent("net_partition", "b"), "broken") << "a signal needs no network";
  EXPECT_EQ(verdict_of_a_deaf_agent("service_slow", "s"), "broken");
  EXPECT_EQ(verdict_of_a_deaf_agent("process_deaf", "b pid 100"),
            "excused by signals to the agent (process_deaf)");
  EXPECT_EQ(verdict_of_a_deaf_agent("process_deaf", "a pid 100"), "broken");
}

TEST(SignalsTakeEffect, a_store_that_does_not_answer_costs_a_lost_connection_twice) {
  EXPECT_EQ(verdict_of_a_deaf_agent("service_stop", "s", 95s), "kept");
  EXPECT_EQ(verdict_of_a_deaf_agent("service_stop", "s", 96s), "broken");
  EXPECT_EQ(verdict_of_a_deaf_agent("net_partition", "b", 95s), "kept");
  EXPECT_EQ(verdict_of_a_deaf_agent("net_partition", "a", 86s), "broken") << "another path";
}

TEST(SignalsTakeEffect, a_pause_of_one_agent_puts_off_its_own_end_and_not_that_of_another) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(20s).signal_agent("a", sim::Signal::term).signal_agent("b", sim::Signal::term);
  script.at(30s).fault(0, "process_pause", 60s, "a pid 100").at(155s);
  script.finishes("a", "signalled", 1).finishes("b", "signalled", 1);
  EXPECT_THAT(witnesses(script.finish(false), kSignals),
              AllOf(HasSubstr("the agent on node b (pid 100) got SIGTERM"),
                    Not(HasSubstr("the agent on node a (pid 100) got SIGTERM"))));
}

TEST(SignalsTakeEffect, an_agent_that_hears_again_owes_its_end_from_then_on) {
  for (const sim::Duration ends : {105s, 106s}) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(15s).fault(0, "process_deaf", 25s, "b pid 100");
    script.at(20s).signal_agent("b", sim::Signal::term).at(ends).finishes("b", "signalled", 1);
    EXPECT_EQ(verdict(script, kSignals), ends == 105s ? "kept" : "broken");
  }
}

// ---- stop_signals

constexpr const char* kStopSignals = "safety.stop_signals";

/// b's agent is told to go by `order`, and tells its worker by each of `signals`, then ends.
std::string told_to_stop(sim::Signal order, const std::vector<int>& signals, bool failed = false) {
  AgentSettings settings;
  settings.local_world_size = 2;
  Script script = two_nodes_at_work(settings);
  const std::int64_t agent = script.agent_pid("b"), worker = script.worker_pid("b", 0);
  script.at(5s);
  if (failed) script.worker_ends("b", 1, 1);
  script.signal_agent("b", order);
  for (const int signal : signals) {
    script.at(5s + 100ms)
        .emit("b", worker, world::events::process_signalled, {agent, worker, signal, 1});
  }
  script.at(6s).emit("b", agent, ev::agent_signalled, {static_cast<int>(order), "running"});
  return witnesses(script.finish(false), kStopSignals);
}

TEST(StopSignals, a_worker_hears_the_signal_of_its_agent_once) {
  EXPECT_THAT(told_to_stop(sim::Signal::int_, {2}), IsEmpty());
  EXPECT_THAT(told_to_stop(sim::Signal::int_, {2, 9, 2, 2}), IsEmpty()) << "it cannot be killed";
  EXPECT_THAT(
      told_to_stop(sim::Signal::int_, {15}),
      HasSubstr("was told to go by SIGINT and told its worker pid 101 to stop by signal 15"));
  EXPECT_THAT(told_to_stop(sim::Signal::term, {15, 15, 15}),
              HasSubstr("told its worker pid 101 to stop once more at 5.100 s, by SIGTERM; it had "
                        "done so 2 times"));
  EXPECT_THAT(told_to_stop(sim::Signal::int_, {15}, true), IsEmpty()) << "for its sibling";
}

TEST(StopSignals, one_that_comes_when_the_worker_has_been_told_is_not_what_it_was_told) {
  Script script = two_nodes_at_work();
  const std::int64_t agent = script.agent_pid("b"), worker = script.worker_pid("b", 0);
  script.at(5s).emit("b", worker, world::events::process_signalled, {agent, worker, 15, 1});
  script.signal_agent("b", sim::Signal::quit);
  script.emit("b", agent, ev::agent_signalled, {3, "running"});
  EXPECT_THAT(witnesses(script.finish(false), kStopSignals), IsEmpty());
}

/// It comes in the moment in which the agent finds the job failed, and begins to stop its workers.
TEST(StopSignals, one_that_comes_behind_the_end_of_the_job_is_not_what_a_worker_was_told) {
  for (const bool given_up : {false, true}) {
    Script script = two_nodes_at_work();
    const std::int64_t agent = script.agent_pid("b"), worker = script.worker_pid("b", 0);
    script.at(5s);
    if (given_up) script.emit("a", script.agent_pid("a"), ev::job_given_up, {0});
    script.at(6s).signal_agent("b", sim::Signal::int_);
    script.emit("b", worker, world::events::process_signalled, {agent, worker, 15, 1});
    script.emit("b", agent, ev::agent_signalled, {2, "running"});
    EXPECT_EQ(witnesses(script.finish(false), kStopSignals).empty(), given_up);
  }
}

TEST(StopSignals, a_restart_tells_a_worker_once) {
  Script script = two_nodes_at_work();
  const std::int64_t agent = script.agent_pid("b"), worker = script.worker_pid("b", 0);
  script.at(5s).emit("b", agent, ev::group_restarting, {"membership_change", 3, 0});
  for (int i = 0; i < 2; ++i)
    script.emit("b", worker, world::events::process_signalled, {agent, worker, 15, 1});
  EXPECT_THAT(witnesses(script.finish(false), kStopSignals), HasSubstr("it had done so 1 times"));
}

}  // namespace
}  // namespace hooke::properties::test
