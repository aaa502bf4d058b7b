#pragma once
// What a person sees during and after `hooke explore`.

#include <chrono>
#include <cstdint>
#include <string>

#include "reports/summary.h"
#include "scenarios/hunt/exploration.h"

namespace hooke::report {

/// One line: worlds played, per second, broken, ways, and the time left when `done` tasks of
/// `planned` took `elapsed`.
std::string progress(const hunt::Exploration& so_far, std::uint64_t done, std::uint64_t planned,
                     std::chrono::nanoseconds elapsed);

/// How many worlds, how they broke, what of the museum was met, which faults nobody felt, and which
/// marks were never reached.
std::string exploration_table(const hunt::Exploration& exploration, const Style& style);

/// In how many worlds of each a promise broke, and the ways that only `exploration` has.
std::string comparison_table(const hunt::Exploration& exploration, const hunt::Exploration& other,
                             const Style& style);

}  // namespace hooke::report
