// Names, listeners and the setting up of connections.
#include <algorithm>
#include <charconv>

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

/// The machine whose address_of() is `text`.
std::optional<sim::NodeId> node_of_address(std::string_view text) {
  if (!text.starts_with("10.")) return std::nullopt;
  const char* at = text.data() + 3;
  const char* const end = text.data() + text.size();
  std::uint32_t number = 0;
  for (int part = 0; part < 3; ++part) {
    std::uint32_t value = 0;
    const auto [rest, error] = std::from_chars(at, end, value);
    const bool ends_well = part == 2 ? rest == end : rest != end && *rest == '.';
    if (error != std::errc() || value > 255 || !ends_well) return std::nullopt;
    number = number << 8U | value;
    at = rest + (part == 2 ? 0 : 1);
  }
  if (number == 0) return std::nullopt;
  return sim::NodeId{number - 1};
}

}  // namespace

/// One call of connect, on the stack of the calling fiber. At most one timer refers to it, and it
/// takes that timer along when it goes.
struct SimNetwork::Attempt {
  Attempt(SimNetwork& in, SimProcess& by, Machine& target, Door target_door)
      : network(in),
        number(in.attempts_++),
        client(by),
        to(target),
        door(std::move(target_door)),
        out(in.links_.between(by.machine(), target)),
        back(in.links_.between(target, by.machine())) {}
  ~Attempt() {
    network.kernel_.cancel(timer);
    network.blocked_attempts_.erase(number);
    network.close(client_side);
  }
  Attempt(const Attempt&) = delete;
  Attempt& operator=(const Attempt&) = delete;

  SimNetwork& network;
  std::uint64_t number;
  SimProcess& client;
  Machine& to;
  Door door;
  Link& out;
  Link& back;
  sim::ParkTicket ticket;
  kernel::TimerId timer;
  SocketId client_side;  ///< created, and ours until the client has its answer
  std::optional<sim::Fault> refusal;
  bool answered = false;
};

// ---- names --------------------------------------------------------------------------------------

std::string SimNetwork::address_of(sim::NodeId node) {
  const std::uint32_t number = node.value + 1;
  HOOKE_CHECK(number < 1U << 24U, "a node has an address in 10/8");
  return "10." + std::to_string(number >> 16U) + "." + std::to_string(number >> 8U & 255U) + "." +
         std::to_string(number & 255U);
}

bool SimNetwork::is_loopback(const std::string& host) {
  return host == "localhost" || host == "::1" || host.starts_with("127.");
}

Machine* SimNetwork::find_machine(std::string_view name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : found->second;
}

sim::Outcome<Machine*> SimNetwork::resolve(const Machine& asking, const std::string& host) {
  for (const Unresolvable& entry : unresolvable) {
    if (entry.name == host && (!entry.asking || *entry.asking == asking.id)) {
      faults_.feel(entry.fault);
      return sim::Failure{sim::Fault::unresolvable, host, false};
    }
  }
  HOOKE_CHECK(asking.id.value < machines_.size(), "a machine that asks is one of the world");
  if (is_loopback(host)) return machines_[asking.id.value].get();
  const Alias* latest = nullptr;
  Machine* otherwise = machine_named(host);
  for (const Alias& alias : aliases) {
    if (alias.name != host) continue;
    latest = &alias;
    if (otherwise == nullptr) otherwise = alias.machine;
  }
  if (latest != nullptr) {
    // The first name that would lead nowhere is one of the machine's own: it leads no process astray.
    if (otherwise != latest->machine) {
      faults_.feel(latest->fault);
    } else {
      faults_.use(latest->fault);
    }
    return latest->machine;
  }
  if (otherwise != nullptr) return otherwise;
  return sim::Failure{sim::Fault::unresolvable, host, false};
}

Machine* SimNetwork::machine_named(const std::string& host) const {
  if (Machine* const machine = find_machine(host)) return machine;
  if (host.ends_with(".sim")) {
    if (Machine* const machine = find_machine(host.substr(0, host.size() - 4))) return machine;
  }
  const auto node = node_of_address(host);
  return node && node->value < machines_.size() ? machines_[node->value].get() : nullptr;
}

// ---- listening ----------------------------------------------------------------------------------

sim::Outcome<std::unique_ptr<sim::Listener>> SimNetwork::listen(SimProcess& owner, Door door,
                                                                sim::AcceptHandler& handler) {
  Machine& machine = owner.machine();
  const bool ephemeral = door.number == 0;
  HOOKE_CHECK(!owner.dead() && machine.up, "only a living process listens");
  if (ephemeral) {
    do {
      door.number = machine.next_ephemeral_port++;
      if (machine.next_ephemeral_port == 61'000) machine.next_ephemeral_port = 32'768;
    } while (machine.listeners.contains(door.number) || machine.busy_ports.contains(door.number));
  }
  const auto busy = machine.busy_ports.find(door.number);
  if (busy != machine.busy_ports.end()) faults_.feel(busy->second);
  if (busy != machine.busy_ports.end() || machine.listeners.contains(door.number)) {
    return sim::Failure{sim::Fault::address_in_use,
                        machine.name + ":" + std::to_string(door.number), false};
  }
  HOOKE_CHECK(door.number != 0, "a listener has a door");
  HOOKE_CHECK(door.is_file() != door.path.empty(),
              "a door is a port, or a socket file with a path");
  auto state = std::make_unique<ListenerState>();
  state->owner = &owner;
  state->machine = &machine;
  state->door = std::move(door);
  state->ephemeral = ephemeral;
  state->handler = &handler;
  machine.listeners[state->door.number] = state.get();
  if (!state->door.is_file()) owner.emit_fixed(events::listener_opened, {state->door.number});
  return std::unique_ptr<sim::Listener>(
      std::make_unique<SimListener>(*this, std::move(state), machine.name));
}

void SimNetwork::close_listener(ListenerState& listener) {
  if (listener.handler == nullptr) return;
  Machine& machine = *listener.machine;
  SimProcess& owner = *listener.owner;
  HOOKE_CHECK(machine.listeners.at(listener.door.number) == &listener,
              "a listener that is open is at its door");
  machine.listeners.erase(listener.door.number);
  listener.handler = nullptr;
  for (const SocketId id : std::vector<SocketId>(owner.sockets)) {
    const Socket* const socket = find(id);
    if (socket != nullptr && socket->listener == &listener) close(id);  // resets: never accepted
  }
  HOOKE_CHECK(listener.unaccepted == 0, "a closed listener leaves no connection unaccepted");
  listener.waiting.clear();
  if (listener.ephemeral && !machine.port_thieves.empty()) {
    const FaultId thief = machine.port_thieves.front();
    machine.port_thieves.erase(machine.port_thieves.begin());
    machine.busy_ports[listener.door.number] = thief;
    faults_.feel(thief);
  }
  if (!listener.door.is_file()) owner.emit(events::listener_closed, {listener.door.number});
}

// ---- connecting ---------------------------------------------------------------------------------

sim::Outcome<std::unique_ptr<sim::Stream>> SimNetwork::connect(
    SimProcess& owner, Machine& to, Door door, const std::string& where,
    std::optional<sim::MonotonicTime> deadline) {
  const sim::MonotonicTime limit =
      std::min(deadline.value_or(sim::MonotonicTime::max()), owner.monotonic_now() + kConnectLimit);
  Attempt attempt(*this, owner, to, std::move(door));
  attempt.ticket = owner.ticket();
  launch_syn(attempt);
  while (!attempt.answered) {
    const bool late = owner.park(attempt.ticket, limit) == sim::Wake::timed_out;
    if (late && !attempt.answered) {
      const bool own_limit = !deadline || *deadline > limit;
      return sim::Failure{own_limit ? sim::Fault::unreachable : sim::Fault::timed_out, where,
                          false};
    }
    attempt.ticket = owner.ticket();
  }
  if (attempt.refusal) return sim::Failure{*attempt.refusal, where, false};
  HOOKE_CHECK(attempt.answered, "an attempt ends when it is answered");
  Socket* const socket = find(attempt.client_side);
  if (socket == nullptr || socket->broken) {
    return sim::Failure{sim::Fault::connection_reset, where, false};
  }
  attempt.client_side = {};
  return std::unique_ptr<sim::Stream>(std::make_unique<SimStream>(*this, owner, socket->self));
}

void SimNetwork::launch_syn(Attempt& attempt) {
  HOOKE_CHECK(!attempt.answered, "an attempt that has its answer asks no more");
  for (const Link* link : {&attempt.out, &attempt.back}) {
    if (const LinkFault* const blocked = link->blocked()) {
      faults_.feel(blocked->id);
      blocked_attempts_[attempt.number] = &attempt;  // the SYN is repeated until it gets through
      return;
    }
  }
  attempt.timer =
      kernel_.at(kernel_.now() + path_delay(attempt.out), {&SimNetwork::on_syn, &attempt, 0});
}

void SimNetwork::relaunch_attempts() {
  for (const auto& [number, attempt] : std::exchange(blocked_attempts_, {})) launch_syn(*attempt);
}

void SimNetwork::on_syn(void* context, std::uint64_t) {
  auto& attempt = *static_cast<Attempt*>(context);
  SimNetwork& network = attempt.network;
  HOOKE_CHECK(!attempt.answered && !attempt.refusal, "a SYN arrives before its answer");
  if (!attempt.to.up) {  // silence; the SYN is repeated
    if (attempt.to.crash) network.faults_.feel(*attempt.to.crash);
    network.blocked_attempts_[attempt.number] = &attempt;
    return;
  }
  const auto found = attempt.to.listeners.find(attempt.door.number);
  if (found == attempt.to.listeners.end() ||
      (found->second->door.from_within && !attempt.door.from_within)) {
    attempt.refusal = sim::Fault::connection_refused;
  } else {
    network.meet_listener(attempt, *found->second);
  }
  attempt.timer = network.kernel_.at(network.kernel_.now() + network.path_delay(attempt.back),
                                     {&SimNetwork::on_syn_answer, &attempt, 0});
}

void SimNetwork::meet_listener(Attempt& attempt, ListenerState& listener) {
  HOOKE_CHECK(listener.handler != nullptr && listener.machine == &attempt.to,
              "a listener that is met is open, on the machine that was asked");
  ServiceState& service = this->service(attempt.to, attempt.door.number);
  if (listener.unaccepted >= service.model.backlog) {
    attempt.refusal = sim::Fault::connection_refused;
    return;
  }
  Socket& server = create(*listener.owner, attempt.to, attempt.client.machine());
  Socket& client = create(attempt.client, attempt.client.machine(), attempt.to);
  HOOKE_CHECK(&client != &server && client.self != server.self, "a connection has two ends");
  server.peer = client.self;
  client.peer = server.self;
  server.service = &service;
  server.listener = &listener;
  server.from_within = attempt.door.from_within || attempt.door.is_file();
  ++listener.unaccepted;
  server.local = client.remote = attempt.door.on(attempt.to.name);
  if (!attempt.door.is_file()) {
    server.remote = client.local = {
        attempt.client.machine().name,
        sim::PortNumber{static_cast<std::uint16_t>(40'000 + client.self.slot % 20'000)}};
  }
  attempt.client_side = client.self;
  listener.accept_free_at =
      std::max(listener.accept_free_at, kernel_.now()) + service.model.per_accept;
  kernel_.at(listener.accept_free_at, {&SimNetwork::on_accept_turn, this, server.self.packed()});
}

void SimNetwork::on_syn_answer(void* context, std::uint64_t) {
  auto& attempt = *static_cast<Attempt*>(context);
  HOOKE_CHECK(!attempt.answered, "an attempt is answered once");
  attempt.answered = true;
  attempt.network.kernel_.wake(attempt.ticket);
}

void SimNetwork::on_accept_turn(void* self, std::uint64_t packed) {
  auto& network = *static_cast<SimNetwork*>(self);
  Socket* const socket = network.open_socket(SocketId::unpacked(packed));
  if (socket == nullptr || socket->listener == nullptr) return;
  ListenerState& listener = *socket->listener;
  if (listener.owner->held()) {
    listener.waiting.push_back(socket->self);
    return;
  }
  HOOKE_CHECK(listener.unaccepted > 0, "a connection that is accepted was waiting");
  socket->listener = nullptr;
  --listener.unaccepted;
  if (socket->broken) return network.release(*socket);
  HOOKE_CHECK(listener.handler != nullptr && !listener.owner->dead(), "a living listener accepts");
  listener.owner->touch();
  listener.handler->on_accept(std::make_unique<SimStream>(network, *listener.owner, socket->self));
}

}  // namespace hooke::world
