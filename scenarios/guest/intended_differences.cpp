// A table of reasons, and how each is recognised.
#include "scenarios/guest/intended_differences.h"

#include <algorithm>
#include <array>

namespace hooke::scenario {
namespace {

using Steps = std::vector<AgentStep>;
using Recognise = bool (*)(const StepDifference&, const AgentSteps&, const AgentSteps&,
                           sim::Duration drift);

struct Known {
  IntendedDifference what;
  Recognise is_it;
};

bool near_another_node(const StepDifference& difference, const AgentSteps& steps,
                       sim::WorldTime moment, sim::Duration window) {
  return std::any_of(steps.begin(), steps.end(), [&](const auto& entry) {
    if (entry.first == difference.node) return false;
    const Steps& requests = entry.second.requests;
    return std::any_of(requests.begin(), requests.end(), [&](const AgentStep& step) {
      return step.at >= moment - window && step.at <= moment + window;
    });
  });
}

/// Requests of two nodes that are no further apart than what the runs have drifted apart: the store
/// may serve them in either order.
bool is_race(const StepDifference& difference, const AgentSteps& ours, const AgentSteps& theirs,
             sim::Duration drift) {
  if (drift == sim::Duration::zero()) return false;
  std::vector<sim::WorldTime> moments;
  for (const AgentStep& step : difference.before) moments.push_back(step.at);
  if (difference.ours) moments.push_back(difference.ours->at);
  if (difference.theirs) moments.push_back(difference.theirs->at);
  return std::any_of(moments.begin(), moments.end(), [&](sim::WorldTime moment) {
    return near_another_node(difference, ours, moment, 2 * drift) ||
           near_another_node(difference, theirs, moment, 2 * drift);
  });
}

constexpr std::array kKnown{
    Known{{"race",
           "the runs are nanoseconds apart, since a pickle of Python's has other bytes where equal "
           "texts are one object; two requests were as near to each other"},
          &is_race},
};

}  // namespace

const std::vector<IntendedDifference>& intended_differences() {
  static const std::vector<IntendedDifference> all = [] {
    std::vector<IntendedDifference> out;
    for (const Known& known : kKnown) out.push_back(known.what);
    return out;
  }();
  return all;
}

std::string explanation(const StepDifference& difference, const AgentSteps& ours,
                        const AgentSteps& theirs, sim::Duration drift) {
  for (const Known& known : kKnown) {
    if (known.is_it(difference, ours, theirs, drift)) {
      return std::string(known.what.name) + ": " + std::string(known.what.reason);
    }
  }
  return "";
}

}  // namespace hooke::scenario
