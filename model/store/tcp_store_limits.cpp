// What is allowed is answered in the header, by a few additions; here is what a refusal needs.
#include "model/store/tcp_store_limits.h"

#include <chrono>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// A client that asks in a loop must not fill a log.
constexpr sim::Duration kBetweenTellings = std::chrono::minutes(1);

}  // namespace

StoreAccount::StoreAccount(TcpStoreLimits limits, const sim::Clock& clock)
    : limits_(std::move(limits)), clock_(clock) {}

bool StoreAccount::refuse(const char* limit, std::uint64_t wanted, std::uint64_t allowed) {
  HOOKE_CHECK(wanted > allowed, "what is refused passes a limit");
  if (!limits_.refused) return false;
  const sim::MonotonicTime now = clock_.monotonic_now();
  const auto [last, first_time] = told_.try_emplace(limit, now);
  if (!first_time && now - last->second < kBetweenTellings) return false;
  last->second = now;
  limits_.refused("a client is refused: limit " + std::string(limit) + " is " +
                  std::to_string(allowed) + ", the client needs " + std::to_string(wanted));
  return false;
}

}  // namespace hooke::model
