#pragma once
// hooke explore --exhaustive: the driver of hunt/exhaustive.h.

#include "scenarios/cli/hunt.h"
#include "scenarios/hunt/exhaustive.h"

namespace hooke::cli {

/// Searches `root` level by level: all runs with one deviation, then all with two. Prints and
/// writes as Hunt::run does, and the number of classes and of branches left. Returns the exit code.
int search_exhaustively(const scenario::Scenario& root, const hunt::Bounds& bounds,
                        const HuntOptions& options);

}  // namespace hooke::cli
