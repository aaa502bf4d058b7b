// What the flags of torchrun make of an agent.
#include "model/launch/torchrun_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::int64_t kRefused = -1;

ConfiguredLaunch configured(const TorchrunOptions& options,
                            const std::map<std::string, std::string>& environment = {}) {
  world::TestWorld test;
  ConfiguredLaunch out;
  test.world->register_program("agent", [&](sim::Ports& ports) {
    out = configure_launch(ports, options, 4);
    return 0;
  });
  EXPECT_TRUE(test.world->start(test.node("a"), {{"agent"}, environment, true, {}, {}}).ok());
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

TEST(ShutdownTimeout, is_that_of_the_flag_or_of_the_environment_or_30_seconds) {
  using namespace std::chrono_literals;
  TorchrunOptions options;
  options.script = "train.py";
  EXPECT_EQ(configured(options).config.shutdown_timeout, 30s);
  const std::string name = "TORCH_ELASTIC_SHUTDOWN_TIMEOUT";
  EXPECT_EQ(configured(options, {{name, "7"}}).config.shutdown_timeout, 7s);
  EXPECT_EQ(configured(options, {{name, "-7"}}).config.shutdown_timeout, 0s);
  options.shutdown_timeout = 5;
  EXPECT_EQ(configured(options, {{name, "7"}}).config.shutdown_timeout, 5s);
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

/// The class of the exception by which torchrun refuses what `set` makes of its options; empty where
/// it takes them.
std::string refused_with(const std::function<void(TorchrunOptions&)>& set) {
  world::TestWorld test;
  std::string out;
  test.start(test.node("a"), "agent", [&](sim::Ports& ports) {
    TorchrunOptions options;
    options.script = "train.py";
    set(options);
    try {
      static_cast<void>(configure_launch(ports, options, 4));
    } catch (const RefusedOption& refused) {
      out = refused.class_name();
    }
    return 0;
  });
  test.run();
  return out;
}

TEST(RefusedOptions, have_the_class_of_the_exception_that_ends_torchrun) {
  const auto nodes = [](const char* text) {
    return refused_with([&](TorchrunOptions& options) { options.nnodes = text; });
  };
  EXPECT_EQ(nodes("1:2:3"), "RuntimeError");
  EXPECT_EQ(nodes("two"), "ValueError");
  EXPECT_EQ(nodes(""), "ValueError");
  EXPECT_EQ(nodes("3:2"), "AssertionError");
  EXPECT_EQ(nodes(" 1 : +2 "), "");
  const auto interval = [](double seconds) {
    return refused_with([&](TorchrunOptions& options) { options.monitor_interval = seconds; });
  };
  EXPECT_EQ(interval(0), "AssertionError");
  EXPECT_EQ(interval(NAN), "ValueError");
  EXPECT_EQ(interval(INFINITY), "OverflowError");
  EXPECT_EQ(interval(1e9), "");
  EXPECT_EQ(interval(4e9), "OverflowError");
  for (const std::int64_t seconds : {std::int64_t{-1}, std::numeric_limits<std::int64_t>::max()}) {
    EXPECT_NE(refused_with([&](TorchrunOptions& options) { options.shutdown_timeout = seconds; }),
              "")
        << seconds;
  }
  EXPECT_EQ(refused_with([](TorchrunOptions& options) { options.nproc_per_node = "0"; }),
            "AssertionError");
  EXPECT_EQ(refused_with([](TorchrunOptions& options) { options.max_restarts = -1; }),
            "AssertionError");
}

TEST(MonitorInterval, of_less_than_a_nanosecond_is_one) {
  world::TestWorld test;
  sim::Duration got{};
  test.start(test.node("a"), "agent", [&](sim::Ports& ports) {
    TorchrunOptions options;
    options.script = "train.py";
    options.monitor_interval = 1e-12;
    got = configure_launch(ports, options, 4).config.monitor_interval;
    return 0;
  });
  test.run();
  EXPECT_EQ(got, sim::Duration(1));
}

/// What `--nproc-per-node=text` gives on a machine with 4 processors and these files in /dev.
std::int64_t workers_per_node(const std::string& text, const std::vector<std::string>& devices) {
  world::TestWorld test;
  std::int64_t out = 0;
  test.start(test.node("a"), "agent", [&](sim::Ports& ports) {
    EXPECT_TRUE(ports.files.make_directories("/dev").ok());
    for (const std::string& device : devices) {
      EXPECT_TRUE(ports.files.write("/dev/" + device, "").ok());
    }
    TorchrunOptions options;
    options.script = "train.py";
    options.nproc_per_node = text;
    try {
      out = configure_launch(ports, options, 4).config.nproc_per_node;
    } catch (const std::invalid_argument&) {
      out = kRefused;
    }
    return 0;
  });
  test.run();
  return out;
}

TEST(WorkersPerNode, are_as_many_as_a_number_the_processors_or_the_devices_of_nvidia_say) {
  const std::vector<std::string> two_gpus{"null", "nvidia0", "nvidia1", "nvidiactl", "nvidia-uvm"};
  EXPECT_EQ(workers_per_node("3", two_gpus), 3);
  EXPECT_EQ(workers_per_node("cpu", two_gpus), 4);
  EXPECT_EQ(workers_per_node("gpu", two_gpus), 2);
  EXPECT_EQ(workers_per_node("auto", two_gpus), 2);
  EXPECT_EQ(workers_per_node("auto", {"null"}), 4);
}

TEST(WorkersPerNode, are_refused_for_devices_that_are_not_there_and_for_other_kinds) {
  EXPECT_EQ(workers_per_node("gpu", {"null"}), kRefused);
  for (const char* kind : {"xpu", "many", ""}) {
    EXPECT_EQ(workers_per_node(kind, {"nvidia0"}), kRefused) << kind;
  }
}

TEST(RendezvousConfiguration, is_read_pair_by_pair_and_without_blanks_around) {
  using Pairs = std::map<std::string, std::string>;
  EXPECT_EQ(parse_rendezvous_configuration(""), Pairs{});
  EXPECT_EQ(parse_rendezvous_configuration("  "), Pairs{});
  EXPECT_EQ(parse_rendezvous_configuration(" a = 1 ,b=2=3,a=4"), (Pairs{{"a", "4"}, {"b", "2=3"}}));
}

TEST(RendezvousConfiguration, is_refused_without_a_key_or_a_value_and_shows_no_other_value) {
  for (const char* text : {"a", "a=", "a= ", "=1", "a=1,", ",a=1"}) {
    EXPECT_THROW(parse_rendezvous_configuration(text), std::invalid_argument) << text;
  }
  try {
    parse_rendezvous_configuration("password=secret,timeout");
    ADD_FAILURE() << "a key without a value was taken";
  } catch (const std::invalid_argument& error) {
    EXPECT_THAT(error.what(), HasSubstr("a value for \"timeout\""));
    EXPECT_THAT(error.what(), Not(HasSubstr("secret")));
  }
}

}  // namespace
}  // namespace hooke::model
