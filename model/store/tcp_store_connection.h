#pragma once
// One connection of a TCPStore client: PyTorch's two nested loops that make it, and messages whole
// or not at all. A connection that breaks in the middle of a call is gone with the call: an answer
// that comes then is not for the next one who asks.

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "model/store/backoff.h"
#include "model/store/tcp_store.h"
#include "model/store/wire.h"

namespace hooke::model {

/// What a 2.x client says first; false when the connection is broken.
bool send_opening(sim::Stream& stream, std::uint32_t nonce);
/// "host:port".
std::string describe(const sim::Endpoint& endpoint);

class TcpStoreConnection {
 public:
  /// Connects. StoreNetworkError when that takes longer than the options' time-out.
  TcpStoreConnection(sim::Ports& ports, TcpStoreOptions options);

  /// Hardened ones connect anew after a connection has broken.
  void reconnect_if_lost();
  /// Sends a request that reads, or one that changes the store: if the reply to that is lost,
  /// its outcome is unknown. StoreNetworkError when the connection is broken.
  void send(Message& message);
  void send(Message&& message) { send(message); }
  void send_change(Message& message);
  /// Blocks until `count` bytes have come. False at the deadline; without one for ever (S-23), or
  /// until the limit of replies or a hardened client's time-out breaks the connection.
  bool receive(std::size_t count, std::optional<sim::MonotonicTime> deadline);
  template <class T>
  T number() {
    receive(sizeof(T), std::nullopt);
    return take_number<T>(received_);
  }
  Value value();
  /// Reads a one-byte answer; StoreError when it is another one than `expected`.
  void expect(std::uint8_t expected);

  [[nodiscard]] bool of_1_13() const { return options_.variant == Variant::torch_1_13; }
  [[nodiscard]] bool hardened() const { return options_.variant == Variant::hardened; }
  [[nodiscard]] Message request(Query query) const { return Message(query, options_.variant); }
  [[nodiscard]] const TcpStoreOptions& options() const { return options_; }
  [[nodiscard]] sim::Duration timeout() const { return timeout_; }
  void set_timeout(sim::Duration timeout) { timeout_ = timeout; }

 private:
  void connect(sim::Duration timeout);
  void pause_until(sim::MonotonicTime until);
  std::unique_ptr<sim::Stream> connect_socket(Backoff& backoff, sim::Duration timeout);
  /// Opens the protocol on a fresh stream; false when the connection broke while doing so.
  bool open(sim::Stream& stream, sim::MonotonicTime deadline);
  [[noreturn]] void broken(const std::string& why);
  /// Until when a reply is waited for that no caller has set a limit to.
  [[nodiscard]] std::optional<sim::MonotonicTime> request_deadline() const {
    std::optional<sim::Duration> limit = options_.reply_limit;
    if (hardened()) {
      limit = std::min({timeout_, options_.reply_timeout, limit.value_or(options_.reply_timeout)});
    }
    if (!limit) return std::nullopt;
    return ports_.clock.monotonic_now() + *limit;
  }

  sim::Ports& ports_;
  TcpStoreOptions options_;
  sim::Duration timeout_;
  /// Null once broken; only hardened ones connect anew. A thread that dies in the middle of a call
  /// takes it along.
  std::unique_ptr<sim::Stream> stream_;
  sim::Buffer received_;
  bool in_doubt_ = false;  ///< a change has been sent and its reply has not come
};

}  // namespace hooke::model
