// Planted mistakes are worth something only if they change something that a promise forbids.
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "model/variant/defects.h"
#include "scenarios/runner.h"
#include "wide_world.h"

namespace hooke::scenario {
namespace {

struct Outcome {
  std::string hash;
  std::set<std::string> broken;
};

class Planted : public testing::Test {
 protected:
  Outcome outcome_of(const Scenario& scenario) {
    RunOptions options;
    options.twin = false;
    const RunReport report = run(kernel_, scenario, options, invariants_);
    EXPECT_EQ(report.harness_failure, "") << scenario.name;
    Outcome out{report.hash, {}};
    for (const properties::Violation& violation : report.violations) {
      out.broken.insert(violation.invariant);
    }
    return out;
  }

  /// Of a wide world without mistakes; each is run once.
  const Outcome& sound(std::uint32_t seed) {
    const auto known = sound_.find(seed);
    if (known != sound_.end()) return known->second;
    return sound_.emplace(seed, outcome_of(wide_world(seed))).first->second;
  }

  Outcome with_mistake(std::uint32_t seed, std::string_view name) {
    Scenario scenario = wide_world(seed);
    scenario.protocol.defects = {std::string(name)};
    return outcome_of(scenario);
  }

 private:
  kernel::Kernel kernel_;
  properties::InvariantRegistry invariants_ = properties::InvariantRegistry::with_builtins();
  std::map<std::uint32_t, Outcome> sound_;
};

/// Where a mistake was found, and by which promise: a line of planted_score.
struct Found {
  std::uint32_t seed = 0;
  std::string promise;
};

std::map<std::string, Found, std::less<>> on_record() {
  const char* const source = std::getenv("HOOKE_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) +
                     "/properties/planted/found.txt");
  std::map<std::string, Found, std::less<>> out;
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string name;
    Found found;
    if (words >> name >> found.seed >> found.promise) out[name] = found;
  }
  return out;
}

TEST_F(Planted, each_mistake_breaks_a_promise_that_holds_without_it) {
  const auto record = on_record();
  for (const model::PlantedDefect& planted : model::kPlanted) {
    const auto found = record.find(planted.name);
    ASSERT_NE(found, record.end()) << planted.name;
    const auto& [seed, promise] = found->second;
    const Outcome spoilt = with_mistake(seed, planted.name);
    EXPECT_NE(spoilt.hash, sound(seed).hash) << planted.name << " changes nothing";
    EXPECT_TRUE(spoilt.broken.contains(promise) && !sound(seed).broken.contains(promise))
        << planted.name << " does not break " << promise << " in world " << seed
        << ": the line of `planted_score --first 500 " << planted.name
        << "` belongs into properties/planted/found.txt";
  }
}

TEST_F(Planted, a_world_without_mistakes_is_the_same_before_and_after_one_with) {
  const Outcome before = outcome_of(wide_world(2));
  EXPECT_NE(with_mistake(2, "planted.rendezvous.rank_skipped").hash, before.hash);
  EXPECT_EQ(outcome_of(wide_world(2)).hash, before.hash);
}

TEST_F(Planted, mistakes_have_names_of_their_own_and_say_what_they_do) {
  std::map<std::string_view, int> names;
  for (const model::PlantedDefect& planted : model::kPlanted) {
    EXPECT_EQ(++names[planted.name], 1) << planted.name;
    EXPECT_TRUE(planted.name.starts_with("planted."));
    EXPECT_TRUE(planted.meaning.ends_with('.')) << planted.name;
    EXPECT_EQ(model::planted_among(std::vector{planted.name}), model::PlantedSet{planted.which});
  }
  EXPECT_EQ(model::planted_among(std::vector<std::string>{"launcher.shutdown_on_signal"}),
            model::PlantedSet());
}

}  // namespace
}  // namespace hooke::scenario
