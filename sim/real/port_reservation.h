#pragma once
// A server that is told its port before it starts finds the port taken, now and then: between the
// choice and the start the kernel has given the number to another process, or to a connection that
// goes out. A reservation keeps the number until the server has it.

#include "sim/port/ids.h"
#include "sim/real/descriptor.h"

namespace hooke::real {

/// A free port. The kernel gives it to no other process that asks for any port, and to no
/// connection, while the reservation lives; a server that sets SO_REUSEADDR, as hooke's and
/// PyTorch's stores do, can bind and listen on it all the same.
class PortReservation {
 public:
  /// std::system_error when the machine has no port left.
  PortReservation();
  [[nodiscard]] sim::PortNumber port() const { return port_; }

 private:
  Descriptor socket_;
  sim::PortNumber port_{};
};

}  // namespace hooke::real
