// Look-ups, equality and the text of a state.
#include "model/rendezvous/state/state.h"

#include <gtest/gtest.h>

#include "properties/unit/model/rendezvous/state_fixtures.h"

namespace hooke::model {
namespace {

const NodeRef kA(NodeDesc{"a", 1, 0});
const NodeRef kB(NodeDesc{"b", 2, 0});
const NodeRef kC(NodeDesc{"c", 3, 0});

RendezvousState three_nodes() {
  RendezvousState state;
  state.participants = {{kA, 4}};
  state.wait_list = {kB};
  state.redundancy_list = {kC};
  state.last_heartbeats = {{kC, wall_us(30)}, {kA, wall_us(10)}, {kB, wall_us(20)}};
  return state;
}

TEST(RendezvousState, finds_nodes_by_value) {
  const RendezvousState state = three_nodes();
  const NodeRef other_a(NodeDesc{"a", 1, 0});
  ASSERT_NE(state.participant(other_a), nullptr);
  EXPECT_EQ(state.participant(other_a)->rank, 4);
  EXPECT_EQ(state.participant(kB), nullptr);
  EXPECT_TRUE(state.waits(NodeRef(NodeDesc{"b", 2, 0})));
  EXPECT_FALSE(state.waits(kA));
  EXPECT_TRUE(state.is_redundant(kC));
  EXPECT_FALSE(state.is_redundant(kB));
  ASSERT_NE(state.heartbeat(other_a), nullptr);
  EXPECT_EQ(state.heartbeat(other_a)->at, wall_us(10));
  EXPECT_EQ(state.heartbeat(NodeRef(NodeDesc{"a", 1, 1})), nullptr);
}

TEST(RendezvousState, knows_its_oldest_heartbeat_until_told_that_they_changed) {
  RendezvousState state;
  EXPECT_EQ(state.oldest_heartbeat(), sim::WallTime::max());
  state = three_nodes();
  state.heartbeats_changed();
  EXPECT_EQ(state.oldest_heartbeat(), wall_us(10));
  state.last_heartbeats.edit(1).at = wall_us(25);
  state.heartbeats_changed();
  EXPECT_EQ(state.oldest_heartbeat(), wall_us(20));
}

TEST(RendezvousState, differs_when_any_field_differs) {
  const RendezvousState state = three_nodes();
  EXPECT_EQ(state, three_nodes());
  const auto differs = [&state](auto change) {
    RendezvousState other = three_nodes();
    change(other);
    return !(other == state) && to_text(other) != to_text(state);
  };
  EXPECT_TRUE(differs([](RendezvousState& s) { s.round = 1; }));
  EXPECT_TRUE(differs([](RendezvousState& s) { s.complete = true; }));
  EXPECT_TRUE(differs([](RendezvousState& s) { s.deadline = wall_us(1); }));
  EXPECT_TRUE(differs([](RendezvousState& s) { s.closed = true; }));
  EXPECT_TRUE(differs([](RendezvousState& s) { s.participants.edit(0).rank = 5; }));
  EXPECT_TRUE(differs([](RendezvousState& s) { s.wait_list.clear(); }));
  EXPECT_TRUE(differs([](RendezvousState& s) { s.redundancy_list.push_back(kA); }));
  EXPECT_TRUE(differs([](RendezvousState& s) { s.last_heartbeats.edit(2).at = wall_us(21); }));
  EXPECT_TRUE(differs(
      [](RendezvousState& s) { std::swap(s.last_heartbeats.edit(0), s.last_heartbeats.edit(1)); }));
  EXPECT_TRUE(differs([](RendezvousState& s) { s.aware_times = false; }));
}

TEST(RendezvousState, is_written_for_people_with_all_its_fields) {
  RendezvousState state = three_nodes();
  state.round = 3;
  state.deadline = wall_us(99);
  EXPECT_EQ(to_text(state),
            "round 3 incomplete open deadline 99us aware\n"
            "participants: a_1_0=4\n"
            "wait_list: b_2_0\n"
            "redundancy_list: c_3_0\n"
            "last_heartbeats: c_3_0=30us a_1_0=10us b_2_0=20us\n");
}

TEST(WallTimes, of_a_state_are_cut_to_whole_microseconds_downwards) {
  EXPECT_EQ(truncate_to_microseconds(sim::WallTime(sim::Duration(1999))), wall_us(1));
  EXPECT_EQ(truncate_to_microseconds(sim::WallTime(sim::Duration(2000))), wall_us(2));
  EXPECT_EQ(truncate_to_microseconds(sim::WallTime(sim::Duration(-1))), wall_us(-1));
}

}  // namespace
}  // namespace hooke::model
