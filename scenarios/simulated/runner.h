#pragma once
// Runs one scenario in the simulated world and judges it.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/launch/plugins.h"
#include "properties/invariants/invariant.h"
#include "scenarios/format/scenario.h"
#include "scenarios/outcome/report.h"
#include "scenarios/simulated/cluster.h"
#include "sim/kernel/kernel.h"

namespace hooke::world {
class World;
}

namespace hooke::scenario {

/// Another future of the same past: what is drawn after that moment comes from a seed of its own.
struct Fork {
  sim::WorldTime after{};
  std::uint64_t seed = 0;
};

/// How long one run may take in real time, unless somebody says otherwise.
inline constexpr std::chrono::milliseconds kRealTimeLimit{60'000};

struct RunOptions {
  std::optional<std::uint64_t> seed;         ///< instead of the scenario's own
  std::optional<kernel::Schedule> schedule;  ///< likewise
  std::optional<Fork> fork;                  ///< both runs take it, a determinism check's too
  /// Run it a second time and stop at the first event that differs.
  bool determinism_check = true;
  /// See world::WorldOptions::steps_polls.
  bool steps_polls = false;
  /// Real-time bound of one run. What this or one of the bounds below cuts is inconclusive.
  std::chrono::milliseconds wall_time_max = kRealTimeLimit;
  std::uint64_t steps_max = 500'000'000;
  /// Completed rounds; 0: no limit. A job that goes round in circles has shown it by then.
  std::int64_t rounds_max = 0;
  std::size_t fibers_max = 4'000'000;
  /// Resident memory of the whole program.
  std::size_t memory_bytes_max = std::size_t{6} << 30U;
  /// Also called for each event (trace files, timelines, studies); of the first run only.
  std::vector<kernel::TraceSink*> sinks;
  /// Keep the choices of the first run in RunReport::tape.
  bool record_tape = false;
  /// What the scenario's agents are made from.
  model::Plugins plugins;
  /// Plays a node's agent instead of model::launch_agent, in the fiber of its process; returns the
  /// exit code. Empty: hooke's own agents.
  AgentBody agent;
  /// Called once per run, also of the second, when the world stands and before anything runs in it:
  /// for programs and faults of one's own.
  std::function<void(world::World&)> prepare;
};

/// Runs on `kernel`. Never throws for what happens inside the run; std::invalid_argument for a
/// scenario that no loader would have let through.
RunReport run(kernel::Kernel& kernel, const Scenario& scenario, const RunOptions& options,
              const properties::InvariantRegistry& invariants);

}  // namespace hooke::scenario
