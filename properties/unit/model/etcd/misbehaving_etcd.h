#pragma once
// A client beside a server whose modes of misbehaviour a test switches.

#include <gtest/gtest.h>

#include "model/etcd/misbehaviour.h"
#include "model/etcd/v2_client.h"
#include "model/etcd/v2_server.h"
#include "model/etcd/v3_client.h"
#include "model/etcd/v3_server.h"
#include "model/http/http_client.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {

using namespace std::chrono_literals;
using world::in;

class EtcdMisbehaviourTest : public testing::Test {
 protected:
  /// Runs `body` beside a server with the modes in `modes`.
  template <class Server>
  void run(const std::function<void(sim::Ports&)>& body) {
    bool done = false;
    world::TestWorld world;
    world.start(world.node("n"), "test", [&](sim::Ports& ports) {
      modes = std::make_shared<EtcdMisbehaviour>();
      felt = 0;
      const Server server(ports, sim::PortNumber{2379}, modes);
      body(ports);
      done = true;
      return 0;
    });
    world.run_for(std::chrono::hours(1));
    EXPECT_TRUE(done);
  }
  void v2(const std::function<void(sim::Ports&, EtcdV2Client&)>& body) {
    run<EtcdV2Server>([&](sim::Ports& ports) {
      EtcdV2Client client(ports, options(10s));
      body(ports, client);
    });
  }
  void v3(const std::function<void(sim::Ports&, EtcdV3Client&)>& body) {
    run<EtcdV3Server>([&](sim::Ports& ports) {
      EtcdV3Client client(ports, options(10s));
      body(ports, client);
    });
  }
  static EtcdOptions options(sim::Duration read_timeout) {
    return {{{"n", sim::PortNumber{2379}}, std::nullopt}, "", "", read_timeout};
  }
  static void sleep(sim::Ports& ports, sim::Duration span) {
    ports.executor.sleep_until(in(ports, span));
  }
  static std::string value(EtcdV2Client& client, const std::string& path) {
    try {
      return client.get(path).node.value;
    } catch (const EtcdError& error) {
      return "error " + std::to_string(error.code());
    }
  }
  static std::string put(EtcdV2Client& client, const std::string& path, const EtcdV2Write& write) {
    try {
      return client.put(path, write).node.value;
    } catch (const EtcdError& error) {
      return "error " + std::to_string(error.code());
    }
  }
  /// All that a watch hears within a second.
  static std::string watched(sim::Ports& ports, const std::string& request) {
    HttpFeed feed(ports, options(1s).server, {"POST", "/v3/watch", request, "", ""}, in(ports, 1s));
    std::string text;
    const auto deadline = in(ports, 1s);
    try {
      while (const auto piece = feed.next(deadline)) text += piece->bytes();
    } catch (const HttpError& error) {
      EXPECT_EQ(error.fault(), sim::Fault::timed_out);
    }
    return text;
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  }

  std::shared_ptr<EtcdMisbehaviour> modes;
  std::uint64_t felt = 0;
};

}  // namespace hooke::model
