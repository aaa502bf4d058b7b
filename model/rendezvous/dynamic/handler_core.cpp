#include "model/rendezvous/dynamic/handler_core.h"

#include <utility>

#include "model/rendezvous/dynamic/op_executor.h"
#include "model/signals/signal_gate.h"

namespace hooke::model {

void HandlerCore::run(Operation operation, sim::MonotonicTime deadline,
                      std::optional<sim::Duration> extend_by) {
  const bool deaf =
      operation == &decide_join && settings.planted.has(Planted::rendezvous_deaf_while_joining);
  if (!deaf) return run_hearing(operation, deadline, extend_by);
  std::optional<SignalException> unheard;
  for (bool over = false; !over;) {
    try {
      run_hearing(operation, deadline, extend_by);
      over = true;
    } catch (const SignalException& signal) {
      unheard = signal;
    }
  }
  if (unheard) throw SignalException(*unheard);
}

void HandlerCore::run_hearing(Operation operation, sim::MonotonicTime deadline,
                              std::optional<sim::Duration> extend_by) {
  bool comes_to_wait = false;
  run_operation(
      operation, holder, settings, node, ports.clock, deadline, extend_by,
      [&, this](sim::Duration span) {
        // Only once it is on the list: what this asks of the store takes long, and between a read
        // and its write the others' heartbeats would win again and again, until this node is
        // taken for dead. It counts as waiting: then the state is looked at again.
        if (std::exchange(comes_to_wait, false) && when_waiting) return when_waiting();
        if (when_idle) when_idle();
        interruptible_sleep(ports, span);
      },
      [&, this](Action action) {
        comes_to_wait = comes_to_wait || action == Action::add_to_redundancy_list;
        ports.fault_point.reach("rendezvous.before_write");
      });
}

RetryingBackend* HandlerCore::make_retrying() {
  auto made = std::make_unique<RetryingBackend>(ports, std::move(resources.backend));
  RetryingBackend* const out = made.get();
  resources.backend = std::move(made);
  return out;
}

}  // namespace hooke::model
