// A store over a long time: clients come, work, wait for what never comes, and go in any of these.
#include <gtest/gtest.h>

#include "model/store/kinds/tcp_stores.h"
#include "properties/unit/model/store/raw_store.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr int kMachines = 20;
constexpr int kClientsOfEach = 50;
constexpr sim::Duration kDay = 24h;
/// Between two sessions of a client, and within one.
constexpr sim::Duration kPauseMax = 20min;

void session(sim::Ports& ports, const std::string& name) {
  const auto chance = [&](std::uint64_t of) { return ports.random.below("session", of) == 0; };
  RawClient client(ports);
  client.send(set("/" + name, std::string(ports.random.below("session", 2000), 'v')) +
              get("/" + name) + add("/everybody", 1));
  if (chance(3)) client.send(list_of(Query::wait, {"/none-" + name, "/" + name}));
  if (chance(5)) client.send(set("/half", "request").substr(0, 12));
  if (chance(4)) client.send(std::string(3, '\xff'));  // ends the connection from the other side
  ports.executor.sleep_until(world::in(
      ports, sim::Duration(ports.random.below("session", static_cast<std::uint64_t>(1min / 1ns)))));
  if (chance(2)) client.stream().reset();
}

/// As many clients as there are, each with one session after the other, until the day is over.
int machine(sim::Ports& ports, const std::string& machine_name) {
  std::vector<sim::FiberId> clients;
  for (int i = 0; i < kClientsOfEach; ++i) {
    const std::string name = machine_name + "-" + std::to_string(i);
    clients.push_back(ports.executor.spawn(name, [&ports, name] {
      const sim::MonotonicTime end = world::in(ports, kDay - 30min);
      while (ports.clock.monotonic_now() < end) {
        ports.executor.sleep_until(
            world::in(ports, sim::Duration(ports.random.below(
                                 "session", static_cast<std::uint64_t>(kPauseMax / 1ns)))));
        session(ports, name);
      }
    }));
  }
  for (const sim::FiberId client : clients) ports.executor.join(client);
  return 0;
}

/// What is kept of clients that are gone is their keys.
std::uint64_t bytes_of_keys(sim::Ports& ports) {
  std::uint64_t bytes = 0;
  const auto store = StoreWorld::connect(ports);
  std::vector<std::string> keys{"everybody"};
  for (int i = 0; i < kMachines * kClientsOfEach; ++i) {
    keys.push_back("m" + std::to_string(i / kClientsOfEach) + "-" +
                   std::to_string(i % kClientsOfEach));
  }
  for (const std::string& key : keys) {
    bytes += kStoreEntryBytes + 1 + key.size() + store->get(key).size();
  }
  return bytes;
}

TEST(TcpStoreDay, of_1000_clients_that_come_and_go_leaves_their_keys_alone) {
  world::TestWorld world(world::constant_latency(), 7);
  std::size_t most = 0;
  TcpStoreServer::Holdings left;
  world.start(world.node("s"), "server", [&](sim::Ports& ports) {
    const auto server = serve_tcp_store(ports, kStorePort, "rendezvous");
    for (const sim::MonotonicTime end = world::in(ports, kDay + 1h);
         ports.clock.monotonic_now() < end;) {
      ports.executor.sleep_until(world::in(ports, 10min));
      most = std::max(most, server->holdings().connections);
    }
    left = server->holdings();
    const sim::FiberId asks =
        ports.executor.spawn("asks", [&] { EXPECT_EQ(bytes_of_keys(ports), left.bytes); });
    ports.executor.join(asks);
    EXPECT_EQ(server->key_count(), kMachines * kClientsOfEach + 1U);
    return 0;
  });
  for (int i = 0; i < kMachines; ++i) {
    const std::string name = "m" + std::to_string(i);
    world.start(world.node(name), name, [name](sim::Ports& ports) { return machine(ports, name); });
  }
  world.run();
  EXPECT_GT(most, 10U);
  EXPECT_EQ(left.connections, 0U);
}

}  // namespace
}  // namespace hooke::model
