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
