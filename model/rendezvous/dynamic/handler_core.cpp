#include "model/rendezvous/dynamic/handler_core.h"

#include <utility>

#include "model/signals/signal_gate.h"
#include "sim/port/check.h"

namespace hooke::model {

HandlerCore::HandlerCore(sim::Ports& in, RendezvousResources given, RendezvousSettings with,
                         NodeDesc me, Parts parts)
    : ports(in),
      resources(std::move(given)),
      settings(std::move(with)),
      node(std::move(me)),
      tracer(in.trace, in.clock, settings),
      decisions(parts.decisions(*this)),
      holder(parts.holder(*this)),
      heartbeat_lock(in.executor) {
  HOOKE_CHECK(resources.backend != nullptr, "a handler is given its backend");
  HOOKE_CHECK(1 <= settings.min_nodes && settings.min_nodes <= settings.max_nodes,
              "the settings have passed validation");
  HOOKE_CHECK(decisions != nullptr && holder != nullptr, "a handler's parts are made");
}

std::unique_ptr<Decisions> HandlerCore::faithful_decisions(HandlerCore& core) {
  return std::make_unique<Decisions>(core.settings);
}

std::unique_ptr<StateHolder> HandlerCore::faithful_holder(HandlerCore& core) {
  return std::make_unique<StateHolder>(core.ports.clock, *core.resources.backend, core.settings,
                                       *core.decisions, core.node, &core.tracer);
}

void HandlerCore::run(Operation operation, sim::MonotonicTime deadline,
                      std::optional<sim::Duration> extend_by) {
  run_operation(operation, *decisions, *holder, node, ports.clock, deadline, extend_by, *this);
}

void HandlerCore::pause(sim::Duration span) {
  interruptible_sleep(ports, span);
}

void HandlerCore::before_write(Action) {
  ports.fault_point.reach("rendezvous.before_write");
}

sim::Duration HandlerCore::until_next_tick() const {
  return decisions->heartbeat_interval();
}

}  // namespace hooke::model
