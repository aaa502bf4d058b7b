#pragma once
// What one agent's accepted writes of the rendezvous state have changed, and what its reads have
// shown: the events that the model's own handler tells of itself.

#include <optional>
#include <string>

#include "model/rendezvous/dynamic/state_holder.h"
#include "model/rendezvous/dynamic/write_tracer.h"
#include "model/rendezvous/state/state.h"
#include "scenarios/guest/guest_stores.h"
#include "sim/port/ports.h"

namespace hooke::scenario {

class StateWatch {
 public:
  StateWatch(sim::Ports& ports, model::RendezvousSettings settings);

  /// From now on it is the agent's node that is called so (addr_pid_localid).
  void call(std::string descriptor) { self_ = std::move(descriptor); }
  /// A get or a compare_set of any key; those of the state are told.
  void on_store(const StoreCall& call);
  /// Round of the latest state that the agent has seen.
  [[nodiscard]] std::int64_t round() const { return known_ == nullptr ? 0 : known_->round; }

 private:
  [[nodiscard]] sim::WallTime now() const {
    return model::truncate_to_microseconds(ports_.clock.wall_now());
  }
  [[nodiscard]] model::StateRef decode(const sim::Value& stored) const;
  [[nodiscard]] model::PendingChange change(const model::RendezvousState& before,
                                            const model::RendezvousState& after) const;
  [[nodiscard]] std::vector<model::DeadNode> evicted(const model::RendezvousState& before,
                                                     const model::RendezvousState& after) const;
  [[nodiscard]] std::optional<model::PendingChange> own_seat(
      const model::RendezvousState& before, const model::RendezvousState& after) const;

  sim::Ports& ports_;
  model::RendezvousSettings settings_;
  std::string key_;
  model::WriteTracer tracer_;
  std::string self_;
  model::StateRef known_;  ///< null: none
  /// When it was learnt, which is when PyTorch looks for the dead in it (_sanitize).
  sim::WallTime seen_at_;
};

}  // namespace hooke::scenario
