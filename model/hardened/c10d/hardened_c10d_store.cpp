#include "model/hardened/c10d/hardened_c10d_store.h"

#include <algorithm>

#include "model/hardened/core/hardened_endpoint.h"
#include "model/rendezvous/core/endpoint.h"
#include "model/rendezvous/dynamic/dynamic_settings.h"
#include "model/signals/signal_gate.h"
#include "sim/port/check.h"

namespace hooke::model {

sim::Endpoint HardenedC10dStoreCreation::endpoint() const {
  return parse_unambiguous_endpoint(parameters_.endpoint, kC10dDefaultPort);
}

bool HardenedC10dStoreCreation::is_own(const std::string& host) const {
  return matches_this_machine(ports_.network, host, parameters_.variant, in_lower_case);
}

void HardenedC10dStoreCreation::adapt(TcpStoreOptions& options, bool serves) const {
  // An agent that serves it needs no name to find it, nor an answer from the resolver.
  if (serves) options.endpoint.host = "localhost";
  // A node that has not heard by then is no member any more.
  const RendezvousSettings settings = dynamic_settings(parameters_);
  options.reply_timeout = std::min<sim::Duration>(
      options.reply_timeout, settings.keep_alive_interval * (settings.keep_alive_max_attempt - 1));
  HOOKE_CHECK(options.reply_timeout > sim::Duration::zero(),
              "the time-out of an answer is positive");
  options.interruptible = true;
  options.pause = [&ports = ports_](sim::MonotonicTime until) {
    interruptible_sleep_until(ports, until);
  };
}

}  // namespace hooke::model
