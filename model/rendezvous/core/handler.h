#pragma once
// What an agent needs of a rendezvous
// (torch/distributed/elastic/rendezvous/api.py:RendezvousHandler).

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "model/rendezvous/core/errors.h"
#include "model/store/store.h"
#include "model/variant/planted.h"
#include "model/variant/variant.h"
#include "sim/port/ports.h"

namespace hooke::model {

/// Where the workers of a round meet.
struct RendezvousStoreInfo {
  std::string master_addr;
  std::uint16_t master_port = 0;
  friend bool operator==(const RendezvousStoreInfo&, const RendezvousStoreInfo&) = default;
};

/// The result of a round for one node.
struct RendezvousInfo {
  std::shared_ptr<Store> store;  ///< prefixed with run id and round
  std::int64_t round = 0;        ///< -1 where the backend has no rounds (static)
  std::int64_t rank = 0;
  std::int64_t world_size = 0;
  /// Absent in the 1.13 variant: there the agent picks and publishes the address.
  std::optional<RendezvousStoreInfo> bootstrap;
};

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

class RendezvousHandler {
 public:
  virtual ~RendezvousHandler() = default;
  [[nodiscard]] virtual std::string get_backend() const = 0;
  [[nodiscard]] virtual std::string get_run_id() const = 0;
  /// True: the store at `bootstrap` is served by the agent and outlives worker restarts.
  [[nodiscard]] virtual bool use_agent_store() const = 0;
  /// Blocks until a round completes with this node in it.
  virtual RendezvousInfo next_rendezvous() = 0;
  virtual bool is_closed() = 0;
  virtual void set_closed() = 0;
  /// Nodes that want in but are not in the current group.
  virtual std::int64_t num_nodes_waiting() = 0;
  /// Other participants of the current round that are alive, by what the backend knows of them; 0
  /// where it knows nothing (static).
  virtual std::int64_t others_at_work() { return 0; }
  /// What has become of the group that next_rendezvous returned. Only the hardened variant knows;
  /// it also renews a heartbeat here that no other agent renews.
  virtual GroupState group_state() { return GroupState::whole; }
  /// In a store that came up empty another group has that group's round, as far as is known.
  virtual bool round_is_taken() { return false; }
  /// Hardened: what has followed the round that next_rendezvous returned, as far as the backend can
  /// tell. What becomes of a node that is not in a round that is complete decides nothing for it.
  virtual Successor successor() { return Successor::none; }
  /// Hardened: `call` is made in next_rendezvous() when this node is about to wait beside a round
  /// of others, where these need not hear of it, since no agent is admitted to a full one.
  virtual void when_waiting(std::function<void()> /*call*/) {}
  /// Hardened: `was_the_end` is asked in next_rendezvous() when this node, which has waited beside
  /// `round`, is about to begin another in place of members that have gone and closed nothing.
  /// An agent that says that the job has ended with them, by what they left in the `store` of the
  /// round, has the rendezvous closed, and RendezvousGracefulExitError raised. It may raise
  /// StoreError.
  virtual void when_abandoned(
      std::function<bool(std::int64_t round, Store& store)> /*was_the_end*/) {}
  /// Ranks of that group whose nodes are no participants any more; empty where that is not known.
  virtual std::vector<std::int64_t> missing_ranks() { return {}; }
  /// The agent has its ranks: from now on a wait on the round's store goes on when the group loses
  /// a member, which before that ends it with RendezvousGroupLostError (hardened: R-26).
  virtual void group_formed() {}
  /// For how long an agent at work may go without its rendezvous before the others must take it
  /// for dead; nullopt: not for a moment.
  [[nodiscard]] virtual std::optional<sim::Duration> outage_limit() const { return std::nullopt; }
  /// Hardened: takes this node out of the rendezvous, which stays open for the others (L-2, L-3);
  /// false when that cannot be done. Stops background work.
  virtual bool leave() { return false; }
  /// Serves on what this process serves to others, as long as they ask for it; a caught
  /// signal ends that. Nothing else may be called afterwards.
  virtual void linger() {}
  /// A store of the whole job, which outlives rounds, agents and restarts, with a prefix of its own
  /// that no PyTorch agent uses; null where the backend has none.
  virtual std::shared_ptr<Store> job_store() { return nullptr; }
  /// Stops background work and closes the rendezvous for everybody; true on success.
  virtual bool shutdown() = 0;
};

/// What a handler is made from (api.py:RendezvousParameters); `config` holds texts as on the
/// command line.
struct RendezvousParameters {
  std::string backend;
  std::string endpoint;
  std::string run_id;
  std::int64_t min_nodes = 1;
  std::int64_t max_nodes = 1;
  std::string local_addr;  ///< empty: the host's FQDN
  std::map<std::string, std::string> config;
  Variant variant = Variant::torch_2_x;
  std::set<std::string> defects = {};  ///< known ones, see model/variant/defects.h
  PlantedSet planted{};

  /// Empty backend, min < 1, max < min: std::invalid_argument naming the value.
  void validate() const;
  [[nodiscard]] std::optional<std::string> get(const std::string& key) const;
  /// std::invalid_argument naming the key when the text is neither true nor false
  /// (torch/distributed/elastic/rendezvous/api.py:RendezvousParameters.get_as_bool).
  [[nodiscard]] std::optional<bool> get_as_bool(const std::string& key) const;
  [[nodiscard]] std::optional<std::int64_t> get_as_int(const std::string& key) const;
  /// Like get_as_int, in seconds; additionally accepts a number with unit (us, ms, s) so that
  /// scenarios and tests can use short spans.
  [[nodiscard]] std::optional<sim::Duration> get_as_seconds(const std::string& key) const;
};

}  // namespace hooke::model
