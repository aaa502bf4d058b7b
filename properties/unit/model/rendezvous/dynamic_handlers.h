#pragma once
// Handlers of one dynamic rendezvous, each on a machine of its own, beside one store.

#include <gtest/gtest.h>

#include "model/etcd/v2_server.h"
#include "model/rendezvous/registry.h"
#include "model/store/kinds/tcp_stores.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {

using namespace std::chrono_literals;
using sim::Ports;
using world::sleep;

inline constexpr sim::PortNumber kPort{29400};

class DynamicHandlers : public testing::Test {
 protected:
  /// A store on node "s", of the backend that all nodes use.
  void serve(const std::string& backend) {
    backend_ = backend;
    store_node_ = world_.node("s");
    server_ = world_.start(store_node_, "server", [backend](Ports& ports) {
      std::unique_ptr<TcpStoreServer> store;
      std::unique_ptr<EtcdV2Server> etcd;
      if (backend == "c10d") {
        store = serve_tcp_store(ports, kPort, "rendezvous");
      } else {
        etcd = std::make_unique<EtcdV2Server>(ports, kPort);
      }
      world::park_for_ever(ports);
      return 0;
    });
  }

  RendezvousParameters parameters(std::int64_t min_nodes, std::int64_t max_nodes) {
    RendezvousParameters out;
    out.backend = backend_;
    out.endpoint = "s:29400";
    out.run_id = "job";
    out.min_nodes = min_nodes;
    out.max_nodes = max_nodes;
    out.config = {{"is_host", "0"}, {"join_timeout", "60s"}, {"last_call_timeout", "5s"}};
    return out;
  }

  void node(const std::string& name, const RendezvousParameters& parameters,
            const std::function<void(Ports&, RendezvousHandler&)>& body) {
    world_.start(world_.node(name), name, [=, this](Ports& ports) {
      sleep(ports, 1s);
      body(ports, *RendezvousRegistry::with_builtins().create(ports, parameters));
      ++done_;
      return 0;
    });
  }

  void run(int nodes) {
    world_.run_for(20min);
    EXPECT_EQ(done_, nodes);
  }

  world::TestWorld world_;
  std::string backend_;
  sim::NodeId store_node_{};
  sim::Pid server_{};
  int done_ = 0;
};

}  // namespace hooke::model
