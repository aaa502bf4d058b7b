// How well the promises see planted mistakes, in the first WORLDS wide worlds. For each mistake one
// line: the first world in which a promise breaks that holds there without it, and that promise;
// "- -" when there is none. Without --first there follows in how many worlds that is so, in how
// many the run differs at all, and which promises they are. Usage: planted_score [--first] WORLDS
// [PART OF A NAME]...
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/variant/defects.h"
#include "properties/property/wide_world.h"
#include "scenarios/runner.h"

namespace {

using hooke::scenario::RunReport;
using hooke::scenario::Scenario;

struct Outcome {
  std::string hash;
  std::set<std::string> broken;
};

class Score {
 public:
  explicit Score(std::uint32_t worlds) : sound_(worlds) {}

  void print_usual() {
    std::map<std::string, int> usual;
    for (std::uint32_t world = 0; world < sound_.size(); ++world) {
      for (const std::string& id : sound(world).broken) ++usual[id];
    }
    std::printf("# without a mistake, in %zu worlds:%s\n", sound_.size(), text(usual).c_str());
  }

  /// True when it was found.
  bool print(const hooke::model::PlantedDefect& planted, bool first_only) {
    int differs = 0;
    int found = 0;
    std::string first = "- -";
    std::map<std::string, int> by;
    for (std::uint32_t world = 0; world < sound_.size() && !(first_only && found > 0); ++world) {
      Scenario scenario = hooke::scenario::wide_world(world);
      scenario.protocol.defects = {std::string(planted.name)};
      const Outcome outcome = outcome_of(scenario);
      const Outcome& without = sound(world);
      if (outcome.hash != without.hash) ++differs;
      std::vector<std::string> news;
      std::set_difference(outcome.broken.begin(), outcome.broken.end(), without.broken.begin(),
                          without.broken.end(), std::back_inserter(news));
      for (const std::string& id : news) ++by[id];
      if (!news.empty() && ++found == 1) first = std::to_string(world) + " " + news.front();
    }
    std::printf("%s %s", std::string(planted.name).c_str(), first.c_str());
    if (!first_only) {
      std::printf(" | %d of %zu, differs in %d:%s", found, sound_.size(), differs,
                  text(by).c_str());
    }
    std::printf("\n");
    std::fflush(stdout);
    return found > 0;
  }

 private:
  Outcome outcome_of(const Scenario& scenario) {
    hooke::scenario::RunOptions options;
    options.twin = false;
    const RunReport report = hooke::scenario::run(kernel_, scenario, options, invariants_);
    Outcome out;
    out.hash = report.hash;
    for (const auto& violation : report.violations) out.broken.insert(violation.invariant);
    if (!report.harness_failure.empty()) out.broken.insert("harness");
    return out;
  }

  /// Each world is run once without a mistake.
  const Outcome& sound(std::uint32_t world) {
    if (!sound_[world]) sound_[world] = outcome_of(hooke::scenario::wide_world(world));
    return *sound_[world];
  }

  /// The most frequent first.
  static std::string text(const std::map<std::string, int>& counts) {
    std::vector<std::pair<int, std::string>> order;
    for (const auto& [id, count] : counts) order.emplace_back(-count, id);
    std::sort(order.begin(), order.end());
    std::string out;
    for (const auto& [count, id] : order) out += " " + id + " " + std::to_string(-count);
    return out;
  }

  hooke::kernel::Kernel kernel_;
  hooke::properties::InvariantRegistry invariants_ =
      hooke::properties::InvariantRegistry::with_builtins();
  std::vector<std::optional<Outcome>> sound_;
};

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string_view> parts(argv + 1, argv + argc);
  const bool first_only = !parts.empty() && parts.front() == "--first";
  if (first_only) parts.erase(parts.begin());
  const int worlds = parts.empty() ? 0 : std::atoi(parts.front().data());
  if (worlds <= 0) {
    std::fprintf(stderr, "usage: planted_score [--first] WORLDS [PART OF A NAME]...\n");
    return 2;
  }
  parts.erase(parts.begin());
  Score score(static_cast<std::uint32_t>(worlds));
  if (!first_only) score.print_usual();
  int found = 0;
  int mistakes = 0;
  for (const hooke::model::PlantedDefect& planted : hooke::model::kPlanted) {
    const bool wanted = std::any_of(parts.begin(), parts.end(), [&](std::string_view part) {
      return planted.name.find(part) != std::string_view::npos;
    });
    if (!parts.empty() && !wanted) continue;
    ++mistakes;
    if (score.print(planted, first_only)) ++found;
  }
  std::printf("# found %d of %d\n", found, mistakes);
  return 0;
}
