#pragma once
// Byte streams between hosts. Deliberately at the level of bytes, so that the very code that speaks
// the TCPStore protocol to real PyTorch also runs simulated. Clients block; servers that merely
// answer register a handler and get called, because a fiber per connection would cost a stack each.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/port/buffer.h"
#include "sim/port/ids.h"
#include "sim/port/outcome.h"
#include "sim/port/time.h"

namespace hooke::sim {

/// Host (name or address literal) and port; of a socket file its path and 0.
struct Endpoint {
  std::string host;
  PortNumber port{};
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

/// What a server does with one accepted connection. Called on the event loop, never concurrently,
/// never inside a fiber: it must not block.
class StreamHandler {
 public:
  virtual ~StreamHandler() = default;
  /// Bytes arrived. `received` holds everything not yet consumed, older bytes first; the handler
  /// takes complete messages from its front and leaves the rest. It is called again, with nothing
  /// new, once a stream that was backed up is so no more.
  virtual void on_data(Buffer& received) = 0;
  /// No more bytes will come. The stream may still be written until destroyed.
  virtual void on_end() = 0;
  /// The connection has broken: an end like any other to a process that does not care why.
  virtual void on_reset() { on_end(); }
};

/// One established connection. Destroying it closes it in an orderly way.
class Stream {
 public:
  virtual ~Stream() = default;
  /// Queues `bytes` for sending; they arrive in order or the connection breaks. Never blocks. Fails
  /// with connection_reset or closed; success does not mean that the peer got anything.
  virtual Outcome<Done> write(Buffer bytes) = 0;
  /// More is queued than a peer that reads would let stand: a process that answers many requests
  /// stops here, lest one that never reads costs memory without bound. Never so where the network
  /// takes all that is written.
  [[nodiscard]] virtual bool backed_up() const { return false; }
  /// Bytes written that this process still holds because the peer has not made room for them. 0
  /// where the network takes all that is written.
  [[nodiscard]] virtual std::size_t unsent() const { return 0; }
  /// The peer is a process of this machine, and of this process' user or of root. False when that
  /// cannot be told. Reads a table of the machine: to be asked once per connection.
  [[nodiscard]] virtual bool peer_is_of_this_user() const { return false; }
  /// Blocks until bytes are there and returns all that have arrived (at least one); an empty buffer
  /// means orderly end of stream. Fails with timed_out (nothing consumed) or connection_reset.
  virtual Outcome<Buffer> read(std::optional<MonotonicTime> deadline) = 0;
  /// Switches to handler mode for good: from now on `handler` gets all bytes, those waiting
  /// included (delivered from the event loop, not from inside this call). `handler` must outlive
  /// the stream.
  virtual void set_handler(StreamHandler& handler) = 0;
  /// No more bytes will be sent (half-close).
  virtual void finish_writing() = 0;
  /// Breaks the connection at once; the peer sees connection_reset.
  virtual void reset() = 0;
  [[nodiscard]] virtual Endpoint local() const = 0;
  [[nodiscard]] virtual Endpoint peer() const = 0;
};

/// Receives connections of a listener; called on the event loop, must not block.
class AcceptHandler {
 public:
  virtual ~AcceptHandler() = default;
  virtual void on_accept(std::unique_ptr<Stream> stream) = 0;
};

/// A bound, listening port or socket file. Destroying it stops listening; connections not yet
/// accepted are reset, accepted ones live on.
class Listener {
 public:
  virtual ~Listener() = default;
  /// The bound endpoint, with the real port when 0 was asked for.
  [[nodiscard]] virtual Endpoint local() const = 0;
};

/// How a client of a protected connection knows its server and makes itself known. Files in PEM.
struct TlsOptions {
  std::string authority_file;  ///< authorities for the server; empty: those that the machine trusts
  std::string certificate_file;  ///< this client's own; empty: it stays unknown
  std::string key_file;          ///< of that certificate; empty: it is in the same file
};

/// What Linux has room for in the address of a socket file (sun_path, less its end).
inline constexpr std::size_t kSocketPathBytesMax = 107;

class Network {
 public:
  virtual ~Network() = default;
  /// Binds all interfaces of this host on `port` (0: an ephemeral one) and serves with `handler`,
  /// which must outlive the listener. Fails with address_in_use.
  virtual Outcome<std::unique_ptr<Listener>> listen(PortNumber port, AcceptHandler& handler) = 0;
  /// Like listen(), but no process from another machine can connect, and processes of this one only
  /// by "localhost" or "127.0.0.1".
  virtual Outcome<std::unique_ptr<Listener>> listen_loopback(PortNumber port,
                                                             AcceptHandler& handler) {
    return listen(port, handler);  // right where there is no other machine
  }
  /// Makes a socket file that this machine's processes of the same user can connect to, and serves
  /// with `handler` likewise. The file stays when the listener goes; one on which nothing listens
  /// any more is replaced. Fails with address_in_use (anything else is there), not_found (no such
  /// directory) or denied (a path longer than kSocketPathBytesMax, too).
  virtual Outcome<std::unique_ptr<Listener>> listen_local(const std::string& path,
                                                          AcceptHandler& handler) = 0;
  /// Connects to a socket file. Fails with not_found, denied, timed_out, and connection_refused
  /// when nothing listens there any more.
  virtual Outcome<std::unique_ptr<Stream>> connect_local(const std::string& path,
                                                         std::optional<MonotonicTime> deadline) = 0;
  /// Resolves `to.host` and connects. Fails with unresolvable, connection_refused, unreachable,
  /// connection_reset or timed_out.
  virtual Outcome<std::unique_ptr<Stream>> connect(const Endpoint& to,
                                                   std::optional<MonotonicTime> deadline) = 0;
  /// Connects like connect() and protects the connection with TLS: the server must prove to be
  /// `to.host`. Also fails with denied: a file that cannot be used, or a peer that is not the
  /// expected one. The stream is for fibers; it has no handler mode.
  virtual Outcome<std::unique_ptr<Stream>> connect_secure(
      const Endpoint& to, const TlsOptions& tls, std::optional<MonotonicTime> deadline) = 0;
  /// All addresses of `host` as text, in resolver order; fails with unresolvable.
  virtual Outcome<std::vector<std::string>> resolve(const std::string& host) = 0;
  /// Canonical name of `host` as the resolver gives it; fails with unresolvable.
  virtual Outcome<std::string> canonical_name(const std::string& host) = 0;
  /// This machine's host name (not necessarily qualified).
  [[nodiscard]] virtual std::string host_name() const = 0;
  /// This machine's fully qualified name (Python's `socket.getfqdn(gethostname())`).
  [[nodiscard]] virtual std::string fully_qualified_name() const = 0;
};

}  // namespace hooke::sim
