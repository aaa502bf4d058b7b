#pragma once
// The problem: a call ends with the connection it was made on, even one that may be made twice; a
// set that is lost with its connection counts as done (S-2); and a wait goes on at a machine that
// was rebooted meanwhile and will never answer it.

#include <functional>
#include <string>

#include "model/store/tcp_store_client.h"

namespace hooke::model {

/// For a LastingTcpStoreConnection. What may be done twice is done again on a new connection when
/// the first one breaks, a set is confirmed, and a wait is renewed every half `reply_timeout`.
class HardenedTcpStoreClient : public TcpStoreClient {
 public:
  using TcpStoreClient::TcpStoreClient;
  [[nodiscard]] std::uint64_t repeats() const override { return repeats_; }

 protected:
  void persistently(const std::function<void()>& call) override;
  /// Asks for a key that has been set. If the set is lost with its connection, this breaks, and
  /// both are done again.
  void confirm(const std::string& key) override;
  [[nodiscard]] sim::Duration wait_slice(sim::Duration left) const override;
  [[nodiscard]] bool takes_late_answer() const override { return true; }

 private:
  std::uint64_t repeats_ = 0;
};

}  // namespace hooke::model
