// The order in which a service meets the requests of different machines, where that order is
// searched: a request may be held behind a few of others. Requests of one connection keep theirs.
#include <algorithm>
#include <array>

#include "sim/port/check.h"
#include "sim/world/sim_network.h"
#include "sim/world/sim_process.h"
#include "sim/world/world_events.h"

namespace hooke::world {
namespace {

/// A request is held for that long at most: the others it waits for may never come.
constexpr sim::Duration kHeldAtMost = std::chrono::seconds(1);

/// What a trace keeps of a request: enough to tell what it asks for.
constexpr std::size_t kBytesTold = 128;

/// How `bytes` begin, in hexadecimal digits.
std::string beginning(const sim::Buffer& bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::array<char, kBytesTold> first;
  const std::size_t count = std::min(bytes.size(), first.size());
  bytes.peek(0, count, first.data());
  std::string out(2 * count, '\0');
  for (std::size_t i = 0; i < count; ++i) {
    const auto byte = static_cast<unsigned char>(first[i]);
    out[2 * i] = kDigits[byte >> 4U];
    out[2 * i + 1] = kDigits[byte & 15U];
  }
  return out;
}

}  // namespace

/// A new request of `socket`, or what follows one that is held. True: it is held. Where only one
/// machine can ask there are no others to wait for.
bool SimNetwork::hold(ServiceState& service, Socket& socket, Segment& segment) {
  HOOKE_CHECK(socket.service == &service, "a request is held at the service that it asks");
  if (socket.from_within) return false;
  const bool follows =
      std::any_of(service.held.begin(), service.held.end(),
                  [&](const HeldRequest& held) { return held.from == socket.self; });
  std::uint64_t behind = 0;
  if (!follows && carries_data(segment)) {
    Link& link = links_.between(*socket.peer_machine, *socket.machine);
    const std::uint64_t number = link.requests++;
    const std::string bytes = beginning(segment.bytes);
    const std::array<sim::FieldValue, 4> fields{socket.machine->name, socket.local.port.value,
                                                number, bytes};
    kernel_.trace().emit(kernel_.cause(), kernel_.now(), {}, socket.peer_machine->id, {},
                         events::request_arrived, fields);
    const std::uint64_t drawn =
        kernel_.choices().choose({kHoldPurpose, link.from_key, link.to_key, number}, kHoldBound);
    HOOKE_CHECK(drawn < kHoldBound, "a draw is below its bound");
    behind = drawn <= kHeldBehindMax ? drawn : 0;
  }
  if (behind == 0 && !follows) return false;
  HOOKE_CHECK(follows || behind <= kHeldBehindMax, "a request waits for a few others only");
  service.held.push_back({socket.self, std::move(segment), behind, socket.peer_machine});
  kernel_.at(kernel_.now() + kHeldAtMost, {&SimNetwork::on_held_long, this, socket.self.packed()});
  return true;
}

/// A request of `client` has been served.
void SimNetwork::let_others_go(ServiceState& service, const Machine* client) {
  for (HeldRequest& held : service.held) {
    if (held.client != client && held.behind > 0) --held.behind;
  }
  release_held(service);
}

/// Whatever waits for no agent any more goes into the queue, with all that follows it.
void SimNetwork::release_held(ServiceState& service) {
  for (std::size_t i = 0; i < service.held.size();) {
    const SocketId from = service.held[i].from;
    const auto waits = [&](const HeldRequest& held) {
      return held.from == from && held.behind > 0;
    };
    if (std::any_of(service.held.begin(), service.held.end(), waits)) {
      ++i;
      continue;
    }
    HOOKE_CHECK(service.held[i].behind == 0, "what is let go waits for no other");
    service.queue.push({from, std::move(service.held[i].segment)});
    service.held.erase(service.held.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

void SimNetwork::on_held_long(void* self, std::uint64_t packed) {
  auto& network = *static_cast<SimNetwork*>(self);
  const SocketId from = SocketId::unpacked(packed);
  Socket* const socket = network.find(from);
  if (socket == nullptr || socket->service == nullptr) return;
  ServiceState& service = *socket->service;
  for (HeldRequest& held : service.held) {
    if (held.from == from) held.behind = 0;
  }
  network.release_held(service);
  network.run(service);
}

}  // namespace hooke::world
