#pragma once
// Why an agent of a healed core need not have ended. Each excuse is a predicate on the state of the
// run; its comment says why no agent, however good, could have ended in it.

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "properties/invariants/job_view.h"

namespace hooke::properties {

/// The core of a run, and the programs of its workers.
class HealedCore {
 public:
  /// Follows core.healed, worker.started, store.serving and process.ended; others change nothing.
  void see(const sim::Event& event, const JobView& view);

  [[nodiscard]] bool is_healed() const { return healed_; }
  [[nodiscard]] sim::WorldTime since() const { return since_; }
  /// For one run of the workers, the wait for a lost peer included.
  [[nodiscard]] sim::Duration work() const { return work_; }
  /// A worker never gives up a peer.
  [[nodiscard]] bool waits_for_ever() const { return waits_for_ever_; }
  /// A worker has been started anew.
  [[nodiscard]] bool some_began_anew() const;
  [[nodiscard]] bool has(sim::NodeId node) const { return nodes_.contains(node); }
  /// A process on that machine serves a rendezvous store.
  [[nodiscard]] bool has_store(std::string_view machine) const;
  [[nodiscard]] bool serves(const Agent& agent) const {
    return stores_.contains({agent.node, agent.pid});
  }
  /// The program of that worker never ends by itself.
  [[nodiscard]] bool is_endless(sim::NodeId node, const std::string& name,
                                const Process& worker) const;

 private:
  void perhaps_never_began(const sim::Event& event, const JobView& view);

  bool healed_ = false;
  sim::WorldTime since_{};
  sim::Duration work_{};
  bool waits_for_ever_ = false;
  std::set<sim::NodeId> nodes_;
  std::set<std::string, std::less<>> endless_;  ///< as core.healed names them
  std::map<std::pair<sim::NodeId, std::int64_t>, std::int64_t> started_;  ///< by node, local rank
  /// Of each worker: how many were started in its place before it.
  std::map<std::pair<sim::NodeId, sim::Pid>, std::int64_t> numbers_;
  std::map<std::pair<sim::NodeId, sim::Pid>, std::string> stores_;  ///< and their machine's name
};

/// An agent of the core as it was before the event that is looked at.
struct CoreAgent {
  AgentId id = kNoAgent;
  Stage stage = Stage::starting;
  sim::WorldTime stage_since{};
  std::int64_t round = kNoRound;
  bool spare = false;
};

// ---- facts -------------------------------------------------------------------------------------

/// A fault that never ends is about the machine of `agent`: itself or a path that ends there.
bool is_broken(const HealedCore& core, const JobView& view, const Agent& agent);
/// Such a fault keeps all that `agent` says from the store, or the agent stands still for good.
/// An agent that is unheard for the keep-alive threshold can be given up, so such an agent keeps no
/// seat.
bool is_unheard(const HealedCore& core, const JobView& view, const Agent& agent);

// ---- excuses -----------------------------------------------------------------------------------

/// The living agents that can be heard, and are not about to end, are fewer than min_nodes; those
/// that a static job has on one machine share a rank and count once. No round can be complete
/// without min_nodes members, so the agent can end only by giving up, for which it has its join
/// time-out.
bool too_few_are_left(const HealedCore& core, const JobView& view, const CoreAgent& agent);

/// The agent wants to get into a round of which an agent outside of the core is a member that is
/// alive, is heard, and is broken for good or does not run its workers (any more). A round begins
/// anew only when its members have left it, and no agent may give up one that is heard
/// (safety.eviction): the agent can end only by giving up itself, for which it has its join
/// time-out.
bool an_outsider_holds_a_seat(const HealedCore& core, const JobView& view, const CoreAgent& agent);

/// All max_nodes seats of the job are held by living agents that are heard. There is no seat for
/// the agent, and a spare that waits for one may do so for ever.
bool all_seats_are_taken(const HealedCore& core, const JobView& view, const CoreAgent& agent);

/// The agent runs a group in which a living worker never ends by itself: its program has no end; or
/// a fault that never ends keeps it from going on outside of the core; or it may wait for ever for
/// a peer whose program has ended well without having met it. Where a static rendezvous has no word
/// for it, it may also wait for one whose agent never got its rank, and, once one of them has been
/// started anew in a store that keeps the keys of the earlier run, for each other. An agent may end
/// only when its workers have ended, and a group whose workers live is healthy.
bool work_never_ends(const HealedCore& core, const JobView& view, const CoreAgent& agent);

/// The agent runs a group of which a member outside of the core is alive, is heard, and is broken
/// for good. Workers wait for each other in every collective, as long as peer_abort says, which may
/// be for ever; no agent may give up that member, nor end workers that have not failed.
bool a_member_is_broken(const HealedCore& core, const JobView& view, const CoreAgent& agent);

/// The agent has nothing left to do but to serve the rendezvous store, and another agent lives. The
/// store must live as long as any agent may need it (safety.store_lifetime); if that one is of the
/// core, it is asked itself.
bool others_need_its_store(const HealedCore& core, const JobView& view, const CoreAgent& agent);

/// Whether an agent may go on for good, or for as long as it may try to join.
struct Excuse {
  std::string_view why;
  bool until_join_timeout = false;
};
/// The first of the excuses above that holds; nullopt: none, the agent should have ended.
std::optional<Excuse> excuse_of(const HealedCore& core, const JobView& view,
                                const CoreAgent& agent);

}  // namespace hooke::properties
