#pragma once
// What `hooke explore` says at its end, on one screen.

#include <string>

#include "reports/summary.h"
#include "scenarios/hunt/exploration.h"

namespace hooke::report {

/// One line for each invariant that was violated, the most severe first (safety before liveness),
/// with its most frequent way and how many published issues it has; then, a line each: what no agent could have avoided, the known
/// issues that were met, how much of what was owed was judged, and the gaps. exploration_table has
/// all of it. Ends with `next`: what to do now.
std::string exploration_summary(const hunt::Exploration& exploration, const Style& style,
                                const std::string& next);

}  // namespace hooke::report
