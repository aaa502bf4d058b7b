#pragma once
// What the handler of a dynamic rendezvous and its keep-alive fiber share, so that either may go
// first.

#include <exception>
#include <memory>
#include <optional>

#include "model/rendezvous/dynamic/decisions.h"
#include "model/rendezvous/dynamic/heartbeat_lock.h"
#include "model/rendezvous/dynamic/op_executor.h"
#include "model/rendezvous/dynamic/resources.h"
#include "model/rendezvous/dynamic/state_holder.h"
#include "model/rendezvous/dynamic/write_tracer.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// One node's part in a dynamic rendezvous. Built by its handler; not copied.
class HandlerCore : public OpHooks {
 public:
  /// What a node decides with and holds its copy of the state in.
  struct Parts {
    std::unique_ptr<Decisions> (*decisions)(HandlerCore& core);
    std::unique_ptr<StateHolder> (*holder)(HandlerCore& core);
  };
  static std::unique_ptr<Decisions> faithful_decisions(HandlerCore& core);
  static std::unique_ptr<StateHolder> faithful_holder(HandlerCore& core);

  HandlerCore(sim::Ports& in, RendezvousResources given, RendezvousSettings with, NodeDesc me,
              Parts parts = {&faithful_decisions, &faithful_holder});

  sim::Ports& ports;
  RendezvousResources resources;
  RendezvousSettings settings;
  NodeRef node;
  WriteTracer tracer;
  std::unique_ptr<Decisions> decisions;
  std::unique_ptr<StateHolder> holder;
  HeartbeatLock heartbeat_lock;

  /// Carries `operation` out until it is done or `deadline` has passed; a caught signal ends it.
  virtual void run(Operation operation, sim::MonotonicTime deadline,
                   std::optional<sim::Duration> extend_by = std::nullopt);
  void pause(sim::Duration span) override;
  void before_write(Action action) override;

  /// From now to the next tick of the heartbeats (utils.py:_PeriodicTimer).
  [[nodiscard]] virtual sim::Duration until_next_tick() const;
  /// A tick is made although the heartbeats were dismissed while it waited for the lock.
  [[nodiscard]] virtual bool ticks_when_dismissed() const { return true; }
  /// An exception that is none of the rendezvous ends the heartbeats silently; false: told as
  /// a failed tick, it does not.
  [[nodiscard]] virtual bool heartbeats_die() const { return true; }
};

}  // namespace hooke::model
