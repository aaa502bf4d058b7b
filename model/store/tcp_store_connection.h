#pragma once
// One connection of a TCPStore client: PyTorch's two nested loops that make it, and messages whole
// or not at all. A connection that breaks in the middle of a call is gone with the call: an answer
// that comes then is not for the next call. The protected steps are where a mend does otherwise.

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
  /// Not connected yet.
  TcpStoreConnection(sim::Ports& ports, TcpStoreOptions options);
  virtual ~TcpStoreConnection() = default;
  TcpStoreConnection(const TcpStoreConnection&) = delete;
  TcpStoreConnection& operator=(const TcpStoreConnection&) = delete;

  /// The first connection. StoreNetworkError when it takes longer than the options' time-out.
  void open_first();
  /// Before each request. PyTorch's connection stays broken once it is.
  virtual void reconnect_if_lost() {}
  /// Sends a request that reads, or one that changes the store: if the reply to that is lost,
  /// its outcome is unknown. StoreNetworkError when the connection is broken.
  void send(Message& message);
  void send(Message&& message) { send(message); }
  void send_change(Message& message);
  /// Blocks until `count` bytes have come. False at the deadline; without one for ever (S-23), or
  /// until the limit of replies breaks the connection.
  bool receive(std::size_t count, std::optional<sim::MonotonicTime> deadline);
  template <class T>
  T number() {
    receive(sizeof(T), std::nullopt);
    return take_number<T>(received_);
  }
  Value value();
  /// Reads a one-byte answer; StoreError when it is another one than `expected`.
  void expect(std::uint8_t expected);

  [[nodiscard]] bool of_1_13() const { return !checks_store_connections(options_.variant); }
  [[nodiscard]] Message request(Query query) const { return Message(query, options_.variant); }
  [[nodiscard]] const TcpStoreOptions& options() const { return options_; }
  [[nodiscard]] sim::Duration timeout() const { return timeout_; }
  void set_timeout(sim::Duration timeout) { timeout_ = timeout; }

 protected:
  void connect(sim::Duration timeout);
  [[nodiscard]] bool is_lost() const { return stream_ == nullptr; }
  [[nodiscard]] sim::MonotonicTime now() const { return ports_.clock.monotonic_now(); }
  /// Of the inner loop of an attempt to connect that must be over at `deadline`: it has the whole
  /// time again, so that PyTorch takes twice as long.
  [[nodiscard]] virtual sim::Duration inner_timeout(sim::Duration timeout,
                                                    sim::MonotonicTime /*deadline*/) const {
    return timeout;
  }
  /// When one attempt on a socket is over.
  [[nodiscard]] virtual sim::MonotonicTime attempt_end(sim::MonotonicTime deadline) const {
    return deadline;
  }
  /// Until when the first answer of the store is waited for; PyTorch has no limit.
  [[nodiscard]] virtual std::optional<sim::MonotonicTime> first_answer_end(
      sim::MonotonicTime /*deadline*/) const {
    return std::nullopt;
  }
  /// When the outer loop begins again, which its back-off wants to be at `again`.
  [[nodiscard]] virtual sim::MonotonicTime next_attempt(sim::MonotonicTime again,
                                                        sim::MonotonicTime /*deadline*/) const {
    return again;
  }
  [[nodiscard]] virtual sim::Duration longest_backoff() const { return Backoff::kLongest; }
  /// For how long a reply is waited for that no caller has set a limit to.
  [[nodiscard]] virtual std::optional<sim::Duration> reply_limit() const {
    return options_.reply_limit;
  }

 private:
  void pause_until(sim::MonotonicTime until);
  std::unique_ptr<sim::Stream> connect_socket(Backoff& backoff, sim::Duration timeout);
  /// Opens the protocol on a fresh stream; false when the connection broke while doing so.
  bool open(sim::Stream& stream, sim::MonotonicTime deadline);
  [[noreturn]] void broken(const std::string& why);
  /// Until when a reply is waited for that no caller has set a limit to.
  [[nodiscard]] std::optional<sim::MonotonicTime> request_deadline() const {
    const std::optional<sim::Duration> limit = reply_limit();
    if (!limit) return std::nullopt;
    return now() + *limit;
  }

  sim::Ports& ports_;
  TcpStoreOptions options_;
  sim::Duration timeout_;
  /// Null once broken. A thread that dies in the middle of a call takes it along.
  std::unique_ptr<sim::Stream> stream_;
  sim::Buffer received_;
  bool in_doubt_ = false;  ///< a change has been sent and its reply has not come
};

}  // namespace hooke::model
