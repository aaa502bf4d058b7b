// An agent's spans are those with which it was started, whatever it says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

using ::testing::HasSubstr;

constexpr const char* kSettings = "safety.settings";

TEST(Settings, an_agent_that_goes_by_other_spans_than_it_was_given_breaks_it) {
  Script twice;
  twice.given("a", twice.settings);
  twice.settings.join = 1200s;
  twice.agent_starts("a").joining("a");
  EXPECT_THAT(witnesses(twice.finish(false), kSettings),
              HasSubstr("the agent on node a (pid 100) was started with 600.000 s as its join, and "
                        "goes by 1200.000 s"));
  Script half;
  half.given("a", half.settings);
  half.settings.shutdown = 15s;
  half.agent_starts("a").joining("a");
  EXPECT_THAT(witnesses(half.finish(false), kSettings),
              HasSubstr("30.000 s as its shutdown, and goes by 15.000 s"));
}

TEST(Settings, an_agent_that_goes_by_what_it_was_given_keeps_it) {
  Script script;
  script.given("a", script.settings).agent_starts("a").joining("a");
  EXPECT_EQ(verdict(script, kSettings), "kept");
}

TEST(Settings, what_agents_are_given_may_be_unknown) {
  Script script;
  script.agent_starts("a").joining("a");
  EXPECT_EQ(verdict(script, kSettings), "nothing owed");
}

TEST(Settings, bounds_follow_from_what_was_given) {
  Script script;
  AgentSettings told = script.settings;
  told.join = 1200s;
  script.given("a", script.settings);
  script.settings = told;
  script.agent_starts("a");
  EXPECT_EQ(script.view().agent(AgentId{0}).timeouts.join, 600s);
  EXPECT_EQ(script.view().agent(AgentId{0}).timeouts.shutdown, 30s);
  script.settings.run_id = "another";
  script.agent_starts("b");
  EXPECT_EQ(script.view().agent(AgentId{1}).timeouts.join, 1200s);
}

}  // namespace
}  // namespace hooke::properties::test
