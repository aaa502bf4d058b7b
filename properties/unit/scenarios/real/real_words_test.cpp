// The table of words says which can be carried out on a real machine, and the timeline there can.
#include <gtest/gtest.h>

#include "scenarios/format/vocabulary.h"
#include "scenarios/real/real_timeline.h"
#include "scenarios/real/unsupported.h"

namespace hooke::scenario {
namespace {

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

}  // namespace
}  // namespace hooke::scenario
