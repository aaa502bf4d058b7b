#pragma once
// The problem: a client of PyTorch's is lost with its connection, waits for a reply without limit
// (S-23), and takes twice its time-out to connect, of which the last third may pass in one
// wait of the back-off, deaf to signals.

#include "model/store/tcp_store_connection.h"

namespace hooke::model {

/// Connects anew when it is asked for something after it has broken. A reply comes within
/// `reply_timeout`, or `timeout` where that is shorter, or the connection is broken. Connecting
/// takes no longer than `timeout`.
class LastingTcpStoreConnection final : public TcpStoreConnection {
 public:
  using TcpStoreConnection::TcpStoreConnection;
  void reconnect_if_lost() override;

 protected:
  [[nodiscard]] sim::Duration inner_timeout(sim::Duration timeout,
                                            sim::MonotonicTime deadline) const override;
  [[nodiscard]] sim::MonotonicTime attempt_end(sim::MonotonicTime deadline) const override;
  [[nodiscard]] std::optional<sim::MonotonicTime> first_answer_end(
      sim::MonotonicTime deadline) const override;
  [[nodiscard]] sim::MonotonicTime next_attempt(sim::MonotonicTime again,
                                                sim::MonotonicTime deadline) const override;
  [[nodiscard]] sim::Duration longest_backoff() const override;
  [[nodiscard]] std::optional<sim::Duration> reply_limit() const override;
};

}  // namespace hooke::model
