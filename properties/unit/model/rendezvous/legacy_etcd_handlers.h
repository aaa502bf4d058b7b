#pragma once
// Handlers of the legacy rendezvous, each on a machine of its own, beside one etcd.

#include <gtest/gtest.h>

#include "model/etcd/v2_server.h"
#include "model/rendezvous/core/handler.h"
#include "model/rendezvous/registry.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {

using namespace std::chrono_literals;
using sim::Ports;
using world::sleep;

inline constexpr sim::PortNumber kLegacyPort{2379};

class LegacyEtcdHandlers : public testing::Test {
 protected:
  void SetUp() override {
    etcd_ = world_.node("s");
    world_.start(etcd_, "server", [this](Ports& ports) {
      EtcdV2Server server(ports, kLegacyPort, modes_);
      world::park_for_ever(ports);
      return 0;
    });
    parameters_.backend = "etcd";
    parameters_.endpoint = "s:2379";
    parameters_.run_id = "job";
    parameters_.max_nodes = 2;
    parameters_.variant = Variant::torch_1_13;  // whose next_rendezvous needs no store of the round
    parameters_.config = {{"last_call_timeout", "5s"}, {"timeout", "60s"}};
  }

  void node(const std::string& name, const std::function<void(Ports&, RendezvousHandler&)>& body) {
    world_.start(world_.node(name), name, [=, this](Ports& ports) {
      sleep(ports, 1s);
      body(ports, *RendezvousRegistry::with_builtins().create(ports, parameters_));
      ++done_;
      return 0;
    });
  }

  /// A node that takes part in the first version, beside another one, and goes after `span`.
  void one_of_two(const std::string& name, sim::Duration span) {
    node(name, [span](Ports& ports, RendezvousHandler& handler) {
      EXPECT_EQ(handler.next_rendezvous().world_size, 2);
      sleep(ports, span);
    });
  }

  std::shared_ptr<EtcdMisbehaviour> modes_ = std::make_shared<EtcdMisbehaviour>();
  std::uint64_t felt_ = 0;
  world::TestWorld world_;
  sim::NodeId etcd_{};
  RendezvousParameters parameters_;
  int done_ = 0;
};

}  // namespace hooke::model
