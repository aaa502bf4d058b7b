// Names, listeners and the setting up of connections.
#include <algorithm>

#include "sim/port/check.h"
#include "sim/world/sim_network.h"
#include "sim/world/sim_process.h"
#include "sim/world/sim_stream.h"

namespace hooke::world {
namespace {

using sim::Duration;
using sim::WorldTime;

/// Linux gives up connecting after six SYN retransmissions, about 127 s (tcp_syn_retries).
constexpr Duration kConnectLimit = std::chrono::seconds(127);

std::uint64_t pack(SocketId id) {
  return id.slot | (std::uint64_t{id.generation} << 32U);
}
SocketId unpack(std::uint64_t packed) {
  return {static_cast<std::uint32_t>(packed), static_cast<std::uint32_t>(packed >> 32U)};
}

}  // namespace

/// One call of connect, on the stack of the calling fiber. At most one timer refers to it, and it
/// takes that timer along when it goes.
struct SimNetwork::Attempt {
  Attempt(SimNetwork& in, SimProcess& by, Machine& target, std::uint16_t target_port)
      : network(in),
        client(by),
        to(target),
        port(target_port),
        out(in.links_.between(by.machine().id, target.id)),
        back(in.links_.between(target.id, by.machine().id)) {}
  ~Attempt() {
    network.kernel_.cancel(timer);
    std::erase(network.blocked_attempts_, this);
    network.close(client_side);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  SimNetwork& network;
  SimProcess& client;
  Machine& to;
  std::uint16_t port;
  Link& out;
  Link& back;
  sim::ParkTicket ticket;
  kernel::TimerId timer;
  SocketId client_side;  ///< created, and ours until the client has its answer
  std::optional<sim::Fault> refusal;
  bool answered = false;
};

// ---- names
// -----------------------------------------------------------------------------------------

std::string SimNetwork::address_of(sim::NodeId node) {
  const std::uint32_t number = node.value + 1;
  return "10." + std::to_string(number >> 16U) + "." + std::to_string(number >> 8U & 255U) + "." +
         std::to_string(number & 255U);
}

sim::Outcome<Machine*> SimNetwork::resolve(const Machine& asking, const std::string& host) {
  for (const Unresolvable& entry : unresolvable) {
    if (entry.name == host && (!entry.asking || *entry.asking == asking.id)) {
      faults_.feel(entry.fault);
      return sim::Failure{sim::Fault::unresolvable, host, false};
    }
  }
  if (host == "localhost" || host == "::1" || host.starts_with("127.")) {
    return machines_[asking.id.value].get();
  }
  const auto alias = aliases.find(host);
  if (alias != aliases.end()) return machines_.at(alias->second.value).get();
  const std::string name = host.ends_with(".sim") ? host.substr(0, host.size() - 4) : host;
  for (const auto& machine : machines_) {
    if (machine->name == name || address_of(machine->id) == host) return machine.get();
  }
  return sim::Failure{sim::Fault::unresolvable, host, false};
}

// ---- listening
// -------------------------------------------------------------------------------------

sim::Outcome<std::unique_ptr<sim::Listener>> SimNetwork::listen(SimProcess& owner,
                                                                sim::PortNumber port,
                                                                sim::AcceptHandler& handler) {
  Machine& machine = owner.machine();
  std::uint16_t number = port.value;
  if (number == 0) {
    do {
      number = machine.next_ephemeral_port++;
      if (machine.next_ephemeral_port == 61'000) machine.next_ephemeral_port = 32'768;
    } while (machine.listeners.contains(number) || machine.busy_ports.contains(number));
  }
  const auto busy = machine.busy_ports.find(number);
  if (busy != machine.busy_ports.end()) faults_.feel(busy->second);
  if (busy != machine.busy_ports.end() || machine.listeners.contains(number)) {
    return sim::Failure{sim::Fault::address_in_use, machine.name + ":" + std::to_string(number),
                        false};
  }
  auto state = std::make_unique<ListenerState>();
  state->owner = &owner;
  state->machine = &machine;
  state->port = number;
  state->ephemeral = port.value == 0;
  state->handler = &handler;
  machine.listeners[number] = state.get();
  listeners_.push_back(std::move(state));
  owner.emit_fixed(events::listener_opened, {std::uint32_t{number}});
  return std::unique_ptr<sim::Listener>(
      std::make_unique<SimListener>(*this, *listeners_.back(), machine.name));
}

void SimNetwork::close_listener(ListenerState& listener) {
  if (listener.handler == nullptr) return;
  Machine& machine = *listener.machine;
  machine.listeners.erase(listener.port);
  listener.handler = nullptr;
  for (const SocketId id : std::exchange(listener.waiting, {})) {
    if (Socket* const socket = find(id)) {
      reset(*socket);
      release(*socket);
    }
  }
  if (listener.ephemeral && !machine.port_thieves.empty()) {
    const FaultId thief = machine.port_thieves.front();
    machine.port_thieves.erase(machine.port_thieves.begin());
    machine.busy_ports[listener.port] = thief;
    faults_.feel(thief);
  }
  listener.owner->emit_fixed(events::listener_closed, {std::uint32_t{listener.port}});
}

// ---- connecting
// ------------------------------------------------------------------------------------

sim::Outcome<std::unique_ptr<sim::Stream>> SimNetwork::connect(
    SimProcess& owner, const sim::Endpoint& to, std::optional<sim::MonotonicTime> deadline) {
  const std::string where = to.host + ":" + std::to_string(to.port.value);
  auto target = resolve(owner.machine(), to.host);
  if (!target) return target.failure();
  const sim::MonotonicTime limit =
      std::min(deadline.value_or(sim::MonotonicTime::max()), owner.monotonic_now() + kConnectLimit);
  Attempt attempt(*this, owner, *target.value(), to.port.value);
  attempt.ticket = owner.ticket();
  launch_syn(attempt);
  while (!attempt.answered) {
    if (owner.park(attempt.ticket, limit) == sim::Wake::timed_out) {
      const bool own_limit = !deadline || *deadline > limit;
      return sim::Failure{own_limit ? sim::Fault::unreachable : sim::Fault::timed_out, where,
                          false};
    }
    attempt.ticket = owner.ticket();
  }
  if (attempt.refusal) return sim::Failure{*attempt.refusal, where, false};
  Socket* const socket = find(attempt.client_side);
  if (socket == nullptr || socket->broken)
    return sim::Failure{sim::Fault::connection_reset, where, false};
  attempt.client_side = {};
  return std::unique_ptr<sim::Stream>(std::make_unique<SimStream>(*this, owner, socket->self));
}

void SimNetwork::launch_syn(Attempt& attempt) {
  for (const Link* link : {&attempt.out, &attempt.back}) {
    if (const LinkFault* const blocked = link->blocked()) {
      faults_.feel(blocked->id);
      blocked_attempts_.push_back(&attempt);  // the SYN is repeated until it gets through
      return;
    }
  }
  attempt.timer =
      kernel_.at(kernel_.now() + path_delay(attempt.out), {&SimNetwork::on_syn, &attempt, 0});
}

void SimNetwork::on_syn(void* context, std::uint64_t) {
  auto& attempt = *static_cast<Attempt*>(context);
  SimNetwork& network = attempt.network;
  if (!attempt.to.up) return;  // silence
  const auto found = attempt.to.listeners.find(attempt.port);
  if (found == attempt.to.listeners.end()) {
    attempt.refusal = sim::Fault::connection_refused;
  } else {
    ListenerState& listener = *found->second;
    ServiceState& service = network.service(attempt.to, attempt.port);
    const WorldTime now = network.kernel_.now();
    const Duration waiting = std::max(listener.accept_free_at - now, Duration::zero());
    const bool full =
        listener.waiting.size() >= service.model.backlog ||
        (service.model.per_accept > Duration::zero() &&
         static_cast<std::size_t>(waiting / service.model.per_accept) >= service.model.backlog);
    if (full) {
      attempt.refusal = sim::Fault::connection_refused;
    } else {
      Socket& server = network.create(*listener.owner, attempt.to, attempt.client.machine());
      Socket& client = network.create(attempt.client, attempt.client.machine(), attempt.to);
      server.peer = client.self;
      client.peer = server.self;
      server.service = &service;
      server.listening_port = attempt.port;
      server.local = client.remote = {attempt.to.name, sim::PortNumber{attempt.port}};
      server.remote = client.local = {
          attempt.client.machine().name,
          sim::PortNumber{static_cast<std::uint16_t>(40'000 + client.self.slot % 20'000)}};
      attempt.client_side = client.self;
      listener.accept_free_at = std::max(listener.accept_free_at, now) + service.model.per_accept;
      network.kernel_.at(listener.accept_free_at,
                         {&SimNetwork::on_accept_turn, &network, pack(server.self)});
    }
  }
  attempt.timer = network.kernel_.at(network.kernel_.now() + network.path_delay(attempt.back),
                                     {&SimNetwork::on_syn_answer, &attempt, 0});
}

void SimNetwork::on_syn_answer(void* context, std::uint64_t) {
  auto& attempt = *static_cast<Attempt*>(context);
  attempt.answered = true;
  attempt.network.kernel_.wake(attempt.ticket);
}

void SimNetwork::on_accept_turn(void* self, std::uint64_t packed) {
  auto& network = *static_cast<SimNetwork*>(self);
  Socket* const socket = network.find(unpack(packed));
  if (socket == nullptr || socket->broken || socket->listening_port == 0) return;
  const auto found = socket->machine->listeners.find(socket->listening_port);
  if (found == socket->machine->listeners.end()) {
    network.reset(*socket);
    network.release(*socket);
    return;
  }
  ListenerState& listener = *found->second;
  if (listener.owner->held()) {
    listener.waiting.push_back(socket->self);
    return;
  }
  socket->listening_port = 0;
  listener.handler->on_accept(std::make_unique<SimStream>(network, *listener.owner, socket->self));
}

}  // namespace hooke::world
