// Which worker is lost, by the clock alone.
#include "model/heartbeat/heartbeat_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using Reception = HeartbeatTable::Reception;
using sim::MonotonicTime;
using Lost = std::vector<SilentWorker>;

constexpr MonotonicTime at(sim::Duration span) {
  return MonotonicTime(span);
}

/// Looks every second from `from` to `to`, both included; what the last look said.
Lost look_through(HeartbeatTable& table, sim::Duration from, sim::Duration to) {
  Lost lost;
  for (sim::Duration now = from; now <= to; now += 1s) lost = table.look(at(now));
  return lost;
}

TEST(HeartbeatTable, a_worker_is_lost_once_its_silence_is_longer_than_the_deadline) {
  HeartbeatTable table({5s, std::nullopt, 1s});
  table.expect("w", at(0s));
  EXPECT_EQ(table.take({"w", 1}, at(2s)), Reception::counted);
  EXPECT_EQ(look_through(table, 3s, 7s), Lost{}) << "5 s is not longer than 5 s";
  EXPECT_EQ(table.look(at(8s)), (Lost{{"w", 6s}}));
  EXPECT_EQ(table.look(at(9s)), Lost{}) << "it is told once";
  EXPECT_EQ(table.lost(at(9s)), (Lost{{"w", 7s}}));
  EXPECT_EQ(table.take({"w", 2}, at(10s)), Reception::returned);
  EXPECT_EQ(table.lost(at(10s)), Lost{});
  EXPECT_EQ(look_through(table, 11s, 16s), (Lost{{"w", 6s}})) << "and may be lost again";
}

TEST(HeartbeatTable, before_its_first_beat_a_worker_is_lost_only_where_a_span_is_given_for_it) {
  HeartbeatTable patient({5s, std::nullopt, 1s});
  patient.expect("w", at(0s));
  EXPECT_EQ(look_through(patient, 1s, 1000s), Lost{});
  HeartbeatTable strict({5s, 20s, 1s});
  strict.expect("w", at(0s));
  EXPECT_EQ(look_through(strict, 1s, 20s), Lost{});
  EXPECT_EQ(strict.look(at(21s)), (Lost{{"w", 21s}}));
}

TEST(HeartbeatTable, beats_of_strangers_and_of_replaced_connections_do_not_count) {
  HeartbeatTable table({5s, std::nullopt, 1s});
  table.expect("w", at(0s));
  EXPECT_EQ(table.take({"v", 1}, at(1s)), Reception::unknown);
  EXPECT_EQ(table.take({"w", 4}, at(1s)), Reception::counted);
  EXPECT_EQ(table.take({"w", 4}, at(2s)), Reception::old);
  EXPECT_EQ(table.take({"w", 3}, at(3s)), Reception::old);
  EXPECT_EQ(table.heard("w"), at(1s));
  EXPECT_EQ(table.heard("v"), std::nullopt);
}

TEST(HeartbeatTable, a_worker_that_said_that_no_beat_will_come_or_has_ended_is_not_missed) {
  HeartbeatTable table({5s, std::nullopt, 1s});
  for (const char* worker : {"done", "ended", "left"}) {
    table.expect(worker, at(0s));
    EXPECT_EQ(table.take({worker, 1}, at(1s)), Reception::counted);
  }
  EXPECT_EQ(table.take({"done", 2, true}, at(1s)), Reception::counted);
  table.forget("ended");
  EXPECT_EQ(look_through(table, 2s, 7s), (Lost{{"left", 6s}}));
  EXPECT_EQ(table.take({"done", 3}, at(8s)), Reception::old);
}

TEST(HeartbeatTable, an_agent_that_has_not_looked_has_not_listened) {
  HeartbeatTable table({5s, std::nullopt, 1s});
  table.expect("w", at(0s));
  EXPECT_EQ(table.take({"w", 1}, at(1s)), Reception::counted);
  EXPECT_EQ(table.look(at(1s)), Lost{});
  EXPECT_EQ(table.look(at(100s)), Lost{}) << "what was sent meanwhile is still unread";
  EXPECT_EQ(look_through(table, 101s, 105s), Lost{});
  EXPECT_EQ(table.look(at(106s)), (Lost{{"w", 105s}}));
}

TEST(HeartbeatTable, rare_looks_find_a_silent_worker_too) {
  HeartbeatTable table({5s, std::nullopt, 30s});
  table.expect("w", at(0s));
  EXPECT_EQ(table.take({"w", 1}, at(0s)), Reception::counted);
  EXPECT_EQ(table.look(at(1s)), Lost{});
  EXPECT_EQ(table.look(at(31s)), (Lost{{"w", 31s}}));
}

RC_GTEST_PROP(HeartbeatTable, is_lost_if_and_only_if_it_was_silent_for_too_long, ()) {
  const sim::Duration deadline = *rc::gen::inRange(2, 20) * 1s;
  HeartbeatTable table({deadline, std::nullopt, 1s});
  table.expect("w", at(0s));
  static_cast<void>(table.take({"w", 1}, at(0s)));
  std::uint64_t count = 1;
  sim::Duration heard{};
  for (sim::Duration now = 1s; now <= 100s; now += 1s) {
    if (*rc::gen::inRange(0, 6) == 0) {
      static_cast<void>(table.take({"w", ++count}, at(now)));
      heard = now;
    }
    static_cast<void>(table.look(at(now)));
    RC_ASSERT(table.lost(at(now)).empty() == (now - heard <= deadline));
  }
}

}  // namespace
}  // namespace hooke::model
