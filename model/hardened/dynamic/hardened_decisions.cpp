#include "model/hardened/dynamic/hardened_decisions.h"

#include <algorithm>

namespace hooke::model {
namespace {

std::int64_t count(const RendezvousState& state) {
  return static_cast<std::int64_t>(state.participants.size());
}

}  // namespace

bool HardenedDecisions::heartbeat_due(const Situation& s) const {
  return s.state.heartbeat(s.node) != nullptr && silence(s.node) >= heartbeat_interval();
}

/// However short: the nodes that wait look at the state once in a while, and are not to miss it.
sim::Duration HardenedDecisions::last_call(const Situation& s) const {
  const sim::Duration configured = settings_.timeout.last_call;
  return s.state.wait_list.empty() ? configured : std::max(configured, 2 * kPollInterval);
}

bool HardenedDecisions::last_call_is_over(const Situation& s) const {
  return count(s.state) >= enough_nodes() && s.state.deadline && signs_.last_call() >= last_call(s);
}

/// A participant sees a last call that runs to its end, which comes by itself. Participants that
/// leave one make the others begin another, in which the next join time-out ends: agents that are
/// started again and again would never meet.
Action HardenedDecisions::join(const Situation& s, sim::MonotonicTime deadline) const {
  const bool in_last_call = s.state.deadline && !s.state.complete &&
                            s.state.participant(s.node) != nullptr &&
                            count(s.state) >= enough_nodes();
  return Decisions::join(s, in_last_call ? deadline + last_call(s) : deadline);
}

/// A node that waits for a seat where none is left only makes the others restart.
Action HardenedDecisions::wait(const Situation& s) const {
  const bool in_vain =
      s.state.complete && s.state.waits(s.node) && count(s.state) >= settings_.max_nodes;
  return in_vain ? Action::add_to_redundancy_list : Decisions::wait(s);
}

Action HardenedDecisions::leave(const Situation& s, sim::MonotonicTime deadline) const {
  const bool participates = s.state.participant(s.node) != nullptr;
  const bool waits = s.state.waits(s.node);
  if (!participates && !waits && !s.state.is_redundant(s.node)) return Action::finish;
  if (s.mono_now > deadline) return Action::error_timeout;
  if (participates) return Action::remove_from_participants;
  return waits ? Action::remove_from_wait_list : Action::remove_from_redundancy_list;
}

Action HardenedDecisions::close_own(const Situation& s, sim::MonotonicTime deadline) const {
  const bool is_of_others = is_of_others_ && is_of_others_(s.state);
  return is_of_others ? Action::finish : close(s, deadline);
}

void HardenedDecisions::add_to_redundancy_list(RendezvousState& state, const NodeRef& node,
                                               sim::WallTime now) const {
  erase_node(state.wait_list, node);
  Decisions::add_to_redundancy_list(state, node, now);
}

bool HardenedDecisions::begins_last_call(const RendezvousState& state, std::int64_t least) const {
  return count(state) >= least && !state.deadline;
}

bool HardenedDecisions::is_full(const RendezvousState& state) const {
  return count(state) >= all_seats();
}

std::vector<DeadNode> HardenedDecisions::dead_nodes(const RendezvousState& state,
                                                    sim::WallTime) const {
  const sim::Duration limit = keep_alive_threshold();
  std::vector<DeadNode> dead;
  for (const Heartbeat& entry : state.last_heartbeats) {
    if (!may_be_dead(entry.node)) continue;
    const sim::Duration silent = silence(entry.node);
    if (silent > limit) dead.push_back({entry.node, silent, false});
  }
  return dead;
}

}  // namespace hooke::model
