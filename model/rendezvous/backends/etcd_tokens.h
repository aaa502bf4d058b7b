#pragma once
// What the backends of both etcd APIs have in common: the key, the token, the error.

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>

#include "model/etcd/errors.h"
#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/dynamic/backend.h"

namespace hooke::model {

/// The state is forgotten when nothing is written for so long (EtcdRendezvousBackend._DEFAULT_TTL).
inline constexpr std::int64_t kEtcdStateTtlSeconds = 7200;

/// Where a run's state lies. std::invalid_argument for an empty run id.
std::string etcd_state_path(const std::string& run_id);
Token etcd_token(std::int64_t number);

/// The number a token stands for: 0 when there is no token, nullopt when it is another backend's.
template <class Number>
std::optional<Number> fence_in(const std::optional<Token>& token) {
  if (!token || token->empty()) return Number{0};
  const std::string& text = token->bytes();
  Number number = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), number);
  if (end.ec != std::errc() || end.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

/// Both of etcd's errors are RendezvousConnectionError to a rendezvous.
template <class Call>
auto asked_of_etcd(Call call) -> decltype(call()) {
  try {
    return call();
  } catch (const EtcdError& error) {
    throw RendezvousConnectionError(std::string("the connection to etcd has failed: ") +
                                    error.what());
  } catch (const EtcdConnectionError& error) {
    throw RendezvousConnectionError(std::string("the connection to etcd has failed: ") +
                                    error.what());
  }
}

}  // namespace hooke::model
