// Organised along the way of a segment: write → send → transmit → on_arrival → arrive → serve or
// deliver → handler or reader. Connection set-up and names are in network_connect.cpp.
#include "sim/world/sim_network.h"

#include <algorithm>

#include "sim/port/check.h"
#include "sim/world/sim_process.h"

namespace hooke::world {
namespace {

using sim::Duration;
using sim::WorldTime;

/// Linux gives up on unacknowledged data after 15 retransmissions, about 924.6 s (tcp_retries2).
constexpr Duration kRetransmissionLimit = std::chrono::milliseconds(924'600);

std::uint64_t pack(SocketId id) {
  return id.slot | (std::uint64_t{id.generation} << 32U);
}
SocketId unpack(std::uint64_t packed) {
  return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32U)};
}

Duration transmission_time(std::size_t bytes, std::int64_t bits_per_s) {
  if (bits_per_s <= 0) return Duration::zero();
  return Duration(static_cast<std::int64_t>(bytes) * 8 * 1'000'000'000 / bits_per_s);
}

const LinkFault* service_fault(const ServiceState& service, FaultKind kind) {
  for (const LinkFault& fault : service.faults) {
    if (fault.kind == kind) return &fault;
  }
  return nullptr;
}

}  // namespace

SimNetwork::SimNetwork(kernel::Kernel& kernel, const NetworkOptions& options, FaultLog& faults,
                       std::vector<std::unique_ptr<Machine>>& machines)
    : kernel_(kernel),
      options_(options),
      faults_(faults),
      machines_(machines),
      links_(kernel.choices(), options) {}

SimNetwork::~SimNetwork() = default;

// ---- sockets
// ---------------------------------------------------------------------------------------

Socket* SimNetwork::find(SocketId id) {
  if (id.slot >= sockets_.size()) return nullptr;
  Socket& socket = *sockets_[id.slot];
  return socket.in_use && socket.self.generation == id.generation ? &socket : nullptr;
}

Socket& SimNetwork::create(SimProcess& owner, Machine& machine, Machine& peer) {
  if (free_sockets_.empty()) {
    free_sockets_.push_back(static_cast<std::uint32_t>(sockets_.size()));
    sockets_.push_back(std::make_unique<Socket>());
  }
  const std::uint32_t slot = free_sockets_.back();
  free_sockets_.pop_back();
  Socket& socket = *sockets_[slot];
  const std::uint32_t generation = socket.self.generation + 1;
  socket = Socket{};
  socket.self = {slot, generation};
  socket.in_use = true;
  socket.owner = &owner;
  socket.machine = &machine;
  socket.peer_machine = &peer;
  socket.peer_boots = peer.boots;
  socket.out = &links_.between(machine.id, peer.id);
  owner.sockets.push_back(socket.self);
  return socket;
}

void SimNetwork::release(Socket& socket) {
  socket.in_use = false;
  socket.received = {};
  socket.arriving.clear();
  socket.held.clear();
  socket.handler = nullptr;
  if (socket.reader) kernel_.wake(*std::exchange(socket.reader, std::nullopt));
  free_sockets_.push_back(socket.self.slot);
}

void SimNetwork::close(SocketId id) {
  Socket* const socket = find(id);
  if (socket == nullptr) return;
  if (!socket->broken) {
    // As the operating system does: closing with unread bytes resets, closing otherwise finishes.
    if (!socket->received.empty()) {
      send(*socket, {{}, Segment::End::reset}, kernel_.now());
    } else if (!socket->writing_done) {
      send(*socket, {{}, Segment::End::finished}, kernel_.now());
    }
  }
  release(*socket);
}

// ---- sending
// ---------------------------------------------------------------------------------------

sim::Outcome<sim::Done> SimNetwork::write(Socket& socket, sim::Buffer bytes) {
  if (socket.broken) return sim::Failure{sim::Fault::connection_reset, "write", false};
  if (socket.writing_done) return sim::Failure{sim::Fault::closed, "write", false};
  if (bytes.empty()) return sim::Done{};
  ++socket.machine->traffic.writes;
  socket.machine->traffic.bytes_sent += bytes.size();
  Segment segment{std::move(bytes), Segment::End::none};
  if (serving_ != nullptr && socket.service == serving_) {
    serving_->answers.emplace_back(socket.self, std::move(segment));
  } else {
    send(socket, std::move(segment), kernel_.now());
  }
  return sim::Done{};
}

void SimNetwork::finish(Socket& socket) {
  if (socket.broken || socket.writing_done) return;
  socket.writing_done = true;
  send(socket, {{}, Segment::End::finished}, kernel_.now());
}

void SimNetwork::reset(Socket& socket) {
  if (socket.broken) return;
  socket.broken = true;
  socket.received = {};
  send(socket, {{}, Segment::End::reset}, kernel_.now());
}

void SimNetwork::send(Socket& from, Segment segment, WorldTime departure) {
  const LinkFault* const blocked = from.out->blocked();
  if (blocked == nullptr && from.held.empty()) {
    transmit(from, std::move(segment), departure);
    return;
  }
  if (blocked != nullptr) faults_.feel(blocked->id);
  if (from.in_use && segment.end != Segment::End::reset) {
    from.held.push(std::move(segment));
  }
}

Duration SimNetwork::path_delay(Link& link) {
  Duration delay = links_.draw_latency(link);
  if (link.faults.empty()) return delay;
  for (const LinkFault& fault : link.faults) {
    if (fault.kind != FaultKind::net_delay) continue;
    delay += fault.span;
    faults_.feel(fault.id);
  }
  return delay;
}

void SimNetwork::transmit(Socket& from, Segment segment, WorldTime departure) {
  Socket* const to = find(from.peer);
  if (to == nullptr) {
    if (segment.end == Segment::End::none) write_to_nobody(from);
    return;
  }
  Link& link = *from.out;
  WorldTime sent = departure;
  if (link.from != link.to) {
    Machine& machine = *from.machine;
    sent = std::max(departure, machine.network_free_at) +
           transmission_time(segment.bytes.size(), options_.bandwidth_bits_per_s);
    machine.network_free_at = sent;
  }
  if (!link.faults.empty()) {
    if (const LinkFault* const slow = link.fault(FaultKind::net_bandwidth)) {
      sent += transmission_time(segment.bytes.size(), slow->amount);
      faults_.feel(slow->id);
    }
    const LinkFault* const loss = link.fault(FaultKind::net_loss);
    if (loss != nullptr && link.loss_draws.below(1'000'000) >=
                               static_cast<std::uint64_t>(1'000'000 - loss->ratio_ppm)) {
      faults_.feel(loss->id);
      send_reset_to(from, path_delay(link));
      segment = {{}, Segment::End::reset};
    }
  }
  const WorldTime arrival = std::max(sent + path_delay(link), to->last_arrival);
  to->last_arrival = arrival;
  to->arriving.push(std::move(segment));
  kernel_.at(arrival, {&SimNetwork::on_arrival, this, pack(to->self)});
}

/// The other end of the connection is gone without this end knowing yet.
void SimNetwork::write_to_nobody(Socket& socket) {
  const Machine& peer = *socket.peer_machine;
  if (!peer.up) {
    send_reset_to(socket, kRetransmissionLimit);  // silence, until the sender gives up
  } else {
    Link& back = links_.between(peer.id, socket.machine->id);
    send_reset_to(socket, path_delay(*socket.out) + path_delay(back));
  }
}

void SimNetwork::send_reset_to(Socket& socket, Duration after) {
  kernel_.at(kernel_.now() + after, {&SimNetwork::on_reset, this, pack(socket.self)});
}

void SimNetwork::on_reset(void* self, std::uint64_t packed) {
  auto& network = *static_cast<SimNetwork*>(self);
  if (Socket* const socket = network.find(unpack(packed))) network.break_connection(*socket);
}

/// This end learns that the connection is broken.
void SimNetwork::break_connection(Socket& socket) {
  if (socket.broken) return;
  socket.broken = true;
  socket.arriving.clear();
  socket.held.clear();
  socket.received = {};
  if (socket.reader) kernel_.wake(*std::exchange(socket.reader, std::nullopt));
  if (socket.handler != nullptr) call_handler(socket);
}

void SimNetwork::path_changed() {
  for (const auto& socket : sockets_) {
    if (!socket->in_use || socket->held.empty() || socket->out->blocked() != nullptr) continue;
    while (!socket->held.empty()) transmit(*socket, socket->held.pop(), kernel_.now());
  }
  for (Attempt* attempt : std::exchange(blocked_attempts_, {})) launch_syn(*attempt);
}

void SimNetwork::reset_paths(const PathSet& paths, FaultId fault) {
  for (const auto& socket : sockets_) {
    if (!socket->in_use || socket->broken) continue;
    if (!Links::covers(paths, socket->machine->id, socket->peer_machine->id)) continue;
    faults_.feel(fault);
    send_reset_to(*socket, Duration::zero());
    if (Socket* const peer = find(socket->peer)) send_reset_to(*peer, Duration::zero());
  }
}

// ---- receiving
// -------------------------------------------------------------------------------------

void SimNetwork::on_arrival(void* self, std::uint64_t packed) {
  auto& network = *static_cast<SimNetwork*>(self);
  Socket* const socket = network.find(unpack(packed));
  if (socket == nullptr || socket->arriving.empty()) return;
  network.arrive(*socket, socket->arriving.pop());
}

void SimNetwork::arrive(Socket& socket, Segment segment) {
  socket.machine->traffic.bytes_received += segment.bytes.size();
  if (segment.end == Segment::End::reset) {
    break_connection(socket);
  } else if (socket.service != nullptr) {
    ServiceState& service = *socket.service;
    service.queue.push({socket.self, std::move(segment)});
    if (!service.armed) run_queue(service);
  } else {
    deliver(socket, std::move(segment));
  }
}

void SimNetwork::deliver(Socket& socket, Segment segment) {
  if (socket.broken) return;
  socket.received.append(std::move(segment.bytes));
  if (segment.end == Segment::End::finished) socket.finished = true;
  if (socket.reader) {
    kernel_.wake(*std::exchange(socket.reader, std::nullopt));
  } else if (socket.handler != nullptr) {
    call_handler(socket);
  }
}

void SimNetwork::call_handler(Socket& socket) {
  if (socket.owner->held()) return;  // process_resumed() comes back to it
  const SocketId id = socket.self;
  sim::StreamHandler& handler = *socket.handler;
  if (!socket.received.empty()) {
    // Taken out while the handler looks at it: the handler may destroy the stream.
    sim::Buffer received = std::exchange(socket.received, {});
    handler.on_data(received);
    Socket* const still = find(id);
    if (still == nullptr) return;
    if (!still->broken) still->received = std::move(received);
  }
  if ((socket.finished || socket.broken) && !socket.end_told) {
    socket.end_told = true;
    handler.on_end();
  }
}

void SimNetwork::set_handler(Socket& socket, sim::StreamHandler& handler) {
  socket.handler = &handler;
  if (!socket.received.empty() || socket.finished || socket.broken) {
    kernel_.at(kernel_.now(), {&SimNetwork::on_handler_turn, this, pack(socket.self)});
  }
}

void SimNetwork::on_handler_turn(void* self, std::uint64_t packed) {
  auto& network = *static_cast<SimNetwork*>(self);
  Socket* const socket = network.find(unpack(packed));
  if (socket == nullptr || socket->handler == nullptr) return;
  network.call_handler(*socket);
}

// ---- serial service
// --------------------------------------------------------------------------------

ServiceState& SimNetwork::service(Machine& machine, std::uint16_t port) {
  std::unique_ptr<ServiceState>& entry = machine.services[port];
  if (entry == nullptr) {
    entry = std::make_unique<ServiceState>();
    entry->network = this;
    entry->model = default_service_;
  }
  return *entry;
}

void SimNetwork::service_changed(ServiceState& service) {
  if (!service.armed) run_queue(service);
}

/// Serves what is waiting for as long as serving takes no time.
void SimNetwork::run_queue(ServiceState& service) {
  while (!service.queue.empty()) {
    if (const LinkFault* const stopped = service_fault(service, FaultKind::service_stop)) {
      faults_.feel(stopped->id);
      return;  // service_changed() goes on
    }
    Socket* const socket = find(service.queue.front().first);
    if (socket != nullptr && socket->owner->held()) return;  // process_resumed() goes on
    if (service.free_at > kernel_.now()) {
      arm(service);
      return;
    }
    Segment segment = service.queue.pop().second;
    if (socket != nullptr && !socket->broken) serve(service, *socket, std::move(segment));
  }
}

void SimNetwork::arm(ServiceState& service) {
  service.armed = true;
  kernel_.at(service.free_at, {&SimNetwork::on_service, &service, 0});
}

void SimNetwork::on_service(void* context, std::uint64_t) {
  auto& service = *static_cast<ServiceState*>(context);
  service.armed = false;
  service.network->run_queue(service);
}

void SimNetwork::serve(ServiceState& service, Socket& socket, Segment segment) {
  const SocketId id = socket.self;
  if (const LinkFault* const error = service_fault(service, FaultKind::service_error)) {
    faults_.feel(error->id);
    send(socket, {{}, Segment::End::reset}, kernel_.now());
    break_connection(socket);
    return;
  }
  if (segment.bytes.empty()) {  // only the end of the stream: costs nothing
    deliver(socket, std::move(segment));
    return;
  }
  std::size_t bytes = segment.bytes.size();
  serving_ = &service;
  deliver(socket, std::move(segment));
  serving_ = nullptr;
  Duration cost = service.model.per_request;
  if (const LinkFault* const slow = service_fault(service, FaultKind::service_slow)) {
    cost += slow->span;
    faults_.feel(slow->id);
  }
  for (const auto& [to, answer] : service.answers) bytes += answer.bytes.size();
  cost += service.model.per_byte * static_cast<std::int64_t>(bytes);
  service.free_at = std::max(service.free_at, kernel_.now()) + cost;
  const auto lost = std::find_if(
      service.faults.begin(), service.faults.end(),
      [](const LinkFault& fault) { return fault.kind == FaultKind::service_reply_lost; });
  if (lost != service.faults.end() && !service.answers.empty()) {
    faults_.feel(lost->id);
    if (--lost->amount <= 0) service.faults.erase(lost);
    service.answers.clear();
    if (Socket* const server_side = find(id)) {
      send(*server_side, {{}, Segment::End::reset}, kernel_.now());
      break_connection(*server_side);
    }
    return;
  }
  for (auto& [to, answer] : service.answers) {
    if (Socket* const target = find(to)) send(*target, std::move(answer), service.free_at);
  }
  service.answers.clear();
}

// ---- deaths
// ----------------------------------------------------------------------------------------

void SimNetwork::process_died(SimProcess& process) {
  for (const SocketId id : std::exchange(process.sockets, {})) close(id);
  for (const auto& listener : listeners_) {
    if (listener->owner == &process) close_listener(*listener);
  }
}

void SimNetwork::process_resumed(SimProcess& process) {
  for (const SocketId id : process.sockets) {
    Socket* const socket = find(id);
    if (socket == nullptr) continue;
    if (socket->handler != nullptr) {
      kernel_.at(kernel_.now(), {&SimNetwork::on_handler_turn, this, pack(id)});
    }
    if (socket->service != nullptr) service_changed(*socket->service);
  }
  for (const auto& listener : listeners_) {
    if (listener->owner != &process) continue;
    for (const SocketId id : std::exchange(listener->waiting, {})) {
      kernel_.at(kernel_.now(), {&SimNetwork::on_accept_turn, this, pack(id)});
    }
  }
}

void SimNetwork::machine_crashed(Machine& machine) {
  for (const auto& socket : sockets_) {
    if (socket->in_use && socket->machine == &machine) release(*socket);
  }
  machine.network_free_at = kernel_.now();
  for (auto& [port, service] : machine.services) {
    service->queue.clear();
    service->free_at = kernel_.now();
  }
}

}  // namespace hooke::world
