// What a node may still close that its rendezvous has not heard for long.
#include "properties/unit/model/rendezvous/dynamic_handlers.h"

namespace hooke::model {
namespace {

class LateClosing : public DynamicHandlers {
 protected:
  /// Whether a hardened node closes its rendezvous a second before a silence of that length is over.
  bool closes_after(sim::Duration silence) {
    serve("etcd-v2");
    RendezvousParameters own = parameters(1, 1);
    own.variant = Variant::hardened;
    own.config["keep_alive_interval"] = "5s";
    own.config["keep_alive_max_attempt"] = "3";
    own.config["read_timeout"] = "2s";
    bool closes = false;
    node("a", own, [&](Ports& ports, RendezvousHandler& handler) {
      handler.next_rendezvous();
      world_.inject(world::FaultKind::service_error, [&](world::Fault& fault) {
        fault.node = *world_.world->find_node("s");
        fault.port = kPort;
        fault.duration = silence;
      });
      sleep(ports, silence - 1s);
      closes = handler.shutdown();
    });
    run(1);
    return closes;
  }

  /// Whether a node that has left a hardened rendezvous a while ago closes it for the other one,
  /// which may have formed a round of its own meanwhile.
  bool closes_for_another(bool that_has_met_again) {
    serve("etcd-v2");
    RendezvousParameters own = parameters(1, 2);
    own.variant = Variant::hardened;
    own.config["last_call_timeout"] = "1s";
    bool is_closed = that_has_met_again;
    node("a", own, [&](Ports& ports, RendezvousHandler& handler) {
      handler.next_rendezvous();
      sleep(ports, 2s);
      if (that_has_met_again) handler.next_rendezvous();
      sleep(ports, 6s);
      is_closed = handler.is_closed();
    });
    node("b", own, [](Ports& ports, RendezvousHandler& handler) {
      handler.next_rendezvous();
      handler.leave();
      sleep(ports, 6s);
      handler.shutdown();
    });
    run(2);
    return is_closed;
  }
};

TEST_F(LateClosing, is_made_good_while_no_other_can_have_given_the_node_up) {
  EXPECT_TRUE(closes_after(8s));
}

TEST_F(LateClosing, is_left_to_the_others_once_they_may_have_given_the_node_up) {
  EXPECT_FALSE(closes_after(40s));
}

TEST_F(LateClosing, is_of_the_round_that_the_node_was_in) {
  EXPECT_TRUE(closes_for_another(false));
}

TEST_F(LateClosing, is_not_of_a_round_that_others_have_formed_without_the_node) {
  EXPECT_FALSE(closes_for_another(true));
}

}  // namespace
}  // namespace hooke::model
