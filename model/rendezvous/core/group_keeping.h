#pragma once
// The problem: PyTorch's handler says whether nodes wait, and nothing of what becomes of a group.
// This is what an agent may ask besides. Each method has the answer of a handler that knows
// nothing, as PyTorch's.

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "model/store/store.h"
#include "sim/port/time.h"

namespace hooke::model {

class TcpStoreServer;

enum class GroupState : unsigned char {
  whole,
  broken,  ///< a member is gone, or this node itself has been given up (R-1, R-2)
  over,    ///< no agent has its round any more: the others meet anew, if they have not done so
  closed,  ///< no other round can come
};

/// What has followed a round without one of its nodes.
enum class Successor : unsigned char {
  none,
  begun,     ///< a round that can still be joined
  complete,  ///< one that can not
};

/// What a node knows of its rendezvous, as of its last exchange with the store.
struct GroupView {
  std::int64_t round = 0;  ///< the one that forms or, when `complete`, has formed
  bool complete = false;
  bool closed = false;
  std::int64_t participants = 0;
  std::int64_t waiting = 0;
  std::int64_t spares = 0;  ///< nodes on the redundancy list
  /// The oldest keep-alive of a participant, on its own wall clock; nullopt when there is none.
  std::optional<sim::WallTime> oldest_keep_alive;
};

/// A place in a round.
struct Seat {
  std::int64_t round = 0;
  std::int64_t rank = 0;
};

class GroupKeeping {
 public:
  virtual ~GroupKeeping() = default;
  /// This node's in the round that next_rendezvous returned last; nullopt before that, and where
  /// there are no rounds (static).
  [[nodiscard]] virtual std::optional<Seat> seat() const { return std::nullopt; }
  /// Those of the other participants of the current round that are alive, by what the backend knows
  /// of them; none where it knows nothing (static), or when the rendezvous is closed.
  virtual std::vector<Seat> others_alive() { return {}; }
  /// What has become of the group that next_rendezvous returned. A handler that
  /// knows also renews a heartbeat here that no other agent renews.
  virtual GroupState group_state() { return GroupState::whole; }
  /// In a store that came up empty another group has that group's round, as far as is known.
  virtual bool round_is_taken() { return false; }
  /// What was read of the rendezvous a moment ago no longer counts: the next question is put to the
  /// store. Before a decision that cannot be taken back, and after a clock may have stood still.
  virtual void look_anew() {}
  /// What has followed, without this node, the round that next_rendezvous returned, as far as the
  /// backend can tell. A later round counts as none where this node is one of its participants.
  virtual Successor successor() { return Successor::none; }
  /// By what successor() has read, nodes wait beside that round to be let in.
  [[nodiscard]] virtual bool others_wait() const { return false; }
  /// `call` is made in next_rendezvous() when this node is about to wait beside a round
  /// of others, where these need not hear of it, since no agent is admitted to a full one.
  virtual void when_waiting(std::function<void()> /*call*/) {}
  /// `call` is made in next_rendezvous() when this node has its seat in `round`, which is complete,
  /// before it waits for anything that other members write: their store may go with one of them.
  virtual void when_seated(std::function<void(std::int64_t round)> /*call*/) {}
  /// `was_the_end` is asked in next_rendezvous() when this node, which has waited beside
  /// `round`, is about to begin another in place of members that have gone and closed nothing.
  /// An agent that says that the job has ended with them, by what they left in the `store` of the
  /// round, has the rendezvous closed, and RendezvousGracefulExitError raised. It may raise
  /// StoreError.
  virtual void when_abandoned(
      std::function<bool(std::int64_t round, Store& store)> /*was_the_end*/) {}
  /// `call` is made when this node is about to close the rendezvous in a store that came up empty:
  /// with what that had held, whatever the agent has told the others there is lost.
  virtual void when_closing_anew(std::function<void()> /*call*/) {}
  /// `call` is made once a second while this node waits for what other members have to write, where
  /// it would hear of nothing else (static). It may end the wait by an exception.
  virtual void while_waiting_for_members(std::function<void()> /*call*/) {}
  /// Ranks of that group whose nodes are no participants any more; empty where that is not known.
  virtual std::vector<std::int64_t> missing_ranks() { return {}; }
  /// The agent has its ranks: from now on a wait on the round's store goes on when the group loses
  /// a member, which before that ends it with RendezvousGroupLostError.
  virtual void group_formed() {}
  /// For how long an agent at work may go without its rendezvous before the others must take it
  /// for dead; nullopt: not for a moment.
  [[nodiscard]] virtual std::optional<sim::Duration> outage_limit() const { return std::nullopt; }
  /// Takes this node out of the rendezvous, which stays open for the others (L-2, L-3);
  /// false when that cannot be done. Stops background work.
  virtual bool leave() { return false; }
  /// Serves on what this process serves to others, as long as they ask for it; a caught
  /// signal ends that. Nothing else may be called afterwards.
  virtual void linger() {}
  /// For an agent that could not tell the others that it gives up. While linger() serves the job's
  /// store, it calls `tell` with that store again and again, until `tell` returns true (static).
  virtual void tell_while_lingering(
      std::function<bool(const std::shared_ptr<Store>& job_store)> /*tell*/) {}
  /// What this process serves to others, for the handler of the job's next run in this process: in
  /// between the others may be in either run. Null: nothing, or it ends with this handler, as
  /// PyTorch's. Nothing else may be called afterwards.
  virtual std::shared_ptr<TcpStoreServer> hand_on() { return nullptr; }
  /// A store of the whole job, which outlives rounds, agents and restarts, with a prefix of its own
  /// that no PyTorch agent uses; null where the backend has none.
  virtual std::shared_ptr<Store> job_store() { return nullptr; }
  /// Asks no store, so that a monitor costs the job nothing; nullopt where nothing is known.
  [[nodiscard]] virtual std::optional<GroupView> view() const { return std::nullopt; }
};

}  // namespace hooke::model
