// A store and what may come over its port: three clients send whatever they like, in any pieces,
// and vanish when they like. The store must outlive them, and serve the next client as ever.
//
// An input is a sequence of pieces: a byte whose lowest bits choose the client and whose highest
// bit makes it vanish, a byte for the length, and the bytes that it sends.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>

#include "model/store/kinds/tcp_stores.h"
#include "properties/fuzz/lone_server.h"
#include "sim/real/real_process.h"

namespace {

using namespace hooke;               // NOLINT
using namespace hooke::lone_server;  // NOLINT

void play(Network& network, const std::uint8_t* data, std::size_t size) {
  std::shared_ptr<Connection> clients[3];
  while (size >= 2) {
    auto& client = clients[(data[0] & 0x7FU) % 3];
    const bool vanishes = (data[0] & 0x80U) != 0;
    const std::size_t length = std::min<std::size_t>(data[1], size - 2);
    if (client == nullptr || !client->is_open) client = network.connect();
    send(*client, sim::Buffer(std::string(reinterpret_cast<const char*>(data) + 2, length)));
    if (vanishes && client->is_open) client->server->on_end();
    data += 2 + length;
    size -= 2 + length;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  real::RealProcess process({"fuzz"});
  process.run([&](sim::Ports& ports) {
    Network network;
    sim::Ports there{ports.clock, ports.executor, network,     ports.processes,
                     ports.files, ports.random,   ports.trace, ports.fault_point};
    const auto server = model::serve_tcp_store(there, sim::PortNumber{1}, "fuzz");
    play(network, data, size);
    if (!serves_as_ever(network)) std::abort();
    return 0;
  });
  return 0;
}
