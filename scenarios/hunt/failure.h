#pragma once
// When two runs fail alike. A witness tells of one run: whose agent, when, which round. Without
// those it tells what kind of failure it was, and a hunter that meets the same kind ten thousand
// times has found one thing.

#include <compare>
#include <string>
#include <vector>

#include "properties/invariants/invariant.h"
#include "scenarios/simulated/runner.h"

namespace hooke::hunt {

struct FailureKind {
  std::string invariant;  ///< "safety.one_world"; "harness" for a failure of hooke's own
  std::string cause;      ///< the witness without names, numbers and times
  std::string limit{};    ///< why no agent could have kept the invariant; empty: one could
  friend auto operator<=>(const FailureKind&, const FailureKind&) = default;
};

FailureKind kind_of(const properties::Violation& violation);

/// The kinds of everything that went wrong in a run, each once, sorted. An expectation of the
/// scenario is not looked at: a hunt asks about invariants.
std::vector<FailureKind> kinds_of(const scenario::RunReport& report);

}  // namespace hooke::hunt
