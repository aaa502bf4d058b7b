#pragma once
// A world with a TCPStore server on node "s" and clients elsewhere, for tests of the store.

#include <functional>
#include <memory>
#include <string>

#include "model/store/kinds/tcp_stores.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {

inline constexpr sim::PortNumber kStorePort{29400};

class StoreWorld : public world::TestWorld {
 public:
  /// The server starts at `begin`.
  explicit StoreWorld(std::uint64_t seed = 1, sim::Duration begin = {}, TcpStoreLimits limits = {})
      : TestWorld(world::constant_latency(), seed), server_node(node("s")) {
    world->register_program("server", [limits = std::move(limits)](sim::Ports& ports) {
      const auto server = serve_tcp_store(ports, kStorePort, "rendezvous", {}, limits);
      world::park_for_ever(ports);
      return 0;
    });
    if (begin == sim::Duration::zero()) {
      start_server();
    } else {
      at(begin, [this] { start_server(); });
    }
  }
  void start_server() { server_pid = start_again(server_node, "server"); }

  /// Runs `body` as a process of its own on a node of its own, from now on.
  sim::Pid client(std::function<void(sim::Ports&)> body) {
    const std::string name = "c" + std::to_string(clients_++);
    return start(node(name), name, [body = std::move(body)](sim::Ports& ports) {
      body(ports);
      return 0;
    });
  }
  static std::shared_ptr<Store> connect(sim::Ports& ports,
                                        sim::Duration timeout = std::chrono::seconds(60)) {
    return connect_tcp_store(ports, options(timeout));
  }
  static TcpStoreOptions options(sim::Duration timeout = std::chrono::seconds(60)) {
    TcpStoreOptions out;
    out.endpoint = {"s", kStorePort};
    out.timeout = timeout;
    return out;
  }

  sim::NodeId server_node;
  sim::Pid server_pid;

 private:
  int clients_ = 0;
};

}  // namespace hooke::model
