#pragma once
// The problem: a rendezvous that cannot be reached for a moment ends the node that joins just then
// its heartbeats die of any error and begin an interval late, nodes that lose a
// write to another write again at once and lose again, and a spare hears of nothing while it
// waits.

#include <functional>

#include "model/hardened/dynamic/hardened_decisions.h"
#include "model/hardened/dynamic/hardened_state_holder.h"
#include "model/hardened/dynamic/retrying_backend.h"
#include "model/rendezvous/dynamic/handler_core.h"

namespace hooke::model {

class HardenedCore : public HandlerCore {
 public:
  static std::unique_ptr<Decisions> hardened_decisions(HandlerCore& core);
  static std::unique_ptr<StateHolder> hardened_holder(HandlerCore& core);

  HardenedCore(sim::Ports& in, RendezvousResources given, RendezvousSettings with, NodeDesc me,
               Parts parts = {&hardened_decisions, &hardened_holder});

  /// The backend in `resources`; null once it has been given back.
  RetryingBackend* retrying;
  std::function<void()> when_waiting;  ///< see RendezvousHandler
  std::function<void()> when_idle;     ///< called before this node sleeps; may raise

  [[nodiscard]] HardenedStateHolder& state() { return static_cast<HardenedStateHolder&>(*holder); }
  [[nodiscard]] const HardenedDecisions& judgement() const {
    return static_cast<const HardenedDecisions&>(*decisions);
  }
  [[nodiscard]] HardenedDecisions& judgement() {
    return static_cast<HardenedDecisions&>(*decisions);
  }

  void run(Operation operation, sim::MonotonicTime deadline,
           std::optional<sim::Duration> extend_by = std::nullopt) override;
  void pause(sim::Duration span) override;
  void before_write(Action action) override;
  bool tries_again(Operation operation, int lost) override;
  [[nodiscard]] sim::Duration until_next_tick() const override;
  /// The agent that dismisses them with the lock held goes on, and may join, which takes no lock.
  [[nodiscard]] bool ticks_when_dismissed() const override { return false; }
  [[nodiscard]] bool heartbeats_die() const override { return false; }

 private:
  HardenedCore(sim::Ports& in, std::unique_ptr<RetryingBackend> backend,
               RendezvousResources&& given, RendezvousSettings with, NodeDesc me, Parts parts);

  bool comes_to_wait_ = false;
  sim::MonotonicTime wrote_at_{};  ///< when the latest write began
};

}  // namespace hooke::model
