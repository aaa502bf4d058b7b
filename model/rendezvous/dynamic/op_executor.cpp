#include "model/rendezvous/dynamic/op_executor.h"

#include "model/rendezvous/core/errors.h"
#include "sim/port/check.h"

namespace hooke::model {

void run_operation(Operation operation, const Decisions& decisions, StateHolder& holder,
                   const NodeRef& node, sim::Clock& clock, sim::MonotonicTime deadline,
                   std::optional<sim::Duration> extend_by, OpHooks& hooks) {
  int lost = 0;
  for (;;) {
    const std::optional<bool> written = holder.sync();
    lost = written == false ? lost + 1 : 0;
    if (lost > 0 && !hooks.tries_again(operation, lost)) return;
    const Situation situation{holder.state(), node, truncate_to_microseconds(clock.wall_now()),
                              clock.monotonic_now()};
    const Action action = (decisions.*operation)(situation, deadline);
    switch (action) {
      case Action::finish: return;
      case Action::error_closed: throw RendezvousClosedError("");
      case Action::error_timeout: throw RendezvousTimeoutError("");
      case Action::sync: hooks.pause(kPollInterval); break;
      default:
        holder.change(action);
        if (extend_by && extends_deadline(action)) {
          HOOKE_CHECK(*extend_by > sim::Duration::zero(),
                      "the extension of a deadline is positive");
          deadline = clock.monotonic_now() + *extend_by;
        }
        hooks.before_write(action);
    }
  }
}

}  // namespace hooke::model
