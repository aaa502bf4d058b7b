// The serial server of a port: requests wait in a queue, each keeps the server busy for its time,
// and its answers leave when that time is over.
#include <algorithm>

#include "sim/port/check.h"
#include "sim/world/sim_network.h"
#include "sim/world/sim_process.h"

namespace hooke::world {
namespace {

using sim::Duration;

LinkFault* find_fault(ServiceState& service, FaultKind kind) {
  for (LinkFault& fault : service.faults) {
    if (fault.kind == kind) return &fault;
  }
  return nullptr;
}

}  // namespace

ServiceState& SimNetwork::service(Machine& machine, std::uint32_t door) {
  std::unique_ptr<ServiceState>& entry = machine.services[door];
  if (entry == nullptr) {
    entry = std::make_unique<ServiceState>();
    entry->network = this;
    entry->model = default_service_;
  }
  return *entry;
}

void SimNetwork::set_service(Machine& machine, std::uint32_t door, const ServiceModel& model) {
  ServiceState& entry = service(machine, door);
  HOOKE_CHECK(model.per_request >= Duration::zero() && model.per_byte >= Duration::zero(),
              "a service takes no negative time");
  entry.model = model;
  entry.own_model = true;
}

void SimNetwork::set_default_service(const ServiceModel& model) {
  default_service_ = model;
  for (const auto& machine : machines_) {
    for (auto& [port, entry] : machine->services) {
      if (!entry->own_model) entry->model = model;
    }
  }
}

/// Does what can be done now. Called whenever something that may have hindered it has changed.
void SimNetwork::run(ServiceState& service) {
  HOOKE_CHECK(service.network == this, "a service is of this network");
  if (service.busy_until) return;
  if (!service.answers.empty()) {
    const Socket* const served = find(service.answers.front().first);
    // A process that was stopped while it served answers when it goes on: process_resumed().
    if (served != nullptr && !served->lingering && served->owner->held()) return;
    release_answers(service);
  }
  while (!service.queue.empty() && !service.busy_until) {
    if (const LinkFault* const stopped = find_fault(service, FaultKind::service_stop)) {
      faults_.feel(stopped->id);
      return;
    }
    Socket* const socket = open_socket(service.queue.front().first);
    if (socket != nullptr && socket->owner->held()) return;
    Segment segment = service.queue.pop().second;
    if (socket == nullptr) continue;
    HOOKE_CHECK(socket->unserved > 0 && socket->service == &service,
                "a segment in the queue is counted at its socket");
    --socket->unserved;
    if (!socket->broken) serve(service, *socket, std::move(segment));
  }
}

void SimNetwork::on_served(void* context, std::uint64_t) {
  auto& service = *static_cast<ServiceState*>(context);
  HOOKE_CHECK(service.busy_until.has_value(), "a service whose time is over was busy");
  service.busy_until.reset();
  service.network->run(service);
}

void SimNetwork::serve(ServiceState& service, Socket& socket, Segment&& segment) {
  HOOKE_CHECK(!service.busy_until && service.answers.empty(),
              "a service serves one request at a time");
  const SocketId id = socket.self;
  if (const LinkFault* const error = find_fault(service, FaultKind::service_error)) {
    faults_.feel(error->id);
    send(socket, {{}, Segment::End::reset});
    break_connection(socket);
    return;
  }
  std::size_t bytes = segment.bytes.size();
  const Machine* const client = socket.peer_machine;
  HOOKE_CHECK(serving_ == nullptr, "one service serves at a time");
  serving_ = &service;
  deliver(socket, std::move(segment));
  serving_ = nullptr;
  if (bytes > 0 && !service.held.empty()) let_others_go(service, client);
  Duration cost = Duration::zero();
  if (bytes > 0) {  // the mere end of a stream costs nothing
    for (const auto& [to, answer] : service.answers) bytes += answer.bytes.size();
    HOOKE_CHECK(service.network == this && client != nullptr, "a request comes from a machine");
    cost = service.model.per_request + service.model.per_byte * static_cast<std::int64_t>(bytes);
    if (!service.faults.empty()) {
      if (const LinkFault* const slow = find_fault(service, FaultKind::service_slow)) {
        cost += slow->span;
        faults_.feel(slow->id);
      }
      lose_reply(service, id);
    }
  }
  if (cost > Duration::zero()) {
    HOOKE_CHECK(!service.busy_until, "a service that begins to be busy was not");
    service.served_at = kernel_.now() + cost;
    service.busy_until = kernel_.at(service.served_at, {&SimNetwork::on_served, &service, 0});
  } else {
    release_answers(service);
  }
}

/// service_reply_lost: the request has been served, but in place of its answer goes a reset.
void SimNetwork::lose_reply(ServiceState& service, SocketId to) {
  LinkFault* const lost = find_fault(service, FaultKind::service_reply_lost);
  if (lost == nullptr) return;
  HOOKE_CHECK(lost->amount > 0, "a fault that loses replies has some left to lose");
  const auto answers_it = [&](const auto& answer) { return answer.first == to; };
  const std::size_t answers = std::erase_if(service.answers, answers_it);
  if (answers == 0) return;
  if (Socket* const socket = find(to)) {
    socket->unsent = 1;
    service.answers.emplace_back(to, Segment{{}, Segment::End::reset});
  }
  faults_.feel(lost->id);
  if (--lost->amount <= 0) {
    std::erase_if(service.faults,
                  [id = lost->id](const LinkFault& fault) { return fault.id == id; });
  }
}

/// A process that dies while serving has not written its answers yet.
void SimNetwork::forget_answers(Socket& socket) {
  if (socket.unsent == 0) return;
  std::erase_if(socket.service->answers,
                [&](const auto& answer) { return answer.first == socket.self; });
  HOOKE_CHECK(socket.service != nullptr, "only a served socket has answers");
  socket.unsent = 0;
}

void SimNetwork::release_answers(ServiceState& service) {
  // By index: the end of a stream makes its handler run, and that may write more.
  for (std::size_t i = 0; i < service.answers.size(); ++i) {
    Socket* const socket = find(service.answers[i].first);
    if (socket == nullptr) continue;
    Segment segment = std::move(service.answers[i].second);
    HOOKE_CHECK(socket->unsent > 0, "an answer is counted at its socket");
    --socket->unsent;
    if (socket->broken) continue;
    const bool resets = segment.end == Segment::End::reset;
    send(*socket, std::move(segment));
    if (resets) {
      break_connection(*socket);
    } else {
      leave_lingering(*socket);
    }
  }
  service.answers.clear();
}

}  // namespace hooke::world
