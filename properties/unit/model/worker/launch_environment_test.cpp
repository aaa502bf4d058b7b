// How a worker was launched.
#include "model/worker/launch_environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/observe/python_error.h"

namespace hooke::model {
namespace {

using Environment = std::map<std::string, std::string>;
using testing::HasSubstr;

const Environment kByHand{
    {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "host"}, {"MASTER_PORT", "29500"}};

Environment elastic() {
  Environment out = kByHand;
  out.insert({{"TORCHELASTIC_RUN_ID", "job"},
              {"LOCAL_RANK", "0"},
              {"LOCAL_WORLD_SIZE", "1"},
              {"GROUP_RANK", "1"},
              {"GROUP_WORLD_SIZE", "2"},
              {"ROLE_RANK", "1"},
              {"ROLE_WORLD_SIZE", "2"},
              {"ROLE_NAME", "trainer"},
              {"TORCHELASTIC_RESTART_COUNT", "2"},
              {"TORCHELASTIC_MAX_RESTARTS", "3"},
              {"TORCHELASTIC_USE_AGENT_STORE", "True"},
              {"TORCHELASTIC_ERROR_FILE", "/tmp/error.json"}});
  return out;
}

std::string refusal(const Environment& environment) {
  try {
    static_cast<void>(read_launch_environment(environment));
  } catch (const EscapedPythonError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(LaunchEnvironment, by_other_means_only_what_env_needs_is_there) {
  EXPECT_FALSE(is_torchelastic_launched(kByHand));
  EXPECT_FALSE(is_torchelastic_launched({}));
  const LaunchEnvironment read = read_launch_environment(kByHand);
  EXPECT_EQ(read.rank, 1);
  EXPECT_EQ(read.world_size, 2);
  EXPECT_EQ(read.master, (sim::Endpoint{"host", sim::PortNumber{29500}}));
  EXPECT_FALSE(read.elastic.has_value());
}

TEST(LaunchEnvironment, an_elastic_agent_tells_all) {
  EXPECT_TRUE(is_torchelastic_launched(elastic()));
  EXPECT_TRUE(is_torchelastic_launched({{"TORCHELASTIC_RUN_ID", ""}})) << "set is enough";
  ElasticLaunch expected{"job",       0, 1, 1, 2, 1, 2, "trainer", 2, 3, true, "/tmp/error.json",
                         std::nullopt};
  EXPECT_EQ(read_launch_environment(elastic()).elastic, expected);
  Environment timed = elastic();
  timed["TORCHELASTIC_TIMER_FILE"] = "/tmp/timers";
  expected.timer_file = "/tmp/timers";
  EXPECT_EQ(read_launch_environment(timed).elastic, expected);
}

TEST(LaunchEnvironment, every_variable_that_is_missing_is_named) {
  for (const auto& [name, value] : elastic()) {
    if (name == "TORCHELASTIC_RUN_ID") continue;  // without it the launch is another one
    Environment without = elastic();
    without.erase(name);
    EXPECT_EQ(refusal(without), "ValueError: env:// rendezvous: " + name + " is not set");
  }
}

TEST(LaunchEnvironment, every_number_that_is_none_is_named) {
  for (const auto& [name, value] : elastic()) {
    if (value.find_first_not_of("0123456789") != std::string::npos) continue;
    for (const char* bad : {"", "x", "1x", "-1", "99999999999999999999"}) {
      Environment with = elastic();
      with[name] = bad;
      EXPECT_THAT(refusal(with), HasSubstr(name + " is \"" + bad + "\", not a number from "));
    }
  }
  Environment beyond = kByHand;
  beyond["RANK"] = "2";
  EXPECT_THAT(refusal(beyond), HasSubstr("RANK is 2, but WORLD_SIZE is 2"));
  beyond = kByHand;
  beyond["MASTER_PORT"] = "70000";
  EXPECT_THAT(refusal(beyond), HasSubstr("MASTER_PORT is 70000, not a port"));
}

}  // namespace
}  // namespace hooke::model
