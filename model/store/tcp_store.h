#pragma once
// PyTorch's TCPStore, server and client, as real bytes over the network port, in the wire formats
// of 2.x and of 1.13. Sources: torch/csrc/distributed/c10d/TCPStore.cpp, TCPStoreLibUvBackend.cpp,
// socket.cpp, Backoff.hpp.

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "model/store/store.h"
#include "model/store/tcp_store_limits.h"
#include "model/variant/variant.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// Serves a TCPStore to any number of clients, without a fiber: requests are answered as they
/// arrive, with the behaviour of the libuv daemon, and closes a connection that sends anything
/// else. Clients of 1.13 and of 2.x are told apart by their first bytes and share keys and values;
/// a connection that stays silent (1.13 clients keep a second one for watches) is left alone. One
/// difference: an opening split over two segments is understood (S-7). Stops (all
/// connections close, all data is lost) when destroyed.
class TcpStoreServer {
 public:
  struct Holdings {
    std::size_t connections = 0;
    std::uint64_t bytes = 0;  ///< as TcpStoreLimits::held_bytes counts them
    friend bool operator==(const Holdings&, const Holdings&) = default;
  };
  virtual ~TcpStoreServer() = default;
  [[nodiscard]] virtual sim::PortNumber port() const = 0;
  /// Number of keys, `init/` and queues not counted apart.
  [[nodiscard]] virtual std::size_t key_count() const = 0;
  [[nodiscard]] virtual Holdings holdings() const = 0;
  /// Clients that wait for a key or have asked for something within the last `span`: agents do so
  /// at least once per keep-alive interval, machines that are gone never do. Clients whose
  /// connection broke within that span count as one: they are about to come again.
  [[nodiscard]] virtual std::size_t active_clients(sim::Duration span) const = 0;
};

struct TcpStoreOptions {
  sim::Endpoint endpoint;
  /// Bound of connecting and initial timeout().
  sim::Duration timeout = std::chrono::seconds(300);
  /// For how long a reply is waited for that has no limit of its own, by a client that has such a
  /// time-out; PyTorch's waits without limit.
  sim::Duration reply_timeout = std::chrono::seconds(10);
  /// Of any variant: no reply is waited for longer than this. A process group that aborts what
  /// takes too long has such a limit; nullopt: as the variant waits.
  std::optional<sim::Duration> reply_limit{};
  /// Which wire format, and which back-off between attempts: 2.x' jittered exponential one, or the
  /// fixed second of 1.13.
  Variant variant = Variant::torch_2_x;
  /// ADD 1 to `init/` after connecting, as when a world size was given.
  bool count_in = false;
  /// How it waits between two attempts of the first connection, and what it throws ends them: so an
  /// agent can hear a signal meanwhile. Empty: it sleeps, as PyTorch's.
  std::function<void(sim::MonotonicTime)> pause = {};
  /// A caught signal ends the wait for a reply.
  bool interruptible = false;
};

/// Which PyTorch serves the store at `endpoint`: 2.x answers the opening of a 2.x client, 1.13
/// closes the connection. Retries for `timeout` where nothing listens; StoreNetworkError when no
/// client answers.
Variant detect_tcp_store(sim::Ports& ports, const sim::Endpoint& endpoint, sim::Duration timeout);

/// How many clients have counted themselves in (TcpStoreOptions::count_in) at the server of
/// `store`, which must come from connect_tcp_store.
std::int64_t store_clients_counted_in(Store& store);

}  // namespace hooke::model
