#pragma once
// After the faults comes the question whether the job can go on at all (TigerBeetle's VOPR asks it
// so): a core of nodes is healed, with the store that they need, everything else stays broken for
// good, and liveness.core demands that the core ends its job.

#include <optional>
#include <string>

#include "scenarios/format/scenario.h"
#include "scenarios/outcome/outcomes.h"
#include "scenarios/simulated/actions.h"
#include "scenarios/simulated/cluster.h"
#include "scenarios/simulated/timeline.h"
#include "sim/world/world.h"

namespace hooke::scenario {

/// How long the workers of a scenario need.
struct WorkNeeded {
  /// The longest of their programs when nothing fails.
  Duration longest{};
  /// Those that never end by themselves: keys of WorkersPlan::overrides and "*" for the common one,
  /// with commas between them.
  std::string endless;
};
WorkNeeded work_needed(const WorkersPlan& plan);
/// How long a worker waits for one that does not come: peer_abort. Where rank 0 may end well
/// without a process group of its own, and would have served the group's store, the others try to
/// connect to that store for its time-out, which no abort cuts short. nullopt: for ever.
std::optional<Duration> wait_for_peers(const Scenario& scenario);

/// Heals `plan` now. The host of the store belongs to the core. On a machine of it that is down, or
/// whose agent was killed or has never been started, an agent starts; one that has ended by itself
/// stays away.
void heal_core(const Scenario& scenario, world::World& world, Cluster& cluster, Actions& actions,
               Timeline& timeline, const Outcomes& outcomes);

}  // namespace hooke::scenario
