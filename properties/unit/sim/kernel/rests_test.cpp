// Fibers that sleep again and again, asked at each turn or not.
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "properties/unit/sim/kernel/test_kernel.h"

namespace hooke::kernel {
namespace {

using namespace std::chrono_literals;
using sim::WorldTime;

/// Sleeps on for the same span until its end.
class Turns final : public Sleeper {
 public:
  Turns(Kernel& kernel, sim::Duration apart, WorldTime end)
      : kernel_(kernel), apart_(apart), end_(end) {}
  std::optional<WorldTime> sleeps_on() override {
    ++asked;
    if (kernel_.now() >= end_) return std::nullopt;
    return kernel_.now() + apart_;
  }
  sim::Wake sleep(std::optional<WorldTime> dozes_until = {}) {
    const sim::ParkTicket ticket = kernel_.ticket();
    fiber = ticket.fiber;
    if (dozes_until) kernel_.doze(fiber, {*dozes_until, apart_});
    return kernel_.park(ticket, kernel_.now() + apart_, this);
  }
  sim::FiberId fiber{};
  int asked = 0;

 private:
  Kernel& kernel_;
  sim::Duration apart_;
  WorldTime end_;
};

/// Fibers of several spans beside timers, until the end of each; hash, steps and when each went on.
std::vector<std::string> played(bool dozes, Schedule schedule) {
  TestKernel test(7, schedule);
  std::vector<std::string> out;
  for (int i = 0; i < 12; ++i) {
    test.spawn("f" + std::to_string(i), [&test, &out, dozes, i] {
      for (int round = 1; round <= 5; ++round) {
        const WorldTime end = test.kernel.now() + 1s;
        Turns turns(test.kernel, i % 3 == 0 ? 70ms : 100ms, end);
        turns.sleep(dozes ? std::optional(end - 1ns) : std::nullopt);
        out.push_back(std::to_string(i) + "@" +
                      std::to_string(test.kernel.now().time_since_epoch().count()));
        test.sleep(i * 10ms);
      }
    });
  }
  for (int i = 0; i < 600; ++i) test.at(WorldTime(i * 10ms), [] {});
  EXPECT_EQ(test.kernel.run(), RunEnd::idle) << test.kernel.failure();
  out.push_back(test.trace.hash().hex());
  out.push_back(std::to_string(test.kernel.steps()));
  return out;
}

TEST(Rests, AFiberThatDozesLeavesTheTraceOfOneThatIsAsked) {
  for (const std::string& name : strategy_names()) {
    const Schedule schedule = *strategy_from(name);
    EXPECT_EQ(played(true, schedule), played(false, schedule)) << name;
  }
}

TEST(Rests, AFiberThatDozesIsNotAskedUntilItIsStirred) {
  TestKernel test;
  Turns turns(test.kernel, 100ms, WorldTime(1s));
  test.spawn("f", [&] { turns.sleep(WorldTime(10s)); });
  test.at(WorldTime(550ms), [&] {
    EXPECT_EQ(turns.asked, 0);
    test.kernel.doze(turns.fiber, {});
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(turns.asked, 5);  // from 600 ms to 1 s
  EXPECT_EQ(test.kernel.now(), WorldTime(1s));
}

TEST(Rests, AWakeEndsTheDoze) {
  TestKernel test;
  Turns turns(test.kernel, 100ms, WorldTime(1s));
  sim::ParkTicket ticket;
  test.spawn("f", [&] {
    ticket = test.kernel.ticket();
    EXPECT_EQ(turns.sleep(WorldTime(10s)), sim::Wake::woken);
    EXPECT_EQ(test.kernel.now(), WorldTime(250ms));
    EXPECT_EQ(turns.sleep(), sim::Wake::timed_out);
  });
  test.at(WorldTime(250ms), [&] { EXPECT_TRUE(test.kernel.wake(ticket)); });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(turns.asked, 8);  // from 350 ms to 1.05 s
}

TEST(Rests, AGroupThatIsPausedRunsNothingThatDozes) {
  TestKernel test;
  Turns turns(test.kernel, 100ms, WorldTime(1s));
  WorldTime went_on{};
  test.spawn("f", [&] {
    turns.sleep(WorldTime(900ms));
    went_on = test.kernel.now();
  });
  test.at(WorldTime(250ms), [&] { test.group.pause(); });
  std::uint64_t steps = 0;
  test.at(WorldTime(260ms), [&] { steps = test.kernel.steps(); });
  test.at(WorldTime(2s), [&] {
    EXPECT_EQ(test.kernel.steps(), steps + 1);
    test.group.resume();
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(went_on, WorldTime(2s));
}

TEST(Rests, DeadlinesOfFibersThatDozeAreMovedFromWhereTheyAre) {
  TestKernel test;
  Turns turns(test.kernel, 100ms, WorldTime(300ms));
  test.spawn("f", [&] { turns.sleep(WorldTime(250ms)); });
  test.at(WorldTime(220ms), [&] {
    const auto moved = [](WorldTime deadline) {
      EXPECT_EQ(deadline, WorldTime(300ms));
      return deadline + 1s;
    };
    EXPECT_EQ(test.group.move_deadlines(moved), 1U);
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(test.kernel.now(), WorldTime(1300ms));
}

TEST(Rests, ManyThatEndedEarlyAreForgotten) {
  TestKernel test;
  int rounds = 0;
  sim::ParkTicket ticket;
  Turns turns(test.kernel, 1h, WorldTime(2h));
  test.spawn("f", [&] {
    for (; rounds < 20'000; ++rounds) {
      ticket = test.kernel.ticket();
      ASSERT_EQ(turns.sleep(), sim::Wake::woken);
    }
    turns.sleep();
  });
  for (int i = 1; i <= 20'000; ++i) test.at(WorldTime(i * 1ms), [&] { test.kernel.wake(ticket); });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(rounds, 20'000);
  EXPECT_EQ(test.kernel.now(), WorldTime(2h + 20s));
}

}  // namespace
}  // namespace hooke::kernel
