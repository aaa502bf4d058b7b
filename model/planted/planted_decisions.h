#pragma once
// Mistakes of a dynamic rendezvous' decisions, for tests of the oracle: each replaces one row or
// one number of the decisions below it (model/variant/planted_table.cpp says what each is).

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "model/hardened/dynamic/hardened_decisions.h"
#include "model/rendezvous/dynamic/decisions.h"
#include "model/variant/planted.h"

namespace hooke::model {

/// `Base`: Decisions or HardenedDecisions.
template <class Base>
class PlantedDecisions : public Base {
 public:
  template <class... Arguments>
  explicit PlantedDecisions(PlantedSet planted, Arguments&&... arguments)
      : Base(std::forward<Arguments>(arguments)...), planted_(std::move(planted)) {}

  Action join(const Situation& s, sim::MonotonicTime deadline) const override {
    const bool tries_on = planted_.has(Planted::rendezvous_join_never_times_out);
    const Action action =
        Base::join(s, tries_on ? sim::MonotonicTime(sim::Duration::max() / 2) : deadline);
    switch (action) {
      case Action::error_timeout:
        return instead(Planted::rendezvous_timeout_closes, Action::mark_rendezvous_closed, action);
      case Action::add_to_redundancy_list:
        if (s.state.waits(s.node) || !planted_.has(Planted::rendezvous_surplus_waits))
          return action;
        [[fallthrough]];
      case Action::add_to_wait_list:
        return instead(Planted::rendezvous_newcomer_takes_seat, Action::add_to_participants,
                       Action::add_to_wait_list);
      default: return action;
    }
  }
  std::vector<DeadNode> dead_nodes(const RendezvousState& state,
                                   sim::WallTime wall_now) const override {
    if (planted_.has(Planted::rendezvous_silence_by_newest_heartbeat)) {
      for (const Heartbeat& entry : state.last_heartbeats) wall_now = std::max(wall_now, entry.at);
    }
    return planted_.has(Planted::rendezvous_silence_by_wall_clock)
               ? Decisions::dead_nodes(state, wall_now)
               : Base::dead_nodes(state, wall_now);
  }
  [[nodiscard]] sim::Duration heartbeat_interval() const override {
    if (planted_.has(Planted::rendezvous_beats_ten_times)) return Base::heartbeat_interval() / 10;
    if (planted_.has(Planted::rendezvous_beats_seldom)) return Base::heartbeat_interval() * 10;
    return Base::heartbeat_interval();
  }
  [[nodiscard]] sim::Duration keep_alive_threshold() const override {
    if (planted_.has(Planted::rendezvous_patience_of_one_interval))
      return this->settings_.keep_alive_interval;
    if (planted_.has(Planted::rendezvous_patience_too_long))
      return Base::keep_alive_threshold() * this->settings_.keep_alive_max_attempt;
    return Base::keep_alive_threshold();
  }

 protected:
  [[nodiscard]] std::int64_t enough_nodes() const override {
    const std::int64_t enough = Base::enough_nodes();
    const bool too_few = planted_.has(Planted::rendezvous_seat_too_few);
    return too_few ? std::max<std::int64_t>(enough - 1, 1) : enough;
  }
  [[nodiscard]] std::int64_t all_seats() const override {
    return Base::all_seats() + (planted_.has(Planted::rendezvous_seat_too_many) ? 1 : 0);
  }
  [[nodiscard]] std::int64_t open_seats() const override {
    return Base::open_seats() - (planted_.has(Planted::rendezvous_last_seat_kept) ? 1 : 0);
  }
  [[nodiscard]] std::optional<Action> as_spare(const Situation& s) const override {
    const bool stays = s.state.closed && s.state.is_redundant(s.node) &&
                       planted_.has(Planted::rendezvous_spare_ignores_closed);
    return stays ? as_spare_of_open(s) : Base::as_spare(s);
  }
  [[nodiscard]] Action as_spare_of_open(const Situation& s) const override {
    const Action action = Base::as_spare_of_open(s);
    if (action != Action::keep_alive) return action;
    return instead(Planted::rendezvous_spares_do_not_beat, Action::sync, action);
  }
  [[nodiscard]] bool stays_spare(const Situation& s) const override {
    const auto participants = static_cast<std::int64_t>(s.state.participants.size());
    return Base::stays_spare(s) || participants == open_seats() ||
           planted_.has(Planted::rendezvous_spare_stays) ||
           (planted_.has(Planted::rendezvous_spare_waits_for_completion) && !s.state.complete);
  }
  [[nodiscard]] std::optional<Action> when_closed(const Situation& s) const override {
    const auto closed = Base::when_closed(s);
    if (!closed || planted_.has(Planted::rendezvous_closed_ignored)) return std::nullopt;
    return instead(Planted::rendezvous_closed_waited_for, Action::sync, *closed);
  }
  [[nodiscard]] bool last_call_is_over(const Situation& s) const override {
    const auto participants = static_cast<std::int64_t>(s.state.participants.size());
    if (participants < enough_nodes() || !keeps_spares(this->settings_.variant))
      return Base::last_call_is_over(s);
    if (planted_.has(Planted::rendezvous_last_call_skipped)) return true;
    if (planted_.has(Planted::rendezvous_last_call_endless)) return false;
    return planted_.has(Planted::rendezvous_last_call_by_wall_clock)
               ? Decisions::last_call_is_over(s)
               : Base::last_call_is_over(s);
  }
  [[nodiscard]] Action wait(const Situation& s) const override {
    const Action action = Base::wait(s);
    if (action != Action::keep_alive) return action;
    return instead(Planted::rendezvous_joiners_do_not_beat, Action::sync, action);
  }
  void renew(RendezvousState& state, const NodeRef& node, sim::WallTime now) const override {
    Base::renew(state, node, now);
    if (!planted_.has(Planted::rendezvous_beats_for_all)) return;
    state.last_heartbeats.change([now](std::vector<Heartbeat>& all) {
      for (Heartbeat& entry : all) entry.at = now;
    });
  }
  void add_to_participants(RendezvousState& state, const NodeRef& node,
                           sim::WallTime now) const override {
    const RendezvousState before = state;
    Base::add_to_participants(state, node, now);
    if (planted_.has(Planted::rendezvous_stays_on_wait_list)) state.wait_list = before.wait_list;
    if (planted_.has(Planted::rendezvous_joining_without_heartbeat)) {
      state.last_heartbeats = before.last_heartbeats;
      state.heartbeats_changed();
    }
  }
  [[nodiscard]] bool begins_last_call(const RendezvousState& state,
                                      std::int64_t least) const override {
    least += planted_.has(Planted::rendezvous_last_call_late) ? 1 : 0;
    const bool again = planted_.has(Planted::rendezvous_last_call_extended) &&
                       static_cast<std::int64_t>(state.participants.size()) > least;
    return again || Base::begins_last_call(state, least);
  }
  void complete(RendezvousState& state) const override {
    const auto deadline = state.deadline;
    Base::complete(state);
    if (planted_.has(Planted::rendezvous_last_call_stays)) state.deadline = deadline;
    if (!planted_.has(Planted::rendezvous_rank_skipped)) return;
    state.participants.change([](std::vector<Participant>& all) {
      for (Participant& member : all) member.rank += member.rank > 0 ? 1 : 0;
    });
  }
  void participant_removed(RendezvousState& state) const override {
    const std::int64_t round = state.round;
    Base::participant_removed(state);
    if (planted_.has(Planted::rendezvous_round_stays)) state.round = round;
  }
  void remove_dead(RendezvousState& state, std::vector<DeadNode>& dead) const override {
    const RendezvousState before = state;
    Base::remove_dead(state, dead);
    if (planted_.has(Planted::rendezvous_dead_keep_seats) ||
        (!state.complete && planted_.has(Planted::rendezvous_dead_keep_forming_seats))) {
      state.participants = before.participants;
      for (DeadNode& node : dead) node.was_participant = false;
    }
    if (planted_.has(Planted::rendezvous_dead_keep_waiting)) state.wait_list = before.wait_list;
    if (planted_.has(Planted::rendezvous_dead_stay_spares))
      state.redundancy_list = before.redundancy_list;
  }

  [[nodiscard]] Action instead(Planted mistake, Action wrong, Action right) const {
    return planted_.has(mistake) ? wrong : right;
  }
  PlantedSet planted_;
};

/// Mistakes that only hardened decisions can make.
class PlantedHardenedDecisions final : public PlantedDecisions<HardenedDecisions> {
 public:
  using PlantedDecisions::PlantedDecisions;

 protected:
  void add_to_redundancy_list(RendezvousState& state, const NodeRef& node,
                              sim::WallTime now) const override {
    const RendezvousState before = state;
    PlantedDecisions::add_to_redundancy_list(state, node, now);
    if (planted_.has(Planted::rendezvous_spare_still_waits)) state.wait_list = before.wait_list;
  }
  [[nodiscard]] bool may_be_dead(const NodeRef& node) const override {
    return planted_.has(Planted::rendezvous_evicts_itself) || PlantedDecisions::may_be_dead(node);
  }
};

}  // namespace hooke::model
