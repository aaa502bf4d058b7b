#pragma once
// Jobs of hardened and other agents: how many must be hardened, and which, for a failure to
// disappear, and whether a mixture breaks what neither kind breaks alone.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "properties/invariants/invariant.h"
#include "scenarios/format/scenario.h"
#include "sim/kernel/kernel.h"

namespace hooke::hunt {

/// Ids of the nodes whose agents are hardened, in the order of the scenario.
using Placement = std::vector<std::string>;

/// Jobs of up to so many nodes are played in every placement.
inline constexpr std::size_t kEveryPlacementMax = 5;

/// From none to all, fewer before more. In a job of more than kEveryPlacementMax nodes:
/// each node alone, all but each node, and for every number the first so many and the last.
std::vector<Placement> placements(const scenario::Scenario& scenario);

/// These agents hardened, the others as they were.
scenario::Scenario with_hardened(const scenario::Scenario& scenario, const Placement& hardened);

/// True for a scenario that is about a failure which agents can be mended against: it expects
/// violations of several agents, of a variant that can be in one job with hardened ones, and
/// without the help of a defect.
bool can_be_mixed(const scenario::Scenario& scenario);

/// What became of a failure in one placement.
struct Trial {
  Placement hardened;
  /// In how many runs each invariant was violated.
  std::map<std::string, std::int64_t> broken;
};

/// What became of it in all of them.
struct Mixture {
  std::string name;
  std::vector<std::string> nodes;
  /// What is special about some of them: that they serve the store, come late, or what happens to
  /// them.
  std::map<std::string, std::vector<std::string>> roles;
  std::vector<std::string> invariants;  ///< that the scenario expects to be broken, and that are
  std::int64_t runs = 0;                ///< of each placement
  std::vector<Trial> trials;            ///< in the order of placements()

  /// The invariant is kept in every run of the trial.
  [[nodiscard]] static bool keeps(const Trial& trial, const std::string& invariant);
  /// The smallest placements with which, and with all larger ones that were played, the invariant
  /// is kept; empty when not even everybody is enough.
  [[nodiscard]] std::vector<Placement> enough(const std::string& invariant) const;
  /// Invariants that are broken in some mixture, but neither when none nor when all are
  /// hardened.
  [[nodiscard]] std::set<std::string> only_mixed() const;
};

/// Plays every placement of `scenario` under its own seed and the `runs` - 1 seeds after it.
Mixture mix(kernel::Kernel& kernel, const scenario::Scenario& scenario, std::int64_t runs,
            const properties::InvariantRegistry& invariants);

}  // namespace hooke::hunt
