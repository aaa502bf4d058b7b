// Streams are handles: when their process has died the socket is gone and every call says "closed".
#include "sim/world/sim_stream.h"

#include "sim/port/check.h"
#include "sim/world/sim_process.h"

namespace hooke::world {
namespace {

sim::Failure closed(const char* what) {
  return {sim::Fault::closed, what, false};
}

}  // namespace

sim::Outcome<sim::Done> SimStream::write(sim::Buffer bytes) {
  Socket* const socket = network_.open_socket(socket_);
  if (socket == nullptr) return closed("write");
  return network_.write(*socket, std::move(bytes));
}

sim::Outcome<sim::Buffer> SimStream::read(std::optional<sim::MonotonicTime> deadline) {
  for (bool in_time = true;;) {
    Socket* const socket = network_.open_socket(socket_);
    if (socket == nullptr) return closed("read");
    if (!socket->received.empty()) return std::exchange(socket->received, {});
    if (socket->broken) return sim::Failure{sim::Fault::connection_reset, "read", false};
    if (socket->finished) return sim::Buffer();
    if (!in_time) {  // whatever came by the time the reader runs again counts
      socket->reader.reset();
      return sim::Failure{sim::Fault::timed_out, "read", false};
    }
    HOOKE_CHECK(&owner_ == socket->owner, "a stream is read by its owner");
    const sim::ParkTicket ticket = owner_.ticket();
    socket->reader = ticket;
    in_time = owner_.park(ticket, deadline) == sim::Wake::woken;
  }
}

void SimStream::set_handler(sim::StreamHandler& handler) {
  if (Socket* const socket = network_.open_socket(socket_)) network_.set_handler(*socket, handler);
}

void SimStream::finish_writing() {
  if (Socket* const socket = network_.open_socket(socket_)) network_.finish(*socket);
}

void SimStream::reset() {
  if (Socket* const socket = network_.open_socket(socket_)) network_.reset(*socket);
}

sim::Endpoint SimStream::local() const {
  const Socket* const socket = network_.open_socket(socket_);
  return socket == nullptr ? sim::Endpoint{} : socket->local;
}

bool SimStream::peer_is_of_this_user() const {
  const sim::Endpoint here = local();
  const bool by_file = here.port.value == 0 && !here.host.empty();
  return by_file || (!here.host.empty() && peer().host == here.host);
}

sim::Endpoint SimStream::peer() const {
  const Socket* const socket = network_.open_socket(socket_);
  return socket == nullptr ? sim::Endpoint{} : socket->remote;
}

}  // namespace hooke::world
