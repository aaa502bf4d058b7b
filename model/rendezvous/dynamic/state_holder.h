#pragma once
// A node's copy of the shared state and its exchange with the backend
// (dynamic_rendezvous.py:_BackendRendezvousStateHolder).

#include <optional>
#include <string>
#include <vector>

#include "model/rendezvous/dynamic/backend.h"
#include "model/rendezvous/dynamic/decisions.h"
#include "sim/port/clock.h"

namespace hooke::model {

/// A change made to the local copy that is not stored yet.
struct PendingChange {
  Action action;
  std::int64_t round = 0;   ///< the state's round after the change
  std::size_t members = 0;  ///< size of the list that was changed, or of the participants
  bool completed = false;   ///< the change completed the round
};

class StateHolder {
 public:
  /// Told after a write: what was in it, and whether it was accepted.
  class Observer {
   public:
    virtual ~Observer() = default;
    virtual void on_write(const std::vector<PendingChange>& changes,
                          const std::vector<DeadNode>& dead, std::optional<bool> accepted,
                          std::size_t bytes) = 0;
    /// An exchange with the backend that began at `began` has shown what stands there; null:
    /// nothing.
    virtual void on_read(const RendezvousState* stored, sim::MonotonicTime began) = 0;
    /// A write that began at `began` was lost to `stored`.
    virtual void on_lost(const RendezvousState& stored, sim::MonotonicTime began) = 0;
    /// `offered` was written; or, not `certain`, nobody can tell whether it was or will be.
    virtual void on_offered(const RendezvousState& offered, bool certain,
                            sim::MonotonicTime began) = 0;
    /// This node found itself dead in a state it read.
    virtual void on_own_death() = 0;
  };

  /// `cache_duration` 0: every clean sync asks the backend.
  StateHolder(sim::Clock& clock, RendezvousBackend& backend, const RendezvousSettings& settings,
              NodeRef node, Observer* observer,
              sim::Duration cache_duration = std::chrono::seconds(1));

  [[nodiscard]] const RendezvousState& state() const { return *state_; }
  /// Applies a changing action to the local copy and marks it dirty.
  void change(Action action);
  void mark_dirty() { dirty_ = true; }
  /// Writes the local copy when it is dirty, reads when the cache is old, and drops dead nodes from
  /// what came back (locally: that alone is not written). true: written; false: somebody else was
  /// faster, the local copy is now theirs; nullopt: nothing written. RendezvousConnectionError,
  /// RendezvousStateError: nothing has changed; what was to be written is tried
  /// again with the next sync, or forgotten in the hardened variant.
  std::optional<bool> sync();
  /// The next sync asks the backend, however young the cache is.
  void forget_cache() { last_sync_.reset(); }

  /// False as long as the backend has never had a state for this node to see.
  [[nodiscard]] bool known() const { return known_; }
  /// A job that has no state yet begins with `round`, and this node enters no earlier one
  /// (hardened: R-41).
  void begin_at(std::int64_t round);
  /// The state's round is none that came before that.
  [[nodiscard]] bool is_new_round() const { return state_->round >= first_round_; }

  /// What the hardened variant judges liveness by; null in the faithful ones.
  [[nodiscard]] const SignsOfLife* signs() const { return signs_ ? &*signs_ : nullptr; }

  // What the last sync left behind; for tests and status.
  [[nodiscard]] const std::optional<Token>& token() const { return token_; }
  [[nodiscard]] const std::vector<DeadNode>& dead_nodes() const { return dead_; }

 private:
  [[nodiscard]] std::shared_ptr<RendezvousState> fresh_state() const;
  RendezvousState& edit();
  std::optional<bool> give_back();
  /// Offers the local copy to the backend. True: it is stored.
  bool write();
  [[nodiscard]] bool has_landed() const;
  void adopt(const sim::Value& bytes);
  void drop_dead_nodes();

  sim::Clock& clock_;
  RendezvousBackend& backend_;
  const RendezvousSettings& settings_;
  NodeRef node_;
  Observer* observer_;
  sim::Duration cache_duration_;

  std::int64_t first_round_ = 0;
  StateRef state_;
  StateRef last_seen_;  ///< what the backend had at the latest sync; hardened
  std::shared_ptr<RendezvousState> editable_;  ///< same as state_ while nobody else has seen it
  std::optional<Token> token_;
  std::optional<SignsOfLife> signs_;
  bool known_ = false;  ///< the backend has had a state
  bool dirty_ = false;
  std::optional<sim::MonotonicTime> last_sync_;
  std::vector<PendingChange> pending_;
  std::vector<DeadNode> dead_;
};

}  // namespace hooke::model
