#pragma once
// All the episodes that a plan needs.

#include <chrono>
#include <functional>

#include "reports/plan/episode.h"

namespace hooke::report {

struct SimulationOptions {
  std::int64_t nodes_max = 16;  ///< a larger job's episodes are played with so many nodes
  std::int64_t episodes = 5;    ///< of each kind
  std::uint64_t seed = 1;
  /// Of all nodes, one start is played besides.
  bool start_of_all = true;
  std::chrono::milliseconds start_of_all_max = std::chrono::seconds(20);  ///< real time
  /// Called now and then while an episode is played.
  std::function<void(const EpisodeProgress&)> progress;
};

struct Simulation {
  Episodes episodes;
  std::int64_t nodes = 0;  ///< with which they were played
  /// The start of all nodes was played; false: it took longer than it may.
  bool start_seen = true;
};

/// std::runtime_error when an episode takes more than ten minutes of real time.
Simulation simulate(const JobPlan& plan, const SimulationOptions& options);

}  // namespace hooke::report
