#pragma once
// A store without a network in between: the code that includes this is its clients, byte by byte.

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "model/store/tcp_store.h"
#include "model/store/wire.h"
#include "sim/port/network.h"

namespace hooke::lone_server {

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

/// A network on which there is one server.
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
  sim::Outcome<std::unique_ptr<sim::Listener>> listen_local(const std::string&,
                                                            sim::AcceptHandler&) override {
    std::abort();
  }
  sim::Outcome<std::unique_ptr<sim::Stream>> connect_local(
      const std::string&, std::optional<sim::MonotonicTime>) override {
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

inline void send(Connection& connection, sim::Buffer bytes) {
  if (!connection.is_open) return;
  connection.to_server.append(std::move(bytes));
  connection.server->on_data(connection.to_server);
}

/// Sets a key and reads it back.
inline bool serves_as_ever(Network& network) {
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

}  // namespace hooke::lone_server
