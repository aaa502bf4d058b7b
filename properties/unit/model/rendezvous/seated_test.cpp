// What a node tells of its seat: first of all in a round that is complete, and when it leaves it.
#include <gtest/gtest.h>

#include "properties/unit/model/rendezvous/dynamic_handlers.h"

namespace hooke::model {
namespace {

TEST_F(DynamicHandlers, say_that_they_have_a_seat_before_they_wait_for_the_others) {
  serve("c10d");
  RendezvousParameters hardened = parameters(2, 2);
  hardened.variant = Variant::hardened;
  hardened.config["keep_alive_interval"] = "1";
  int seated = 0;
  int met = 0;
  for (const char* name : {"a", "b"}) {
    node(name, hardened, [&](Ports& ports, RendezvousHandler& handler) {
      handler.when_seated([&](std::int64_t round) {
        EXPECT_EQ(round, 0);
        EXPECT_EQ(met, 0);
        ++seated;
        sleep(ports, 2s);  // longer than between two looks of the other one
      });
      handler.next_rendezvous();
      ++met;
      sleep(ports, 5s);
    });
  }
  run(2);
  EXPECT_EQ(seated, 2);
  EXPECT_EQ(met, 2);
}

/// The last one that leaves a round begins the next, and has left the one before.
TEST_F(DynamicHandlers, leave_the_round_in_which_they_had_a_seat) {
  serve("c10d");
  node("a", parameters(1, 1), [&](Ports&, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().round, 0);
    EXPECT_EQ(handler.next_rendezvous().round, 1);
  });
  run(1);
  EXPECT_EQ(world_.events.starting_with("rendezvous.left"),
            std::vector<std::string>{"rendezvous.left 1/100 run_id=job round=0 participants=0"});
}

}  // namespace
}  // namespace hooke::model
