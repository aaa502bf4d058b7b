#pragma once
// Plays one scenario with real processes and judges it as the simulated world's runs are judged.

#include <string>
#include <vector>

#include "properties/invariants/invariant.h"
#include "scenarios/real/real_cluster.h"
#include "scenarios/simulated/runner.h"

namespace hooke::scenario {

struct RealOptions {
  AgentProgram program;
  /// Also called for each event, in order of time.
  std::vector<kernel::TraceSink*> sinks;
  /// The run is cut after this, whatever the scenario's own limit.
  Duration time_max = 300s;
};

/// The invariants that the trace of these agents can judge: of torchrun agents, which say little of
/// themselves, only some.
bool is_judged(AgentKind kind, const std::string& invariant);

/// Agents, workers, store and links on this machine, over loopback, without root. No process is
/// left when this returns, nor when the calling process is killed meanwhile. A scenario of which
/// something is unsupported is not run: RunReport::unsupported says what. `time_limit` and the
/// times of the scenario are real time. Hash and steps stay empty: no two such runs are the same.
/// What the processes wrote is kept when the run failed (RunReport::logs). Call it outside of
/// fibers.
RunReport run_real(const Scenario& scenario, const RealOptions& options,
                   const properties::InvariantRegistry& invariants);

}  // namespace hooke::scenario
