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

/// Whether an agent may go on for good, or for as long as it may try to join.
struct Excuse {
  std::string_view why;
  bool until_join_timeout = false;
};
/// The first of the excuses that holds; nullopt: none, the agent should have ended.
std::optional<Excuse> excuse_of(const HealedCore& core, const JobView& view,
                                const CoreAgent& agent);

}  // namespace hooke::properties
