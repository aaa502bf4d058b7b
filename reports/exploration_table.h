#pragma once
// What a person sees during and after `hooke explore`.

#include <chrono>
#include <cstdint>
#include <string>

#include "reports/summary.h"
#include "scenarios/hunt/exploration.h"

namespace hooke::report {

/// One line: worlds played, per second, broken, ways, when `done` tasks of `planned` took `elapsed`;
/// `left` says how long the others will take, or is empty.
std::string progress(const hunt::Exploration& so_far, std::uint64_t done, std::uint64_t planned,
                     std::chrono::nanoseconds elapsed, const std::string& left);

/// "2 worlds violated an invariant, in 3 ways", after how many worlds were played and what repeats.
std::string exploration_head(const hunt::Exploration& exploration, const Style& style);
/// Which faults had no effect, and which coverage points were never reached.
std::string exploration_gaps(const hunt::Exploration& exploration, const Style& style);

/// Everything: each way with its text, the known issues that were looked for, the account of each
/// invariant, and the gaps.
std::string exploration_table(const hunt::Exploration& exploration, const Style& style);

/// After how many worlds of this exploration's kind a known issue is found in half of all hunts,
/// when `met` of `of` worlds have shown it: worlds are drawn independently, so that the number
/// until the first is geometric. `met` is not 0.
std::uint64_t median_worlds(std::uint64_t met, std::uint64_t of);

/// A line for each known issue, after a line of names: in how many worlds of how many it was met;
/// the median number of worlds until it is found blindly, and of seconds at this exploration's pace
/// (both empty: not met); and which other known issues fail in all its ways, so that worlds that
/// met them count for this one, too.
std::string known_issues_csv(const hunt::Exploration& exploration);
/// In how many worlds of each an invariant was violated, and the ways that only `exploration` has.
std::string comparison_table(const hunt::Exploration& exploration, const hunt::Exploration& other,
                             const Style& style);

}  // namespace hooke::report
