#include "sim/kernel/timer_queue.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

namespace hooke::kernel {
namespace {

void nothing(void*, std::uint64_t) {}

/// The queue beside a sorted map, which knows in which order timers were armed.
class TimerQueueTest : public testing::Test {
 protected:
  void arm(std::int64_t time) {
    const std::uint64_t number = armed_++;
    const TimerId id = queue_.arm(time, {&nothing, nullptr, number}, sim::kNoEvent);
    pending_[{time, number}] = id;
  }
  void cancel(std::size_t which) {
    auto found = pending_.begin();
    std::advance(found, static_cast<std::ptrdiff_t>(which));
    EXPECT_TRUE(queue_.cancel(found->second));
    EXPECT_FALSE(queue_.cancel(found->second));
    pending_.erase(found);
  }
  void pop() {
    ASSERT_FALSE(queue_.empty());
    const auto [time, number] = pending_.begin()->first;
    ASSERT_EQ(queue_.next_time(), time);
    const TimerQueue::Due due = queue_.pop();
    ASSERT_EQ(due.time, time);
    ASSERT_EQ(due.callback.argument, number);
    pending_.erase(pending_.begin());
    now_ = time;
  }
  void pop_all() {
    while (!pending_.empty() && !HasFatalFailure()) pop();
    EXPECT_TRUE(queue_.empty());
    EXPECT_EQ(queue_.next_time(), std::nullopt);
  }
  /// A number below `bound`, always the same in the same test.
  std::uint64_t below(std::uint64_t bound) {
    drawn_ = drawn_ * 6364136223846793005ULL + 1442695040888963407ULL;
    return (drawn_ >> 33U) % bound;
  }

  TimerQueue queue_;
  std::map<std::pair<std::int64_t, std::uint64_t>, TimerId> pending_;
  std::uint64_t armed_ = 0;
  std::uint64_t drawn_ = 1;
  std::int64_t now_ = 0;
};

TEST_F(TimerQueueTest, TimersOfOneTimeFireInTheOrderInWhichTheyWereArmed) {
  for (const int count : {1, 31, 33, 63, 64, 65, 129, 1000}) {
    for (int i = 0; i < count; ++i) arm(now_ + 5);
    pop();
    for (int i = 0; i < count; ++i) arm(now_);  // they join those that are due
    pop_all();
  }
}

TEST_F(TimerQueueTest, EarlierTimersAmongManyNearOnesFireFirst) {
  for (int i = 0; i < 30; ++i) arm(1'000'000 + i * 1000);
  pop();
  for (int i = 0; i < 200; ++i) arm(1'000'000 + static_cast<std::int64_t>(below(30'000)));
  pop_all();
}

TEST_F(TimerQueueTest, TheLatestTimeThereIsCanBeWaitedFor) {
  for (const std::int64_t time : {INT64_MAX, INT64_MAX - 1, INT64_MAX / 2, INT64_MAX / 2 + 1}) {
    arm(time);
    arm(time);
  }
  pop_all();
}

TEST_F(TimerQueueTest, WhatIsArmedCancelledAndFiredInAnyOrderFiresInTheOrderOfTime) {
  for (int step = 0; step < 200'000 && !HasFatalFailure(); ++step) {
    // Phases in which timers pile up, and in which they become few.
    const std::uint64_t growing = step / 5000 % 2 == 0 ? 6 : 3;
    const std::uint64_t what = below(10);
    if (what < growing || pending_.empty()) {
      const std::uint64_t magnitude = below(38);
      const std::int64_t ahead =
          below(8) == 0 ? 0 : static_cast<std::int64_t>(below(std::uint64_t{1} << magnitude));
      // Many of them are due at a few round times.
      arm(below(4) == 0 ? (now_ / 1000 + 1) * 1000 : now_ + ahead);
    } else if (what == 9 && pending_.size() < 400) {
      cancel(below(pending_.size()));
    } else {
      pop();
    }
  }
  pop_all();
}

/// What waits elsewhere, always for the same span, and takes numbers of the queue.
TEST_F(TimerQueueTest, WhatWaitsElsewhereComesInTheSameOrder) {
  std::deque<std::pair<std::int64_t, std::uint64_t>> elsewhere;
  constexpr std::int64_t kSpan = 1'000;
  std::size_t came = 0;
  for (int step = 0; step < 200'000 && !HasFatalFailure(); ++step) {
    const bool many = step / 5000 % 2 == 0;
    if (elsewhere.size() < (many ? 40U : 3U) && below(3) == 0) {
      elsewhere.emplace_back(now_ + kSpan, armed_++);
      ASSERT_EQ(queue_.number(), elsewhere.back().second);
    }
    if (pending_.size() < (many ? 200U : 2U)) {
      arm(below(3) == 0 ? now_ + kSpan
                        : now_ + static_cast<std::int64_t>(below(std::uint64_t{1} << below(20))));
    }
    if (below(10) == 0 && !pending_.empty()) cancel(below(pending_.size()));
    if (elsewhere.empty() || below(2) == 0) continue;
    const auto [time, number] = elsewhere.front();
    const bool first = pending_.empty() || elsewhere.front() < pending_.begin()->first;
    ASSERT_EQ(queue_.fires_none_before(time, number), first);
    if (!first) {
      pop();
      continue;
    }
    queue_.go_on_to(time);
    now_ = time;
    elsewhere.pop_front();
    ++came;
  }
  EXPECT_GT(came, 10'000U);
  pop_all();
}

TEST_F(TimerQueueTest, ThousandsOfCancelledTimersAreForgotten) {
  for (int round = 0; round < 4; ++round) {
    for (int i = 0; i < 3000; ++i) arm(now_ + 1 + static_cast<std::int64_t>(below(100'000)));
    pop();
    while (pending_.size() > 100) cancel(pending_.size() - 1);
    pop();
  }
  pop_all();
}

TEST_F(TimerQueueTest, MostTimersAreToldOnceAheadOfTheirTurn) {
  std::map<std::uint64_t, int> far, near;  // how often a timer was told
  std::size_t far_ahead = 0, near_ahead = 0;
  for (int i = 0; i < 1000; ++i) arm(1'000'000 + static_cast<std::int64_t>(below(1'000'000)));
  for (int fired = 0; fired < 20'000 && !HasFatalFailure(); ++fired) {
    const std::uint64_t next = pending_.begin()->first.second;
    far_ahead += far.contains(next) ? 1 : 0;
    near_ahead += near.contains(next) ? 1 : 0;
    pop();
    queue_.look_ahead([&](const Callback& callback) { ++far[callback.argument]; },
                      [&](const Callback& callback) {
                        EXPECT_TRUE(far.contains(callback.argument)) << "far comes first";
                        ++near[callback.argument];
                      });
    // Later than all that are near.
    arm(now_ + 1'000'000 + static_cast<std::int64_t>(below(1'000'000)));
  }
  EXPECT_GT(far_ahead, 18'000U);
  EXPECT_GT(near_ahead, 18'000U);
  for (const auto& [number, times] : far) EXPECT_EQ(times, 1) << number;
  for (const auto& [number, times] : near) EXPECT_EQ(times, 1) << number;
}

TEST_F(TimerQueueTest, AQueueThatWasClearedStartsAnew) {
  for (int i = 0; i < 100; ++i) arm(1000 + i);
  pop();
  queue_.clear();
  pending_.clear();
  now_ = 0;
  EXPECT_TRUE(queue_.empty());
  arm(1);
  arm(0);
  pop_all();
}

}  // namespace
}  // namespace hooke::kernel
