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
};

TEST_F(LateClosing, is_made_good_while_no_other_can_have_given_the_node_up) {
  EXPECT_TRUE(closes_after(8s));
}

TEST_F(LateClosing, is_left_to_the_others_once_they_may_have_given_the_node_up) {
  EXPECT_FALSE(closes_after(40s));
}

}  // namespace
}  // namespace hooke::model
