// The time-outs that a page draws: when each begins, and what is its end.
#include "reports/page/deadlines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <span>

#include "model/observe/trace_events.h"
#include "sim/world/world_events.h"

namespace hooke::report {
namespace {

using namespace std::chrono_literals;
using sim::WorldTime;

TEST(DeadlineRecord, of_a_join_is_over_when_the_agent_has_joined_or_has_gone) {
  const auto waits = [](bool joins) {
    DeadlineRecord record;
    const auto tell = [&](const sim::EventType& type, std::chrono::seconds at,
                          std::span<const sim::FieldValue> fields) {
      record.see(
          {sim::EventId{1}, {}, WorldTime(at), {}, sim::NodeId{0}, sim::Pid{1}, &type, fields},
          "a");
    };
    namespace ev = model::events;
    tell(ev::agent_started, 1s, std::array<sim::FieldValue, 7>{"job", "c10d", 1, 2, 1, 0, 0});
    tell(ev::agent_settings, 1s,
         std::array<sim::FieldValue, 8>{sim::Duration(600s), sim::Duration(30s), sim::Duration(30s),
                                        sim::Duration(5s), sim::Duration(15s), sim::Duration(60s),
                                        sim::Duration(1s), sim::Duration(300s)});
    tell(ev::rendezvous_joining, 2s, std::array<sim::FieldValue, 3>{"job", "a_1_0", 0});
    tell(ev::rendezvous_added, 3s, std::array<sim::FieldValue, 4>{"job", 0, "participants", 1});
    if (joins) {
      tell(ev::rendezvous_completed, 33s, std::array<sim::FieldValue, 5>{"job", 0, 1, 1, 2});
      tell(ev::rendezvous_joined, 34s,
           std::array<sim::FieldValue, 7>{"job", "a_1_0", 0, 0, 1, "a", 1});
    } else {
      tell(world::events::process_ended, 9s, std::array<sim::FieldValue, 1>{-9});
    }
    std::vector<std::string> texts;
    for (const Deadline& each : record.of(sim::NodeId{0})) texts.push_back(text_of(each));
    return texts;
  };
  EXPECT_THAT(
      waits(true),
      testing::ElementsAre(
          "last call of 30.000s: from 3.000 s to 33.000 s; the round is complete at 33.000 s",
          "join time-out of 10m00.0s: from 2.000 s to 602.000 s; joined at 34.000 s"));
  EXPECT_THAT(
      waits(false),
      testing::ElementsAre(
          "join time-out of 10m00.0s: from 2.000 s to 602.000 s; the agent is gone at 9.000 s",
          "last call of 30.000s: from 3.000 s to 33.000 s; the agent is gone at 9.000 s"));
}

}  // namespace
}  // namespace hooke::report
