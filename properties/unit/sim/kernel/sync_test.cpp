// The blocking primitives of sim/port/sync.h on the kernel's fibers.
#include "sim/port/sync.h"

#include <gtest/gtest.h>

#include <mutex>
#include <string>
#include <vector>

#include "test_kernel.h"

namespace hooke::kernel {
namespace {

using namespace std::chrono_literals;

/// The kernel as an Executor whose local clock is world time.
class KernelExecutor final : public sim::Executor {
 public:
  explicit KernelExecutor(TestKernel& test) : test_(test) {}
  sim::FiberId spawn(std::string name, std::function<void()> body) override {
    return test_.spawn(std::move(name), std::move(body));
  }
  void join(sim::FiberId fiber) override { test_.kernel.join(fiber); }
  sim::ParkTicket ticket() override { return test_.kernel.ticket(); }
  sim::Wake park(sim::ParkTicket ticket, std::optional<sim::MonotonicTime> deadline) override {
    if (!deadline) return test_.kernel.park(ticket, std::nullopt);
    return test_.kernel.park(ticket, sim::WorldTime(deadline->time_since_epoch()));
  }
  bool wake(sim::ParkTicket ticket) override { return test_.kernel.wake(ticket); }

 private:
  TestKernel& test_;
};

struct Sync : testing::Test {
  TestKernel test;
  KernelExecutor executor{test};
  static sim::MonotonicTime at(sim::Duration span) { return sim::MonotonicTime(span); }
};

TEST_F(Sync, a_mutex_is_handed_over_in_order_of_arrival) {
  sim::Mutex mutex(executor);
  std::string order;
  for (const char name : std::string("abcd")) {
    test.spawn(std::string(1, name), [&, name] {
      const std::lock_guard lock(mutex);
      test.sleep(1ms);
      order += name;
    });
  }
  test.kernel.run();
  EXPECT_EQ(order, "abcd");
  EXPECT_FALSE(mutex.locked());
  EXPECT_EQ(test.kernel.now(), sim::WorldTime(4ms));
}

TEST_F(Sync, a_flag_releases_all_waiters_and_later_ones_at_once) {
  sim::Flag flag(executor);
  int released = 0;
  for (int i = 0; i < 3; ++i) {
    test.spawn("waiter", [&] { released += flag.wait() ? 1 : 0; });
  }
  test.spawn("setter", [&] {
    test.sleep(1ms);
    flag.set();
    released += flag.wait() ? 1 : 0;
  });
  test.kernel.run();
  EXPECT_EQ(released, 4);
}

TEST_F(Sync, waiting_for_a_flag_ends_at_its_deadline) {
  sim::Flag flag(executor);
  bool seen = true;
  test.spawn("waiter", [&] { seen = flag.wait(at(5ms)); });
  test.kernel.run();
  EXPECT_FALSE(seen);
  EXPECT_EQ(test.kernel.now(), sim::WorldTime(5ms));
}

TEST_F(Sync, a_channel_delivers_in_order_then_says_that_it_is_closed) {
  sim::Channel<int> channel(executor);
  std::vector<int> got;
  test.spawn("consumer", [&] {
    while (const auto item = channel.pop()) got.push_back(*item);
  });
  test.spawn("producer", [&] {
    for (int i = 0; i < 3; ++i) {
      channel.push(i);
      test.sleep(1ms);
    }
    channel.push(3);
    channel.close();
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(got, (std::vector<int>{0, 1, 2, 3}));
  EXPECT_EQ(test.group.fiber_count(), 0U);
}

TEST_F(Sync, a_channel_gives_up_at_the_deadline) {
  sim::Channel<int> channel(executor);
  bool empty = false;
  test.spawn("consumer", [&] { empty = !channel.pop(at(2ms)); });
  test.kernel.run();
  EXPECT_TRUE(empty);
}

TEST_F(Sync, a_latch_opens_with_the_last_count) {
  sim::Latch latch(executor, 3);
  sim::WorldTime opened{};
  test.spawn("waiter", [&] {
    static_cast<void>(latch.wait());
    opened = test.kernel.now();
  });
  for (int i = 1; i <= 3; ++i) {
    test.spawn("worker", [&, i] {
      test.sleep(i * 1ms);
      latch.count_down();
    });
  }
  test.kernel.run();
  EXPECT_EQ(opened, sim::WorldTime(3ms));
}

TEST_F(Sync, a_scope_joins_every_fiber_it_started) {
  int ended = 0;
  test.spawn("owner", [&] {
    sim::Scope scope(executor);
    for (int i = 1; i <= 3; ++i) {
      scope.spawn("child", [&, i] {
        test.sleep(i * 1ms);
        ++ended;
      });
    }
    scope.join();
    EXPECT_EQ(ended, 3);
  });
  test.kernel.run();
  EXPECT_EQ(ended, 3);
}

TEST_F(Sync, a_waiter_that_timed_out_does_not_swallow_a_wake) {
  sim::WaitQueue queue(executor);
  bool second_woken = false;
  test.spawn("impatient", [&] { EXPECT_EQ(queue.wait(at(1ms)), sim::Wake::timed_out); });
  test.spawn("patient", [&] { second_woken = queue.wait() == sim::Wake::woken; });
  test.spawn("waker", [&] {
    test.sleep(2ms);
    EXPECT_TRUE(queue.wake_one());
    EXPECT_FALSE(queue.wake_one());
  });
  test.kernel.run();
  EXPECT_TRUE(second_woken);
}

}  // namespace
}  // namespace hooke::kernel
