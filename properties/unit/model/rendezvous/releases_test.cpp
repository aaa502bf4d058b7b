// What the handlers of older releases do otherwise.
#include <gmock/gmock.h>

#include "properties/unit/model/rendezvous/dynamic_handlers.h"

namespace hooke::model {
namespace {

TEST_F(DynamicHandlers, tell_workers_the_local_address_but_in_2_4) {
  serve("c10d");
  std::vector<std::string> told;
  const std::vector<std::string> names{"a", "b", "c"};
  for (const Variant variant : {Variant::torch_2_4, Variant::torch_2_6, Variant::torch_2_x}) {
    RendezvousParameters own = parameters(1, 1);
    own.run_id += to_string(variant);
    own.local_addr = "localhost";
    own.variant = variant;
    node(names.at(told.size()), own, [&](Ports&, RendezvousHandler& handler) {
      const RendezvousInfo info = handler.next_rendezvous();
      told.push_back(info.bootstrap->master_addr);
      EXPECT_EQ(handler.use_agent_store(), variant != Variant::torch_2_4);
    });
    run(static_cast<int>(told.size()) + 1);
  }
  EXPECT_THAT(told, testing::ElementsAre("a", "localhost", "localhost"));
}

}  // namespace
}  // namespace hooke::model
