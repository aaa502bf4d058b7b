#include "model/hardened/dynamic/hardened_core.h"

#include <algorithm>
#include <utility>

#include "model/rendezvous/core/settings.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// A node that has lost a write pauses for up to so long for each node of the job, which is about
/// what a store takes for one such write; twice as long after each that it loses besides.
constexpr sim::Duration kPausePerNode = std::chrono::microseconds(100);
constexpr int kDoublingsMax = 5;
constexpr int kMuchLonger = 10;

sim::Duration longest_pause(std::int64_t nodes, int lost) {
  HOOKE_CHECK(nodes >= 1 && lost >= 1, "the number of nodes and of lost writes is at least 1");
  const std::int64_t many = std::int64_t{1} << std::min(lost - 1, kDoublingsMax);
  const std::int64_t most = kPollInterval / kPausePerNode;  // without an overflow
  return kPausePerNode * std::min(std::min(nodes, most) * many, most);
}

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
  HOOKE_CHECK(retrying != nullptr, "the backend of a hardened agent is a retrying one");
}

void HardenedCore::run(Operation operation, sim::MonotonicTime deadline,
                       std::optional<sim::Duration> extend_by) {
  comes_to_wait_ = false;
  HandlerCore::run(operation, deadline, extend_by);
}

void HardenedCore::before_write(Action action) {
  comes_to_wait_ = comes_to_wait_ || action == Action::add_to_redundancy_list;
  HandlerCore::before_write(action);
  wrote_at_ = ports.clock.monotonic_now();
}

/// Of many that write at once all but one lose, and if they write again at once they lose again
/// . What was read before a pause is of no use behind it, unless a write takes much longer
/// anyway.
bool HardenedCore::tries_again(Operation operation, int lost) {
  const sim::Duration took = ports.clock.monotonic_now() - wrote_at_;
  const sim::Duration span = ports.random.between("rendezvous.backoff", sim::Duration::zero(),
                                                  longest_pause(settings.max_nodes, lost));
  if (operation == static_cast<Operation>(&Decisions::keep_alive)) {
    ports.executor.sleep_until(ports.clock.monotonic_now() + span);  // not in the agent's fiber
  } else {
    HandlerCore::pause(span);
  }
  if (kMuchLonger * span > took) {
    holder->forget_cache();
    static_cast<void>(holder->sync());
  }
  return true;
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
  HOOKE_CHECK(interval > sim::Duration::zero(), "the keep-alive interval is positive");
  return std::clamp(interval - judgement().silence(node), interval / 10, interval);
}

}  // namespace hooke::model
