// Which planted mistakes the default swarm finds, and in which of its worlds. BASELINE is what
// `hooke explore --variant hardened --results` or `--variant torch-2.x` has seen without a mistake.
// For each mistake the worlds of the same seeds are played again with it and nothing else changed;
// a line of the table has the first world
//   * in which it is found (worlds.h: finds),
//   * in which it is found in a way that no world of the baseline has shown ("blindly": a hunter
//     does not have the sound program), and
//   * in which it is found by an invariant that its line names ("by name"),
// each with that invariant; then how many of the first 300 worlds it changes at all under one of
// the baselines ("reached"), and the first of these. With several baselines, a seed is played under
// each before the next seed.
// Usage: planted_score BASELINE... [--seeds N] [--shard INDEX/COUNT] [--only PART_OF_A_NAME]...
// --shard takes every COUNTth mistake.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "model/variant/defects.h"
#include "properties/planted/worlds.h"
#include "scenarios/format/json_reader.h"
#include "scenarios/format/loader.h"
#include "scenarios/hunt/exploration.h"

namespace {

using namespace hooke;
using hunt::FailureKind;
using planted::Outcome;
using planted::Worlds;

/// So many worlds tell how often a mistake does anything.
constexpr std::uint64_t kReachWorlds = 300;

/// Sound worlds of one variant.
class Baseline {
 public:
  Baseline(kernel::Kernel& kernel, const std::string& file)
      : seen_(hunt::load_exploration(scenario::read_file(file), file)),
        worlds_(kernel, variant_of(seen_, file)) {}

  [[nodiscard]] std::uint64_t count() const { return seen_.worlds; }
  [[nodiscard]] const std::string& variant() const { return seen_.space; }
  [[nodiscard]] bool has_shown(const FailureKind& kind) const {
    return seen_.findings.contains(kind);
  }
  /// One world in so many shows what none before it has shown, as far as the ways that were seen
  /// but once can tell (Good, Biometrika 40, 1953).
  [[nodiscard]] std::uint64_t worlds_for_a_chance_find() const {
    const auto once = std::count_if(seen_.findings.begin(), seen_.findings.end(),
                                    [](const auto& item) { return item.second.worlds == 1; });
    return once == 0 ? count() : count() / static_cast<std::uint64_t>(once);
  }
  [[nodiscard]] Worlds& worlds() { return worlds_; }

 private:
  static model::Variant variant_of(const hunt::Exploration& seen, const std::string& file) {
    const auto variant = model::variant_from(seen.space);
    const bool whole =
        seen.shards.size() == 1 && seen.shards.front().first == 0 && seen.shards.front().of == 1;
    if (!variant || !whole) {
      throw scenario::ScenarioError(
          file + ": expected what hooke explore --variant has seen from seed 0 on");
    }
    return *variant;
  }

  hunt::Exploration seen_;
  Worlds worlds_;
};

/// "hardened 17 safety.bounds", or "- - -".
struct Find {
  std::string text = "- - -";
  [[nodiscard]] bool made() const { return text.front() != '-'; }
  void make(const Baseline& baseline, std::uint64_t seed, const FailureKind& kind) {
    if (!made()) text = baseline.variant() + " " + std::to_string(seed) + " " + kind.invariant;
  }
};

struct Score {
  Find found;
  Find blindly;
  Find by_name;
  std::uint64_t reached = 0;
  std::string first_reached = "- -";  ///< "hardened 17"

  [[nodiscard]] bool complete() const { return found.made() && blindly.made() && by_name.made(); }
};

void add(Score& score, const model::PlantedDefect& mistake, const Baseline& baseline,
         std::uint64_t seed, const std::vector<FailureKind>& finds) {
  for (const FailureKind& kind : finds) {
    score.found.make(baseline, seed, kind);
    if (!baseline.has_shown(kind)) score.blindly.make(baseline, seed, kind);
    if (mistake.is_named_by(kind.invariant)) score.by_name.make(baseline, seed, kind);
  }
}

Score score_of(const model::PlantedDefect& mistake,
               std::vector<std::unique_ptr<Baseline>>& baselines, std::uint64_t seeds) {
  Score score;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    if (seed >= kReachWorlds && score.complete()) break;
    bool changed = false;
    for (const auto& baseline : baselines) {
      const Outcome spoilt = baseline->worlds().with(mistake.name, seed);
      const Outcome& sound = baseline->worlds().sound(seed);
      if (spoilt.hash == sound.hash) continue;
      changed = true;
      if (score.reached == 0)
        score.first_reached = baseline->variant() + " " + std::to_string(seed);
      add(score, mistake, *baseline, seed, planted::finds(mistake, spoilt, sound));
    }
    if (changed && seed < kReachWorlds) ++score.reached;
  }
  return score;
}

struct Options {
  std::vector<std::string> baselines;
  std::vector<std::string> parts;  ///< of names; empty: all
  std::uint64_t seeds = UINT64_MAX;
  std::size_t index = 0;
  std::size_t of = 1;

  [[nodiscard]] bool wants(std::size_t number, std::string_view name) const {
    if (number % of != index) return false;
    return parts.empty() || std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
             return name.find(part) != std::string_view::npos;
           });
  }
};

std::optional<Options> options_of(const std::vector<std::string>& arguments) {
  Options out;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (!name.starts_with("--")) {
      out.baselines.push_back(name);
      continue;
    }
    if (++i == arguments.size()) return std::nullopt;
    std::istringstream value(arguments[i]);
    char slash = 0;
    const bool good = name == "--only"    ? static_cast<bool>(value >> out.parts.emplace_back())
                      : name == "--seeds" ? value >> out.seeds && out.seeds > 0
                      : name == "--shard" ? value >> out.index >> slash >> out.of && slash == '/' &&
                                                out.index < out.of
                                          : false;
    if (!good) return std::nullopt;
  }
  if (out.baselines.empty()) return std::nullopt;
  return out;
}

void print_scores(const Options& options) {
  kernel::Kernel kernel;
  std::vector<std::unique_ptr<Baseline>> baselines;
  std::uint64_t seeds = options.seeds;
  for (const std::string& file : options.baselines) {
    baselines.push_back(std::make_unique<Baseline>(kernel, file));
    const Baseline& baseline = *baselines.back();
    seeds = std::min(seeds, baseline.count());
    std::printf("# %s: %llu sound worlds, one in %llu fails in a way of its own\n",
                baseline.variant().c_str(), static_cast<unsigned long long>(baseline.count()),
                static_cast<unsigned long long>(baseline.worlds_for_a_chance_find()));
  }
  std::size_t number = 0;
  for (const model::PlantedDefect& mistake : model::planted_defects()) {
    if (!options.wants(number++, mistake.name)) continue;
    const Score score = score_of(mistake, baselines, seeds);
    std::printf("%s %s %s %s %llu %s\n", std::string(mistake.name).c_str(),
                score.found.text.c_str(), score.blindly.text.c_str(), score.by_name.text.c_str(),
                static_cast<unsigned long long>(score.reached), score.first_reached.c_str());
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::optional<Options> options = options_of({argv + 1, argv + argc});
  if (!options) {
    std::fprintf(stderr,
                 "usage: planted_score BASELINE... [--seeds N] [--shard INDEX/COUNT] "
                 "[--only PART_OF_A_NAME]...\n");
    return 2;
  }
  try {
    print_scores(*options);
  } catch (const scenario::ScenarioError& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
  return 0;
}
