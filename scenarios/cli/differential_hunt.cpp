// World by world; the accounts at the end.
#include "scenarios/cli/differential_hunt.h"

#include <fmt/format.h>

#include <filesystem>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "reports/text.h"
#include "scenarios/cli/commands.h"
#include "scenarios/cli/guests.h"
#include "scenarios/cli/interruption.h"
#include "scenarios/cli/output_file.h"
#include "scenarios/format/writer.h"
#include "scenarios/guest/differential.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/hunt/shrinker.h"
#include "sim/kernel/host_limits.h"

namespace hooke::cli {
namespace {

namespace fs = std::filesystem;

/// The name under which a difference is shrunk.
constexpr const char* kDifference = "differential";
constexpr std::size_t kShrinkRunsMax = 60;
constexpr std::size_t kShrunkMax = 3;

/// A real difference as the kind of failure that it is: which step, without names and numbers.
properties::Violation violation_of(const scenario::StepDifference& difference) {
  properties::Violation out;
  out.invariant = kDifference;
  const auto word = [](const std::optional<scenario::AgentStep>& step) {
    return step ? step->text.substr(0, step->text.find(' ')) : std::string("nothing");
  };
  out.witness = "hooke: " + word(difference.ours) + ", PyTorch: " + word(difference.theirs);
  return out;
}

class Differences {
 public:
  Differences(const hunt::Swarm& swarm, const HuntOptions& options)
      : swarm_(swarm),
        options_(options),
        zygote_(guests_of_this_machine("explore --differential")) {}

  void look_at(std::uint64_t seed) {
    const scenario::Scenario world = hunt::draw(swarm_, seed);
    const scenario::Differential played = play(world);
    if (!played.unsupported.empty()) {
      ++unsupported_[played.unsupported];
      return;
    }
    for (const scenario::RunReport* const run : {&played.ours, &played.theirs}) {
      if (run->harness_failure.empty()) continue;
      ++failures_;
      return say(fmt::format("world {}: the harness failed: {}\n", seed, run->harness_failure));
    }
    const scenario::Comparison& comparison = played.comparison;
    ++worlds_;
    requests_ += comparison.requests;
    decisions_ += comparison.decisions;
    if (!comparison.first) return void(++equal_);
    differing_.push_back(seed);
    say(fmt::format("world {}: after {} equal requests and {} equal decisions\n{}", seed,
                    comparison.requests, comparison.decisions,
                    scenario::side_by_side(*comparison.first)));
    if (!options_.reproducers.empty() && differing_.size() <= kShrunkMax)
      shrink(world, *comparison.first);
  }

  void tell() const {
    if (options_.json) {
      std::cout << nlohmann::json{{"worlds", worlds_},
                                  {"equal", equal_},
                                  {"different", differing_},
                                  {"requests", requests_},
                                  {"decisions", decisions_},
                                  {"unsupported", unsupported_},
                                  {"harness_failures", failures_}}
                       .dump(2)
                << '\n';
      return;
    }
    std::cout << fmt::format(
        "{} worlds with hooke's agents and with PyTorch's: {} equal to their end, {} different\n"
        "equal: {} requests, {} decisions\n",
        worlds_, equal_, differing_.size(), requests_, decisions_);
    for (const auto& [reason, count] : unsupported_)
      std::cout << fmt::format("{:>6} not played: {}\n", count, reason);
  }

  [[nodiscard]] int exit_code() const {
    return failures_ != 0 || worlds_ == 0 ? kHarnessFailed
           : differing_.empty()           ? kAllHeld
                                          : kSomethingFell;
  }

 private:
  scenario::Differential play(const scenario::Scenario& world) {
    kernel::Kernel kernel;
    return scenario::play_both(kernel, world, hunt::hunting_options(false), invariants_, *zygote_);
  }

  void say(const std::string& text) const {
    if (!options_.json) std::cout << text << std::flush;
  }

  /// Smaller worlds that differ alike.
  void shrink(const scenario::Scenario& world, const scenario::StepDifference& difference) {
    hunt::ShrinkOptions how;
    how.target = hunt::kind_of(violation_of(difference));
    how.runs_max = kShrinkRunsMax;
    how.enough = [] { return interrupted(); };
    const auto shrunk = hunt::shrink(
        world, how, [this](const scenario::Scenario& candidate, const scenario::RunOptions&) {
          scenario::Differential played = play(candidate);
          scenario::RunReport report = std::move(played.ours);
          report.violations.clear();
          const auto& first = played.comparison.first;
          if (first) report.violations.push_back(violation_of(*first));
          return report;
        });
    if (!shrunk) return;
    scenario::Scenario smaller = shrunk->scenario;
    smaller.expect.violates.clear();
    smaller.description = "Hooke's agents and PyTorch's part here. " + shrunk->witness;
    fs::create_directories(options_.reproducers);
    const std::string path =
        (fs::path(options_.reproducers) / ("difference-" + std::to_string(world.seed) + ".json"))
            .string();
    OutputFile file("--reproducers", path);
    file << scenario::write_scenario(smaller);
    file.finish();
    say(fmt::format("    {} nodes and {} faults are left after {} runs: {}\n",
                    smaller.cluster.nodes.size(), smaller.timeline.size(), shrunk->runs, path));
  }

  const hunt::Swarm& swarm_;
  const HuntOptions& options_;
  const properties::InvariantRegistry invariants_ = properties::InvariantRegistry::with_builtins();
  std::unique_ptr<guest::Zygote> zygote_;
  std::uint64_t worlds_ = 0, equal_ = 0, requests_ = 0, decisions_ = 0, failures_ = 0;
  std::vector<std::uint64_t> differing_;
  std::map<std::string, std::uint64_t> unsupported_;
};

}  // namespace

int hunt_differences(const hunt::Swarm& swarm, const hunt::Shard& shard,
                     const HuntOptions& options) {
  Differences differences(swarm, options);
  watch_for_interruption();
  const kernel::Stopwatch stopwatch;
  for (std::uint64_t i = shard.index; i < shard.count && !interrupted(); i += shard.of) {
    const std::chrono::duration<double> elapsed = stopwatch.elapsed();
    if (options.seconds > 0 && elapsed.count() > options.seconds) break;
    differences.look_at(shard.first + i);
  }
  differences.tell();
  return differences.exit_code();
}

}  // namespace hooke::cli
