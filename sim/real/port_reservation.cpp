// The socket is bound and never listens: two sockets with SO_REUSEADDR may be bound to one port
// while neither listens (Linux: inet_csk_bind_conflict), and the kernel picks no bound port itself.
#include "sim/real/port_reservation.h"

#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <system_error>

#include "sim/port/check.h"

namespace hooke::real {

PortReservation::PortReservation() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
  const int on = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  socklen_t size = sizeof(address);
  auto* const bytes = reinterpret_cast<sockaddr*>(&address);
  if (!socket_ || setsockopt(socket_.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      bind(socket_.get(), bytes, size) != 0 || getsockname(socket_.get(), bytes, &size) != 0) {
    throw std::system_error(errno, std::generic_category(), "no port can be reserved");
  }
  HOOKE_CHECK(address.sin_port != 0, "a port that is reserved has a number");
  port_ = sim::PortNumber{ntohs(address.sin_port)};
}

}  // namespace hooke::real
