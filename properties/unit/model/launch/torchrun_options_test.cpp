// What the flags of torchrun make of an agent.
#include "model/launch/torchrun_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ConfiguredLaunch configured(const TorchrunOptions& options) {
  world::TestWorld test;
  ConfiguredLaunch out;
  test.start(test.node("a"), "agent", [&](sim::Ports& ports) {
    out = configure_launch(ports, options, 4);
    return 0;
  });
  test.run();
  return out;
}

TEST(LogDirectory, that_is_a_file_is_refused_before_the_agent_joins) {
  world::TestWorld test;
  std::string refusal;
  test.start(test.node("a"), "agent", [&](sim::Ports& ports) {
    static_cast<void>(ports.files.write("/logs", "a file"));
    TorchrunOptions options;
    options.script = "train.py";
    options.log_dir = "/logs";
    try {
      static_cast<void>(configure_launch(ports, options, 4));
    } catch (const std::invalid_argument& error) {
      refusal = error.what();
    }
    return 0;
  });
  test.run();
  EXPECT_EQ(refusal, "--log-dir: expected a directory that is there or can be made, got \"/logs\"");
}

TEST(SignalsToHandle, are_all_that_a_process_can_be_sent) {
  TorchrunOptions options;
  options.script = "train.py";
  options.signals_to_handle = "SIGUSR1, SIGUSR2,SIGTERM";
  const ConfiguredLaunch launch = configured(options);
  EXPECT_THAT(launch.config.signals_to_handle,
              ElementsAre(sim::Signal::usr1, sim::Signal::usr2, sim::Signal::term));
  EXPECT_THAT(launch.notices, IsEmpty());
}

TEST(SignalsToHandle, are_told_where_there_is_none_of_that_name_and_the_others_count) {
  TorchrunOptions options;
  options.script = "train.py";
  options.signals_to_handle = "SIGNONE,SIGINT";
  const ConfiguredLaunch launch = configured(options);
  EXPECT_THAT(launch.config.signals_to_handle, ElementsAre(sim::Signal::int_));
  EXPECT_THAT(launch.notices, ElementsAre(HasSubstr("there is no signal \"SIGNONE\"")));
}

}  // namespace
}  // namespace hooke::model
