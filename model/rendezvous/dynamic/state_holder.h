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
  std::int64_t round = 0;   ///< the one that is entered, left, completed or closed
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
    /// `offered` was written; or, not `certain`, it is unknown whether it was or will be.
    virtual void on_offered(const RendezvousState& offered, bool certain,
                            sim::MonotonicTime began) = 0;
    /// This node found itself dead in a state it read.
    virtual void on_own_death() = 0;
  };

  /// `cache_duration` 0: every clean sync asks the backend. References must outlive this.
  StateHolder(sim::Clock& clock, RendezvousBackend& backend, const RendezvousSettings& settings,
              Decisions& decisions, NodeRef node, Observer* observer,
              sim::Duration cache_duration = std::chrono::seconds(1));
  virtual ~StateHolder() = default;
  StateHolder(const StateHolder&) = delete;
  StateHolder& operator=(const StateHolder&) = delete;

  [[nodiscard]] const RendezvousState& state() const { return *state_; }
  /// Applies a changing action to the local copy and marks it dirty.
  virtual void change(Action action);
  void mark_dirty() { dirty_ = true; }
  /// Writes the local copy when it is dirty, reads when the cache is old, and drops dead nodes from
  /// what came back (locally: that alone is not written). true: written; false: another node was
  /// faster, the local copy is now that node's; nullopt: nothing written.
  /// RendezvousConnectionError, RendezvousStateError, EscapedPythonError: nothing has changed; what
  /// was to be written is tried again with the next sync.
  virtual std::optional<bool> sync();
  /// sync() would do nothing now. False also where that is not known.
  [[nodiscard]] virtual bool rests() const { return !dirty_ && cache_is_fresh(); }
  /// The next sync asks the backend, however young the cache is.
  void forget_cache() { last_sync_.reset(); }

  // What the last sync left behind; for tests and status.
  [[nodiscard]] const std::optional<Token>& token() const { return token_; }
  [[nodiscard]] const std::vector<DeadNode>& dead_nodes() const { return dead_; }

 protected:
  /// The state of a job that has none.
  [[nodiscard]] virtual std::shared_ptr<RendezvousState> fresh_state() const;
  RendezvousState& edit();
  [[nodiscard]] bool cache_is_fresh() const;
  /// Takes what the backend has; false: it has nothing.
  bool read();
  /// Nothing is stored: the local copy begins afresh.
  void start_afresh();
  /// Offers the local copy to the backend. True: it is stored.
  virtual bool write();
  virtual std::optional<SetStateResult> offer(const sim::Value& bytes);
  /// No state could be produced for an offer.
  virtual void nothing_answered(const sim::Value& offered);
  /// Local copy and backend agree.
  void settle();
  void adopt(const sim::Value& bytes);
  /// RendezvousStateError; EscapedPythonError for what PyTorch lets escape.
  [[nodiscard]] virtual StateRef decoded(const sim::Value& bytes) const;

  RendezvousBackend& backend_;
  StateRef state_;
  std::shared_ptr<RendezvousState> editable_;  ///< same as state_ while no other owner has seen it
  std::optional<Token> token_;
  bool known_ = false;  ///< the backend has had a state
  bool dirty_ = false;
  std::optional<sim::MonotonicTime> last_sync_;
  std::vector<PendingChange> pending_;
  const RendezvousSettings& settings_;

 private:
  [[nodiscard]] bool has_landed() const;
  void drop_dead_nodes();

  sim::Clock& clock_;
  Decisions& decisions_;
  NodeRef node_;
  Observer* observer_;
  sim::Duration cache_duration_;
  std::vector<DeadNode> dead_;
  sim::Value adopted_;      ///< what came last from the backend
  StateRef adopted_state_;  ///< the state in it
};

}  // namespace hooke::model
