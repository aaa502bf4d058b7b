#pragma once
// Which nodes live, as one node sees it by its own monotonic clock: what the hardened variant uses
// instead of comparing the wall clocks of different machines (R-7, R-8, S-16).

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "model/rendezvous/state/state.h"
#include "sim/port/clock.h"

namespace hooke::model {

class SignsOfLife {
 public:
  /// `self` looks at the state at least once per `interval`, as a rule.
  SignsOfLife(sim::Clock& clock, NodeRef self, sim::Duration interval)
      : clock_(clock), self_(std::move(self)), interval_(interval) {}

  /// Takes in a state as the backend has it: which heartbeats are new, and whether a last call is.
  /// A node that has not looked has not heard: what is longer than an interval between two looks,
  /// for a backend that was away or a process that stood still, is not the silence of another
  /// node.
  void observe(const RendezvousState& state);
  /// For how long `node` has given no new heartbeat, counted from the first look at the last one;
  /// zero for a node that has none.
  [[nodiscard]] sim::Duration silence(const NodeRef& node) const;
  /// For how long the present last call has been going on; zero when there is none.
  [[nodiscard]] sim::Duration last_call() const;

 private:
  struct Seen {
    sim::WallTime at;  ///< by the clock of an agent that wrote it: only compared for equality
    sim::MonotonicTime since{};  ///< first seen by this node
  };

  struct Heard {
    NodeRef node;
    Seen last;
  };

  [[nodiscard]] const Heard* find(const NodeRef& node) const;

  sim::Clock& clock_;
  NodeRef self_;
  sim::Duration interval_;
  std::optional<sim::MonotonicTime> looked_;
  std::vector<Heard> heartbeats_;     ///< in the order of the state
  std::vector<Heard> listed_;         ///< empty: memory for the next ones
  mutable std::size_t expected_ = 0;  ///< behind the one that was found last
  std::optional<Seen> last_call_;
};

}  // namespace hooke::model
