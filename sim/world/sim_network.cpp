// Organised along the way of a segment: write → leave → send → transmit → on_arrival → arrive →
// (service queue) → deliver → handler or reader. Connections are set up in network_connect.cpp;
// serving is in serial_service.cpp.
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

/// In whole nanoseconds, rounded down once per GiB.
Duration transmission_time(std::size_t bytes, std::int64_t bits_per_s) {
  constexpr std::size_t kGiB = std::size_t{1} << 30U;
  if (bits_per_s <= 0 || bytes == 0) return Duration::zero();
  if (bytes > kGiB) {
    return static_cast<std::int64_t>(bytes / kGiB) * transmission_time(kGiB, bits_per_s) +
           transmission_time(bytes % kGiB, bits_per_s);
  }
  HOOKE_CHECK(bits_per_s > 0, "a network card sends something");
  return Duration(static_cast<std::int64_t>(bytes) * 8 * 1'000'000'000 / bits_per_s);
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

// ---- sending ------------------------------------------------------------------------------------

sim::Outcome<sim::Done> SimNetwork::write(Socket& socket, sim::Buffer bytes) {
  if (socket.broken) return sim::Failure{sim::Fault::connection_reset, "write", false};
  if (socket.writing_done) return sim::Failure{sim::Fault::closed, "write", false};
  if (bytes.empty()) return sim::Done{};
  HOOKE_CHECK(!socket.owner->dead() && socket.machine->up, "only a living process writes");
  if (socket.service == nullptr) socket.owner->count_request(1, 0);
  ++socket.machine->traffic.writes;
  socket.machine->traffic.bytes_sent += bytes.size();
  leave(socket, {std::move(bytes), Segment::End::none});
  return sim::Done{};
}

void SimNetwork::finish(Socket& socket) {
  HOOKE_CHECK(socket.in_use, "a stream that finishes is open");
  if (socket.broken || socket.writing_done) return;
  socket.writing_done = true;
  leave(socket, {{}, Segment::End::finished});
}

void SimNetwork::reset(Socket& socket) {
  HOOKE_CHECK(socket.in_use, "a stream that is reset is open");
  if (socket.broken) return;
  send(socket, {{}, Segment::End::reset});
  socket.broken = true;
  socket.end_told = true;  // its owner knows
  socket.received = {};
  socket.held.clear();
  if (socket.reader) kernel_.wake(*std::exchange(socket.reader, std::nullopt));
}

/// Sends now, or with the other answers of a server that is serving.
void SimNetwork::leave(Socket& from, Segment&& segment) {
  HOOKE_CHECK(!from.broken && !from.lingering, "a broken or closed stream writes no more");
  ServiceState* const service = from.service;
  if (service != nullptr && (service == serving_ || !service->answers.empty())) {
    ++from.unsent;
    service->answers.emplace_back(from.self, std::move(segment));
  } else {
    send(from, std::move(segment));
  }
}

void SimNetwork::send(Socket& from, Segment&& segment) {
  HOOKE_CHECK(from.in_use && from.out != nullptr, "what is sent has a way out");
  const LinkFault* const blocked = from.out->blocked();
  if (blocked == nullptr) return transmit(from, std::move(segment));
  faults_.feel(blocked->id);
  // A reset is said once and not repeated: behind a partition it is lost.
  if (segment.end != Segment::End::reset) from.held.push(std::move(segment));
}

Duration SimNetwork::path_delay(Link& link) {
  Duration delay = links_.draw_latency(link);
  if (link.faults.empty()) return delay;
  for (const LinkFault& fault : link.faults) {
    if (fault.kind != FaultKind::net_delay) continue;
    HOOKE_CHECK(fault.span >= Duration::zero(), "a delay makes nothing faster");
    delay += fault.span;
    faults_.feel(fault.id);
  }
  return delay;
}

void SimNetwork::transmit(Socket& from, Segment&& segment) {
  Socket* const to = find(from.peer);
  if (to == nullptr) return send_to_nobody(from, segment);
  HOOKE_CHECK(to->peer == from.self, "both ends of a connection name each other");
  Link& link = *from.out;
  WorldTime sent = kernel_.now();
  if (link.from != link.to) {
    WorldTime& card_free_at = from.machine->network_free_at;
    sent = std::max(sent, card_free_at) +
           transmission_time(segment.bytes.size(), options_.bandwidth_bits_per_s);
    card_free_at = sent;
  }
  if (!link.faults.empty()) {
    if (const LinkFault* const slow = link.fault(FaultKind::net_bandwidth)) {
      sent = std::max(sent, link.free_at) + transmission_time(segment.bytes.size(), slow->amount);
      link.free_at = sent;
      faults_.feel(slow->id);
    }
    const LinkFault* const loss = link.fault(FaultKind::net_loss);
    if (loss != nullptr && carries_data(segment) && links_.draw_loss(link, loss->ratio_ppm)) {
      faults_.feel(loss->id);
      send_reset_to(from, path_delay(link));
      segment = {{}, Segment::End::reset};
    }
  }
  const WorldTime arrival = std::max(sent + path_delay(link), to->last_arrival);
  HOOKE_CHECK(arrival >= kernel_.now(), "nothing arrives before it is sent");
  to->last_arrival = arrival;
  to->arriving.push(std::move(segment));
  kernel_.at(arrival, {&SimNetwork::on_arrival, this, to->self.packed()});
}

/// The other end of the connection is gone without this end knowing yet.
void SimNetwork::send_to_nobody(Socket& from, const Segment& segment) {
  Machine& peer = *from.peer_machine;
  HOOKE_CHECK(from.peer_boots <= peer.boots,
              "a connection is of this boot of its peer or an earlier one");
  if (segment.end == Segment::End::reset) return;
  if (!peer.up) {
    wait_in_silence(from);
  } else if (carries_data(segment) || from.peer_boots != peer.boots) {
    send_reset_to(from, path_delay(*from.out) + path_delay(links_.between(peer, *from.machine)));
  }
}

/// The peer's machine is down: what was sent is repeated until it is up, or for so long.
void SimNetwork::wait_in_silence(Socket& socket) {
  HOOKE_CHECK(!socket.peer_machine->up, "only a machine that is down is silent");
  if (socket.peer_machine->crash) faults_.feel(*socket.peer_machine->crash);
  if (std::exchange(socket.unanswered, true)) return;
  send_reset_to(socket, kRetransmissionLimit);
}

void SimNetwork::send_reset_to(Socket& socket, Duration after) {
  HOOKE_CHECK(after >= Duration::zero(), "a reset does not arrive in the past");
  kernel_.at(kernel_.now() + after, {&SimNetwork::on_reset, this, socket.self.packed()});
}

/// Answers bytes that reach this end `after` from now, when no process wants them, by a reset.
void SimNetwork::refuse_data(Socket& socket, Duration after) {
  Socket* const peer = find(socket.peer);
  if (peer != nullptr && socket.out->blocked() == nullptr) {
    send_reset_to(*peer, after + path_delay(*socket.out));
  }
}

void SimNetwork::path_changed() {
  for (std::size_t slot = 0; slot < sockets_.size(); ++slot) {
    Socket& socket = sockets_[slot];
    if (!socket.in_use || socket.held.empty() || socket.out->blocked() != nullptr) continue;
    for (Fifo<Segment> held = std::exchange(socket.held, {}); !held.empty();) {
      transmit(socket, held.pop());
    }
    leave_lingering(socket);
  }
  relaunch_attempts();
}

void SimNetwork::reset_paths(const PathSet& paths, FaultId fault) {
  for (std::size_t slot = 0; slot < sockets_.size(); ++slot) {
    Socket& socket = sockets_[slot];
    if (!socket.in_use || socket.broken) continue;
    if (!Links::covers(paths, socket.machine->id, socket.peer_machine->id)) continue;
    faults_.feel(fault);
    send_reset_to(socket, Duration::zero());
    if (Socket* const peer = find(socket.peer)) send_reset_to(*peer, Duration::zero());
  }
}

// ---- receiving ----------------------------------------------------------------------------------

void SimNetwork::on_arrival(void* self, std::uint64_t packed) {
  auto& network = *static_cast<SimNetwork*>(self);
  Socket* const socket = network.find(SocketId::unpacked(packed));
  if (socket == nullptr || socket->arriving.empty()) return;
  network.arrive(*socket, socket->arriving.pop());
}

void SimNetwork::arrive(Socket& socket, Segment&& segment) {
  if (segment.end == Segment::End::reset) return break_connection(socket);
  if (socket.broken || socket.lingering) {
    if (carries_data(segment)) refuse_data(socket, Duration::zero());
    return;
  }
  HOOKE_CHECK(socket.machine->up, "only a machine that is up receives");
  socket.machine->traffic.bytes_received += segment.bytes.size();
  if (socket.service != nullptr) {
    ServiceState& service = *socket.service;
    ++socket.unserved;
    HOOKE_CHECK(service.network == this, "a service is of this network");
    if (options_.holds && hold(service, socket, segment)) return;
    service.queue.push({socket.self, std::move(segment)});
    run(service);
  } else {
    deliver(socket, std::move(segment));
  }
}

void SimNetwork::deliver(Socket& socket, Segment&& segment) {
  HOOKE_CHECK(socket.in_use && !socket.broken, "what is delivered has an open end");
  if (socket.received.empty()) {
    socket.received = std::move(segment.bytes);
  } else {
    socket.received.append(std::move(segment.bytes));
  }
  HOOKE_CHECK(segment.end != Segment::End::reset, "a reset is not delivered");
  if (segment.end == Segment::End::finished) socket.finished = true;
  if (socket.reader) {
    kernel_.wake(*std::exchange(socket.reader, std::nullopt));
  } else if (socket.handler != nullptr) {
    call_handler(socket);
  }
}

void SimNetwork::call_handler(Socket& socket) {
  if (socket.owner->held()) return;  // process_resumed() comes back to it
  HOOKE_CHECK(socket.handler != nullptr && !socket.owner->dead(),
              "a handler that is called belongs to a living process");
  const SocketId id = socket.self;
  socket.owner->touch();
  sim::StreamHandler& handler = *socket.handler;
  if (!socket.received.empty()) {
    // Taken out while the handler looks at it: the handler may destroy the stream.
    sim::Buffer received = std::exchange(socket.received, {});
    handler.on_data(received);
    Socket* const still = open_socket(id);
    if (still == nullptr) return;
    if (!still->broken) still->received = std::move(received);
  }
  if ((socket.finished || socket.broken) && !socket.end_told) {
    socket.end_told = true;
    socket.broken ? handler.on_reset() : handler.on_end();
  }
}

void SimNetwork::set_handler(Socket& socket, sim::StreamHandler& handler) {
  HOOKE_CHECK(!socket.end_told, "a handler comes before the end is told");
  socket.handler = &handler;
  if (!socket.received.empty() || socket.finished || socket.broken) {
    kernel_.at(kernel_.now(), {&SimNetwork::on_handler_turn, this, socket.self.packed()});
  }
}

void SimNetwork::on_handler_turn(void* self, std::uint64_t packed) {
  auto& network = *static_cast<SimNetwork*>(self);
  Socket* const socket = network.open_socket(SocketId::unpacked(packed));
  if (socket == nullptr || socket->handler == nullptr) return;
  network.call_handler(*socket);
}

void SimNetwork::on_reset(void* self, std::uint64_t packed) {
  auto& network = *static_cast<SimNetwork*>(self);
  if (Socket* const socket = network.find(SocketId::unpacked(packed)))
    network.break_connection(*socket);
}

/// This end learns that the connection is broken; whatever was under way is lost.
void SimNetwork::break_connection(Socket& socket) {
  if (socket.lingering) return release(socket);
  if (socket.broken) return;
  socket.broken = true;
  socket.arriving.clear();
  HOOKE_CHECK(socket.in_use, "a connection that breaks was open");
  socket.held.clear();
  socket.received = {};
  if (socket.reader) kernel_.wake(*std::exchange(socket.reader, std::nullopt));
  if (socket.handler != nullptr) call_handler(socket);
}

}  // namespace hooke::world
