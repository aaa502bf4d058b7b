#pragma once
// What a process holds of a connection or a listener. Internal to the world.

#include "sim/port/network.h"
#include "sim/world/sim_network.h"

namespace hooke::world {

class SimStream final : public sim::Stream {
 public:
  SimStream(SimNetwork& network, SimProcess& owner, SocketId socket)
      : network_(network), owner_(owner), socket_(socket) {}
  ~SimStream() override { network_.close(socket_); }

  sim::Outcome<sim::Done> write(sim::Buffer bytes) override;
  /// Simulated machines have one user each.
  [[nodiscard]] bool peer_is_of_this_user() const override;
  sim::Outcome<sim::Buffer> read(std::optional<sim::MonotonicTime> deadline) override;
  void set_handler(sim::StreamHandler& handler) override;
  void finish_writing() override;
  void reset() override;
  [[nodiscard]] sim::Endpoint local() const override;
  [[nodiscard]] sim::Endpoint peer() const override;

 private:
  SimNetwork& network_;
  SimProcess& owner_;
  SocketId socket_;
};

class SimListener final : public sim::Listener {
 public:
  SimListener(SimNetwork& network, std::unique_ptr<ListenerState> state, const std::string& host)
      : network_(network), state_(std::move(state)), local_(state_->door.on(host)) {}
  ~SimListener() override { network_.close_listener(*state_); }
  [[nodiscard]] sim::Endpoint local() const override { return local_; }

 private:
  SimNetwork& network_;
  std::unique_ptr<ListenerState> state_;
  sim::Endpoint local_;
};

}  // namespace hooke::world
