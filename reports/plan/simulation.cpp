// What a failure costs hardly depends on how many agents see it; whether a round is formed at all
// does.
#include "reports/plan/simulation.h"

#include <algorithm>
#include <stdexcept>

namespace hooke::report {
namespace {

constexpr std::chrono::milliseconds kEpisodeMax = 10min;  // of real time
constexpr sim::Duration kLongWait = 30min;
constexpr std::int64_t kWhoWait = 4;

/// The same job with fewer nodes. As many may be missing, up to all but one.
JobPlan made_smaller(const JobPlan& plan, std::int64_t nodes) {
  JobPlan out = plan;
  out.nodes = std::min(plan.nodes, nodes);
  out.min_nodes = std::max<std::int64_t>(1, out.nodes - (plan.nodes - plan.min_nodes));
  return out;
}

}  // namespace

Simulation simulate(const JobPlan& plan, const SimulationOptions& options) {
  kernel::Kernel kernel;
  Simulation out;
  const JobPlan played = made_smaller(plan, options.nodes_max);
  out.nodes = played.nodes;
  for (const EpisodeKind kind : kinds_of(plan)) {
    // Agents that wait for a time-out do the same all the time, and few of them as many would.
    const bool is_wait = kind == EpisodeKind::node_is_gone;
    const JobPlan with = is_wait ? made_smaller(played, kWhoWait) : played;
    for (std::int64_t i = 0; i < (is_wait && plan.join > kLongWait ? 1 : options.episodes); ++i) {
      out.episodes[kind].push_back(simulate_episode(kernel, with, kind,
                                                    options.seed + static_cast<std::uint64_t>(i),
                                                    kEpisodeMax, options.progress));
    }
  }
  if (played.nodes == plan.nodes || !options.start_of_all) return out;
  try {
    out.episodes[EpisodeKind::start] = {simulate_episode(kernel, plan, EpisodeKind::start,
                                                         options.seed, options.start_of_all_max,
                                                         options.progress)};
  } catch (const std::runtime_error&) {
    out.start_seen = false;
  }
  return out;
}

}  // namespace hooke::report
