// How sockets come and go: with their connection, with their owner, with its machine.
#include "sim/port/check.h"
#include "sim/world/sim_network.h"
#include "sim/world/sim_process.h"

namespace hooke::world {

// ---- sockets ------------------------------------------------------------------------------------

Socket* SimNetwork::open_socket(SocketId id) {
  Socket* const socket = find(id);
  return socket != nullptr && !socket->lingering ? socket : nullptr;
}

Socket& SimNetwork::create(SimProcess& owner, Machine& machine, Machine& peer) {
  if (free_sockets_.empty()) {
    free_sockets_.push_back(static_cast<std::uint32_t>(sockets_.size()));
    sockets_.grow();
  }
  const std::uint32_t slot = free_sockets_.back();
  free_sockets_.pop_back();
  Socket& socket = sockets_[slot];
  HOOKE_CHECK(!owner.dead() && &owner.machine() == &machine && machine.up,
              "a socket belongs to a living process of its machine");
  const std::uint32_t generation = socket.self.generation + 1;
  HOOKE_CHECK(!socket.in_use, "a free socket is in no use");
  socket = Socket{};
  socket.self = {slot, generation};
  socket.in_use = true;
  socket.owner = &owner;
  socket.machine = &machine;
  socket.peer_machine = &peer;
  socket.peer_boots = peer.boots;
  socket.out = &links_.between(machine, peer);
  socket.index_in_owner = owner.sockets.size();
  owner.sockets.push_back(socket.self);
  return socket;
}

/// Takes the socket away from its owner and from a process that waits on it.
void SimNetwork::detach(Socket& socket) {
  if (!socket.lingering) {
    std::vector<SocketId>& siblings = socket.owner->sockets;
    HOOKE_CHECK(siblings.at(socket.index_in_owner) == socket.self,
                "a socket knows its place at its owner");
    siblings[socket.index_in_owner] = siblings.back();
    sockets_[siblings.back().slot].index_in_owner = socket.index_in_owner;
    siblings.pop_back();
  }
  HOOKE_CHECK(socket.listener == nullptr || socket.listener->unaccepted > 0,
              "a connection that was not accepted is counted");
  if (socket.listener != nullptr) --std::exchange(socket.listener, nullptr)->unaccepted;
  socket.handler = nullptr;
  socket.received = {};
  if (socket.reader) kernel_.wake(*std::exchange(socket.reader, std::nullopt));
}

void SimNetwork::release(Socket& socket) {
  HOOKE_CHECK(socket.in_use, "a socket is released once");
  detach(socket);
  socket.in_use = false;
  socket.arriving.clear();
  socket.held.clear();
  free_sockets_.push_back(socket.self.slot);
}

void SimNetwork::close(SocketId id) {
  Socket* const socket = open_socket(id);
  if (socket == nullptr) return;
  const bool unread =
      !socket->received.empty() || socket->unserved > 0 || socket->listener != nullptr;
  if (!socket->broken && unread) {
    send(*socket, {{}, Segment::End::reset});
  } else if (!socket->broken) {
    if (!socket->writing_done) leave(*socket, {{}, Segment::End::finished});
    if (!socket->held.empty() || socket->unsent > 0) {
      HOOKE_CHECK(!socket->broken, "only a connection that holds lingers");
      detach(*socket);
      socket->lingering = true;
      return;
    }
    if (socket->arriving.any(carries_data)) {
      refuse_data(*socket, socket->last_arrival - kernel_.now());
    }
  }
  release(*socket);
}

/// Lets a closed socket go when the last thing it had to say has left.
void SimNetwork::leave_lingering(Socket& socket) {
  HOOKE_CHECK(socket.in_use, "a socket that lingers is in use");
  if (socket.lingering && socket.held.empty() && socket.unsent == 0) release(socket);
}

// ---- deaths -------------------------------------------------------------------------------------

void SimNetwork::process_died(SimProcess& process) {
  HOOKE_CHECK(process.dead(), "a process has ended before its sockets close");
  for (const SocketId id : std::vector<SocketId>(process.sockets)) {
    if (Socket* const socket = find(id)) forget_answers(*socket);
    close(id);
  }
  std::vector<ListenerState*> open;
  for (const auto& [port, listener] : process.machine().listeners) {
    if (listener->owner == &process) open.push_back(listener);
  }
  for (ListenerState* const listener : open) close_listener(*listener);
}

void SimNetwork::process_resumed(SimProcess& process) {
  HOOKE_CHECK(!process.dead() && !process.held(), "a process that goes on lives and is not held");
  for (const SocketId id : process.sockets) {
    const Socket* const socket = find(id);
    if (socket == nullptr) continue;
    if (socket->handler != nullptr) {
      kernel_.at(kernel_.now(), {&SimNetwork::on_handler_turn, this, id.packed()});
    }
  }
  for (const auto& [port, listener] : process.machine().listeners) {
    if (listener->owner != &process) continue;
    for (const SocketId id : std::exchange(listener->waiting, {})) {
      kernel_.at(kernel_.now(), {&SimNetwork::on_accept_turn, this, id.packed()});
    }
  }
  for (const auto& [port, service] : process.machine().services) run(*service);
}

void SimNetwork::machine_crashed(Machine& machine) {
  HOOKE_CHECK(!machine.up, "a machine is down before its sockets vanish");
  for (std::size_t slot = 0; slot < sockets_.size(); ++slot) {
    Socket& socket = sockets_[slot];
    if (!socket.in_use || socket.machine != &machine) continue;
    const bool expects_answer = socket.arriving.any(carries_data) || socket.unserved > 0;
    release(socket);
    Socket* const peer = find(socket.peer);
    if (peer != nullptr && expects_answer && peer->machine != &machine) wait_in_silence(*peer);
  }
  HOOKE_CHECK(free_sockets_.size() <= sockets_.size(), "each socket is free once");
  machine.network_free_at = kernel_.now();
  for (const auto& [port, service] : machine.services) {
    service->queue.clear();
    service->held.clear();
    service->answers.clear();
    if (service->busy_until) kernel_.cancel(*std::exchange(service->busy_until, std::nullopt));
  }
}

void SimNetwork::machine_restarted(Machine& machine) {
  HOOKE_CHECK(machine.up && machine.listeners.empty(),
              "a machine that is up again has no listener yet");
  for (std::size_t slot = 0; slot < sockets_.size(); ++slot) {
    Socket& socket = sockets_[slot];
    if (!socket.in_use || socket.peer_machine != &machine) continue;
    if (!std::exchange(socket.unanswered, false)) continue;
    send_reset_to(socket,
                  path_delay(*socket.out) + path_delay(links_.between(machine, *socket.machine)));
  }
  relaunch_attempts();
}

void SimNetwork::shut_down() {
  for (std::size_t slot = 0; slot < sockets_.size(); ++slot) {
    Socket& socket = sockets_[slot];
    if (socket.in_use) release(socket);
  }
  for (const auto& machine : machines_) {
    for (const auto& [port, listener] : machine->listeners) listener->handler = nullptr;
    machine->listeners.clear();
  }
}

}  // namespace hooke::world
