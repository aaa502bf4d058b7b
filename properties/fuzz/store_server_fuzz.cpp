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

#include "model/store/tcp_store.h"
#include "model/store/wire.h"
#include "sim/real/real_process.h"

namespace {

using namespace hooke;

/// Both ends of a connection without a network in between.
struct Connection {
  sim::StreamHandler* server = nullptr;
  sim::Buffer to_server;
  sim::Buffer from_server;
  bool is_open = true;
};

/// The server's end.
class Stream final : public sim::Stream {
 public:
  explicit Stream(std::shared_ptr<Connection> connection) : connection_(std::move(connection)) {}
  ~Stream() override { connection_->is_open = false; }
  sim::Outcome<sim::Done> write(sim::Buffer bytes) override {
    connection_->from_server.append(std::move(bytes));
    return sim::Done{};
  }
  sim::Outcome<sim::Buffer> read(std::optional<sim::MonotonicTime>) override { std::abort(); }
  void set_handler(sim::StreamHandler& handler) override { connection_->server = &handler; }
  void finish_writing() override {}
  void reset() override { connection_->is_open = false; }
  [[nodiscard]] sim::Endpoint local() const override { return {"server", sim::PortNumber{1}}; }
  [[nodiscard]] sim::Endpoint peer() const override { return {"client", sim::PortNumber{2}}; }

 private:
  std::shared_ptr<Connection> connection_;
};

class Listener final : public sim::Listener {
 public:
  [[nodiscard]] sim::Endpoint local() const override { return {"server", sim::PortNumber{1}}; }
};

/// A network on which there is one server; the fuzzer is its clients.
class Network final : public sim::Network {
 public:
  std::shared_ptr<Connection> connect() {
    auto connection = std::make_shared<Connection>();
    server_->on_accept(std::make_unique<Stream>(connection));
    return connection;
  }
  sim::Outcome<std::unique_ptr<sim::Listener>> listen(sim::PortNumber,
                                                      sim::AcceptHandler& handler) override {
    server_ = &handler;
    return std::unique_ptr<sim::Listener>(std::make_unique<Listener>());
  }
  sim::Outcome<std::unique_ptr<sim::Stream>> connect(const sim::Endpoint&,
                                                     std::optional<sim::MonotonicTime>) override {
    std::abort();
  }
  sim::Outcome<std::unique_ptr<sim::Stream>> connect_secure(
      const sim::Endpoint&, const sim::TlsOptions&, std::optional<sim::MonotonicTime>) override {
    std::abort();
  }
  sim::Outcome<std::vector<std::string>> resolve(const std::string&) override { std::abort(); }
  sim::Outcome<std::string> canonical_name(const std::string&) override { std::abort(); }
  [[nodiscard]] std::string host_name() const override { return "server"; }
  [[nodiscard]] std::string fully_qualified_name() const override { return "server"; }

 private:
  sim::AcceptHandler* server_ = nullptr;
};

void send(Connection& connection, sim::Buffer bytes) {
  if (!connection.is_open) return;
  connection.to_server.append(std::move(bytes));
  connection.server->on_data(connection.to_server);
}

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

/// Sets a key and reads it back.
bool serves_as_ever(Network& network) {
  using model::Message;
  using model::Query;
  const auto client = network.connect();
  const sim::Value value("still here");
  send(*client, Message(Query::validate).u32(model::kValidateMagic).take());
  send(*client, Message(Query::set).key("hooke").value(value).take());
  send(*client, Message(Query::get).key("hooke").take());
  sim::Buffer expected = Message().value(value).take();
  return client->is_open && client->from_server.take_bytes(client->from_server.size()) ==
                                expected.take_bytes(expected.size());
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
