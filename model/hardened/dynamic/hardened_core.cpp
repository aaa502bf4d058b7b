#include "model/hardened/dynamic/hardened_core.h"

#include <algorithm>
#include <utility>

#include "sim/port/check.h"

namespace hooke::model {
namespace {

RendezvousResources with_backend(RendezvousResources resources,
                                 std::unique_ptr<RendezvousBackend> backend) {
  resources.backend = std::move(backend);
  return resources;
}

}  // namespace

std::unique_ptr<Decisions> HardenedCore::hardened_decisions(HandlerCore& core) {
  return std::make_unique<HardenedDecisions>(core.settings, core.ports.clock, *core.node);
}

std::unique_ptr<StateHolder> HardenedCore::hardened_holder(HandlerCore& core) {
  return std::make_unique<HardenedStateHolder>(core.ports.clock, *core.resources.backend,
                                               core.settings, *core.decisions, core.node,
                                               &core.tracer);
}

HardenedCore::HardenedCore(sim::Ports& in, RendezvousResources given, RendezvousSettings with,
                           NodeDesc me, Parts parts)
    : HardenedCore(in, std::make_unique<RetryingBackend>(in, std::move(given.backend)),
                   std::move(given), std::move(with), std::move(me), parts) {}

HardenedCore::HardenedCore(sim::Ports& in, std::unique_ptr<RetryingBackend> backend,
                           RendezvousResources&& given, RendezvousSettings with, NodeDesc me,
                           Parts parts)
    : HandlerCore(in, with_backend(std::move(given), std::move(backend)), std::move(with),
                  std::move(me), parts),
      retrying(static_cast<RetryingBackend*>(resources.backend.get())) {
  HOOKE_CHECK(retrying != nullptr, "a hardened agent's backend asks again");
}

void HardenedCore::run(Operation operation, sim::MonotonicTime deadline,
                       std::optional<sim::Duration> extend_by) {
  comes_to_wait_ = false;
  HandlerCore::run(operation, deadline, extend_by);
}

void HardenedCore::before_write(Action action) {
  comes_to_wait_ = comes_to_wait_ || action == Action::add_to_redundancy_list;
  HandlerCore::before_write(action);
}

/// Only once it is on the list: what this asks of the store takes long, and between a read and its
/// write the others' heartbeats would win again and again, until this node is taken for dead.
/// It counts as waiting: then the state is looked at again.
void HardenedCore::pause(sim::Duration span) {
  if (std::exchange(comes_to_wait_, false) && when_waiting) return when_waiting();
  if (when_idle) when_idle();
  HandlerCore::pause(span);
}

/// The first tick comes when the heartbeat is due, and one that failed is soon tried again.
sim::Duration HardenedCore::until_next_tick() const {
  const sim::Duration interval = decisions->heartbeat_interval();
  HOOKE_CHECK(interval > sim::Duration::zero(), "heartbeats are sent at intervals");
  return std::clamp(interval - judgement().silence(node), interval / 10, interval);
}

}  // namespace hooke::model
