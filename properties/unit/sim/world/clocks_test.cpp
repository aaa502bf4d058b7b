// Clocks of machines: what skew, drift, jumps and standing still do to fibers that read them and
// to those that sleep by them.
#include <limits>

#include "properties/unit/sim/world/test_world.h"
#include "sim/world/node_clock.h"

namespace hooke::world {
namespace {

struct Reading {
  Duration monotonic{};  ///< since the first reading of the process
  Duration wall_error{};
  Duration world{};
};

/// Sleeps `span` `times` times by the clock of `on` and notes all clocks after each.
std::vector<Reading> sleep_and_read(TestWorld& test, NodeId on, Duration span, int times) {
  auto readings = std::make_shared<std::vector<Reading>>();
  test.start(on, "sleeper", [&test, readings, span, times](Ports& ports) {
    const MonotonicTime begin = ports.clock.monotonic_now();
    for (int i = 0; i < times; ++i) {
      sleep(ports, span);
      readings->push_back({ports.clock.monotonic_now() - begin,
                           ports.clock.wall_now() - test.world->true_wall_time(), test.now()});
    }
    return 0;
  });
  test.run();
  return *readings;
}

TEST(Clocks, a_node_without_skew_and_drift_shows_true_time) {
  TestWorld test;
  const auto readings = sleep_and_read(test, test.node("a"), seconds(10), 1);
  EXPECT_EQ(readings.at(0).monotonic, seconds(10));
  EXPECT_EQ(readings.at(0).wall_error, Duration::zero());
  EXPECT_EQ(readings.at(0).world, seconds(10));
}

TEST(Clocks, skew_moves_the_wall_clock_and_not_the_monotonic_one) {
  TestWorld test;
  const auto readings = sleep_and_read(test, test.node("a", seconds(-20)), seconds(10), 1);
  EXPECT_EQ(readings.at(0).wall_error, seconds(-20));
  EXPECT_EQ(readings.at(0).world, seconds(10));
}

TEST(Clocks, a_fast_clock_makes_sleeps_shorter_and_the_wall_clock_run_ahead) {
  TestWorld test;
  const auto readings = sleep_and_read(test, test.node("a", {}, 1'000'000), seconds(1001), 1);
  EXPECT_EQ(readings.at(0).world, seconds(1000));
  EXPECT_EQ(readings.at(0).monotonic, seconds(1001));
  EXPECT_EQ(readings.at(0).wall_error, seconds(1));
}

TEST(Clocks, a_slow_clock_never_wakes_a_sleeper_too_early) {
  for (const std::int64_t drift : {-990'000'000LL, -333'333'333LL, -7LL, 3LL, 123'456'789LL}) {
    const NodeClock clock{sim::WallTime{}, drift};
    for (const std::int64_t span : {1LL, 999LL, 1'000'000'007LL, 86'400'000'000'000LL}) {
      const MonotonicTime local = clock.monotonic(WorldTime{}) + Duration(span);
      const WorldTime world = clock.world_time_of(local, WorldTime{});
      EXPECT_GE(clock.monotonic(world), local) << drift << " " << span;
      EXPECT_LT(clock.monotonic(world - Duration(1)), local) << drift << " " << span;
    }
  }
}

TEST(Clocks, a_jump_moves_the_wall_clock_once_and_wakes_no_fiber) {
  TestWorld test;
  const NodeId a = test.node("a");
  const auto fault = test.inject_at(seconds(15), FaultKind::clock_jump, [a](Fault& f) {
    f.node = a;
    f.span = seconds(-3600);
  });
  const auto readings = sleep_and_read(test, a, seconds(10), 3);
  EXPECT_EQ(readings.at(0).wall_error, Duration::zero());
  EXPECT_EQ(readings.at(1).wall_error, seconds(-3600));
  EXPECT_EQ(readings.at(2).wall_error, seconds(-3600));
  EXPECT_EQ(readings.at(2).world, seconds(30));
  EXPECT_EQ(test.world->felt(*fault), 1U);
}

TEST(Clocks, the_skew_fault_sets_the_wall_clock_relative_to_true_time) {
  TestWorld test;
  const NodeId a = test.node("a", seconds(100));
  test.inject_at(seconds(5), FaultKind::clock_skew, [a](Fault& f) {
    f.node = a;
    f.span = seconds(7);
  });
  EXPECT_EQ(sleep_and_read(test, a, seconds(10), 1).at(0).wall_error, seconds(7));
}

TEST(Clocks, a_frozen_clock_prolongs_sleeps_and_falls_behind) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.inject_at(seconds(4), FaultKind::clock_freeze, [a](Fault& f) {
    f.node = a;
    f.duration = seconds(100);
  });
  const auto readings = sleep_and_read(test, a, seconds(10), 1);
  EXPECT_EQ(readings.at(0).world, seconds(110));
  EXPECT_EQ(readings.at(0).monotonic, seconds(10));
  EXPECT_EQ(readings.at(0).wall_error, seconds(-100));
}

TEST(Clocks, a_clock_frozen_until_healed_goes_on_when_healed) {
  TestWorld test;
  const NodeId a = test.node("a");
  const auto fault =
      test.inject_at(seconds(4), FaultKind::clock_freeze, [a](Fault& f) { f.node = a; });
  test.at(seconds(54), [&] { test.world->heal(*fault); });
  EXPECT_EQ(sleep_and_read(test, a, seconds(10), 1).at(0).world, seconds(60));
}

TEST(Clocks, two_overlapping_freezes_last_until_the_later_end) {
  TestWorld test;
  const NodeId a = test.node("a");
  for (const auto& [at, span] : {std::pair{seconds(4), seconds(10)}, {seconds(6), seconds(20)}}) {
    test.inject_at(at, FaultKind::clock_freeze, [a, span = span](Fault& f) {
      f.node = a;
      f.duration = span;
    });
  }
  // Stands from 4 to 26: ten seconds of sleep end at 32.
  EXPECT_EQ(sleep_and_read(test, a, seconds(10), 1).at(0).world, seconds(32));
}

TEST(Clocks, a_new_drift_reaches_fibers_that_already_sleep) {
  TestWorld test;
  const NodeId a = test.node("a");
  const auto fault = test.inject_at(seconds(5), FaultKind::clock_drift, [a](Fault& f) {
    f.node = a;
    f.amount = -500'000'000;  // half speed
  });
  const auto readings = sleep_and_read(test, a, seconds(10), 1);
  EXPECT_LE(seconds(15) - readings.at(0).world, nanoseconds(1));
  EXPECT_EQ(readings.at(0).monotonic, seconds(10));
  EXPECT_EQ(test.world->felt(*fault), 1U);
}

TEST(Clocks, a_fault_of_one_nodes_clock_leaves_the_others_alone) {
  TestWorld test;
  const NodeId a = test.node("a");
  const NodeId b = test.node("b");
  const auto fault = test.inject_at(seconds(1), FaultKind::clock_freeze, [a](Fault& f) {
    f.node = a;
    f.duration = seconds(50);
  });
  EXPECT_EQ(sleep_and_read(test, b, seconds(10), 1).at(0).world, seconds(10));
  EXPECT_EQ(test.world->felt(*fault), 0U);
}

TEST(Clocks, a_clock_fault_is_felt_when_somebody_looks_at_the_clock) {
  TestWorld test;
  const NodeId a = test.node("a");
  const FaultId jump = test.inject(FaultKind::clock_jump, [a](Fault& f) {
    f.node = a;
    f.span = seconds(1);
  });
  EXPECT_EQ(test.world->felt(jump), 0U);
  test.start(a, "sleeper", [](Ports& ports) {
    sleep(ports, seconds(1));  // by the monotonic clock, which did not jump
    return 0;
  });
  test.run();
  EXPECT_EQ(test.world->felt(jump), 0U);
  test.start(a, "reader", [](Ports& ports) {
    static_cast<void>(ports.clock.wall_now());
    return 0;
  });
  test.run();
  EXPECT_EQ(test.world->felt(jump), 1U);
}

TEST(Clocks, a_node_added_later_shows_the_same_true_time_as_the_others) {
  TestWorld test;
  test.node("a");
  test.run_for(seconds(100));
  EXPECT_EQ(sleep_and_read(test, test.node("late"), seconds(1), 1).at(0).wall_error,
            Duration::zero());
}

TEST(Clocks, sleepers_are_woken_as_late_as_the_timer_slack_says) {
  WorldOptions options = constant_latency();
  options.timer_slack = microseconds(50);
  TestWorld test(options);
  EXPECT_EQ(sleep_and_read(test, test.node("a"), seconds(1), 1).at(0).world,
            seconds(1) + microseconds(50));
}

TEST(Clocks, a_deadline_in_the_past_still_lets_others_run_once) {
  TestWorld test;
  std::vector<std::string> order;
  test.start(test.node("a"), "main", [&order](Ports& ports) {
    const sim::FiberId other = ports.executor.spawn("other", [&] { order.push_back("other"); });
    ports.executor.sleep_until(MonotonicTime{});
    order.push_back("main");
    ports.executor.join(other);
    return 0;
  });
  test.run();
  EXPECT_EQ(order, (std::vector<std::string>{"other", "main"}));
}

}  // namespace
}  // namespace hooke::world
