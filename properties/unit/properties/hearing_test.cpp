// Agents hear of a job that another has given up: 100 ms + 5 s.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kFailureHeard = "liveness.failure_heard";

/// a gives up at 10 s the job in which b is at work, and closes the rendezvous at 20 s.
Script one_gives_up() {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(10s).worker_ends("a", 0, 1).reaps("a").group("a", "FAILED");
  script.emit("a", 100, ev::job_given_up, {0}).at(20s).closes("a");
  return script;
}

TEST(FailureHeard, an_agent_that_works_on_for_a_job_that_is_given_up_breaks_it) {
  Script late = one_gives_up();
  late.at(26s).emit("b", 100, ev::worker_signalled, {101, 15, "stop"});
  EXPECT_THAT(witnesses(late.finish(false), kFailureHeard),
              AllOf(HasSubstr("the agent on node a (pid 100) had given its job up and told so at "
                              "20.000 s"),
                    HasSubstr("the agent on node b (pid 100) should have stopped working by 25.100 "
                              "s (monitor + slack: 5.100 s), but did so only at 26.000 s")));
  Script never = one_gives_up();
  never.at(60s);
  EXPECT_EQ(verdict(never, kFailureHeard), "broken");
}

TEST(FailureHeard, one_that_stops_its_workers_or_ends_in_time_keeps_it) {
  Script stops = one_gives_up();
  stops.at(25s).emit("b", 100, ev::worker_signalled, {101, 15, "stop"}).at(60s);
  EXPECT_EQ(verdict(stops, kFailureHeard), "kept");
  Script ends = one_gives_up();
  ends.at(24s).kill_agent("b").at(60s);
  EXPECT_EQ(verdict(ends, kFailureHeard), "kept");
}

TEST(FailureHeard, one_that_has_told_its_workers_to_stop_does_not_work_any_more) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(8s).emit("b", 101, wev::process_signalled, {100, 101, 15, 0});
  script.at(10s).emit("a", 100, ev::job_given_up, {0}).closes("a").at(60s);
  EXPECT_EQ(verdict(script, kFailureHeard), "nothing owed");
}

TEST(FailureHeard, what_could_not_be_told_need_not_be_heard) {
  Script killed = one_gives_up();
  killed.at(21s).kill_agent("a").at(60s);
  EXPECT_EQ(verdict(killed, kFailureHeard), "nothing owed");
  Script ended = one_gives_up();
  ended.at(21s).store_dies().at(60s);
  EXPECT_EQ(verdict(ended, kFailureHeard), "nothing owed");
  Script emptied = one_gives_up();
  emptied.at(21s).store_dies().at(22s).store_starts().at(60s);
  EXPECT_NE(verdict(emptied, kFailureHeard), "broken");
  Script cut_off = one_gives_up();
  cut_off.fault(0, "net_partition", 100s, "b").at(60s);
  EXPECT_NE(verdict(cut_off, kFailureHeard), "broken");
}

TEST(FailureHeard, a_static_job_is_over_when_it_is_given_up) {
  AgentSettings settings;
  settings.backend = "static";
  for (const bool hears : {true, false}) {
    Script script(settings);
    script.store_starts();
    for (const char* name : {"a", "b"}) script.agent_starts(name);
    script.at(1s).form(-1, {"a", "b"});
    script.at(10s).emit("a", 100, ev::job_given_up, {-1});
    script.at(hears ? 12s : 20s).emit("b", 100, ev::worker_signalled, {101, 15, "stop"}).at(60s);
    EXPECT_EQ(verdict(script, kFailureHeard), hears ? "kept" : "broken");
  }
}

}  // namespace
}  // namespace hooke::properties::test
