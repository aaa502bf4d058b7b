#include "sim/kernel/schedule.h"

#include <gtest/gtest.h>

#include <list>
#include <map>
#include <set>

#include "test_kernel.h"

namespace hooke::kernel {
namespace {

using namespace std::chrono_literals;

constexpr std::array kStrategies{Strategy::fifo, Strategy::random, Strategy::walk, Strategy::pct,
                                 Strategy::delays};

/// Four processes whose fibers yield three times each; returns which went when.
std::string story(Kernel& kernel, ChoiceSource& choices, Schedule schedule) {
  TraceRecorder trace;
  kernel.begin(choices, trace, {}, schedule);
  std::list<FiberGroup> processes;
  std::string order;
  for (const char name : std::string("abcd")) {
    kernel.spawn(processes.emplace_back(kernel), std::string(1, name), [&order, &kernel, name] {
      for (int i = 0; i < 3; ++i) {
        order += name;
        kernel.park(kernel.ticket(), kernel.now());
      }
    });
  }
  kernel.run();
  return order;
}

std::string story(ChoiceSource& choices, Schedule schedule) {
  Kernel kernel;
  return story(kernel, choices, schedule);
}

TEST(Schedule, names_lead_back_to_their_strategies) {
  for (const Strategy strategy : kStrategies) {
    EXPECT_EQ(strategy_from(to_string(strategy)), strategy);
  }
  EXPECT_EQ(strategy_from("round-robin"), std::nullopt);
}

TEST(Schedule, every_strategy_is_first_in_first_out_where_all_choices_are_zero) {
  for (const Strategy strategy : kStrategies) {
    QuietSource quiet;
    EXPECT_EQ(story(quiet, {strategy, 9}), "abcdabcdabcd") << to_string(strategy);
  }
}

TEST(Schedule, every_strategy_lets_everybody_finish_and_gives_each_seed_one_order) {
  for (const Strategy strategy : kStrategies) {
    std::set<std::string> orders;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      SeededSource once(seed);
      SeededSource again(seed);
      const std::string order = story(once, {strategy, 2});
      EXPECT_EQ(order.size(), 12U);
      EXPECT_EQ(order, story(again, {strategy, 2})) << to_string(strategy);
      orders.insert(order);
    }
    if (strategy == Strategy::fifo) {
      EXPECT_EQ(orders.size(), 1U);
    } else if (strategy == Strategy::delays) {
      EXPECT_GT(orders.size(), 2U);  // most moments fall behind the twelve steps of this story
    } else {
      EXPECT_GT(orders.size(), 15U) << to_string(strategy);
    }
  }
}

TEST(Schedule, a_run_does_not_depend_on_what_its_kernel_ran_before) {
  for (const Strategy strategy : kStrategies) {
    for (std::uint64_t seed = 0; seed < 10; ++seed) {
      Kernel kernel;
      SeededSource once(seed);
      SeededSource again(seed);
      const std::string order = story(kernel, once, {strategy, 2});
      EXPECT_EQ(story(kernel, again, {strategy, 2}), order) << to_string(strategy);
    }
  }
}

TEST(Schedule, a_recorded_order_is_replayed) {
  for (const Strategy strategy : kStrategies) {
    SeededSource seeded(11);
    RecordingSource recording(seeded);
    const std::string order = story(recording, {strategy, 5});
    ReplaySource replay(recording.tape());
    EXPECT_EQ(story(replay, {strategy, 5}), order) << to_string(strategy);
  }
}

TEST(Schedule, a_process_with_many_fibers_is_as_likely_as_one_with_a_single_fiber) {
  std::map<char, int> first;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SeededSource choices(seed);
    Scheduler scheduler(choices, Strategy::walk);
    std::vector<ReadyFiber> ready;
    for (std::uint64_t i = 0; i < 9; ++i) ready.push_back({i, 0});
    ready.push_back({9, 1});
    const std::size_t picked = scheduler.pick(ready);
    ASSERT_TRUE(picked == 0 || picked == 9) << "the oldest of its process";
    ++first[picked == 0 ? 'a' : 'b'];
  }
  EXPECT_GT(first['a'], 150);
  EXPECT_GT(first['b'], 150);
}

TEST(Schedule, pct_lets_the_same_fiber_win_until_its_priority_is_lowered) {
  const std::vector<ReadyFiber> ready{{0, 0}, {1, 1}, {2, 2}};
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    SeededSource choices(seed);
    Scheduler never(choices, {Strategy::pct, 0});
    const std::size_t winner = never.pick(ready);
    for (int i = 0; i < 100; ++i) EXPECT_EQ(never.pick(ready), winner);
    Scheduler often(choices, {Strategy::pct, 300});
    std::set<std::size_t> winners;
    for (int i = 0; i < 1000; ++i) winners.insert(often.pick(ready));
    EXPECT_EQ(winners.size(), 3U);
  }
}

TEST(Schedule, delays_hold_a_fiber_up_in_virtual_time_while_others_go_on) {
  bool somebody_was_late = false;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    TestKernel test(seed, {Strategy::delays, 100});
    std::map<char, sim::WorldTime> done;
    for (const char name : std::string("ab")) {
      test.spawn(std::string(1, name), [&, name] {
        for (int i = 0; i < 10; ++i) test.sleep(1ms);
        done[name] = test.kernel.now();
      });
    }
    EXPECT_EQ(test.kernel.run(), RunEnd::idle);
    ASSERT_EQ(done.size(), 2U);
    EXPECT_GE(std::min(done['a'], done['b']), sim::WorldTime(10ms));
    if (done['a'] != done['b']) somebody_was_late = true;
  }
  EXPECT_TRUE(somebody_was_late);
}

TEST(Schedule, a_fiber_that_is_killed_while_it_is_held_up_is_gone_at_once) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    TestKernel test(seed, {Strategy::delays, 1000});
    FiberGroup victims(test.kernel);
    for (int i = 0; i < 20; ++i) {
      test.kernel.spawn(victims, "victim", [&] {
        for (;;) test.sleep(1ms);
      });
    }
    test.at(sim::WorldTime(20ms), [&] { victims.kill(); });
    test.at(sim::WorldTime(20ms) + 1us, [&] { EXPECT_EQ(victims.fiber_count(), 0U); });
    test.kernel.run();
    EXPECT_EQ(victims.fiber_count(), 0U);
  }
}

}  // namespace
}  // namespace hooke::kernel
