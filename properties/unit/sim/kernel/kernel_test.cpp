// The kernel's contract: order, time, parking, groups, limits. The traps of Boost.Fiber have their
// own file.
#include "sim/kernel/kernel.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "sim/port/sync.h"
#include "test_kernel.h"

namespace hooke::kernel {
namespace {

using namespace std::chrono_literals;
using sim::WorldTime;

TEST(Kernel, equal_times_fire_in_the_order_they_were_armed) {
  TestKernel test;
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) test.at(WorldTime(5ms), [&order, i] { order.push_back(i); });
  test.at(WorldTime(1ms), [&order] { order.push_back(-1); });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  ASSERT_EQ(order.size(), 101U);
  EXPECT_EQ(order.front(), -1);
  for (std::size_t i = 0; i < 100; ++i) EXPECT_EQ(order[i + 1], static_cast<int>(i));
  EXPECT_EQ(test.kernel.now(), WorldTime(5ms));
}

TEST(Kernel, a_cancelled_timer_does_not_fire_and_says_so_once) {
  TestKernel test;
  bool fired = false;
  const TimerId timer = test.at(WorldTime(5ms), [&fired] { fired = true; });
  EXPECT_TRUE(test.kernel.cancel(timer));
  EXPECT_FALSE(test.kernel.cancel(timer));
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_FALSE(fired);
}

TEST(Kernel, a_hundred_thousand_cancelled_timers_leave_the_live_ones_in_order) {
  TestKernel test;
  std::vector<int> order;
  for (int i = 0; i < 100'000; ++i) {
    const TimerId timer = test.at(WorldTime(std::chrono::microseconds(i * 7 % 1000)), [] {});
    if (i % 1000 == 0) {
      test.at(WorldTime(std::chrono::microseconds(i / 100)), [&order, i] { order.push_back(i); });
    }
    test.kernel.cancel(timer);
  }
  test.kernel.run();
  ASSERT_EQ(order.size(), 100U);
  EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
}

TEST(Kernel, fibers_run_in_the_order_they_became_ready) {
  TestKernel test;
  std::vector<std::string> order;
  for (const std::string name : {"a", "b", "c"}) {
    test.spawn(name, [&order, &test, name] {
      order.push_back(name + "1");
      test.sleep(1ms);
      order.push_back(name + "2");
    });
  }
  test.kernel.run();
  EXPECT_EQ(order, (std::vector<std::string>{"a1", "b1", "c1", "a2", "b2", "c2"}));
}

TEST(Kernel, the_random_strategy_gives_many_orders_and_each_seed_always_the_same) {
  const auto order_of = [](std::uint64_t seed) {
    TestKernel test(seed, Strategy::random);
    std::string order;
    for (const char name : std::string("abcde")) {
      test.spawn(std::string(1, name), [&order, name] { order += name; });
    }
    test.kernel.run();
    return order;
  };
  std::set<std::string> orders;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    orders.insert(order_of(seed));
    EXPECT_EQ(order_of(seed), order_of(seed));
  }
  EXPECT_GT(orders.size(), 25U);
}

TEST(Kernel, all_zero_choices_under_the_random_strategy_are_the_fifo_run) {
  QuietSource quiet;
  TraceRecorder trace;
  Kernel kernel;
  kernel.begin(quiet, trace, {}, Strategy::random);
  FiberGroup group(kernel);
  std::string order;
  for (const char name : std::string("abcde")) {
    kernel.spawn(group, std::string(1, name), [&order, name] { order += name; });
  }
  kernel.run();
  EXPECT_EQ(order, "abcde");
}

TEST(Kernel, a_park_ends_at_its_deadline_or_by_a_wake_whichever_is_first) {
  TestKernel test;
  std::vector<sim::Wake> wakes;
  sim::ParkTicket ticket;
  test.spawn("sleeper", [&] {
    ticket = test.kernel.ticket();
    wakes.push_back(test.kernel.park(ticket, WorldTime(10ms)));
    ticket = test.kernel.ticket();
    wakes.push_back(test.kernel.park(ticket, WorldTime(30ms)));
  });
  test.at(WorldTime(20ms), [&] { EXPECT_TRUE(test.kernel.wake(ticket)); });
  test.kernel.run();
  EXPECT_EQ(wakes, (std::vector<sim::Wake>{sim::Wake::timed_out, sim::Wake::woken}));
  EXPECT_EQ(test.kernel.now(), WorldTime(20ms));
}

TEST(Kernel, a_wake_between_ticket_and_park_is_not_lost) {
  TestKernel test;
  bool reached = false;
  test.spawn("fiber", [&] {
    const sim::ParkTicket ticket = test.kernel.ticket();
    EXPECT_TRUE(test.kernel.wake(ticket));
    EXPECT_EQ(test.kernel.park(ticket, std::nullopt), sim::Wake::woken);
    reached = true;
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_TRUE(reached);
}

TEST(Kernel, a_stale_ticket_wakes_no_fiber) {
  TestKernel test;
  sim::ParkTicket old;
  bool second = false;
  test.spawn("fiber", [&] {
    old = test.kernel.ticket();
    test.kernel.park(old, WorldTime(1ms));
    test.kernel.park(test.kernel.ticket(), WorldTime(10ms));
    second = true;
  });
  test.at(WorldTime(5ms), [&] { EXPECT_FALSE(test.kernel.wake(old)); });
  test.kernel.run();
  EXPECT_TRUE(second);
  EXPECT_FALSE(test.kernel.wake(old));
}

TEST(Kernel, killing_a_group_unwinds_every_fiber_and_no_other) {
  TestKernel test;
  FiberGroup doomed(test.kernel);
  int unwound = 0;
  int finished = 0;
  struct Count {
    int& count;
    ~Count() { ++count; }
  };
  for (int i = 0; i < 3; ++i) {
    test.kernel.spawn(doomed, "doomed", [&] {
      const Count count{unwound};
      test.sleep(1h);
      ++finished;
    });
  }
  test.spawn("survivor", [&] {
    test.sleep(2ms);
    ++finished;
  });
  test.at(WorldTime(1ms), [&] { doomed.kill(); });
  test.kernel.run();
  EXPECT_EQ(unwound, 3);
  EXPECT_EQ(finished, 1);
  EXPECT_EQ(doomed.fiber_count(), 0U);
}

TEST(Kernel, a_killed_fiber_cannot_park_again_while_it_unwinds) {
  TestKernel test;
  FiberGroup doomed(test.kernel);
  int attempts = 0;
  test.kernel.spawn(doomed, "stubborn", [&] {
    for (int i = 0; i < 3; ++i) {
      try {
        test.sleep(1h);
      } catch (const sim::Killed&) {
        ++attempts;
      }
    }
  });
  test.at(WorldTime(1ms), [&] { doomed.kill(); });
  test.kernel.run();
  EXPECT_EQ(attempts, 3);
  EXPECT_EQ(test.kernel.now(), WorldTime(1ms));
}

TEST(Kernel, a_paused_group_runs_nothing_until_it_is_resumed) {
  TestKernel test;
  FiberGroup group(test.kernel);
  WorldTime woke{};
  test.kernel.spawn(group, "paused", [&] {
    test.sleep(2ms);
    woke = test.kernel.now();
  });
  test.at(WorldTime(1ms), [&] { group.pause(); });
  test.at(WorldTime(9ms), [&] { group.resume(); });
  test.kernel.run();
  EXPECT_EQ(woke, WorldTime(9ms));
}

TEST(Kernel, a_paused_group_can_be_killed) {
  TestKernel test;
  FiberGroup group(test.kernel);
  test.kernel.spawn(group, "paused", [&] { test.sleep(2ms); });
  test.at(WorldTime(1ms), [&] { group.pause(); });
  test.at(WorldTime(3ms), [&] { group.kill(); });
  test.kernel.run();
  EXPECT_EQ(group.fiber_count(), 0U);
}

TEST(Kernel, join_returns_when_the_fiber_has_ended_and_at_once_afterwards) {
  TestKernel test;
  std::string order;
  const sim::FiberId worker = test.spawn("worker", [&] {
    test.sleep(1ms);
    order += "w";
  });
  test.spawn("joiner", [&] {
    test.kernel.join(worker);
    test.kernel.join(worker);
    order += "j";
  });
  test.kernel.run();
  EXPECT_EQ(order, "wj");
}

TEST(Kernel, events_descend_from_what_caused_them) {
  static constexpr sim::EventType kStep{"test.step", {"number"}};
  struct Parents final : TraceSink {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> links;
    void on_event(const sim::Event& event) override {
      links.emplace_back(event.id.value, event.parent.value);
    }
  } parents;
  TestKernel test;
  test.trace.add_sink(parents);
  const auto emit = [&](int number) {
    const std::array<sim::FieldValue, 1> fields{number};
    test.trace.emit(test.kernel.cause(), test.kernel.now(), {}, sim::kNoNode, {}, kStep, fields);
  };
  sim::ParkTicket ticket;
  test.spawn("receiver", [&] {
    ticket = test.kernel.ticket();
    test.kernel.park(ticket, std::nullopt);
    emit(3);
  });
  test.spawn("sender", [&] {
    emit(1);
    test.kernel.wake(ticket);
    emit(2);
  });
  test.kernel.run();
  using Link = std::pair<std::uint64_t, std::uint64_t>;
  EXPECT_EQ(parents.links, (std::vector<Link>{{1, 0}, {2, 1}, {3, 1}}));
}

TEST(Kernel, an_exception_that_leaves_a_fiber_ends_the_run_with_its_name_and_text) {
  TestKernel test;
  test.spawn("culprit", [] { throw std::runtime_error("broken on purpose"); });
  EXPECT_EQ(test.kernel.run(), RunEnd::failed);
  EXPECT_EQ(test.kernel.failure(), "fiber \"culprit\" failed: broken on purpose");
}

TEST(Kernel, an_exception_that_leaves_a_callback_ends_the_run) {
  TestKernel test;
  test.at(WorldTime(1ms), [] { throw std::runtime_error("broken on purpose"); });
  EXPECT_EQ(test.kernel.run(), RunEnd::failed);
  EXPECT_EQ(test.kernel.failure(), "a callback failed: broken on purpose");
}

TEST(RunLimits, a_spinning_world_ends_at_its_step_limit) {
  TestKernel test(0, Strategy::fifo, {.steps_max = 1000});
  test.spawn("spinner", [&] {
    for (;;) test.sleep(0ns);
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::steps_exhausted);
  EXPECT_GE(test.kernel.steps(), 1000U);
  test.finish();
}

TEST(RunLimits, a_world_that_goes_on_for_ever_ends_at_its_virtual_time_limit) {
  TestKernel test(0, Strategy::fifo, {.world_time_max = WorldTime(1h)});
  test.spawn("sleeper", [&] {
    for (;;) test.sleep(1s);
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::world_time_exhausted);
  test.finish();
}

TEST(RunLimits, a_world_that_is_too_slow_ends_at_its_real_time_limit) {
  TestKernel test(0, Strategy::fifo, {.wall_time_max = 5ms});
  test.spawn("spinner", [&] {
    for (;;) test.sleep(0ns);
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::wall_time_exhausted);
  test.finish();
}

TEST(RunLimits, a_run_cut_at_its_virtual_time_ends_exactly_there) {
  TestKernel test(0, Strategy::fifo, {.world_time_max = sim::WorldTime(10s)});
  bool woke = false;
  test.spawn("sleeper", [&] {
    test.sleep(1h);
    woke = true;
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::world_time_exhausted);
  EXPECT_EQ(test.kernel.now(), sim::WorldTime(10s));
  test.finish();
  EXPECT_FALSE(woke);
}

TEST(RunLimits, a_fiber_bomb_ends_at_its_fiber_limit) {
  TestKernel test(0, Strategy::fifo, {.fibers_max = 50});
  std::function<void()> bomb = [&] {
    test.spawn("bomb", bomb);
    test.sleep(1h);
  };
  test.spawn("bomb", bomb);
  EXPECT_EQ(test.kernel.run(), RunEnd::fibers_exhausted);
  test.finish();
}

TEST(RunLimits, a_world_that_eats_memory_ends_at_its_memory_limit) {
  TestKernel test(0, Strategy::fifo, {.memory_bytes_max = 1});
  test.spawn("spinner", [&] {
    for (;;) test.sleep(0ns);
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::memory_exhausted);
  test.finish();
}

TEST(Kernel, runs_that_follow_each_other_on_one_kernel_are_equal) {
  Kernel kernel;
  std::vector<std::string> hashes;
  for (int run = 0; run < 3; ++run) {
    SeededSource choices(7);
    TraceRecorder trace;
    kernel.begin(choices, trace, {}, Strategy::random);
    FiberGroup group(kernel);
    for (int i = 0; i < 10 + run * 0; ++i) {
      kernel.spawn(group, "f", [&kernel, i] {
        for (int j = 0; j < i; ++j) {
          kernel.park(kernel.ticket(), kernel.now() + std::chrono::milliseconds(j));
        }
      });
    }
    kernel.run();
    hashes.push_back(trace.hash().hex());
  }
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
}

TEST(Kernel, a_fiber_killed_in_its_sleep_leaves_nothing_behind_for_the_next_run) {
  Kernel kernel;
  SeededSource choices(7);
  TraceRecorder first;
  kernel.begin(choices, first, {}, Strategy::fifo);
  {
    FiberGroup group(kernel);
    kernel.spawn(group, "sleeper", [&] { kernel.park(kernel.ticket(), kernel.now() + 1h); });
    kernel.at(
        sim::WorldTime(1s),
        {[](void* context, std::uint64_t) { static_cast<Kernel*>(context)->stop(); }, &kernel, 0});
    kernel.run();
    group.kill();
    kernel.drain();
  }
  TraceRecorder second;
  kernel.begin(choices, second, {}, Strategy::fifo);
  int rings = 0;
  for (int i = 0; i < 3; ++i) {
    kernel.at(sim::WorldTime(1s),
              {[](void* count, std::uint64_t) { ++*static_cast<int*>(count); }, &rings, 0});
  }
  FiberGroup group(kernel);
  kernel.spawn(group, "idler", [] {});
  kernel.run();
  EXPECT_EQ(rings, 3);
}

TEST(Kernel, a_second_kernel_on_the_thread_is_refused_and_one_after_another_is_fine) {
  {
    Kernel first;
    EXPECT_THROW(Kernel(), std::logic_error);
  }
  Kernel again;
}

}  // namespace
}  // namespace hooke::kernel
