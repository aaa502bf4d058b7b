// Pauses before restarts, and waits for others before the rendezvous is closed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using ::testing::HasSubstr;

constexpr const char* kPolicy = "safety.restart_policy";
constexpr const char* kPause = "safety.restart_pause";
constexpr const char* kWaits = "safety.shutdown_waits";

/// The agents of a and b are at work from 1 s on, and the world tells what they were given.
Script at_work(AgentSettings settings) {
  settings.read_timeout = 1s;
  Script script(settings);
  for (const char* name : {"a", "b"}) script.given(name, settings);
  script.store_starts();
  for (const char* name : {"a", "b"}) script.agent_starts(name);
  script.at(1s).form(0, {"a", "b"});
  return script;
}

Script pausing(Pauses pauses) {
  AgentSettings settings;
  settings.pauses = pauses;
  return at_work(settings);
}

/// The worker of a fails at `time`; the agents are back `later`.
Script& restart(Script& script, sim::Duration time, sim::Duration later, std::int64_t round) {
  script.at(time).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure");
  script.restarts("b", "membership_change").joining("b");
  return script.at(time + later).form(round, {"a", "b"});
}

TEST(Pauses, they_grow_by_the_factor_up_to_the_longest) {
  const Pauses pauses{500ms, 3, 10s};
  EXPECT_EQ(pauses.after(0), 500ms);
  EXPECT_EQ(pauses.after(1), 1500ms);
  EXPECT_EQ(pauses.after(2), 4500ms);
  EXPECT_EQ(pauses.after(3), 10s);
  EXPECT_EQ(pauses.after(1'000'000), 10s);
  EXPECT_EQ((Pauses{5s, 1, 10s}.after(7)), 5s);
  EXPECT_EQ((Pauses{0s, 2, 10s}.after(7)), 0s);
  EXPECT_EQ((Pauses{20s, 2, 10s}.after(0)), 10s);
}

/// A worker of a fails at 10 s and at 20 s, and is started again each time.
Script two_failures(std::optional<std::int64_t> attempts) {
  AgentSettings settings;
  settings.pauses = Pauses{};
  settings.attempts = attempts;
  Script script = at_work(settings);
  restart(restart(script, 10s, 1s, 1), 20s, 1s, 2);
  return script;
}

TEST(RestartPolicy, an_agent_that_restarts_when_its_attempts_are_used_up_breaks_it) {
  Script once_more = two_failures(2);
  EXPECT_THAT(
      witnesses(once_more.finish(false), kPolicy),
      HasSubstr("the agent on node a (pid 100) restarts at 20.000 s, and a worker of it has "
                "failed in 2 of 2 attempts"));
  for (const std::optional<std::int64_t> attempts : {std::optional<std::int64_t>(), {3}}) {
    Script script = two_failures(attempts);
    EXPECT_EQ(verdict(script, kPolicy), "kept");
  }
}

TEST(RestartPolicy, a_failure_that_the_agent_did_not_find_is_no_attempt) {
  AgentSettings settings;
  settings.pauses = Pauses{};
  settings.attempts = 1;
  Script script = at_work(settings);
  script.at(10s).worker_ends("a", 0, 1).restarts("a", "membership_change");
  EXPECT_NE(verdict(script, kPolicy), "broken");
}

TEST(RestartPolicy, an_agent_that_refuses_before_its_attempts_are_used_up_breaks_it) {
  const auto refuses = [](std::optional<std::int64_t> attempts, std::string_view reason) {
    Script script = two_failures(attempts);
    script.at(30s).worker_ends("a", 0, 1).reaps("a");
    script.emit("a", 100, ev::restart_refused, {reason, 2});
    return verdict(script, kPolicy);
  };
  EXPECT_EQ(refuses(4, "worker 0 has failed"), "broken");
  EXPECT_EQ(refuses(std::nullopt, "worker 0 has failed"), "broken") << "no policy of that kind";
  EXPECT_EQ(refuses(3, "worker 0 has failed"), "kept");
  EXPECT_EQ(refuses(4, ev::kRestartsSpent), "kept") << "that is judged elsewhere";
}

TEST(RestartPolicy, a_worker_that_was_silent_may_have_used_up_an_attempt) {
  Script script = two_failures(4);
  script.at(30s).emit("a", 100, ev::heartbeat_lost, {"0", 5});
  script.worker_ends("a", 0, 1).reaps("a");
  script.emit("a", 100, ev::restart_refused, {"worker 0 has failed", 2});
  EXPECT_EQ(verdict(script, kPolicy), "kept");
}

TEST(RestartPolicy, workers_are_started_anew_alone_or_together_as_the_policy_says) {
  for (const bool alone : {false, true}) {
    AgentSettings settings;
    settings.pauses = Pauses{};
    settings.alone = alone;
    Script one = at_work(settings);
    one.at(10s).worker_ends("a", 0, 1).reaps("a");
    one.emit("a", 100, ev::worker_restarting, {101, 0, 0, 2});
    EXPECT_EQ(verdict(one, kPolicy), alone ? "kept" : "broken");
    Script all = at_work(settings);
    restart(all, 10s, 1s, 1);
    EXPECT_EQ(verdict(all, kPolicy), alone ? "broken" : "kept");
  }
}

TEST(RestartPause, workers_that_start_before_it_is_over_break_it) {
  Script early = pausing({10s, 2, 60s});
  restart(early, 10s, 8s, 1);
  EXPECT_THAT(
      witnesses(early.finish(false), kPause),
      HasSubstr("the workers of the agent on node a (pid 100) were over at 10.000 s, and it "
                "was to pause for 10.000 s; it started pid 102 on node a at 18.000 s"));
  Script second = pausing({10s, 2, 60s});
  restart(restart(second, 10s, 10s, 1), 30s, 10s, 2);
  EXPECT_THAT(witnesses(second.finish(false), kPause), HasSubstr("pause for 20.000 s"));
}

TEST(RestartPause, an_agent_that_goes_on_too_late_breaks_it) {
  Script late = pausing({10s, 2, 60s});
  restart(late, 10s, 16s, 1);
  EXPECT_THAT(witnesses(late.finish(false), kPause),
              HasSubstr("the agent on node a (pid 100) had failed and were over at 10.000 s; it "
                        "should have gone on by 25.100 s (monitor + pause + slack: 15.100 s), but "
                        "did so only at 26.000 s"));
  Script at_once = pausing({});
  restart(at_once, 10s, 6s, 1);
  EXPECT_EQ(verdict(at_once, kPause), "broken");
}

TEST(RestartPause, an_agent_that_goes_on_when_it_is_over_keeps_it) {
  Script script = pausing({10s, 2, 60s});
  restart(restart(script, 10s, 10s, 1), 30s, 21s, 2);
  EXPECT_EQ(verdict(script, kPause), "kept");
}

TEST(RestartPause, a_clock_that_drifts_excuses_a_tenth_and_one_that_stops_the_rest) {
  Script a_tenth = pausing({10s, 2, 60s});
  restart(a_tenth, 10s, 9s, 1);
  EXPECT_EQ(verdict(a_tenth, kPause), "kept");
  Script stopped = pausing({10s, 2, 60s});
  stopped.at(9s).fault(0, "process_pause", 30s, "a pid 100");
  restart(stopped, 10s, 40s, 1);
  EXPECT_NE(verdict(stopped, kPause), "broken");
}

TEST(RestartPause, what_is_no_failure_costs_no_pause) {
  Script script = pausing({10s, 2, 60s});
  script.at(10s).restarts("a", "membership_change").restarts("b", "membership_change");
  script.at(11s).form(1, {"a", "b"});
  EXPECT_EQ(verdict(script, kPause), "nothing owed");
  Script unknown = at_work({});
  restart(unknown, 10s, 1s, 1);
  EXPECT_EQ(verdict(unknown, kPause), "nothing owed") << "a policy of the project's own";
}

TEST(RestartPause, an_agent_that_is_told_to_go_pauses_no_longer) {
  Script script = pausing({10s, 2, 60s});
  script.at(10s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure");
  script.at(12s).signal_agent("a", sim::Signal::term).at(60s);
  EXPECT_EQ(verdict(script, kPause), "nothing owed");
}

TEST(RestartPause, a_worker_that_is_started_again_alone_is_waited_for_from_its_own_end) {
  for (const sim::Duration later : {3s, 5s, 12s}) {
    AgentSettings settings;
    settings.pauses = Pauses{5s, 1, 5s};
    settings.local_world_size = 2;
    Script script = at_work(settings);
    script.at(10s).worker_ends("a", 0, 1).reaps("a");
    script.emit("a", 100, ev::worker_restarting, {101, 0, 0, 2});
    script.at(12s).worker_ends("a", 1, 0);  // its work is done
    script.at(10s + later).emit("a", 103, wev::process_started, {100, "worker", 103}).at(60s);
    EXPECT_EQ(verdict(script, kPause), later == 5s ? "kept" : "broken");
  }
}

Script waiting(sim::Duration waits) {
  AgentSettings settings;
  settings.waits = waits;
  Script script = at_work(settings);
  script.at(10s).worker_ends("a", 0, 1).reaps("a").group("a", "FAILED");
  return script;
}

TEST(ShutdownWaits, an_agent_that_closes_while_another_is_at_work_breaks_it) {
  Script early = waiting(20s);
  early.at(15s).closes("a");
  EXPECT_THAT(witnesses(early.finish(false), kWaits),
              HasSubstr("the agent on node a (pid 100) was done at 10.000 s and closed the "
                        "rendezvous at 15.000 s, while the agent on node b (pid 100) was at work"));
  Script refuses = waiting(Given::kForEver);
  refuses.at(500s).closes("a");
  EXPECT_EQ(verdict(refuses, kWaits), "broken");
}

TEST(ShutdownWaits, one_that_has_waited_for_its_limit_or_until_the_others_are_done_keeps_it) {
  Script limit = waiting(20s);
  limit.at(30s).closes("a");
  EXPECT_EQ(verdict(limit, kWaits), "kept");
  Script done = waiting(20s);
  done.at(12s).worker_ends("b", 0, 1).reaps("b").group("b", "FAILED").at(13s).closes("a");
  EXPECT_EQ(verdict(done, kWaits), "kept");
  Script at_once = waiting({});
  at_once.at(11s).closes("a");
  EXPECT_EQ(verdict(at_once, kWaits), "nothing owed");
}

TEST(ShutdownWaits, another_that_cannot_show_that_it_lives_is_not_waited_for) {
  Script script = waiting(20s);
  script.fault(0, "net_partition", 100s, "b").at(15s).closes("a");
  EXPECT_EQ(verdict(script, kWaits), "excused by the path to the store (net_partition)");
}

TEST(ShutdownWaits, one_that_waits_for_longer_than_its_limit_breaks_it) {
  Script late = waiting(20s);
  late.emit("a", 100, ev::failure_reported, {0, 101, 1}).at(36s).closes("a");
  EXPECT_THAT(witnesses(late.finish(false), kWaits),
              HasSubstr("the agent on node a (pid 100) was done at 10.000 s; it should have closed "
                        "the rendezvous by 35.000 s (limit + slack: 25.000 s)"));
  Script by_another = waiting(20s);
  by_another.emit("a", 100, ev::failure_reported, {0, 101, 1});
  by_another.at(20s).worker_ends("b", 0, 1).closes("b").at(100s);
  EXPECT_EQ(verdict(by_another, kWaits), "kept") << "of b";
  Script gone = waiting(20s);
  gone.emit("a", 100, ev::failure_reported, {0, 101, 1}).at(20s).finishes("a", "failed", 1);
  EXPECT_EQ(verdict(gone, kWaits), "kept");
}

}  // namespace
}  // namespace hooke::properties::test
