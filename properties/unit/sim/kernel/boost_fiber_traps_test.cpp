// One test for every trap of Boost.Fiber that has bitten somebody (design, section 4).
#include <gtest/gtest.h>

#include <exception>
#include <fstream>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "sim/kernel/contexts.h"
#include "test_kernel.h"

namespace hooke::kernel {
namespace {

using namespace std::chrono_literals;
using sim::WorldTime;

TEST(BoostFiberTraps, an_hour_of_sleeping_reads_no_real_clock) {
  TestKernel test;
  const auto before = std::chrono::steady_clock::now();
  test.spawn("sleeper", [&] { test.sleep(24h); });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(test.kernel.now(), WorldTime(24h));
  EXPECT_LT(std::chrono::steady_clock::now() - before, 1h);
}

TEST(BoostFiberTraps, a_fiber_alone_that_waits_for_its_own_deadline_goes_on_without_a_switch) {
  TestKernel test;
  int rounds = 0;
  test.spawn("alone", [&] {
    for (; rounds < 1000; ++rounds) test.sleep(1ms);
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(rounds, 1000);
  EXPECT_EQ(test.kernel.now(), WorldTime(1s));
}

TEST(BoostFiberTraps, kernels_may_follow_each_other_on_one_thread) {
  for (int i = 0; i < 20; ++i) {
    TestKernel test;
    int ended = 0;
    for (int j = 0; j < 50; ++j) {
      test.spawn("f", [&] {
        test.sleep(1ms);
        ++ended;
      });
    }
    test.kernel.run();
    EXPECT_EQ(ended, 50);
  }
}

TEST(BoostFiberTraps, every_thread_may_carry_a_kernel) {
  std::vector<std::thread> threads;
  std::vector<std::string> hashes(3);
  for (std::string& hash : hashes) {
    threads.emplace_back([&hash] {
      TestKernel test;
      for (int j = 0; j < 50; ++j) test.spawn("f", [&test, j] { test.sleep(j * 1ms); });
      test.kernel.run();
      hash = test.trace.hash().hex();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(hashes[0], hashes[1]);
  EXPECT_EQ(hashes[0], hashes[2]);
}

TEST(BoostFiberTraps, a_fiber_parked_for_ever_does_not_keep_the_kernel_from_ending) {
  bool unwound = false;
  struct Mark {
    bool& flag;
    ~Mark() { flag = true; }
  };
  {
    TestKernel test;
    test.spawn("forgotten", [&] {
      const Mark mark{unwound};
      test.kernel.park(test.kernel.ticket(), std::nullopt);
    });
    EXPECT_EQ(test.kernel.run(), RunEnd::idle);
    EXPECT_EQ(test.group.fiber_count(), 1U);
  }
  EXPECT_TRUE(unwound);
}

TEST(BoostFiberTraps, fiber_ids_are_numbers_that_repeat_between_runs) {
  const auto ids = [] {
    TestKernel test;
    std::vector<std::uint64_t> out;
    for (int i = 0; i < 5; ++i) out.push_back(test.spawn("f", [] {}).value);
    test.kernel.run();
    out.push_back(test.spawn("g", [] {}).value);
    test.kernel.run();
    return out;
  };
  const std::vector<std::uint64_t> first = ids();
  EXPECT_EQ(first, ids());
  EXPECT_EQ(std::set<std::uint64_t>(first.begin(), first.end()).size(), 6U);
}

TEST(BoostFiberTraps, fibers_that_park_inside_catch_blocks_keep_their_own_exception) {
  TestKernel test;
  std::vector<std::string> seen;
  for (const std::string name : {"a", "b", "c"}) {
    test.spawn(name, [&, name] {
      try {
        throw std::runtime_error(name);
      } catch (const std::exception&) {
        test.sleep(name == "a" ? 3ms : name == "b" ? 2ms : 1ms);
        try {
          throw;  // rethrows the current exception, which must still be this fiber's
        } catch (const std::exception& again) {
          seen.push_back(name + again.what());
        }
      }
    });
  }
  test.kernel.run();
  EXPECT_EQ(seen, (std::vector<std::string>{"cc", "bb", "aa"}));
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
}

TEST(BoostFiberTraps, a_fiber_may_park_in_a_destructor_while_another_one_unwinds) {
  TestKernel test;
  int uncaught_elsewhere = -1;
  struct Parker {
    TestKernel& test;
    ~Parker() { test.sleep(5ms); }
  };
  test.spawn("unwinding", [&] {
    try {
      const Parker parker{test};
      throw std::runtime_error("in flight");
    } catch (const std::exception&) {
    }
  });
  test.spawn("other", [&] {
    test.sleep(2ms);
    uncaught_elsewhere = std::uncaught_exceptions();
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(uncaught_elsewhere, 0);
}

TEST(BoostFiberTraps, more_fibers_than_mappings_can_be_parked_at_once) {
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__)
  constexpr int kFibers = 100'000;
#else
  constexpr int kFibers = 5'000;  // guarded stacks cost a mapping each: that is what they are for
#endif
  TestKernel test;
  int ended = 0;
  for (int i = 0; i < kFibers; ++i) {
    test.spawn("f", [&] {
      test.sleep(1s);
      ++ended;
    });
  }
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(ended, kFibers);
}

TEST(BoostFiberTraps, real_exceptions_thrown_deep_in_many_fibers_are_caught) {
  TestKernel test;
  int caught = 0;
  std::function<void(int)> dive = [&](int depth) {
    std::string padding(100, 'x');
    if (depth == 0) {
      test.sleep(1ms);
      throw std::runtime_error(padding);
    }
    dive(depth - 1);
    padding += 'y';
  };
  for (int i = 0; i < 100; ++i) {
    test.spawn("diver", [&] {
      for (int j = 0; j < 5; ++j) {
        try {
          dive(10);
        } catch (const std::runtime_error&) {
          ++caught;
        }
      }
    });
  }
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(caught, 500);
}

TEST(BoostFiberTraps, an_overflowed_stack_is_noticed) {
  StackArena arena;
  const StackArena::Slot slot = arena.take();
  EXPECT_TRUE(StackArena::intact(slot));
  slot.bottom[3] = std::byte{1};
  EXPECT_FALSE(StackArena::intact(slot));
  EXPECT_DEATH(arena.give_back(slot), "overflowed its stack");
  slot.bottom[3] = std::byte{0};
  arena.give_back(slot);
}

TEST(BoostFiberTraps, stacks_are_reused_last_in_first_out_and_their_depth_is_known) {
  StackArena arena;
  const StackArena::Slot first = arena.take();
  arena.give_back(first);
  EXPECT_EQ(arena.take().bottom, first.bottom);
  *(first.top - 1000) = std::byte{1};
  EXPECT_GE(arena.high_water(), 1000U - 8U);
  EXPECT_LE(arena.high_water(), 1000U + 8U);
  arena.give_back(first);
}

}  // namespace
}  // namespace hooke::kernel
