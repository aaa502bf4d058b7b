// The table of words says which can be carried out on a real machine, and the timeline there can.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/format/vocabulary.h"
#include "scenarios/real/real_timeline.h"
#include "scenarios/real/unsupported.h"

namespace hooke::scenario {
namespace {

using testing::ElementsAre;

TEST(RealWords, are_those_that_the_table_says_can_be_done_there) {
  for (const Word& word : vocabulary()) {
    EXPECT_EQ(RealTimeline::can_do(word.name), word.real) << word.name;
  }
}

TEST(RealWords, that_cannot_be_done_there_are_named_before_anything_runs) {
  Scenario scenario;
  scenario.cluster.nodes.resize(1);
  for (const char* const word : {"node.crash", "clock.skew", "clock.skew", "net.loss"}) {
    scenario.timeline.emplace_back().what = word;
  }
  EXPECT_EQ(unsupported(scenario, AgentKind::hooke),
            (std::vector<std::string>{"clock.skew", "net.loss"}));
}

TEST(RealWords, starts_cannot_fail_so_many_times_there_and_no_pool_leases) {
  Scenario scenario;
  scenario.cluster.nodes.emplace_back().id = "a";
  scenario.timeline.emplace_back().what = "worker.start_fails";
  scenario.protocol.agent.process_launcher = "patient:attempts=9";
  EXPECT_THAT(unsupported(scenario, AgentKind::hooke), ElementsAre());
  scenario.timeline.back().amount = 2;
  EXPECT_THAT(unsupported(scenario, AgentKind::hooke),
              ElementsAre("worker.start_fails so many times"));
  scenario.timeline.clear();
  EXPECT_THAT(unsupported(scenario, AgentKind::torchrun), ElementsAre("agent.process_launcher"));
  scenario.protocol.agent.process_launcher = "pool";
  EXPECT_THAT(unsupported(scenario, AgentKind::hooke), ElementsAre("agent.process_launcher"));
}

TEST(RealWords, that_cannot_be_done_there_stand_beside_settings_and_nothing_else) {
  Scenario scenario;
  scenario.cluster.nodes.emplace_back().id = "a";
  EXPECT_THAT(unsupported(scenario, AgentKind::hooke), ElementsAre());
  EXPECT_THAT(unsupported(scenario, AgentKind::torchrun), ElementsAre());
  scenario.protocol.rendezvous.last_call = 1500ms;
  scenario.cluster.nodes[0].clock_skew = 1s;
  EXPECT_THAT(unsupported(scenario, AgentKind::hooke), ElementsAre());
  EXPECT_THAT(unsupported(scenario, AgentKind::torchrun),
              ElementsAre("clock.skew", "time-outs of parts of a second"));
  TimelineEntry entry;
  entry.trigger.at = 1s;
  entry.what = "disk.full";
  scenario.timeline = {entry, entry};
  scenario.protocol.rendezvous.backend = "static";
  EXPECT_THAT(unsupported(scenario, AgentKind::hooke), ElementsAre("backend static", "disk.full"));
  scenario.core = CorePlan{60s, {"a"}};
  EXPECT_THAT(unsupported(scenario, AgentKind::hooke),
              ElementsAre("backend static", "core", "disk.full"));
}

}  // namespace
}  // namespace hooke::scenario
