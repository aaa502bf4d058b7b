#pragma once
// Machines' clocks differ, and a join that seems to end before it began makes nonsense of a trace.
// What agents do through one store orders them: a round is completed after each of its members
// wanted to join, and each of them hears of it after that.

#include <cstdint>
#include <string>
#include <vector>

#include "sim/port/time.h"

namespace hooke::scenario {

/// What one agent's own clock said of a round.
struct RoundTimes {
  std::size_t agent = 0;  ///< index into the agents
  std::string run_id;
  std::int64_t round = 0;
  sim::WorldTime wanted{};     ///< its next_rendezvous began
  sim::WorldTime joined{};     ///< … and returned
  sim::WorldTime completed{};  ///< its write completed the round; the epoch: another's did
};

struct ClockAlignment {
  /// By agent: how much must be added to its times, at least 0. All 0 when nothing contradicts the
  /// clocks.
  std::vector<sim::Duration> behind;
  bool consistent = true;  ///< false: no such corrections make the order possible
};

/// The least corrections with which every round is completed after its members wanted to join and
/// before they have. Rounds that several agents completed, or none, say nothing.
ClockAlignment align_clocks(std::size_t agents, const std::vector<RoundTimes>& rounds);

}  // namespace hooke::scenario
