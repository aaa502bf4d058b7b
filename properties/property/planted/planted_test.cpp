// Planted mistakes are worth something only if they change something that a promise forbids, and a
// hunter only if its worlds show it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "model/variant/defects.h"
#include "scenarios/hunt/explorer.h"
#include "scenarios/hunt/swarm.h"

namespace hooke::hunt {
namespace {

struct Outcome {
  std::string hash;
  std::vector<FailureKind> kinds;
};

/// A world of the default swarm in which a mistake was found, and by which promise.
struct Find {
  std::string variant;
  std::uint64_t seed = 0;
  std::string promise;
  friend bool operator==(const Find&, const Find&) = default;
};

/// Where a mistake was found, and where in a way that no sound world has: a line of planted_score.
/// No find has a "-" for variant.
struct Record {
  Find found;
  Find blindly;
};

std::map<std::string, Record, std::less<>> on_record() {
  const char* const source = std::getenv("HOOKE_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) +
                     "/properties/planted/found.txt");
  std::map<std::string, Record, std::less<>> out;
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name;
    words >> name;
    Record& record = out[name];
    for (Find* const find : {&record.found, &record.blindly}) {
      std::string seed;
      words >> find->variant >> seed >> find->promise;
      if (find->variant != "-") find->seed = std::stoull(seed);
    }
    EXPECT_TRUE(words) << line;
  }
  return out;
}

class Planted : public testing::Test {
 protected:
  /// Of world `seed` of the swarm with agents of `variant`, and with a mistake, if one is named.
  Outcome outcome_of(const std::string& variant, std::uint64_t seed, std::string_view mistake) {
    Swarm swarm;
    swarm.variants = {*model::variant_from(variant)};
    swarm.cores = false;  // as in the worlds on record
    if (!mistake.empty()) swarm.defects = {std::string(mistake)};
    const scenario::RunReport report =
        scenario::run(kernel_, draw(swarm, seed), hunting_options(false), invariants_);
    EXPECT_EQ(report.harness_failure, "") << "world " << seed << " of " << variant;
    return {report.hash, kinds_of(report)};
  }
  /// Without a mistake; each is played once.
  const Outcome& sound(const std::string& variant, std::uint64_t seed) {
    const auto known = sound_.find({variant, seed});
    if (known != sound_.end()) return known->second;
    return sound_.emplace(std::pair(variant, seed), outcome_of(variant, seed, "")).first->second;
  }

  /// What is wrong with a line of the record; empty when the mistake is found where it says.
  std::string complaint(std::string_view mistake, const Find& find) {
    if (find.variant == "-") return "";
    const Outcome spoilt = outcome_of(find.variant, find.seed, mistake);
    const Outcome& without = sound(find.variant, find.seed);
    if (spoilt.hash == without.hash) return "it changes nothing";
    for (const FailureKind& kind : spoilt.kinds) {
      const bool is_new = !std::binary_search(without.kinds.begin(), without.kinds.end(), kind);
      if (is_new && kind.invariant == find.promise) return "";
    }
    return "it does not break " + find.promise;
  }

 private:
  kernel::Kernel kernel_;
  properties::InvariantRegistry invariants_ = properties::InvariantRegistry::with_builtins();
  std::map<std::pair<std::string, std::uint64_t>, Outcome> sound_;
};

constexpr const char* kAnew =
    "; properties/planted/found.txt is what properties/planted/record writes";

TEST_F(Planted, each_mistake_is_found_in_the_world_on_record) {
  const auto record = on_record();
  for (const model::PlantedDefect& planted : model::planted_defects()) {
    const auto line = record.find(planted.name);
    ASSERT_NE(line, record.end()) << planted.name << kAnew;
    EXPECT_EQ(complaint(planted.name, line->second.found), "") << planted.name << kAnew;
  }
}

TEST_F(Planted, most_are_found_blindly_in_the_worlds_on_record) {
  std::size_t blindly = 0;
  for (const auto& [name, line] : on_record()) {
    blindly += line.blindly.variant != "-" ? 1 : 0;
    if (line.blindly == line.found) continue;  // was looked at above
    EXPECT_EQ(complaint(name, line.blindly), "") << name << kAnew;
  }
  EXPECT_GE(blindly * 4, model::planted_defects().size() * 3);
}

TEST_F(Planted, the_swarm_finds_nineteen_of_twenty_in_its_first_ten_thousand_worlds) {
  std::size_t early = 0;
  for (const auto& [name, line] : on_record()) {
    EXPECT_NE(line.found.variant, "-") << name << " is not found at all";
    early += line.found.variant != "-" && line.found.seed < 10'000 ? 1 : 0;
  }
  EXPECT_GE(early * 20, model::planted_defects().size() * 19);
}

TEST_F(Planted, a_world_without_mistakes_is_the_same_before_and_after_one_with) {
  const Find find = on_record().at("planted.rendezvous.rank_skipped").found;
  const std::string before = outcome_of(find.variant, find.seed, "").hash;
  EXPECT_NE(outcome_of(find.variant, find.seed, "planted.rendezvous.rank_skipped").hash, before);
  EXPECT_EQ(outcome_of(find.variant, find.seed, "").hash, before);
}

TEST_F(Planted, mistakes_have_names_of_their_own_and_say_what_they_do) {
  std::map<std::string_view, int> names;
  for (const model::PlantedDefect& planted : model::planted_defects()) {
    EXPECT_EQ(++names[planted.name], 1) << planted.name;
    EXPECT_TRUE(planted.name.starts_with("planted."));
    EXPECT_TRUE(planted.meaning.ends_with('.')) << planted.name;
    EXPECT_EQ(model::planted_among(std::vector{planted.name}), model::PlantedSet{planted.which});
  }
  EXPECT_EQ(model::planted_among(std::vector<std::string>{"launcher.shutdown_on_signal"}),
            model::PlantedSet());
}

}  // namespace
}  // namespace hooke::hunt
