#pragma once
// Worlds of the default swarm with a mistake and without: what is compared to tell whether a
// mistake does anything there, and whether an invariant notices it.

#include <algorithm>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/variant/planted_table.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/swarm/swarm.h"

namespace hooke::planted {

/// What a world has shown.
struct Outcome {
  std::string hash;
  std::vector<hunt::FailureKind> kinds;  ///< sorted
};

/// Worlds whose agents are all of one variant.
class Worlds {
 public:
  Worlds(kernel::Kernel& kernel, model::Variant variant) : kernel_(kernel) {
    swarm_.variants = {variant};
  }

  Outcome with(std::string_view mistake, std::uint64_t seed) {
    return played({std::string(mistake)}, seed);
  }
  /// Each is played once.
  const Outcome& sound(std::uint64_t seed) {
    const auto known = sound_.find(seed);
    return known != sound_.end() ? known->second
                                 : sound_.emplace(seed, played({}, seed)).first->second;
  }

 private:
  Outcome played(std::vector<std::string> defects, std::uint64_t seed) {
    swarm_.defects = std::move(defects);
    const scenario::RunReport report =
        scenario::run(kernel_, hunt::draw(swarm_, seed), hunt::hunting_options(false), invariants_);
    return {report.hash, hunt::kinds_of(report)};
  }

  kernel::Kernel& kernel_;
  hunt::Swarm swarm_;
  std::map<std::uint64_t, Outcome> sound_;
  properties::InvariantRegistry invariants_ = properties::InvariantRegistry::with_builtins();
};

/// The ways of failing by which a mistake is found in a world: those that the world does not show
/// without it and that an agent could have avoided. The invariant must be one that forbids the
/// mistake, or one that the world does not break at all without it: a job that fails one way or the
/// other is no find.
inline std::vector<hunt::FailureKind> finds(const model::PlantedDefect& mistake,
                                            const Outcome& spoilt, const Outcome& sound) {
  std::vector<hunt::FailureKind> news;
  std::set_difference(spoilt.kinds.begin(), spoilt.kinds.end(), sound.kinds.begin(),
                      sound.kinds.end(), std::back_inserter(news));
  std::erase_if(news, [&](const hunt::FailureKind& kind) {
    const bool breaks_anyway = std::any_of(
        sound.kinds.begin(), sound.kinds.end(),
        [&](const hunt::FailureKind& other) { return other.invariant == kind.invariant; });
    return !kind.limit.empty() || (breaks_anyway && !mistake.is_named_by(kind.invariant));
  });
  return news;
}

}  // namespace hooke::planted
