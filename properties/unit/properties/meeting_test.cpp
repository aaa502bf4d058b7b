// Workers that begin to meet do not fail at once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::HasSubstr;

constexpr const char* kMeeting = "safety.meeting";

/// a and b start their workers (pid 101 each) at 1 s, whose programs begin with the meeting.
Script two_that_meet(bool known = true) {
  Script script;
  AgentSettings with = script.settings;
  with.workers_meet_first = true;
  for (const char* name : {"a", "b"}) {
    if (known) script.given(name, with);
  }
  script.store_starts();
  for (const char* name : {"a", "b"}) script.agent_starts(name);
  script.at(1s).form(0, {"a", "b"});
  return script;
}

TEST(Meeting, a_worker_that_fails_at_once_without_a_reason_breaks_it) {
  Script script = two_that_meet();
  script.at(1100ms).worker_ends("a", 0, 1);
  EXPECT_THAT(witnesses(script.finish(false), kMeeting),
              HasSubstr("pid 101 on node a, a worker of the agent on node a (pid 100) with rank 0 "
                        "of round 0, ended with 1 at 1.100 s, 0.100 s after its start, and had not "
                        "met the others"));
}

TEST(Meeting, a_worker_that_has_met_the_others_may_fail) {
  Script script = two_that_meet();
  script.at(1100ms).emit("a", 101, ev::worker_initialized, {"job", 0, 2, "a:29500", 0});
  script.worker_ends("a", 0, 1);
  EXPECT_EQ(verdict(script, kMeeting), "kept");
}

TEST(Meeting, a_worker_fails_for_others_that_are_gone_or_for_a_fault) {
  Script second = two_that_meet();
  second.at(1100ms).worker_ends("b", 0, -9).at(1200ms).worker_ends("a", 0, 1);
  EXPECT_NE(verdict(second, kMeeting), "broken");
  Script alone = two_that_meet();
  alone.at(1100ms).kill_agent("b").at(1200ms).worker_ends("a", 0, 1);
  EXPECT_NE(verdict(alone, kMeeting), "broken");
  Script hit = two_that_meet();
  hit.at(1100ms).fault(0, "process_exit", 0s, "a pid 101").worker_ends("a", 0, 1);
  EXPECT_NE(verdict(hit, kMeeting), "broken");
  Script cut_off = two_that_meet();
  cut_off.at(1050ms).fault(0, "net_partition", 10s, "b").at(1100ms).worker_ends("a", 0, 1);
  EXPECT_NE(verdict(cut_off, kMeeting), "broken");
}

TEST(Meeting, one_that_waited_for_the_others_or_whose_program_is_unknown_owes_nothing) {
  Script late = two_that_meet();
  late.at(6s).worker_ends("a", 0, 1);
  EXPECT_NE(verdict(late, kMeeting), "broken");
  Script unknown = two_that_meet(false);
  unknown.at(1100ms).worker_ends("a", 0, 1);
  EXPECT_EQ(verdict(unknown, kMeeting), "nothing owed");
}

}  // namespace
}  // namespace hooke::properties::test
