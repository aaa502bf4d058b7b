#pragma once
// Two machines and a connection to try faults on.

#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {

/// Two nodes, an echo server on b that notes when what arrives.
struct Pair {
  explicit Pair(WorldOptions options = constant_latency(), std::uint64_t seed = 1)
      : test(std::move(options), seed), server([this](const std::string& text) {
          arrivals.emplace_back(text, test.now());
          return text;
        }) {
    a = test.node("a");
    b = test.node("b");
    server_pid = test.start(b, "server", serve(server));
  }
  /// Paths from a to b, and back unless `one_way`.
  std::function<void(Fault&)> paths(bool one_way = false, Duration duration = {}) {
    return [this, one_way, duration](Fault& fault) {
      fault.paths = {{a}, {b}, one_way};
      fault.duration = duration;
    };
  }
  TestWorld test;
  AnsweringServer server;
  NodeId a;
  NodeId b;
  Pid server_pid;
  std::vector<std::pair<std::string, Duration>> arrivals;
};

}  // namespace hooke::world
