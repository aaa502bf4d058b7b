// What clients tell of a register: which of it is kept, and the words for what no order explains.
#include "properties/linearizability/told_register.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hooke::properties {
namespace {

using Kind = RegisterOperation::Kind;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// Client `number` tells at `second` of what took it the whole second before.
ToldOperation told(std::uint32_t number, Kind kind, std::int64_t expected, std::int64_t value,
                   int second) {
  static std::uint64_t events = 0;
  ToldOperation out;
  out.kind = kind;
  out.expected = expected;
  out.value = value;
  out.at = sim::WorldTime(std::chrono::seconds(second));
  out.began = std::chrono::seconds(1);
  out.node = sim::NodeId{number};
  out.pid = sim::Pid{100};
  out.client = number;
  out.event = sim::EventId{++events};
  return out;
}

ToldRegister::Surroundings quiet() {
  return {{},
          {},
          std::chrono::hours(1),
          [](sim::WorldTime) { return sim::Duration{}; },
          [](const ToldOperation&) { return false; }};
}
std::string name(const ToldOperation& each) {
  return "client " + std::to_string(each.client);
}

TEST(ToldRegister, writes_in_turn_are_explained) {
  ToldRegister told_of;
  told_of.take(told(1, Kind::write, 0, 7, 10));
  told_of.take(told(2, Kind::write, 7, 8, 20));
  told_of.take(told(1, Kind::read, 0, 8, 30));
  EXPECT_THAT(told_of.unexplained(quiet(), 5), IsEmpty());
}

TEST(ToldRegister, a_read_of_a_replaced_value_names_the_writer_that_replaced_it) {
  ToldRegister told_of;
  told_of.take(told(1, Kind::write, 0, 7, 10));
  told_of.take(told(2, Kind::write, 7, 8, 20));
  told_of.take(told(3, Kind::read, 0, 7, 30));
  const auto wrong = told_of.unexplained(quiet(), 5);
  ASSERT_THAT(wrong, SizeIs(1));
  EXPECT_EQ(told_of.witness(wrong[0], name),
            "client 3 found state \"00000007\" (29.000 s to 30.000 s), which client 2 had replaced "
            "(19.000 s to 20.000 s), and which no process had put back");
}

TEST(ToldRegister, two_writes_over_one_value_are_a_lost_write) {
  ToldRegister told_of;
  told_of.take(told(1, Kind::write, 0, 7, 10));
  told_of.take(told(2, Kind::write, 7, 8, 20));
  told_of.take(told(3, Kind::write, 7, 9, 30));
  const auto wrong = told_of.unexplained(quiet(), 5);
  ASSERT_THAT(wrong, SizeIs(1));
  EXPECT_THAT(told_of.witness(wrong[0], name), ::testing::HasSubstr("one of the two writes"));
}

TEST(ToldRegister, a_process_whose_part_died_may_have_written_once_more) {
  const auto history = [](bool dies) {
    ToldRegister told_of;
    told_of.take(told(1, Kind::write, 0, 7, 10));
    if (dies) told_of.part_died([](sim::NodeId node, sim::Pid) { return node.value == 1; });
    told_of.take(told(2, Kind::read, 0, 9, 30));
    return told_of.unexplained(quiet(), 5);
  };
  EXPECT_THAT(history(false), SizeIs(1));
  EXPECT_THAT(history(true), IsEmpty());
}

TEST(ToldRegister, of_many_reads_of_one_value_the_first_and_the_last_are_kept) {
  ToldRegister told_of;
  told_of.take(told(1, Kind::write, 0, 7, 10));
  for (int second = 20; second < 40; ++second) told_of.take(told(2, Kind::read, 0, 7, second));
  told_of.take(told(1, Kind::write, 7, 8, 30));  // the reads behind it are too late
  const auto wrong = told_of.unexplained(quiet(), 50);
  ASSERT_THAT(wrong, SizeIs(1));
  EXPECT_EQ(wrong[0].at, sim::WorldTime(std::chrono::seconds(39)));
}

TEST(ToldRegister, what_no_client_wrote_for_long_may_vanish) {
  ToldRegister told_of;
  told_of.take(told(1, Kind::write, 0, 7, 10));
  told_of.take(told(2, Kind::read, 0, 0, 4000));
  told_of.take(told(1, Kind::write, 0, 8, 4010));
  EXPECT_THAT(told_of.unexplained(quiet(), 5), IsEmpty());
}

}  // namespace
}  // namespace hooke::properties
