#include "model/hardened/store/hardened_tcp_store_client.h"

#include <algorithm>

#include "sim/port/check.h"

namespace hooke::model {

void HardenedTcpStoreClient::persistently(const std::function<void()>& call) {
  HOOKE_CHECK(call != nullptr, "the request is not null");
  connection_->reconnect_if_lost();
  try {
    return call();
  } catch (const StoreNetworkError&) {
    ++repeats_;  // a fiber may not wait in here
  }
  connection_->reconnect_if_lost();
  call();
}

void HardenedTcpStoreClient::confirm(const std::string& key) {
  Message message = key_list(Query::check, {key});
  connection_->send(message);
  static_cast<void>(connection_->number<std::uint8_t>());
}

sim::Duration HardenedTcpStoreClient::wait_slice(sim::Duration left) const {
  HOOKE_CHECK(connection_->options().reply_timeout > sim::Duration::zero(),
              "the time-out of an answer is positive");
  return std::min(left, connection_->options().reply_timeout / 2);
}

}  // namespace hooke::model
