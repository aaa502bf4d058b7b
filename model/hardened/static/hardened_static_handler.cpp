#include "model/hardened/static/hardened_static_handler.h"

#include <algorithm>

#include "model/rendezvous/core/linger.h"
#include "model/signals/signal_gate.h"
#include "model/store/kinds/tcp_stores.h"
#include "model/store/retrying_store.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// For how long a store that cannot be reached is asked again.
constexpr sim::Duration kOutage = std::chrono::seconds(60);
/// How often the nodes that have come are counted.
constexpr sim::Duration kLookMin = std::chrono::milliseconds(10);
constexpr sim::Duration kLookMax = std::chrono::seconds(1);
/// How long an attempt to tell the others something may take while the store is served on, in which
/// no signal is heard; and how long it is from one to the next.
constexpr sim::Duration kTelling = std::chrono::seconds(1);
constexpr sim::Duration kTellingMax = 2 * kOutage;

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
  HOOKE_CHECK(before >= 0, "the number of clients is not negative");
  if (!heard_) heard_ = began;
  try {
    const std::int64_t now = StaticHandler::joined(before);
    HOOKE_CHECK(!heard_ || *heard_ <= began, "the time of the last news is not in the future");
    HOOKE_CHECK(server_ != nullptr, "only rank 0, which has the server, counts the clients");
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
  lingers_since_ = next_telling_ = ports_.clock.monotonic_now();
  serve_on(ports_, *server_, kOutage, [this] { tell_if_it_is_time(); });
}

/// Ever more rarely: to a store that is too slow each attempt is one more client, and would keep this
/// process here for ever.
void HardenedStaticHandler::tell_if_it_is_time() {
  if (!tell_ || ports_.clock.monotonic_now() < next_telling_) return;
  if (has_told()) tell_ = nullptr;
  const sim::MonotonicTime now = ports_.clock.monotonic_now();
  HOOKE_CHECK(lingers_since_ <= now, "the begin of lingering is not in the future");
  next_telling_ =
      now + std::clamp<sim::Duration>((now - lingers_since_) / 4, kTelling, kTellingMax);
}

/// By a connection of its own, which is no client any more when the clients are looked at again.
bool HardenedStaticHandler::has_told() {
  TcpStoreOptions options = store_options();
  options.timeout = options.reply_timeout = kTelling;
  options.count_in = false;
  options.pause = nullptr;
  HOOKE_CHECK(store_ == nullptr,
              "a process that lingers has closed its own connection to the store");
  bool told = false;
  try {
    store_ = connect_tcp_store(ports_, options, settings_.planted);
    told = tell_(job_store());
  } catch (const StoreError&) {
    // It is tried again as long as others need the store.
  }
  store_ = nullptr;
  return told;
}

}  // namespace hooke::model
