#pragma once
// What the handler of a dynamic rendezvous and its keep-alive fiber share, so that either may go
// first.

#include <functional>
#include <memory>
#include <optional>

#include "model/rendezvous/dynamic/decisions.h"
#include "model/rendezvous/dynamic/dynamic_handler.h"
#include "model/rendezvous/dynamic/retrying_backend.h"
#include "model/rendezvous/dynamic/state_holder.h"
#include "model/rendezvous/dynamic/write_tracer.h"
#include "sim/port/sync.h"

namespace hooke::model {

/// One node's part in a dynamic rendezvous. Built by its handler; not copied.
struct HandlerCore {
  HandlerCore(sim::Ports& in, RendezvousResources given, RendezvousSettings with, NodeDesc me)
      : ports(in),
        resources(std::move(given)),
        settings(std::move(with)),
        node(std::move(me)),
        retrying(settings.variant == Variant::hardened ? make_retrying() : nullptr),
        tracer(in.trace, in.clock, settings),
        holder(in.clock, *resources.backend, settings, node, &tracer),
        heartbeat_lock(in.executor) {}

  sim::Ports& ports;
  RendezvousResources resources;
  RendezvousSettings settings;
  NodeRef node;
  RetryingBackend* retrying;  ///< what `resources` has as backend; null in the faithful variants
  WriteTracer tracer;
  StateHolder holder;
  sim::Mutex heartbeat_lock;           ///< held across store calls (R-10)
  std::function<void()> when_waiting;  ///< see RendezvousHandler
  std::function<void()> when_idle;     ///< called before this node sleeps; may raise

  /// Carries `operation` out until it is done or `deadline` has passed; a caught signal ends it.
  void run(Operation operation, sim::MonotonicTime deadline,
           std::optional<sim::Duration> extend_by = std::nullopt);
  [[nodiscard]] bool hardened() const { return settings.variant == Variant::hardened; }

 private:
  RetryingBackend* make_retrying();
  void run_hearing(Operation operation, sim::MonotonicTime deadline,
                   std::optional<sim::Duration> extend_by);
};

}  // namespace hooke::model
