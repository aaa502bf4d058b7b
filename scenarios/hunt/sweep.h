#pragma once
// Systematic faults: a reference scenario is played once, and then once more for every event in it
// and every fault that can follow it. Pairs: once a single fault has happened, a second one at
// every event that the first has touched; what it has not touched, a second finds alone.

#include <cstdint>
#include <string>
#include <vector>

#include "properties/invariants/invariant.h"
#include "scenarios/format/scenario.h"
#include "sim/kernel/kernel.h"

namespace hooke::hunt {

/// A point of a run that a trigger can name: the n-th event of a type on a node.
struct Boundary {
  std::string event;
  std::string node;
  std::int64_t passage = 1;
  friend auto operator<=>(const Boundary&, const Boundary&) = default;
};

/// Every boundary of a run of `scenario`, in order: what agents, rendezvous and workers do, without
/// what only repeats itself (ticks of keep-alives, single store operations).
std::vector<Boundary> boundaries(kernel::Kernel& kernel, const scenario::Scenario& scenario,
                                 const properties::InvariantRegistry& invariants);
/// Those that the last entry of the scenario's timeline has touched: without it they are not there,
/// or at another time. Draws do not depend on each other, so what it has not touched stays as it
/// is.
std::vector<Boundary> boundaries_touched_by_last_fault(
    kernel::Kernel& kernel, const scenario::Scenario& scenario,
    const properties::InvariantRegistry& invariants);

/// The words of the faults that with_one_fault_more knows for `scenario`.
std::vector<std::string> words_of_sweeps(const scenario::Scenario& scenario);

/// `scenario` once more for each boundary and each fault that can happen there and whose word is
/// matched by one of `words` (patterns).
std::vector<scenario::Scenario> with_one_fault_more(const scenario::Scenario& scenario,
                                                    const std::vector<Boundary>& boundaries,
                                                    const std::vector<std::string>& words);

}  // namespace hooke::hunt
