#pragma once
// Which settings of a job matter most.

#include <functional>
#include <string>
#include <vector>

#include "reports/plan/renewal.h"
#include "reports/plan/simulation.h"

namespace hooke::report {

/// One change, and what the job would be with it.
struct Lever {
  std::string change;  ///< "spares: 6 instead of 4"
  std::string why;     ///< a sentence
  std::function<void(JobPlan&)> apply;
};

struct Advice {
  Lever lever;
  double ratio = 0;  ///< with it, and with all that stand before it
};

struct PlanOptions {
  SimulationOptions simulation;
  sim::Duration length = std::chrono::hours(24 * 30);  ///< of a course, which is one of many
  std::int64_t courses = 400;
};

/// Everything that could be changed about this job with the agents that it has.
std::vector<Lever> levers_of(const JobPlan& plan, const PlanOptions& options);

struct PlanResult {
  JobPlan plan;
  Simulation simulation;
  Forecast forecast;
  /// What torchrun's agents can have: at each place what gains the most on top of those before it.
  std::vector<Advice> advice;
  double hardened = 0, hardened_and_advice = 0;  ///< the ratio with hooke's hardened agents
  bool hardened_start_seen = true;               ///< as Simulation::start_seen, of them
};

/// `progress` is called before the episodes of one more protocol are played, with how many have
/// been.
PlanResult make_plan(const JobPlan& plan, const PlanOptions& options,
                     const std::function<void(std::size_t)>& progress);

}  // namespace hooke::report
