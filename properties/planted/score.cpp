// Which planted mistakes the default swarm finds, and in which of its worlds. BASELINE is what
// `hooke explore --variant hardened --results` or `--variant torch-2.x` has seen without a mistake.
// For each mistake the worlds of the same seeds are played again with it and nothing else changed;
// a line of the table has the first world
//   * that broke a promise in a way in which it breaks none without the mistake ("found"), and
//   * that broke one in a way that no world of the baseline has shown ("blindly": whoever hunts
//     does not have the sound program),
// and the promise. With several baselines, a seed is played under each before the next seed.
// Usage: planted_score BASELINE... [--seeds N] [--shard INDEX/COUNT] [--only PART_OF_A_NAME]...
// --shard takes every COUNTth mistake.
#include <algorithm>
#include <cstdio>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "model/variant/defects.h"
#include "scenarios/hunt/exploration.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/hunt/swarm.h"
#include "scenarios/json_reader.h"
#include "scenarios/loader.h"

namespace {

using namespace hooke;
using hunt::FailureKind;
using Kinds = std::vector<FailureKind>;

/// Sound worlds of one variant.
class Baseline {
 public:
  Baseline(kernel::Kernel& kernel, const std::string& file)
      : kernel_(kernel), seen_(hunt::load_exploration(scenario::read_file(file), file)) {
    const auto variant = model::variant_from(seen_.space);
    const bool whole =
        seen_.shards.size() == 1 && seen_.shards.front().first == 0 && seen_.shards.front().of == 1;
    if (!variant || !whole) {
      throw scenario::ScenarioError(
          file + ": expected what hooke explore --variant has seen from seed 0 on");
    }
    swarm_.variants = {*variant};
    swarm_.cores = false;  // as in the worlds on record
  }

  [[nodiscard]] std::uint64_t worlds() const { return seen_.worlds; }
  [[nodiscard]] const std::string& variant() const { return seen_.space; }
  [[nodiscard]] bool has_shown(const FailureKind& kind) const {
    return seen_.findings.contains(kind);
  }
  /// One world in so many shows what none before it has shown, as far as the ways that were seen
  /// but once can tell (Good, Biometrika 40, 1953).
  [[nodiscard]] std::uint64_t worlds_for_a_chance_find() const {
    const auto once = std::count_if(seen_.findings.begin(), seen_.findings.end(),
                                    [](const auto& item) { return item.second.worlds == 1; });
    return once == 0 ? worlds() : worlds() / static_cast<std::uint64_t>(once);
  }

  /// How world `seed` fails with a mistake; empty: none. Those without are played once.
  Kinds kinds(std::uint64_t seed, std::string_view mistake) {
    if (!mistake.empty()) return played(seed, {std::string(mistake)});
    const auto known = sound_.find(seed);
    return known != sound_.end() ? known->second
                                 : sound_.emplace(seed, played(seed, {})).first->second;
  }

 private:
  Kinds played(std::uint64_t seed, std::vector<std::string> defects) {
    swarm_.defects = std::move(defects);
    return hunt::kinds_of(scenario::run(kernel_, hunt::draw(swarm_, seed),
                                        hunt::hunting_options(false), invariants_));
  }

  kernel::Kernel& kernel_;
  hunt::Exploration seen_;
  hunt::Swarm swarm_;
  std::map<std::uint64_t, Kinds> sound_;
  properties::InvariantRegistry invariants_ = properties::InvariantRegistry::with_builtins();
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
};

Score score_of(std::string_view mistake, std::vector<std::unique_ptr<Baseline>>& baselines,
               std::uint64_t seeds) {
  Score score;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    for (const auto& baseline : baselines) {
      Kinds news;
      const Kinds spoilt = baseline->kinds(seed, mistake);
      const auto is_known = [&](const FailureKind& kind) { return baseline->has_shown(kind); };
      // What the sound world does need not be known when nothing could come of it.
      const bool nothing_blindly = std::all_of(spoilt.begin(), spoilt.end(), is_known);
      if (spoilt.empty() || (score.found.made() && nothing_blindly)) continue;
      const Kinds sound = baseline->kinds(seed, "");
      std::set_difference(spoilt.begin(), spoilt.end(), sound.begin(), sound.end(),
                          std::back_inserter(news));
      if (news.empty()) continue;
      score.found.make(*baseline, seed, news.front());
      const auto blind = std::find_if_not(news.begin(), news.end(), is_known);
      if (blind != news.end()) score.blindly.make(*baseline, seed, *blind);
      if (score.blindly.made()) return score;
    }
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
    seeds = std::min(seeds, baseline.worlds());
    std::printf("# %s: %llu sound worlds, one in %llu fails in a way of its own\n",
                baseline.variant().c_str(), static_cast<unsigned long long>(baseline.worlds()),
                static_cast<unsigned long long>(baseline.worlds_for_a_chance_find()));
  }
  std::size_t number = 0;
  for (const model::PlantedDefect& planted : model::planted_defects()) {
    if (!options.wants(number++, planted.name)) continue;
    const Score score = score_of(planted.name, baselines, seeds);
    std::printf("%s %s %s\n", std::string(planted.name).c_str(), score.found.text.c_str(),
                score.blindly.text.c_str());
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
