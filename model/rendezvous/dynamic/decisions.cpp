// The tables of PyTorch's operations, row by row. Rows are in the order in which the first match
// decides.
#include "model/rendezvous/dynamic/decisions.h"

#include <algorithm>
#include <limits>

#include "model/rendezvous/core/errors.h"
#include "model/rendezvous/core/settings.h"
#include "sim/port/check.h"

namespace hooke::model {
namespace {

/// After a failed join a node still gets so long to take itself off the lists.
constexpr sim::Duration kRollback = std::chrono::seconds(5);

std::int64_t count(const RendezvousState& state) {
  return static_cast<std::int64_t>(state.participants.size());
}

template <class T, class Projection>
bool erase_node(SharedList<T>& list, const NodeRef& node, Projection node_of) {
  return list.erase_first([&](const T& entry) { return node_of(entry) == node; });
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
  Heartbeat* const known = state.last_heartbeats.find_to_edit(
      [&](const Heartbeat& entry) { return entry.node == node; });
  if (known == nullptr) {
    state.last_heartbeats.push_back({node, now});
  } else {
    known->at = now;
  }
}

void require(bool found, const NodeRef& node) {
  if (!found) throw EscapedPythonError("KeyError", node->text());
}

void forget_heartbeat(RendezvousState& state, const NodeRef& node) {
  state.heartbeats_changed();
  require(erase_node(state.last_heartbeats, node, of_heartbeat), node);
}

/// Finds nodes among the dead: of both there may be a thousand.
class AmongDead {
 public:
  /// `dead` must outlive it.
  explicit AmongDead(std::vector<DeadNode>& dead) {
    for (DeadNode& each : dead) {
      bits_ |= bit_of(each.node);
      by_hash_.emplace_back(each.node.hash(), &each);
    }
    const auto is_less = [](const auto& a, const auto& b) { return a.first < b.first; };
    std::stable_sort(by_hash_.begin(), by_hash_.end(), is_less);
  }
  [[nodiscard]] DeadNode* find(const NodeRef& node) const {
    if ((bits_ & bit_of(node)) == 0) return nullptr;
    const auto is_less = [](const auto& entry, std::uint64_t hash) { return entry.first < hash; };
    auto each = std::lower_bound(by_hash_.begin(), by_hash_.end(), node.hash(), is_less);
    for (; each != by_hash_.end() && each->first == node.hash(); ++each) {
      if (each->second->node == node) return each->second;
    }
    return nullptr;
  }

 private:
  static std::uint64_t bit_of(const NodeRef& node) {
    return std::uint64_t{1} << (node.hash() & 63U);
  }

  std::uint64_t bits_ = 0;  ///< most nodes are told apart from a few dead ones by them
  std::vector<std::pair<std::uint64_t, DeadNode*>> by_hash_;
};

}  // namespace

bool erase_node(SharedList<NodeRef>& list, const NodeRef& node) {
  return erase_node(list, node, itself);
}

std::int64_t round_after(std::int64_t round) {
  HOOKE_CHECK(round >= 0, "the number of a round is not negative");
  if (round == std::numeric_limits<std::int64_t>::max()) {
    throw EscapedPythonError("OverflowError", "no round follows " + std::to_string(round));
  }
  return round + 1;
}

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
  HOOKE_CHECK(false, "each action has a name");
  return "?";
}

bool Decisions::heartbeat_due(const Situation& s) const {
  const Heartbeat* const last = s.state.heartbeat(s.node);
  return last != nullptr && last->at <= s.wall_now - heartbeat_interval();
}

bool Decisions::stays_spare(const Situation& s) const {
  return count(s.state) == settings_.max_nodes;
}

/// The rows of `ctx.node in state.redundancy_list`: what a spare does (since 2.3; before, there is no such
/// list). PyTorch has them in two places, of a closed rendezvous and of an open one.
std::optional<Action> Decisions::as_spare(const Situation& s) const {
  if (!keeps_spares(settings_.variant) || !s.state.is_redundant(s.node)) return std::nullopt;
  if (s.state.closed) {
    throw RendezvousGracefulExitError("the rendezvous \"" + settings_.run_id +
                                      "\" is closed: this spare node leaves");
  }
  return as_spare_of_open(s);
}

Action Decisions::as_spare_of_open(const Situation& s) const {
  if (stays_spare(s)) return heartbeat_due(s) ? Action::keep_alive : Action::sync;
  return Action::remove_from_redundancy_list;
}

std::optional<Action> Decisions::when_closed(const Situation& s) const {
  if (s.state.closed) return Action::error_closed;
  return std::nullopt;
}

bool Decisions::last_call_is_over(const Situation& s) const {
  const std::int64_t participants = count(s.state);
  if (participants < enough_nodes()) return false;
  if (keeps_spares(settings_.variant) && participants > settings_.max_nodes) return false;
  if (!s.state.deadline) {
    if (bears_a_missing_deadline(settings_.variant)) return false;
    throw EscapedPythonError("TypeError", "None compared with a datetime");
  }
  return *s.state.deadline < s.wall_now;
}

/// The last rows of `_RendezvousJoinOp`: KEEP_ALIVE when a heartbeat is due, else SYNC.
Action Decisions::wait(const Situation& s) const {
  return heartbeat_due(s) ? Action::keep_alive : Action::sync;
}

/// `_RendezvousJoinOp.__call__`, row by row.
Action Decisions::join(const Situation& s, sim::MonotonicTime deadline) const {
  if (const auto as_one = as_spare(s)) return *as_one;
  const RendezvousState& state = s.state;
  if (const auto closed = when_closed(s)) return *closed;
  const bool participates = state.participant(s.node) != nullptr;
  if (state.complete && participates) return Action::finish;  // the node is part of the round
  const bool waits = state.waits(s.node);
  if (s.mono_now > deadline) {  // `now > deadline`: 5 s more to take the node off its list
    const bool may_roll_back = s.mono_now <= deadline + kRollback;
    if (may_roll_back && participates) return Action::remove_from_participants;
    if (may_roll_back && waits) return Action::remove_from_wait_list;
    return Action::error_timeout;
  }
  if (state.complete) {  // for the next round
    if (!waits) {
      if (count(state) < open_seats()) return Action::add_to_wait_list;
      if (keeps_spares(settings_.variant)) return Action::add_to_redundancy_list;
    }
  } else if (!participates) {
    return Action::add_to_participants;
  } else if (last_call_is_over(s)) {  // enough participants, and `state.deadline < now`
    return Action::mark_rendezvous_complete;
  }
  return wait(s);
}

/// `_RendezvousExitOp.__call__`.
Action Decisions::exit(const Situation& s, sim::MonotonicTime deadline) const {
  if (s.state.participant(s.node) == nullptr) return Action::finish;
  return s.mono_now > deadline ? Action::error_timeout : Action::remove_from_participants;
}

/// `_RendezvousCloseOp.__call__`.
Action Decisions::close(const Situation& s, sim::MonotonicTime deadline) const {
  if (s.state.closed) return Action::finish;
  return s.mono_now > deadline ? Action::error_timeout : Action::mark_rendezvous_closed;
}

/// `_RendezvousKeepAliveOp.__call__`.
Action Decisions::keep_alive(const Situation& s, sim::MonotonicTime deadline) const {
  if (!heartbeat_due(s)) return Action::finish;
  return s.mono_now > deadline ? Action::error_timeout : Action::keep_alive;
}

void Decisions::renew(RendezvousState& state, const NodeRef& node, sim::WallTime now) const {
  beat(state, node, now);
}

bool Decisions::begins_last_call(const RendezvousState& state, std::int64_t least) const {
  // Equality, not at least: the last call starts when the minimum is reached and is not extended.
  // Where nodes differ in what they want, a number may be stepped over.
  return count(state) == least;
}

bool Decisions::is_full(const RendezvousState& state) const {
  return count(state) == all_seats();
}

void Decisions::add_to_participants(RendezvousState& state, const NodeRef& node,
                                    sim::WallTime now) const {
  erase_node(state.wait_list, node, itself);
  Participant* const known =
      state.participants.find_to_edit([&](const Participant& entry) { return entry.node == node; });
  if (known == nullptr) {
    state.participants.push_back({node, 0});
  } else {
    known->rank = 0;
  }
  beat(state, node, now);
  if (begins_last_call(state, enough_nodes())) state.deadline = now + settings_.timeout.last_call;
  if (is_full(state)) complete(state);
}

void Decisions::add_to_redundancy_list(RendezvousState& state, const NodeRef& node,
                                       sim::WallTime now) const {
  if (!state.is_redundant(node)) state.redundancy_list.push_back(node);
  beat(state, node, now);
}

void Decisions::complete(RendezvousState& state) const {
  state.complete = true;
  state.deadline.reset();
  state.participants.change([](std::vector<Participant>& all) {
    std::vector<Participant*> ordered;
    ordered.reserve(all.size());
    for (Participant& entry : all) ordered.push_back(&entry);
    std::sort(ordered.begin(), ordered.end(),
              [](const Participant* a, const Participant* b) { return *a->node < *b->node; });
    for (std::size_t rank = 0; rank < ordered.size(); ++rank)
      ordered[rank]->rank = static_cast<std::int64_t>(rank);
  });
}

/// `_remove_participant_epilogue`.
void Decisions::participant_removed(RendezvousState& state) const {
  if (state.complete) {
    if (!state.participants.empty()) return;
    const std::int64_t next = round_after(state.round);
    state.complete = false;
    state.round = next;
  } else if (count(state) < enough_nodes()) {
    state.deadline.reset();
  }
}

void Decisions::apply(Action action, RendezvousState& state, const NodeRef& node,
                      sim::WallTime now) const {
  switch (action) {
    case Action::keep_alive: return renew(state, node, now);
    case Action::add_to_participants: return add_to_participants(state, node, now);
    case Action::add_to_wait_list:
      if (keeps_spares(settings_.variant)) erase_node(state.redundancy_list, node, itself);
      if (!state.waits(node)) state.wait_list.push_back(node);
      return beat(state, node, now);
    case Action::add_to_redundancy_list: return add_to_redundancy_list(state, node, now);
    case Action::remove_from_participants:
      require(erase_node(state.participants, node, of_participant), node);
      forget_heartbeat(state, node);
      return participant_removed(state);
    case Action::remove_from_wait_list:
      require(erase_node(state.wait_list, node, itself), node);
      return forget_heartbeat(state, node);
    case Action::remove_from_redundancy_list:
      require(erase_node(state.redundancy_list, node, itself), node);
      return forget_heartbeat(state, node);
    case Action::mark_rendezvous_complete: return complete(state);
    case Action::mark_rendezvous_closed: state.closed = true; return;
    case Action::sync:
    case Action::error_closed:
    case Action::error_timeout:
    case Action::finish: return;  // these change nothing
  }
}

std::vector<DeadNode> Decisions::dead_nodes(const RendezvousState& state,
                                            sim::WallTime wall_now) const {
  const sim::WallTime limit = wall_now - keep_alive_threshold();
  HOOKE_CHECK(wall_now == truncate_to_microseconds(wall_now),
              "the wall time for judging heartbeats has whole microseconds");
  std::vector<DeadNode> dead;
  if (state.oldest_heartbeat() >= limit) return dead;
  for (const Heartbeat& entry : state.last_heartbeats) {
    if (entry.at < limit) dead.push_back({entry.node, wall_now - entry.at, false});
  }
  return dead;
}

void Decisions::remove_dead(RendezvousState& state, std::vector<DeadNode>& dead) const {
  const AmongDead among(dead);
  const auto find = [&among](const NodeRef& node) { return among.find(node); };
  state.last_heartbeats.erase_all(
      [&](const Heartbeat& entry) { return find(entry.node) != nullptr; });
  state.participants.erase_all([&](const Participant& entry) {
    DeadNode* const node = find(entry.node);
    if (node != nullptr) node->was_participant = true;
    return node != nullptr;
  });
  const auto is_dead = [&](const NodeRef& node) { return find(node) != nullptr; };
  state.wait_list.erase_all(is_dead);
  if (keeps_spares(settings_.variant)) state.redundancy_list.erase_all(is_dead);
}

void Decisions::sanitise(RendezvousState& state, std::vector<DeadNode>& dead) const {
  HOOKE_CHECK(!dead.empty(), "the list of dead nodes is not empty");
  remove_dead(state, dead);
  state.heartbeats_changed();
  if (state.complete && settings_.complete_stays) return;
  const bool participant_died = std::any_of(
      dead.begin(), dead.end(), [](const DeadNode& node) { return node.was_participant; });
  if (participant_died) participant_removed(state);
}

}  // namespace hooke::model
