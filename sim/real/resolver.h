#pragma once
// Names and addresses. The system's resolver blocks, for many seconds when a name server is away,
// so it is asked on a thread of its own while only the calling fiber waits.

#include <sys/socket.h>

#include <optional>
#include <string>
#include <vector>

#include "sim/port/executor.h"
#include "sim/port/outcome.h"
#include "sim/port/time.h"
#include "sim/real/event_loop.h"
#include "sim/real/slow_look_ups.h"

namespace hooke::real {

struct Address {
  sockaddr_storage bytes{};
  socklen_t size = 0;
  /// "10.0.0.7", "fe80::1%eth0".
  [[nodiscard]] std::string text() const;
};

struct Resolved {
  std::vector<Address> addresses;  ///< in the resolver's order
  std::string canonical_name;
};

/// Addresses of `host`, a name or a literal, with `port` in them. Fails with unresolvable and
/// timed_out.
sim::Outcome<Resolved> resolve(EventLoop& loop, sim::Executor& executor, SlowLookUps& slow,
                               const std::string& host, std::uint16_t port,
                               std::optional<sim::MonotonicTime> deadline);

/// Python's socket.getfqdn: the first name of this machine that has a dot, as the reverse look-up
/// of `host_name` gives them; `host_name` itself when there is none. Blocks.
std::string fully_qualified(const std::string& host_name, SlowLookUps& slow);

}  // namespace hooke::real
