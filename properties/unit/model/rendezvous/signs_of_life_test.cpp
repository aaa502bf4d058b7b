// Whose silence a node may hold against it.
#include "model/hardened/dynamic/signs_of_life.h"

#include <gtest/gtest.h>

#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Ports;
using world::sleep;

const NodeDesc kSelf{"a", 100, 0};
const NodeDesc kOther{"b", 100, 0};

RendezvousState with_heartbeats(std::int64_t microseconds) {
  const sim::WallTime at{std::chrono::microseconds(microseconds)};
  RendezvousState state;
  for (const NodeDesc& node : {kSelf, kOther}) state.last_heartbeats.push_back({NodeRef(node), at});
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

}  // namespace
}  // namespace hooke::model
