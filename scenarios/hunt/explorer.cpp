#include "scenarios/hunt/explorer.h"

#include "scenarios/outcome/verdict.h"

namespace hooke::hunt {

scenario::RunOptions hunting_options(bool twin) {
  scenario::RunOptions options;
  options.twin = twin;
  options.steps_max = kStepsMax;
  options.rounds_max = kRoundsMax;
  options.wall_time_max = std::chrono::minutes(10);  // a slow machine finds what a fast one finds
  return options;
}

WorldResult result_of(const scenario::RunReport& report, std::uint64_t number) {
  WorldResult result;
  result.seed = number;
  result.kinds = kinds_of(report);
  for (const auto& [mark, count] : report.marks) result.marks.push_back(mark);
  for (const scenario::InjectedFault& fault : report.faults) {
    result.faults.push_back({fault.what, fault.felt != 0});
  }
  result.accounts = report.accounts;
  result.events = report.events;
  result.wall = report.wall_time;
  result.twins_differ = report.twin_difference.has_value();
  result.hash = report.hash;
  result.cut = !scenario::limit_reached(report).empty();
  return result;
}

WorldResult play(kernel::Kernel& kernel, const scenario::Scenario& world, std::uint64_t number,
                 const properties::InvariantRegistry& invariants) {
  WorldResult result =
      result_of(scenario::run(kernel, world, hunting_options(true), invariants), number);
  result.twin = true;
  return result;
}

}  // namespace hooke::hunt
