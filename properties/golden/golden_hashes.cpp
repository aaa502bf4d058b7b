// Prints one line per golden run: scenario, seed, trace hash. The same text must come out of every
// compiler and optimisation level. Usage: golden_hashes DIRECTORY_OF_SCENARIOS
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <numeric>
#include <string>
#include <vector>

#include "scenarios/loader.h"
#include "scenarios/runner.h"

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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: golden_hashes DIRECTORY_OF_SCENARIOS\n");
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
  for (const std::filesystem::path& file : files) {
    const hooke::scenario::Scenario scenario = hooke::scenario::load_scenario_file(file.string());
    hooke::scenario::RunOptions options;
    options.twin = false;
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
  return 0;
}
