#pragma once
// What an exploration has found as a person reads it: one finding per invariant, told apart by what
// there is to do about it.

#include <string>
#include <utility>
#include <vector>

#include "properties/invariants/invariant.h"
#include "scenarios/hunt/exploration.h"

namespace hooke::report {

/// fresh: at least one way in which the invariant was violated is of no known issue. unavoidable: no
/// agent could have kept it under the faults.
enum class Standing : unsigned char { fresh, known, unavoidable };

struct CampaignFinding {
  using Way = std::pair<hunt::FailureKind, hunt::Finding>;
  struct Issue {
    std::string name;
    std::vector<std::string> references;
  };
  std::string invariant;
  std::string meaning;  ///< what holds where it is kept; empty for a failure of the harness
  Standing standing{};
  std::vector<Way> ways;       ///< the most frequent one first
  std::size_t known_ways = 0;  ///< of them, those of a known issue that was met
  std::vector<Issue> issues;   ///< those known issues, by name
};

/// New findings before known ones, and those before the unavoidable; failures of the harness first,
/// then safety before liveness, then by the number of worlds of the most frequent way.
std::vector<CampaignFinding> campaign_findings(const hunt::Exploration& exploration,
                                               const properties::InvariantRegistry& invariants);

}  // namespace hooke::report
