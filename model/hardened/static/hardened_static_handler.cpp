#include "model/hardened/static/hardened_static_handler.h"

#include <algorithm>

#include "model/rendezvous/core/linger.h"
#include "model/signals/signal_gate.h"
#include "model/store/retrying_store.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// For how long a store that cannot be reached is asked again.
constexpr sim::Duration kOutage = std::chrono::seconds(60);
/// How often the nodes that have come are counted.
constexpr sim::Duration kLookMin = std::chrono::milliseconds(10);
constexpr sim::Duration kLookMax = std::chrono::seconds(1);

}  // namespace

TcpStoreOptions HardenedStaticHandler::store_options() const {
  TcpStoreOptions options = StaticHandler::store_options();
  options.interruptible = true;
  options.pause = [this](sim::MonotonicTime until) { interruptible_sleep_until(ports_, until); };
  return options;
}

std::shared_ptr<Store> HardenedStaticHandler::round_store() {
  return make_retrying_store(
      ports_, StaticHandler::round_store(), kOutage, [this] { check_signals(ports_); },
      while_waiting_);
}

std::int64_t HardenedStaticHandler::joined(std::int64_t before) {
  const sim::MonotonicTime began = ports_.clock.monotonic_now();
  HOOKE_CHECK(before >= 0, "clients are counted upward");
  if (!heard_) heard_ = began;
  try {
    const std::int64_t now = StaticHandler::joined(before);
    HOOKE_CHECK(!heard_ || *heard_ <= began, "what was heard was heard before");
    HOOKE_CHECK(server_ != nullptr, "rank 0 alone counts the clients");
    heard_ = ports_.clock.monotonic_now();
    // Where this node came back, the others have counted themselves in at the store before.
    return std::max(now, static_cast<std::int64_t>(server_->active_clients(kOutage)));
  } catch (const StoreNetworkError&) {
    // The others are counted already and wait for what this agent has to say. A question that began
    // in the outage says nothing of the store behind it.
    if (began >= *heard_ + kOutage) throw;
    return before;
  }
}

/// A tenth of what it has waited already: nodes that come minutes apart need not be looked for a
/// hundred times a second.
void HardenedStaticHandler::pause(sim::Duration waited) {
  const sim::Duration span = std::clamp<sim::Duration>(waited / 10, kLookMin, kLookMax);
  interruptible_sleep(ports_, std::min(span, settings_.timeout - waited));
}

void HardenedStaticHandler::linger() {
  if (server_ == nullptr || !formed_) return;
  store_ = nullptr;  // this node's own connection
  serve_on(ports_, *server_, kOutage);
}

}  // namespace hooke::model
