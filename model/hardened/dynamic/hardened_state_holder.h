#pragma once
// The problem: a store that comes up empty takes the rendezvous back to its first round, in which
// keys of the old one are still read, and a write that failed is made later,
// when it is no longer right.

#include "model/rendezvous/dynamic/state_holder.h"

namespace hooke::model {

/// Gives the backend back what it has lost, and forgets a write that failed.
class HardenedStateHolder : public StateHolder {
 public:
  using StateHolder::StateHolder;

  void change(Action action) override;
  /// As StateHolder::sync, but what was to be written when the backend failed is forgotten.
  std::optional<bool> sync() override;

  /// False as long as the backend has never had a state for this node to see.
  [[nodiscard]] bool known() const { return known_; }
  /// A job that has no state yet begins with `round`, and this node enters no earlier one.
  void begin_at(std::int64_t round);
  /// The state's round is none that came before that.
  [[nodiscard]] bool is_new_round() const { return state_->round >= first_round_; }

 protected:
  [[nodiscard]] std::shared_ptr<RendezvousState> fresh_state() const override;
  bool write() override;
  void nothing_answered(const sim::Value& offered) override;
  /// Whatever is wrong with it is a RendezvousStateError, which the agents know.
  [[nodiscard]] StateRef decoded(const sim::Value& bytes) const override;

 private:
  std::optional<bool> give_back();

  std::int64_t first_round_ = 0;
  StateRef last_seen_;  ///< what the backend had at the latest sync
};

}  // namespace hooke::model
