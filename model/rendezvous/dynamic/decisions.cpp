// The tables of PyTorch's operations, row by row. Rows are in the order in which the first match
// decides.
#include "model/rendezvous/dynamic/decisions.h"

#include <algorithm>

#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/core/settings.h"

namespace hooke::model {
namespace {

/// After a failed join a node still gets so long to take itself off the lists.
constexpr sim::Duration kRollback = std::chrono::seconds(5);

std::int64_t count(const RendezvousState& state) {
  return static_cast<std::int64_t>(state.participants.size());
}

/// How many nodes are enough for a round, and how many are all that it takes.
std::int64_t enough_nodes(const RendezvousSettings& settings) {
  const bool too_few = settings.planted.has(Planted::rendezvous_seat_too_few);
  return too_few ? std::max<std::int64_t>(settings.min_nodes - 1, 1) : settings.min_nodes;
}
std::int64_t all_seats(const RendezvousSettings& settings) {
  const bool too_many = settings.planted.has(Planted::rendezvous_seat_too_many);
  return too_many ? settings.max_nodes + 1 : settings.max_nodes;
}

/// The silence after which a node is dead.
sim::Duration keep_alive_threshold(const RendezvousSettings& settings) {
  const sim::Duration usual = settings.keep_alive_interval * settings.keep_alive_max_attempt;
  if (settings.planted.has(Planted::rendezvous_patience_of_one_interval))
    return settings.keep_alive_interval;
  if (settings.planted.has(Planted::rendezvous_patience_too_long))
    return usual * settings.keep_alive_max_attempt;
  return usual;
}

bool heartbeat_due(const Situation& s) {
  const Heartbeat* const last = s.state.heartbeat(s.node);
  const sim::Duration interval = heartbeat_interval(s.settings);
  if (s.signs != nullptr && last != nullptr) return s.signs->silence(*s.node) >= interval;
  return last != nullptr && last->at <= s.wall_now - interval;
}

/// What a newcomer may have of a complete round: all that are free.
std::int64_t seats(const RendezvousSettings& settings) {
  const bool keeps_one = settings.planted.has(Planted::rendezvous_last_seat_kept);
  return settings.max_nodes - (keeps_one ? 1 : 0);
}

template <class T, class Projection>
bool erase_node(std::vector<T>& list, const NodeRef& node, Projection node_of) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const T& entry) { return node_of(entry) == node; });
  if (found == list.end()) return false;
  list.erase(found);
  return true;
}

const NodeRef& of_participant(const Participant& entry) {
  return entry.node;
}
const NodeRef& of_heartbeat(const Heartbeat& entry) {
  return entry.node;
}
const NodeRef& itself(const NodeRef& node) {
  return node;
}

void beat(RendezvousState& state, const NodeRef& node, sim::WallTime now) {
  state.heartbeats_changed();
  for (Heartbeat& entry : state.last_heartbeats) {
    if (entry.node == node) {
      entry.at = now;
      return;
    }
  }
  state.last_heartbeats.push_back({node, now});
}

void renew(RendezvousState& state, const RendezvousSettings& settings, const NodeRef& node,
           sim::WallTime now) {
  beat(state, node, now);
  if (!settings.planted.has(Planted::rendezvous_beats_for_all)) return;
  for (Heartbeat& entry : state.last_heartbeats) entry.at = now;
}

void require(bool found, const NodeRef& node) {
  if (!found) throw EscapedPythonError("KeyError", node->text());
}

void forget_heartbeat(RendezvousState& state, const NodeRef& node) {
  state.heartbeats_changed();
  require(erase_node(state.last_heartbeats, node, of_heartbeat), node);
}

void complete(RendezvousState& state, const RendezvousSettings& settings) {
  state.complete = true;
  if (!settings.planted.has(Planted::rendezvous_last_call_stays)) state.deadline.reset();
  std::vector<Participant*> ordered;
  ordered.reserve(state.participants.size());
  for (Participant& entry : state.participants) ordered.push_back(&entry);
  std::sort(ordered.begin(), ordered.end(),
            [](const Participant* a, const Participant* b) { return *a->node < *b->node; });
  for (std::size_t rank = 0; rank < ordered.size(); ++rank) {
    ordered[rank]->rank = static_cast<std::int64_t>(rank);
    if (rank > 0 && settings.planted.has(Planted::rendezvous_rank_skipped)) ++ordered[rank]->rank;
  }
}

/// A participant has left or died: perhaps the round is over, perhaps last call is off.
void participant_removed(RendezvousState& state, const RendezvousSettings& settings) {
  if (state.complete) {
    if (!state.participants.empty()) return;
    state.complete = false;
    if (!settings.planted.has(Planted::rendezvous_round_stays)) ++state.round;
  } else if (count(state) < enough_nodes(settings)) {
    state.deadline.reset();
  }
}

void add_to_participants(RendezvousState& state, const RendezvousSettings& settings,
                         const NodeRef& node, sim::WallTime now) {
  if (!settings.planted.has(Planted::rendezvous_stays_on_wait_list))
    erase_node(state.wait_list, node, itself);
  const auto known = std::find_if(state.participants.begin(), state.participants.end(),
                                  [&](const Participant& entry) { return entry.node == node; });
  if (known == state.participants.end()) {
    state.participants.push_back({node, 0});
  } else {
    known->rank = 0;
  }
  if (!settings.planted.has(Planted::rendezvous_joining_without_heartbeat)) beat(state, node, now);
  // Equality, not at least: the last call starts when the minimum is reached and is not extended.
  // Where nodes differ in what they want, a number may be stepped over.
  const bool hardened = settings.variant == Variant::hardened;
  const std::int64_t least =
      enough_nodes(settings) + (settings.planted.has(Planted::rendezvous_last_call_late) ? 1 : 0);
  const bool enough = hardened ? count(state) >= least && !state.deadline : count(state) == least;
  const bool again =
      settings.planted.has(Planted::rendezvous_last_call_extended) && count(state) > least;
  if (enough || again) state.deadline = now + settings.timeout.last_call;
  const std::int64_t most = all_seats(settings);
  const bool full = hardened ? count(state) >= most : count(state) == most;
  if (full) complete(state, settings);
}

/// No seat is free for a spare.
bool stays_spare(const Situation& s) {
  const std::int64_t participants = count(s.state);
  if (participants == s.settings.max_nodes || participants == seats(s.settings)) return true;
  if (s.settings.planted.has(Planted::rendezvous_spare_stays)) return true;
  return s.settings.planted.has(Planted::rendezvous_spare_waits_for_completion) &&
         !s.state.complete;
}

/// Rows that only a spare sees (2.x); none for 1.13, which has no redundancy list.
std::optional<Action> decide_as_spare(const Situation& s) {
  if (s.settings.variant == Variant::torch_1_13 || !s.state.is_redundant(s.node))
    return std::nullopt;
  if (s.state.closed && !s.settings.planted.has(Planted::rendezvous_spare_ignores_closed)) {
    throw RendezvousGracefulExitError("the rendezvous \"" + s.settings.run_id +
                                      "\" is closed: this spare node leaves");
  }
  if (stays_spare(s)) {
    const bool beats = !s.settings.planted.has(Planted::rendezvous_spares_do_not_beat);
    return beats && heartbeat_due(s) ? Action::keep_alive : Action::sync;
  }
  return Action::remove_from_redundancy_list;
}

/// However short: those who wait look at the state once in a while, and are not to miss it.
sim::Duration hardened_last_call(const Situation& s) {
  const sim::Duration configured = s.settings.timeout.last_call;
  return s.state.wait_list.empty() ? configured : std::max(configured, 2 * kPollInterval);
}

bool last_call_is_over(const Situation& s) {
  const std::int64_t participants = count(s.state);
  if (participants < enough_nodes(s.settings)) return false;
  if (s.settings.variant == Variant::torch_1_13) {
    if (!s.state.deadline) throw EscapedPythonError("TypeError", "None compared with a datetime");
    return *s.state.deadline < s.wall_now;
  }
  if (s.settings.planted.has(Planted::rendezvous_last_call_skipped)) return true;
  if (s.settings.planted.has(Planted::rendezvous_last_call_endless)) return false;
  if (s.signs != nullptr && !s.settings.planted.has(Planted::rendezvous_last_call_by_wall_clock)) {
    return s.state.deadline && s.signs->last_call() >= hardened_last_call(s);
  }
  return participants <= s.settings.max_nodes && s.state.deadline && *s.state.deadline < s.wall_now;
}

/// Hardened: a participant sees a last call that runs to its end, which comes by itself.
/// Participants that leave one make the others begin another, in which the next join time-out ends:
/// agents that are started again and again would never meet.
sim::MonotonicTime end_of_joining(const Situation& s, sim::MonotonicTime deadline) {
  const bool in_last_call = s.signs != nullptr && s.state.deadline && !s.state.complete &&
                            s.state.participant(s.node) != nullptr &&
                            count(s.state) >= enough_nodes(s.settings);
  return in_last_call ? deadline + hardened_last_call(s) : deadline;
}

}  // namespace

std::string_view to_string(Action action) {
  switch (action) {
    case Action::keep_alive: return "KEEP_ALIVE";
    case Action::add_to_participants: return "ADD_TO_PARTICIPANTS";
    case Action::add_to_wait_list: return "ADD_TO_WAIT_LIST";
    case Action::add_to_redundancy_list: return "ADD_TO_REDUNDANCY_LIST";
    case Action::remove_from_participants: return "REMOVE_FROM_PARTICIPANTS";
    case Action::remove_from_wait_list: return "REMOVE_FROM_WAIT_LIST";
    case Action::remove_from_redundancy_list: return "REMOVE_FROM_REDUNDANCY_LIST";
    case Action::mark_rendezvous_complete: return "MARK_RENDEZVOUS_COMPLETE";
    case Action::mark_rendezvous_closed: return "MARK_RENDEZVOUS_CLOSED";
    case Action::sync: return "SYNC";
    case Action::error_closed: return "ERROR_CLOSED";
    case Action::error_timeout: return "ERROR_TIMEOUT";
    case Action::finish: return "FINISH";
  }
  return "?";
}

sim::Duration heartbeat_interval(const RendezvousSettings& settings) {
  const sim::Duration configured = settings.keep_alive_interval;
  if (settings.planted.has(Planted::rendezvous_beats_ten_times)) return configured / 10;
  if (settings.planted.has(Planted::rendezvous_beats_seldom)) return configured * 10;
  return configured;
}

Action decide_join(const Situation& s, sim::MonotonicTime join_deadline) {
  if (const auto as_spare = decide_as_spare(s)) return *as_spare;
  const RendezvousState& state = s.state;
  if (state.closed && !s.settings.planted.has(Planted::rendezvous_closed_ignored)) {
    const bool is_awaited = s.settings.planted.has(Planted::rendezvous_closed_waited_for);
    return is_awaited ? Action::sync : Action::error_closed;
  }
  const bool participates = state.participant(s.node) != nullptr;
  if (state.complete && participates) return Action::finish;
  const bool waits = state.waits(s.node);
  const bool tries_on = s.settings.planted.has(Planted::rendezvous_join_never_times_out);
  const sim::MonotonicTime deadline = end_of_joining(s, join_deadline);
  if (s.mono_now > deadline && !tries_on) {
    const bool may_roll_back = s.mono_now <= deadline + kRollback;
    if (may_roll_back && participates) return Action::remove_from_participants;
    if (may_roll_back && waits) return Action::remove_from_wait_list;
    const bool closes = s.settings.planted.has(Planted::rendezvous_timeout_closes);
    return closes ? Action::mark_rendezvous_closed : Action::error_timeout;
  }
  if (state.complete) {
    // Whoever waits for a seat where none is left only makes the others restart.
    const bool in_vain =
        s.settings.variant == Variant::hardened && waits && count(state) >= s.settings.max_nodes;
    if (in_vain) return Action::add_to_redundancy_list;
    if (!waits) {
      const bool none_spare = s.settings.planted.has(Planted::rendezvous_surplus_waits);
      const bool takes_seat = s.settings.planted.has(Planted::rendezvous_newcomer_takes_seat);
      if (count(state) < seats(s.settings) || none_spare)
        return takes_seat ? Action::add_to_participants : Action::add_to_wait_list;
      if (s.settings.variant != Variant::torch_1_13) return Action::add_to_redundancy_list;
    }
  } else if (!participates) {
    return Action::add_to_participants;
  } else if (last_call_is_over(s)) {
    return Action::mark_rendezvous_complete;
  }
  if (s.settings.planted.has(Planted::rendezvous_joiners_do_not_beat)) return Action::sync;
  return heartbeat_due(s) ? Action::keep_alive : Action::sync;
}

Action decide_exit(const Situation& s, sim::MonotonicTime deadline) {
  if (s.state.participant(s.node) == nullptr) return Action::finish;
  return s.mono_now > deadline ? Action::error_timeout : Action::remove_from_participants;
}

Action decide_leave(const Situation& s, sim::MonotonicTime deadline) {
  const bool participates = s.state.participant(s.node) != nullptr;
  const bool waits = s.state.waits(s.node);
  if (!participates && !waits && !s.state.is_redundant(s.node)) return Action::finish;
  if (s.mono_now > deadline) return Action::error_timeout;
  if (participates) return Action::remove_from_participants;
  return waits ? Action::remove_from_wait_list : Action::remove_from_redundancy_list;
}

Action decide_close(const Situation& s, sim::MonotonicTime deadline) {
  if (s.state.closed) return Action::finish;
  return s.mono_now > deadline ? Action::error_timeout : Action::mark_rendezvous_closed;
}

Action decide_keep_alive(const Situation& s, sim::MonotonicTime deadline) {
  if (!heartbeat_due(s)) return Action::finish;
  return s.mono_now > deadline ? Action::error_timeout : Action::keep_alive;
}

void apply(Action action, RendezvousState& state, const RendezvousSettings& settings,
           const NodeRef& node, sim::WallTime now) {
  switch (action) {
    case Action::keep_alive: return renew(state, settings, node, now);
    case Action::add_to_participants: return add_to_participants(state, settings, node, now);
    case Action::add_to_wait_list:
      if (settings.variant != Variant::torch_1_13) erase_node(state.redundancy_list, node, itself);
      if (!state.waits(node)) state.wait_list.push_back(node);
      return beat(state, node, now);
    case Action::add_to_redundancy_list:
      if (settings.variant == Variant::hardened) erase_node(state.wait_list, node, itself);
      if (!state.is_redundant(node)) state.redundancy_list.push_back(node);
      return beat(state, node, now);
    case Action::remove_from_participants:
      require(erase_node(state.participants, node, of_participant), node);
      forget_heartbeat(state, node);
      return participant_removed(state, settings);
    case Action::remove_from_wait_list:
      require(erase_node(state.wait_list, node, itself), node);
      return forget_heartbeat(state, node);
    case Action::remove_from_redundancy_list:
      require(erase_node(state.redundancy_list, node, itself), node);
      return forget_heartbeat(state, node);
    case Action::mark_rendezvous_complete: return complete(state, settings);
    case Action::mark_rendezvous_closed: state.closed = true; return;
    case Action::sync:
    case Action::error_closed:
    case Action::error_timeout:
    case Action::finish: return;  // these change nothing
  }
}

std::vector<DeadNode> dead_nodes(const RendezvousState& state, const RendezvousSettings& settings,
                                 sim::WallTime wall_now) {
  if (settings.planted.has(Planted::rendezvous_silence_by_newest_heartbeat)) {
    for (const Heartbeat& entry : state.last_heartbeats) wall_now = std::max(wall_now, entry.at);
  }
  const sim::WallTime limit = wall_now - keep_alive_threshold(settings);
  std::vector<DeadNode> dead;
  if (state.oldest_heartbeat() >= limit) return dead;
  for (const Heartbeat& entry : state.last_heartbeats) {
    if (entry.at < limit) dead.push_back({entry.node, wall_now - entry.at, false});
  }
  return dead;
}

std::vector<DeadNode> dead_nodes(const RendezvousState& state, const RendezvousSettings& settings,
                                 const SignsOfLife& signs, const NodeRef& self) {
  const sim::Duration limit = keep_alive_threshold(settings);
  std::vector<DeadNode> dead;
  for (const Heartbeat& entry : state.last_heartbeats) {
    if (entry.node == self && !settings.planted.has(Planted::rendezvous_evicts_itself)) continue;
    const sim::Duration silence = signs.silence(*entry.node);
    if (silence > limit) dead.push_back({entry.node, silence, false});
  }
  return dead;
}

void sanitise(RendezvousState& state, const RendezvousSettings& settings,
              std::vector<DeadNode>& dead) {
  bool participant_died = false;
  const bool keep_seats =
      settings.planted.has(Planted::rendezvous_dead_keep_seats) ||
      (!state.complete && settings.planted.has(Planted::rendezvous_dead_keep_forming_seats));
  for (DeadNode& node : dead) {
    erase_node(state.last_heartbeats, node.node, of_heartbeat);
    if (!keep_seats)
      node.was_participant = erase_node(state.participants, node.node, of_participant);
    participant_died = participant_died || node.was_participant;
    if (!settings.planted.has(Planted::rendezvous_dead_keep_waiting))
      erase_node(state.wait_list, node.node, itself);
    if (settings.variant != Variant::torch_1_13 &&
        !settings.planted.has(Planted::rendezvous_dead_stay_spares))
      erase_node(state.redundancy_list, node.node, itself);
  }
  state.heartbeats_changed();
  if (state.complete && settings.complete_stays) return;
  if (participant_died) participant_removed(state, settings);
}

}  // namespace hooke::model
