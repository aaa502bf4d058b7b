#include "scenarios/hunt/explorer.h"

#include "scenarios/outcome/verdict.h"

namespace hooke::hunt {

scenario::RunOptions hunting_options(bool determinism_check) {
  scenario::RunOptions options;
  options.determinism_check = determinism_check;
  options.steps_max = kStepsMax;
  options.rounds_max = kRoundsMax;
  options.wall_time_max = std::chrono::minutes(10);  // a slow machine finds what a fast one finds
  return options;
}

WorldResult result_of(const scenario::RunReport& report, std::uint64_t number) {
  WorldResult result;
  result.seed = number;
  result.kinds = kinds_of(report);
  for (const auto& [mark, count] : report.coverage) result.coverage.push_back(mark);
  for (const scenario::InjectedFault& fault : report.faults) {
    result.faults.push_back({fault.what, fault.felt != 0});
  }
  result.accounts = report.accounts;
  result.events = report.events;
  result.wall = report.wall_time;
  result.determinism_failures = report.trace_difference.has_value();
  result.hash = report.hash;
  result.cut = !scenario::limit_reached(report).empty();
  return result;
}

WorldResult play(kernel::Kernel& kernel, const scenario::Scenario& world, std::uint64_t number,
                 const properties::InvariantRegistry& invariants) {
  WorldResult result =
      result_of(scenario::run(kernel, world, hunting_options(true), invariants), number);
  result.determinism_check = true;
  return result;
}

}  // namespace hooke::hunt
