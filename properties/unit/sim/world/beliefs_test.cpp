// What the world believes of its clocks and queues is checked in every build.
#include <gtest/gtest.h>

#include "sim/world/fifo.h"
#include "sim/world/node_clock.h"

namespace hooke::world {
namespace {

TEST(WorldBeliefs, no_clock_stands_still_by_drifting) {
  NodeClock clock({}, 0);
  EXPECT_DEATH(clock.set_drift(-1'000'000'000, {}), "stands still or goes back");
}

TEST(WorldBeliefs, an_empty_queue_gives_nothing) {
  Fifo<int> queue;
  EXPECT_DEATH(static_cast<void>(queue.pop()), "only a queue with an element");
}

}  // namespace
}  // namespace hooke::world
