#pragma once
// Drives one operation to its end (dynamic_rendezvous.py:_DistributedRendezvousOpExecutor.run).

#include <optional>

#include "model/rendezvous/dynamic/decisions.h"
#include "model/rendezvous/dynamic/state_holder.h"
#include "sim/port/clock.h"

namespace hooke::model {

/// What an operation does besides deciding and exchanging the state.
class OpHooks {
 public:
  virtual ~OpHooks() = default;
  /// Sleeps for `span`, because the operation can only wait.
  virtual void pause(sim::Duration span) = 0;
  /// Called before each exchange that will write. Must be brief: a node that writes long after
  /// reading loses every time.
  virtual void before_write(Action action) = 0;
  /// A write was lost to another node's, `lost` in a row; false: the operation ends here.
  virtual bool tries_again(Operation /*operation*/, int /*lost*/) { return true; }
};

/// Exchanges the state and does what `operation` decides until it finishes. A rejected write is
/// retried at once, without back-off. With `extend_by`, an action that extends the deadline
/// sets it to now + that span. RendezvousClosedError, RendezvousTimeoutError,
/// RendezvousGracefulExitError; whatever the backend raises.
void run_operation(Operation operation, const Decisions& decisions, StateHolder& holder,
                   const NodeRef& node, sim::Clock& clock, sim::MonotonicTime deadline,
                   std::optional<sim::Duration> extend_by, OpHooks& hooks);

}  // namespace hooke::model
