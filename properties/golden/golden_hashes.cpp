// Prints one line per golden run, with its trace hash: the scenarios of the library, and the first
// worlds of the default swarm. The same text must come out of every compiler and optimisation
// level, and with --step-polls, when agents make each look that finds nothing themselves. Usage:
// golden_hashes DIRECTORY_OF_SCENARIOS [--step-polls]
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/format/loader.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/simulated/runner.h"
#include "scenarios/swarm/swarm.h"

namespace {

/// Scenario files in the order of their paths, so that the list does not depend on the directory's
/// order.
std::vector<std::filesystem::path> scenario_files(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(directory)) {
    if (entry.path().extension() == ".json") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

void print_library(hooke::kernel::Kernel& kernel, const std::filesystem::path& root,
                   const std::vector<std::filesystem::path>& files,
                   const hooke::properties::InvariantRegistry& invariants, bool steps_polls) {
  for (const std::filesystem::path& file : files) {
    const hooke::scenario::Scenario scenario = hooke::scenario::load_scenario_file(file.string());
    hooke::scenario::RunOptions options;
    options.determinism_check = false;
    options.steps_polls = steps_polls;
    // About every other run draws the order of ready fibers as well, always the same ones.
    const std::string name = file.lexically_relative(root).string();
    if (std::accumulate(name.begin(), name.end(), 0) % 2 == 1) {
      options.schedule = hooke::kernel::Strategy::random;
    }
    const hooke::scenario::RunReport report =
        hooke::scenario::run(kernel, scenario, options, invariants);
    std::printf("%s seed %llu %s\n", name.c_str(), static_cast<unsigned long long>(scenario.seed),
                report.hash.c_str());
  }
}

/// No author has chosen what happens in these: a hunt finds the same on every machine only if all
/// of what can be drawn is the same everywhere.
void print_worlds(hooke::kernel::Kernel& kernel, hooke::model::Variant variant,
                  const hooke::properties::InvariantRegistry& invariants, bool steps_polls) {
  constexpr std::uint64_t kWorlds = 50;
  hooke::scenario::RunOptions options = hooke::hunt::hunting_options(false);
  options.steps_polls = steps_polls;
  hooke::hunt::Swarm swarm;
  swarm.variants = {variant};
  for (std::uint64_t world = 0; world < kWorlds; ++world) {
    const hooke::scenario::RunReport report =
        hooke::scenario::run(kernel, hooke::hunt::draw(swarm, world), options, invariants);
    std::printf("world of %s seed %llu %s\n", std::string(hooke::model::to_string(variant)).c_str(),
                static_cast<unsigned long long>(world), report.hash.c_str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  const bool steps_polls = argc == 3 && std::string_view(argv[2]) == "--step-polls";
  if (argc != 2 && !steps_polls) {
    std::fprintf(stderr, "usage: golden_hashes DIRECTORY_OF_SCENARIOS [--step-polls]\n");
    return 2;
  }
  const std::filesystem::path root(argv[1]);
  const std::vector<std::filesystem::path> files = scenario_files(root);
  if (files.empty()) {
    std::fprintf(stderr, "no scenario below %s\n", argv[1]);
    return 2;
  }
  hooke::kernel::Kernel kernel;
  const auto invariants = hooke::properties::InvariantRegistry::with_builtins();
  print_library(kernel, root, files, invariants, steps_polls);
  for (const auto variant : {hooke::model::Variant::torch_2_x, hooke::model::Variant::torch_1_13,
                             hooke::model::Variant::hardened}) {
    print_worlds(kernel, variant, invariants, steps_polls);
  }
  return 0;
}
