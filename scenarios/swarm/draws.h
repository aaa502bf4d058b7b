#pragma once
// The ways in which a world's numbers are drawn from a stream of choices.

#include <array>
#include <chrono>
#include <cstdint>

#include "scenarios/swarm/swarm.h"
#include "sim/kernel/choice.h"

namespace hooke::hunt {

/// Both ends included.
inline std::int64_t between(kernel::Stream& draws, Range range) {
  return range.low + static_cast<std::int64_t>(
                         draws.below(static_cast<std::uint64_t>(range.high - range.low) + 1));
}

/// True once in `n` times.
inline bool one_in(kernel::Stream& draws, std::uint64_t n) {
  return draws.below(n) == n - 1;
}

template <class Items>
const auto& one_of(kernel::Stream& draws, const Items& items) {
  return items[draws.below(items.size())];
}

/// Whole ones, both ends included.
inline Duration seconds(kernel::Stream& draws, std::int64_t low, std::int64_t high) {
  return std::chrono::seconds(between(draws, {low, high}));
}

inline Duration milliseconds(kernel::Stream& draws, std::int64_t low, std::int64_t high) {
  return std::chrono::milliseconds(between(draws, {low, high}));
}

/// Some moment, to the second or to the millisecond.
inline Duration moment(kernel::Stream& draws, std::int64_t seconds_max) {
  const Duration whole = seconds(draws, 0, seconds_max - 1);
  if (one_in(draws, 2)) return whole;
  return whole + std::chrono::milliseconds(between(draws, {0, 999}));
}

/// Short ones are as likely as long ones.
inline Duration span(kernel::Stream& draws) {
  constexpr std::array<std::int64_t, 4> kMilliseconds{10, 100, 1'000, 10'000};
  return std::chrono::milliseconds(one_of(draws, kMilliseconds) * between(draws, {1, 9}));
}

/// A node of the world.
inline const std::string& some_node(kernel::Stream& draws, const scenario::Scenario& world) {
  return one_of(draws, world.cluster.nodes).id;
}

}  // namespace hooke::hunt
