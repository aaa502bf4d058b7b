#pragma once
// What a node does about the shared state it sees: functions from (state, settings, clocks) to an
// action, and the actions' effects on a state (dynamic_rendezvous.py: _RendezvousJoinOp,
// _RendezvousExitOp, _RendezvousCloseOp, _RendezvousKeepAliveOp, _DistributedRendezvousOpExecutor,
// _sanitize).

#include <optional>
#include <string_view>
#include <vector>

#include "model/observe/python_error.h"
#include "model/rendezvous/state/state.h"

namespace hooke::model {

enum class Action : unsigned char {
  keep_alive,
  add_to_participants,
  add_to_wait_list,
  add_to_redundancy_list,
  remove_from_participants,
  remove_from_wait_list,
  remove_from_redundancy_list,
  mark_rendezvous_complete,
  mark_rendezvous_closed,
  sync,
  error_closed,
  error_timeout,
  finish,
};

/// PyTorch's name, "ADD_TO_PARTICIPANTS".
std::string_view to_string(Action action);

/// Everything a decision depends on, besides the settings.
struct Situation {
  const RendezvousState& state;
  const NodeRef& node;     ///< the node that asks
  sim::WallTime wall_now;  ///< of this node, whole microseconds
  sim::MonotonicTime mono_now;
};

/// It has a state that others are to learn of; the rest is between an agent and its caller.
constexpr bool changes_the_state(Action action) {
  switch (action) {
    case Action::sync:
    case Action::error_closed:
    case Action::error_timeout:
    case Action::finish: return false;
    default: return true;
  }
}

/// The operation's deadline is extended by this action (a spare that is let in starts afresh).
constexpr bool extends_deadline(Action action) {
  return action == Action::remove_from_redundancy_list;
}

/// A node that has not reported for longer than interval × attempts.
struct DeadNode {
  NodeRef node;
  sim::Duration silence{};  ///< age of its last heartbeat by the clock of the judging node
  bool was_participant = false;
};

/// The tables of PyTorch's operations. What stands in the protected part is one row or one number
/// each, which a derived class may replace.
class Decisions {
 public:
  /// `settings` must outlive this.
  explicit Decisions(const RendezvousSettings& settings) : settings_(settings) {}
  virtual ~Decisions() = default;
  Decisions(const Decisions&) = delete;
  Decisions& operator=(const Decisions&) = delete;

  // The four operations: the next step towards its goal, given its deadline.

  /// Takes part in a round. Throws RendezvousGracefulExitError for a spare that finds the
  /// rendezvous closed (2.x), EscapedPythonError where 1.13 compares an unset deadline.
  virtual Action join(const Situation& situation, sim::MonotonicTime deadline) const;
  /// Leaves the current round.
  Action exit(const Situation& situation, sim::MonotonicTime deadline) const;
  /// Closes the rendezvous.
  Action close(const Situation& situation, sim::MonotonicTime deadline) const;
  /// Renews this node's heartbeat when it is due; a node that is not listed has nothing to renew
  ///
  Action keep_alive(const Situation& situation, sim::MonotonicTime deadline) const;

  /// Carries out a changing action for `node` on `state`. EscapedPythonError "KeyError" when the
  /// node or its heartbeat is missing where Python deletes it, "OverflowError" after the last round
  /// that 63 bits count.
  void apply(Action action, RendezvousState& state, const NodeRef& node,
             sim::WallTime wall_now) const;

  /// The nodes whose heartbeats are too old, in the order of their heartbeats. Constant time when
  /// there is none and the oldest heartbeat is known.
  virtual std::vector<DeadNode> dead_nodes(const RendezvousState& state,
                                           sim::WallTime wall_now) const;
  /// Removes them from `state`.
  void sanitise(RendezvousState& state, std::vector<DeadNode>& dead) const;
  /// Takes in a state as the backend has it.
  virtual void observe(const RendezvousState& /*state*/) {}

  /// From one heartbeat of a node to its next.
  [[nodiscard]] virtual sim::Duration heartbeat_interval() const {
    return settings_.keep_alive_interval;
  }
  /// The silence after which a node is dead.
  [[nodiscard]] virtual sim::Duration keep_alive_threshold() const {
    return settings_.keep_alive_interval * settings_.keep_alive_max_attempt;
  }

 protected:
  /// How many nodes are enough for a round, and how many are all that it takes.
  [[nodiscard]] virtual std::int64_t enough_nodes() const { return settings_.min_nodes; }
  [[nodiscard]] virtual std::int64_t all_seats() const { return settings_.max_nodes; }
  /// What newcomers may have of a complete round.
  [[nodiscard]] virtual std::int64_t open_seats() const { return settings_.max_nodes; }

  [[nodiscard]] virtual bool heartbeat_due(const Situation& s) const;
  /// What a spare does (2.x); nullopt: the node is none.
  [[nodiscard]] virtual std::optional<Action> as_spare(const Situation& s) const;
  /// What a spare does while the rendezvous is open.
  [[nodiscard]] virtual Action as_spare_of_open(const Situation& s) const;
  /// No seat is free for a spare.
  [[nodiscard]] virtual bool stays_spare(const Situation& s) const;
  /// nullopt: the rendezvous is open.
  [[nodiscard]] virtual std::optional<Action> when_closed(const Situation& s) const;
  [[nodiscard]] virtual bool last_call_is_over(const Situation& s) const;
  /// What a node does that has nothing to change: a heartbeat when one is due, else a look.
  [[nodiscard]] virtual Action wait(const Situation& s) const;

  virtual void renew(RendezvousState& state, const NodeRef& node, sim::WallTime now) const;
  virtual void add_to_participants(RendezvousState& state, const NodeRef& node,
                                   sim::WallTime now) const;
  virtual void add_to_redundancy_list(RendezvousState& state, const NodeRef& node,
                                      sim::WallTime now) const;
  /// The last call begins with the participant that has just been added; `least` are enough.
  [[nodiscard]] virtual bool begins_last_call(const RendezvousState& state,
                                              std::int64_t least) const;
  /// The participant that has just been added was the last one.
  [[nodiscard]] virtual bool is_full(const RendezvousState& state) const;
  virtual void complete(RendezvousState& state) const;
  /// A participant has left or died: perhaps the round is over, perhaps last call is off.
  virtual void participant_removed(RendezvousState& state) const;
  /// Takes dead nodes off every list, and says of each whether it was a participant.
  virtual void remove_dead(RendezvousState& state, std::vector<DeadNode>& dead) const;

  const RendezvousSettings& settings_;
};

/// The number of the round that follows. EscapedPythonError "OverflowError" after the last one that
/// 63 bits count.
std::int64_t round_after(std::int64_t round);

/// One of the operations.
using Operation = Action (Decisions::*)(const Situation&, sim::MonotonicTime deadline) const;

/// Takes `node` off a list of nodes; false: it is not there.
bool erase_node(SharedList<NodeRef>& list, const NodeRef& node);

}  // namespace hooke::model
