#include "model/hardened/store/lasting_connection.h"

#include <algorithm>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// How long a store that was lost is tried, and how long each attempt may take, with the store's
/// first answer: an agent is deaf meanwhile.
constexpr sim::Duration kReconnectTimeout = std::chrono::seconds(5);

}  // namespace

void LastingTcpStoreConnection::reconnect_if_lost() {
  if (is_lost()) connect(std::min({timeout(), options().reply_timeout, kReconnectTimeout}));
  HOOKE_CHECK(!is_lost(), "the connection is not lost when the client goes on");
}

sim::Duration LastingTcpStoreConnection::inner_timeout(sim::Duration,
                                                       sim::MonotonicTime deadline) const {
  return deadline - now();
}

sim::MonotonicTime LastingTcpStoreConnection::attempt_end(sim::MonotonicTime deadline) const {
  return std::min(now() + kReconnectTimeout, deadline);
}

std::optional<sim::MonotonicTime> LastingTcpStoreConnection::first_answer_end(
    sim::MonotonicTime deadline) const {
  return attempt_end(deadline);
}

sim::MonotonicTime LastingTcpStoreConnection::next_attempt(sim::MonotonicTime again,
                                                           sim::MonotonicTime deadline) const {
  return std::min(again, deadline);
}

sim::Duration LastingTcpStoreConnection::longest_backoff() const {
  return kReconnectTimeout;
}

std::optional<sim::Duration> LastingTcpStoreConnection::reply_limit() const {
  const sim::Duration reply_timeout = options().reply_timeout;
  return std::min({timeout(), reply_timeout, options().reply_limit.value_or(reply_timeout)});
}

}  // namespace hooke::model
