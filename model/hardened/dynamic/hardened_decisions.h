#pragma once
// The problem: PyTorch compares wall clocks of different machines and exact numbers of nodes, so
// that a clock that is off, or nodes whose settings differ, cost the living their seats (R-7, R-8,
// R-16), and nodes that wait for a seat where none is left make the others restart.

#include <functional>
#include <utility>

#include "model/hardened/dynamic/signs_of_life.h"
#include "model/rendezvous/dynamic/decisions.h"

namespace hooke::model {

/// Decides by what this node has seen itself, by its own monotonic clock.
class HardenedDecisions : public Decisions {
 public:
  /// `settings` and `clock` must outlive this.
  HardenedDecisions(const RendezvousSettings& settings, sim::Clock& clock, const NodeDesc& self)
      : Decisions(settings), self_(self), signs_(clock, self_, settings.keep_alive_interval) {}

  Action join(const Situation& situation, sim::MonotonicTime deadline) const override;
  /// Takes this node off all lists, for good.
  Action leave(const Situation& situation, sim::MonotonicTime deadline) const;
  /// Closes the rendezvous, unless others have formed a round there without this node meanwhile.
  Action close_own(const Situation& situation, sim::MonotonicTime deadline) const;
  /// `holds` of a state in which they have.
  void when_others_have_formed(std::function<bool(const RendezvousState&)> holds) {
    is_of_others_ = std::move(holds);
  }
  std::vector<DeadNode> dead_nodes(const RendezvousState& state,
                                   sim::WallTime wall_now) const override;
  void observe(const RendezvousState& state) override { signs_.observe(state); }
  /// For how long `node` has given no new heartbeat.
  [[nodiscard]] sim::Duration silence(const NodeRef& node) const { return signs_.silence(node); }

 protected:
  [[nodiscard]] bool heartbeat_due(const Situation& s) const override;
  [[nodiscard]] bool last_call_is_over(const Situation& s) const override;
  [[nodiscard]] Action wait(const Situation& s) const override;
  void add_to_redundancy_list(RendezvousState& state, const NodeRef& node,
                              sim::WallTime now) const override;
  [[nodiscard]] bool begins_last_call(const RendezvousState& state,
                                      std::int64_t least) const override;
  [[nodiscard]] bool is_full(const RendezvousState& state) const override;
  /// A node does not take itself for dead.
  [[nodiscard]] virtual bool may_be_dead(const NodeRef& node) const { return node != self_; }

 private:
  [[nodiscard]] sim::Duration last_call(const Situation& s) const;

  NodeRef self_;
  SignsOfLife signs_;
  std::function<bool(const RendezvousState&)> is_of_others_;
};

}  // namespace hooke::model
