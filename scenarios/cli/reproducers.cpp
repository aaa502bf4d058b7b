#include "scenarios/cli/reproducers.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "scenarios/cli/output_file.h"
#include "scenarios/cli/workforce.h"
#include "scenarios/format/writer.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/hunt/shrinker.h"
#include "sim/kernel/host_limits.h"

namespace hooke::cli {
namespace {

/// A failure that is not small by then is written as it is.
constexpr std::chrono::seconds kAtMost{60};

/// The smallest world found that fails in this way; the first one where it does not fail again.
std::string small_world(kernel::Kernel& kernel, const hunt::FailureKind& kind,
                        const scenario::Scenario& first,
                        const properties::InvariantRegistry& invariants) {
  const kernel::Stopwatch stopwatch;
  hunt::ShrinkOptions options;
  options.target = kind;
  options.enough = [&] { return stopwatch.elapsed() > kAtMost; };
  const auto shrunk = hunt::shrink(
      first, options, [&](const scenario::Scenario& scenario, scenario::RunOptions run_options) {
        run_options.steps_max = std::min(run_options.steps_max, hunt::kStepsMax);
        run_options.rounds_max = hunt::kRoundsMax;
        return scenario::run(kernel, scenario, run_options, invariants);
      });
  return scenario::write_scenario(shrunk ? shrunk->scenario : first);
}

}  // namespace

void write_reproducers(hunt::Exploration& exploration, const FirstWorld& first_world,
                       const std::string& directory, unsigned jobs, bool quiet) {
  std::filesystem::create_directories(directory);
  struct Task {
    const hunt::FailureKind& kind;
    hunt::Finding& finding;
    std::string name;
  };
  std::vector<Task> tasks;
  std::map<std::string, int> numbers;
  for (auto& [kind, finding] : exploration.findings) {
    if (!kind.limit.empty()) continue;
    const std::string invariant = kind.invariant.substr(kind.invariant.find('.') + 1);
    tasks.push_back({kind, finding, fmt::format("{}-{}.json", invariant, ++numbers[invariant])});
  }
  const auto invariants = properties::InvariantRegistry::with_builtins();
  std::unique_ptr<kernel::Kernel> kernel;  // of the process that works
  std::size_t over = 0;
  const auto tell = [&] {
    if (!quiet && isatty(STDERR_FILENO) != 0)
      std::cerr << fmt::format("\r\x1b[Kmaking them small: {} of {}", over, tasks.size());
  };
  const auto write = [&](Task& task, const std::string& text) {
    const std::string path = (std::filesystem::path(directory) / task.name).string();
    OutputFile file("--reproducers", path);
    file << text;
    file.finish();
    task.finding.reproducer = path;
    ++over;
    tell();
  };
  Workforce workforce;
  workforce.jobs = jobs;
  workforce.work = [&](std::uint64_t number) {
    if (!kernel) kernel = std::make_unique<kernel::Kernel>();
    const Task& task = tasks[number];
    const scenario::Scenario first = first_world(*kernel, task.kind, task.finding);
    return nlohmann::json(small_world(*kernel, task.kind, first, invariants)).dump();
  };
  workforce.done = [&](std::uint64_t number, const std::string& line) {
    write(tasks[number], nlohmann::json::parse(line).get<std::string>());
  };
  // A world that ends its process cannot be made small in one, but it can be had by its number.
  workforce.crashed = [&](std::uint64_t, const std::string&) { ++over; };
  workforce.more = [] { return true; };
  tell();
  workforce.run(tasks.size());
  if (!quiet && isatty(STDERR_FILENO) != 0) std::cerr << "\r\x1b[K";
}

}  // namespace hooke::cli
