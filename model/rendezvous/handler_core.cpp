#include "model/rendezvous/handler_core.h"

#include "model/rendezvous/op_executor.h"
#include "model/signals/signal_gate.h"

namespace hooke::model {

void HandlerCore::run(Operation operation, sim::MonotonicTime deadline,
                      std::optional<sim::Duration> extend_by) {
  run_operation(
      operation, holder, settings, node, ports.clock, deadline, extend_by,
      [this](sim::Duration span) {
        if (settings.planted.has(Planted::rendezvous_deaf_while_joining)) {
          ports.executor.sleep_until(ports.clock.monotonic_now() + span);
        } else {
          interruptible_sleep(ports, span);
        }
      },
      [this](Action action) {
        if (action == Action::add_to_redundancy_list && when_waiting) when_waiting();
        ports.fault_point.reach("rendezvous.before_write");
      });
}

PatientBackend* HandlerCore::make_patient() {
  auto made = std::make_unique<PatientBackend>(ports, std::move(resources.backend));
  PatientBackend* const out = made.get();
  resources.backend = std::move(made);
  return out;
}

}  // namespace hooke::model
