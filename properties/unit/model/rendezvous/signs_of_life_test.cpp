// Whose silence a node may hold against it.
#include "model/hardened/dynamic/signs_of_life.h"

#include <gtest/gtest.h>

#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Ports;
using world::sleep;

const NodeRef kSelf(NodeDesc{"a", 100, 0});
const NodeRef kOther(NodeDesc{"b", 100, 0});

RendezvousState with_heartbeats(std::int64_t microseconds) {
  const sim::WallTime at{std::chrono::microseconds(microseconds)};
  RendezvousState state;
  for (const NodeRef& node : {kSelf, kOther}) state.last_heartbeats.push_back({node, at});
  return state;
}

void at_node(const std::function<void(Ports&, SignsOfLife&)>& body) {
  world::TestWorld world;
  world.start(world.node("a"), "node", [&](Ports& ports) {
    SignsOfLife signs(ports.clock, kSelf, 5s);
    body(ports, signs);
    return 0;
  });
  world.run();
}

TEST(SignsOfLife, silence_counts_from_the_first_look_at_a_heartbeat) {
  at_node([](Ports& ports, SignsOfLife& signs) {
    signs.observe(with_heartbeats(1));
    for (int i = 0; i < 4; ++i) {
      sleep(ports, 4s);
      signs.observe(with_heartbeats(1));
    }
    EXPECT_EQ(signs.silence(kOther), 16s);
    signs.observe(with_heartbeats(2));
    EXPECT_EQ(signs.silence(kOther), 0s);
  });
}

TEST(SignsOfLife, an_agent_that_has_not_looked_holds_the_silence_against_itself_alone) {
  at_node([](Ports& ports, SignsOfLife& signs) {
    signs.observe(with_heartbeats(1));
    sleep(ports, 60s);
    signs.observe(with_heartbeats(1));
    EXPECT_EQ(signs.silence(kOther), 5s) << "no more than between two looks, as a rule";
    EXPECT_EQ(signs.silence(kSelf), 60s);
  });
}

// A state lists its nodes in any order: those that leave and come again go to its end.
TEST(SignsOfLife, each_node_has_its_own_silence_whatever_the_order) {
  at_node([](Ports& ports, SignsOfLife& signs) {
    const NodeRef third(NodeDesc{"c", 100, 0});
    const sim::WallTime old{1us}, recent{2us};
    RendezvousState state;
    state.last_heartbeats = {{kSelf, old}, {kOther, old}, {third, old}};
    signs.observe(state);
    sleep(ports, 4s);
    state.last_heartbeats = {{third, old}, {kSelf, recent}};
    signs.observe(state);
    sleep(ports, 3s);
    EXPECT_EQ(signs.silence(kSelf), 3s);
    EXPECT_EQ(signs.silence(third), 7s);
    EXPECT_EQ(signs.silence(kOther), 0s) << "it is not in the state any more";
    state.last_heartbeats = {{kSelf, recent}, {third, recent}, {kOther, old}};
    signs.observe(state);
    sleep(ports, 1s);
    EXPECT_EQ(signs.silence(kOther), 1s) << "its heartbeat is new to this node";
    EXPECT_EQ(signs.silence(third), 1s);
    EXPECT_EQ(signs.silence(kSelf), 4s);
  });
}

}  // namespace
}  // namespace hooke::model
