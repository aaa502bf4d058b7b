// A node that comes to take the seats of a round whose members are gone.
#include <gmock/gmock.h>

#include "properties/unit/model/rendezvous/dynamic_handlers.h"

namespace hooke::model {
namespace {

class AbandonedRounds : public DynamicHandlers, public testing::WithParamInterface<bool> {};

TEST_P(AbandonedRounds, are_asked_how_they_ended_by_agents_that_come_to_take_their_seats) {
  const bool was_the_end = GetParam();
  serve("c10d");
  RendezvousParameters hardened = parameters(2, 2);
  hardened.variant = Variant::hardened;
  hardened.config["keep_alive_interval"] = "1";
  for (const char* name : {"a", "b"}) {
    node(name, hardened, [&](Ports& ports, RendezvousHandler& handler) {
      handler.when_abandoned([](std::int64_t, Store&) {
        ADD_FAILURE() << "this node has waited beside no round";
        return false;
      });
      handler.next_rendezvous().store->set("last words", Value("done"));
      sleep(ports, 20s);
    });
  }
  int asked = 0;
  node("c", hardened, [&](Ports& ports, RendezvousHandler& handler) {
    handler.when_abandoned([&](std::int64_t round, Store& store) {
      ++asked;
      EXPECT_EQ(round, 0);
      EXPECT_TRUE(store.check({"last words"}));
      return was_the_end;
    });
    sleep(ports, 10s);
    if (was_the_end) {
      EXPECT_THROW(handler.next_rendezvous(), RendezvousGracefulExitError);
    } else {
      EXPECT_THROW(handler.next_rendezvous(), RendezvousTimeoutError);
    }
    EXPECT_EQ(handler.is_closed(), was_the_end);
  });
  run(3);
  EXPECT_EQ(asked, 1);
}

class AbandonedRound : public DynamicHandlers {};

/// That the others cannot be told in time is no error of the agent that has found out.
TEST_F(AbandonedRound, that_cannot_be_closed_in_time_is_left_all_the_same) {
  serve("c10d");
  RendezvousParameters hardened = parameters(2, 2);
  hardened.variant = Variant::hardened;
  hardened.config["keep_alive_interval"] = "1";
  hardened.config["close_timeout"] = "1";
  for (const char* name : {"a", "b"}) {
    node(name, hardened, [&](Ports& ports, RendezvousHandler& handler) {
      handler.next_rendezvous();
      sleep(ports, 20s);
    });
  }
  node("c", hardened, [&](Ports& ports, RendezvousHandler& handler) {
    handler.when_abandoned([&](std::int64_t, Store&) {
      world_.inject(world::FaultKind::service_slow, [this](world::Fault& fault) {
        fault.node = store_node_;
        fault.port = kPort;
        fault.span = 1500ms;
      });
      sleep(ports, 2s);  // what this node knows of the state is old then
      return true;
    });
    sleep(ports, 10s);
    EXPECT_THROW(handler.next_rendezvous(), RendezvousGracefulExitError);
  });
  run(3);
}

INSTANTIATE_TEST_SUITE_P(Endings, AbandonedRounds, testing::Bool());

}  // namespace
}  // namespace hooke::model
