#include "model/rendezvous/core/linger.h"

#include <algorithm>
#include <utility>

#include "model/observe/coverage_points.h"
#include "model/observe/trace_events.h"
#include "model/rendezvous/core/settings.h"
#include "sim/port/check.h"

namespace hooke::model {

void serve_on(sim::Ports& ports, const TcpStoreServer& server, sim::Duration alive,
              const std::function<void()>& meanwhile) {
  HOOKE_CHECK(alive > sim::Duration::zero(), "a client is alive for a time");
  bool told = false;
  for (sim::Duration pause = std::chrono::milliseconds(10);;
       pause = std::min<sim::Duration>(2 * pause, kPollInterval)) {
    HOOKE_CHECK(sim::Duration::zero() < pause && pause <= kPollInterval,
                "time passes from one look to the next, and not too much");
    if (ports.processes.wait_signal(ports.clock.monotonic_now() + pause)) return;
    if (server.active_clients(alive) == 0) return;
    if (!std::exchange(told, true))
      ports.trace.emit(events::coverage_point, {coverage::kStoreLingers});
    if (meanwhile) meanwhile();
  }
}

}  // namespace hooke::model
