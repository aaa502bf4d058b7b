#pragma once
// A world with a TCPStore server on node "s" and clients elsewhere, for tests of the store.

#include <functional>
#include <string>
#include <vector>

#include "model/store/tcp_store.h"
#include "sim/world/world.h"

namespace hooke::model {

class StoreWorld {
 public:
  explicit StoreWorld(std::uint64_t seed = 1) : choices_(seed) {
    kernel_.begin(choices_, trace_, {}, kernel::Strategy::fifo);
    world_.emplace(kernel_, world::WorldOptions{});
    world_->add_node({"s", {}, 0});
    world_->register_program("server", [](sim::Ports& ports) {
      const auto server = serve_tcp_store(ports, sim::PortNumber{29400}, "rendezvous");
      static_cast<void>(ports.executor.park(ports.executor.ticket()));
      return 0;
    });
    start("s", "server");
  }

  /// Runs `body` as a process of its own on a node of its own, from now on.
  void client(std::function<void(sim::Ports&)> body) {
    const std::string name = "c" + std::to_string(clients_++);
    world_->add_node({name, {}, 0});
    world_->register_program(name, [body = std::move(body)](sim::Ports& ports) {
      body(ports);
      return 0;
    });
    start(name, name);
  }
  static std::shared_ptr<Store> connect(sim::Ports& ports,
                                        sim::Duration timeout = std::chrono::seconds(60)) {
    TcpStoreOptions options;
    options.endpoint = {"s", sim::PortNumber{29400}};
    options.timeout = timeout;
    return connect_tcp_store(ports, options);
  }
  kernel::RunEnd run() { return kernel_.run(); }
  world::World& world() { return *world_; }
  kernel::Kernel& kernel() { return kernel_; }

 private:
  void start(const std::string& node, const std::string& program) {
    sim::SpawnRequest request;
    request.argv = {program};
    static_cast<void>(world_->start(*world_->find_node(node), request));
  }
  kernel::SeededSource choices_;
  kernel::TraceRecorder trace_;
  kernel::Kernel kernel_;
  std::optional<world::World> world_;
  int clients_ = 0;
};

}  // namespace hooke::model
