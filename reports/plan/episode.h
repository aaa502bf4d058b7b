#pragma once
// What a failure costs: from the moment at which a job trains no more until it trains again, played
// by the protocol itself.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <vector>

#include "reports/plan/job_plan.h"
#include "sim/kernel/kernel.h"

namespace hooke::report {

enum class EpisodeKind : unsigned char {
  start,          ///< the job is launched
  worker_fails,   ///< a process of one node; the node stays
  spare_at_hand,  ///< a node is lost, and a spare's agent runs
  host_is_lost,   ///< likewise, the node with the store
  node_returns,   ///< a node is lost, no spare is there, and it comes back in a minute
  node_is_gone,   ///< likewise, and it does not come back
  node_is_added,  ///< a node joins a job that had gone on without it
};
inline constexpr std::size_t kEpisodeKinds = 7;

enum class Ending : unsigned char {
  trains,  ///< again
  ended,   ///< every agent has
  hangs,   ///< agents are left, and for as long as any time-out of theirs nothing changes
};

struct Episode {
  Ending ending{};
  sim::Duration detection{};   ///< until the first agent acts; all of it where none does
  sim::Duration rendezvous{};  ///< from there until every worker of the next round has been started
  sim::Duration restart{};     ///< from there until they have met; without what they load
  bool charged = false;        ///< an agent has one restart less
  std::int64_t nodes = 0;      ///< that train afterwards

  [[nodiscard]] sim::Duration whole() const { return detection + rendezvous + restart; }
};

using Episodes = std::map<EpisodeKind, std::vector<Episode>>;

/// How long a node is away in EpisodeKind::node_returns.
inline constexpr sim::Duration kAway = 60s;

/// The kinds that can happen to this job.
std::vector<EpisodeKind> kinds_of(const JobPlan& plan);

/// How far an episode is.
struct EpisodeProgress {
  EpisodeKind kind{};
  std::int64_t nodes = 0;
  sim::Duration now{};                          ///< virtual
  std::chrono::nanoseconds real{}, real_max{};  ///< taken so far, and at most
};

/// One episode, of `seed`. At most `real_time` of the machine; std::runtime_error when it is cut.
/// `progress`, unless it is empty, is called every few thousand events.
Episode simulate_episode(kernel::Kernel& kernel, const JobPlan& plan, EpisodeKind kind,
                         std::uint64_t seed, std::chrono::milliseconds real_time,
                         const std::function<void(const EpisodeProgress&)>& progress = nullptr);

}  // namespace hooke::report
