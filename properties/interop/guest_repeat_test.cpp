// PyTorch's own agents in random worlds, again and again: one hash for each world, whichever
// interpreter forks the guests, wherever the kernel puts their memory, and however busy the machine
// is. HOOKE_GUEST_WORLDS and HOOKE_GUEST_RUNS: how many worlds, and how often each is played;
// HOOKE_GUEST_FIRST: the number from which they are counted.
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>
#include <thread>

#include "job.h"
#include "scenarios/guest/guest_runner.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/swarm/swarm.h"

namespace hooke::interop {
namespace {

std::uint64_t wanted(const char* variable, std::uint64_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

/// What is the same in all runs of a world: how it ended, and every event.
std::string told(const scenario::RunReport& report) {
  return report.harness_failure + report.hash + ", " + std::to_string(report.events) + " events";
}

/// Keeps a processor busy.
class Load {
 public:
  ~Load() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_{false};
  std::thread thread_{[this] {
    while (!over_) {
    }
  }};
};

/// The different outcomes of that many runs in turn, with how many had each.
std::map<std::string, std::uint64_t> outcomes(
    const scenario::Scenario& world, std::uint64_t runs,
    const std::array<std::unique_ptr<guest::Zygote>, 2>& zygotes) {
  static const auto invariants = properties::InvariantRegistry::with_builtins();
  std::map<std::string, std::uint64_t> seen;
  for (std::uint64_t i = 0; i < runs; ++i) {
    kernel::Kernel kernel;
    ++seen[told(scenario::run_with_guests(kernel, world, hunt::hunting_options(false), invariants,
                                          *zygotes[i % zygotes.size()]))];
  }
  return seen;
}

TEST(Guests, have_one_hash_in_each_random_world) {
  if (torch_python().empty()) GTEST_SKIP() << "PyTorch is not available here";
  std::string layout;
  std::ifstream("/proc/sys/kernel/randomize_va_space") >> layout;
  EXPECT_NE(layout, "0") << "the kernel puts every process at the same addresses";
  const std::uint64_t worlds = wanted("HOOKE_GUEST_WORLDS", 2);
  const std::uint64_t runs = wanted("HOOKE_GUEST_RUNS", 4);
  const std::array<std::unique_ptr<guest::Zygote>, 2> zygotes{
      scenario::start_torch(torch_python()), scenario::start_torch(torch_python())};
  std::uint64_t played = 0;
  for (std::uint64_t seed = wanted("HOOKE_GUEST_FIRST", 0); played < worlds; ++seed) {
    const scenario::Scenario world = hunt::draw(hunt::differential_swarm(), seed);
    if (!scenario::unsupported_by_guests(world).empty()) continue;
    std::optional<Load> load;
    if (played++ % 2 == 0) load.emplace();
    const auto seen = outcomes(world, runs, zygotes);
    EXPECT_EQ(seen.size(), 1U) << "world " << seed << ": " << ::testing::PrintToString(seen);
    std::cout << "world " << seed << ": " << runs << " runs, " << seen.begin()->first << std::endl;
  }
}

}  // namespace
}  // namespace hooke::interop
