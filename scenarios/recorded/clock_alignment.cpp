// Differences between clocks have lower bounds: longest paths, by Bellman and Ford.
#include "scenarios/recorded/clock_alignment.h"

#include <map>
#include <utility>

namespace hooke::scenario {
namespace {

/// `later`'s correction is at least `earlier`'s plus `by`.
struct Bound {
  std::size_t earlier = 0, later = 0;
  sim::Duration by{};
};

std::vector<Bound> bounds_of(const std::vector<RoundTimes>& rounds) {
  std::map<std::pair<std::string, std::int64_t>, std::vector<const RoundTimes*>> by_round;
  for (const RoundTimes& times : rounds) {
    by_round[{times.run_id, times.round}].push_back(&times);
  }
  std::vector<Bound> bounds;
  for (const auto& [round, members] : by_round) {
    const RoundTimes* completer = nullptr;
    bool several = false;
    for (const RoundTimes* const member : members) {
      if (member->completed == sim::WorldTime()) continue;
      several = several || completer != nullptr;
      completer = member;
    }
    if (completer == nullptr || several) continue;
    for (const RoundTimes* const member : members) {
      if (member->agent == completer->agent) continue;
      bounds.push_back({completer->agent, member->agent, completer->completed - member->joined});
      bounds.push_back({member->agent, completer->agent, member->wanted - completer->completed});
    }
  }
  return bounds;
}

}  // namespace

ClockAlignment align_clocks(std::size_t agents, const std::vector<RoundTimes>& rounds) {
  const std::vector<Bound> bounds = bounds_of(rounds);
  ClockAlignment out{std::vector<sim::Duration>(agents), true};
  for (std::size_t pass = 0; pass <= agents; ++pass) {
    bool changed = false;
    for (const Bound& bound : bounds) {
      const sim::Duration least = out.behind[bound.earlier] + bound.by;
      if (out.behind[bound.later] >= least) continue;
      out.behind[bound.later] = least;
      changed = true;
    }
    if (!changed) return out;
  }
  return {std::vector<sim::Duration>(agents), false};
}

}  // namespace hooke::scenario
