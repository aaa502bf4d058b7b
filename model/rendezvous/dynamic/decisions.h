#pragma once
// What a node does about the shared state it sees: pure functions from (state, settings, clocks) to
// an action, and the actions' effects on a state (dynamic_rendezvous.py: _RendezvousJoinOp,
// _RendezvousExitOp, _RendezvousCloseOp, _RendezvousKeepAliveOp, _DistributedRendezvousOpExecutor,
// _sanitize).

#include <string_view>
#include <vector>

#include "model/observe/python_error.h"
#include "model/rendezvous/dynamic/signs_of_life.h"
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

/// Everything a decision depends on.
struct Situation {
  const RendezvousState& state;
  const RendezvousSettings& settings;
  const NodeRef& node;     ///< who asks
  sim::WallTime wall_now;  ///< of this node, whole microseconds
  sim::MonotonicTime mono_now;
  const SignsOfLife* signs = nullptr;  ///< hardened: goes before what wall clocks say
};

/// From one heartbeat of a node to its next.
sim::Duration heartbeat_interval(const RendezvousSettings& settings);

/// One of the four operations: the next step towards its goal, given its deadline.
using Operation = Action (*)(const Situation&, sim::MonotonicTime deadline);

/// Takes part in a round. Throws RendezvousGracefulExitError for a spare that finds the rendezvous
/// closed (2.x), EscapedPythonError where 1.13 compares an unset deadline.
Action decide_join(const Situation& situation, sim::MonotonicTime deadline);
/// Leaves the current round.
Action decide_exit(const Situation& situation, sim::MonotonicTime deadline);
/// Takes itself off all lists, for good (hardened).
Action decide_leave(const Situation& situation, sim::MonotonicTime deadline);
/// Closes the rendezvous.
Action decide_close(const Situation& situation, sim::MonotonicTime deadline);
/// Renews this node's heartbeat when it is due; a node that is not listed has nothing to renew
///
Action decide_keep_alive(const Situation& situation, sim::MonotonicTime deadline);

/// The operation's deadline is extended by this action (a spare that is let in starts afresh).
constexpr bool extends_deadline(Action action) {
  return action == Action::remove_from_redundancy_list;
}

/// Carries out a changing action for `node` on `state`. EscapedPythonError "KeyError" when the node
/// or its heartbeat is missing where Python deletes it.
void apply(Action action, RendezvousState& state, const RendezvousSettings& settings,
           const NodeRef& node, sim::WallTime wall_now);

/// A node that has not reported for longer than interval × attempts.
struct DeadNode {
  NodeRef node;
  sim::Duration silence{};  ///< age of its last heartbeat by the clock of the judging node
  bool was_participant = false;
};

/// The nodes whose heartbeats are too old, in the order of their heartbeats. Constant time when
/// there is none and the oldest heartbeat is known.
std::vector<DeadNode> dead_nodes(const RendezvousState& state, const RendezvousSettings& settings,
                                 sim::WallTime wall_now);
/// Likewise by what this node has seen; never this node itself.
std::vector<DeadNode> dead_nodes(const RendezvousState& state, const RendezvousSettings& settings,
                                 const SignsOfLife& signs, const NodeRef& self);
/// Removes them from `state`.
void sanitise(RendezvousState& state, const RendezvousSettings& settings,
              std::vector<DeadNode>& dead);

}  // namespace hooke::model
