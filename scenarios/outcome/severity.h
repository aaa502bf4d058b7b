#pragma once
// Which violation of a run matters most. A list of findings, and a command that takes up one of
// them, begin with the same.

#include <cstddef>
#include <cstdint>
#include <tuple>

#include "scenarios/outcome/report.h"

namespace hooke::scenario {

enum class Weight : unsigned char {
  unexpected,  ///< it fails the run
  allowed,     ///< the scenario expects it
  unavoidable  ///< no agent could have kept the invariant
};

/// Of the violation with that index in RunReport::violations.
Weight weight_of(const RunReport& run, std::size_t violation);

/// The least is the most severe: an unexpected one before those that the scenario allows, and those
/// before the unavoidable ones; safety before liveness; then in the order in which they happened,
/// which the numbers of events tell of one instant (what never came has none, and is the last).
using Severity = std::tuple<Weight, bool, sim::WorldTime, std::uint64_t>;
Severity severity_of(const RunReport& run, std::size_t violation);

}  // namespace hooke::scenario
