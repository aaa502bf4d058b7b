#pragma once
// TLS over a stream of the network, by OpenSSL.

#include <memory>
#include <optional>
#include <string>

#include "sim/port/network.h"

namespace hooke::real {

/// Makes the client's side of the handshake over `plain` and checks that the peer is `host` (a name
/// or an address). Fails with denied, naming what is wrong with a file or with the peer, or as the
/// connection below fails.
sim::Outcome<std::unique_ptr<sim::Stream>> protect(std::unique_ptr<sim::Stream> plain,
                                                   const std::string& host,
                                                   const sim::TlsOptions& tls,
                                                   std::optional<sim::MonotonicTime> deadline);

}  // namespace hooke::real
