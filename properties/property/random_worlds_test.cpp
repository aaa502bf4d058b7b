// Properties over whole random worlds, each run twice. The number of worlds is HOOKE_RANDOM_WORLDS
// (3,000 unless set otherwise). A property that fails leaves its shrunk world as a scenario file
// that `hooke run` replays.
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>

#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"
#include "scenarios/simulated/runner.h"
#include "world_generator.h"

namespace hooke::scenario {
namespace {

int worlds() {
  const char* given = std::getenv("HOOKE_RANDOM_WORLDS");
  return given == nullptr ? 3000 : std::max(3, std::atoi(given));
}

std::filesystem::path failure_directory() {
  const char* binary = std::getenv("HOOKE_BINARY_DIR");
  const std::filesystem::path directory =
      std::filesystem::path(binary == nullptr ? "." : binary) / "failures";
  std::filesystem::create_directories(directory);
  return directory;
}

/// Checks `judge` over `count` worlds. `judge` says why a world is refused, empty when it is fine.
/// Returns the shrunk world of a failure, already written to `<name>.json`.
std::optional<Scenario> check_worlds(const std::string& name, const rc::Gen<Scenario>& worlds_gen,
                                     int count,
                                     const std::function<std::string(const Scenario&)>& judge) {
  std::optional<Scenario>
      latest_failure;  // RapidCheck keeps a shrunk case only when it still fails
  rc::detail::TestParams parameters = rc::detail::configuration().testParams;
  parameters.maxSuccess = count;
  rc::detail::TestMetadata metadata;
  metadata.id = name;
  metadata.description = name;
  const auto result = rc::detail::checkTestable(
      [&] {
        const Scenario scenario = *worlds_gen;
        const std::string reason = judge(scenario);
        if (!reason.empty()) {
          latest_failure = scenario;
          RC_FAIL(reason);
        }
      },
      metadata, parameters);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  rc::detail::SuccessResult success;
  if (result.match(success)) {
    EXPECT_EQ(success.numSuccess, count) << "a property with fewer cases proves less than it says";
    return std::nullopt;
  }
  if (!latest_failure) {
    ADD_FAILURE() << text.str();
    return std::nullopt;
  }
  latest_failure->name = name;
  const std::filesystem::path file = failure_directory() / (name + ".json");
  std::ofstream(file) << write_scenario(*latest_failure);
  std::printf("%s\nthe shrunk world: hooke run %s\n", text.str().c_str(), file.c_str());
  return latest_failure;
}

std::string first_violation(const RunReport& report, const std::vector<std::string>& patterns) {
  for (const properties::Violation& violation : report.violations) {
    for (const std::string& pattern : patterns) {
      if (properties::matches(pattern, violation.invariant))
        return violation.invariant + ": " + violation.witness;
    }
  }
  return {};
}

std::string harness_trouble(const RunReport& report) {
  if (!report.harness_failure.empty()) return "the harness failed: " + report.harness_failure;
  if (report.trace_difference) {
    return "two runs differ at event " + std::to_string(report.trace_difference->event_number) +
           ": " + report.trace_difference->first + " against " + report.trace_difference->second;
  }
  return {};
}

class RandomWorlds : public testing::Test {
 protected:
  RunReport run_twice(const Scenario& scenario) {
    return run(kernel_, scenario, RunOptions{}, invariants_);
  }

  kernel::Kernel kernel_;
  properties::InvariantRegistry invariants_ = properties::InvariantRegistry::with_builtins();
};

TEST_F(RandomWorlds, without_faults_every_invariant_is_kept_and_both_runs_are_equal) {
  const auto failure =
      check_worlds("quiet-world", quiet_world(), worlds() / 3, [&](const Scenario& scenario) {
        const RunReport report = run_twice(scenario);
        const std::string trouble = harness_trouble(report);
        return trouble.empty() ? first_violation(report, {"*"}) : trouble;
      });
  EXPECT_FALSE(failure);
}

TEST_F(RandomWorlds, with_faults_both_runs_are_equal_and_what_the_faithful_protocol_keeps_is_kept) {
  const auto failure = check_worlds(
      "faulty-world", faulty_world(), worlds() - worlds() / 3, [&](const Scenario& scenario) {
        const RunReport report = run_twice(scenario);
        const std::string trouble = harness_trouble(report);
        return trouble.empty()
                   ? first_violation(report, {"safety.kill_safety", "safety.closed_is_final"})
                   : trouble;
      });
  EXPECT_FALSE(failure);
}

/// The same worlds with hardened agents.
rc::Gen<Scenario> hardened(const rc::Gen<Scenario>& worlds_gen) {
  return rc::gen::map(worlds_gen, [](Scenario scenario) {
    scenario.protocol.variant = model::Variant::hardened;
    return scenario;
  });
}

TEST_F(RandomWorlds, hardened_agents_keep_every_invariant_without_faults) {
  const auto failure =
      check_worlds("quiet-world-hardened", hardened(quiet_world()), worlds() / 10,
                   [&](const Scenario& scenario) {
                     const RunReport report = run_twice(scenario);
                     const std::string trouble = harness_trouble(report);
                     return trouble.empty() ? first_violation(report, {"*"}) : trouble;
                   });
  EXPECT_FALSE(failure);
}

TEST_F(RandomWorlds, hardened_agents_hear_every_signal_in_time_and_close_nothing_that_goes_on) {
  const auto failure = check_worlds(
      "faulty-world-hardened", hardened(faulty_world()), worlds() / 3,
      [&](const Scenario& scenario) {
        const RunReport report = run_twice(scenario);
        const std::string trouble = harness_trouble(report);
        return trouble.empty()
                   ? first_violation(report,
                                     {"safety.kill_safety", "safety.closed_is_final",
                                      "safety.close_authority", "liveness.signals_take_effect"})
                   : trouble;
      });
  EXPECT_FALSE(failure);
}

TEST_F(RandomWorlds,
       a_failing_property_leaves_a_shrunk_world_that_replays_to_the_same_verdict_and_hash) {
  std::string hash;
  // An invariant that is false on purpose: no world ever completes a round with three or more
  // participants.
  const auto failure =
      check_worlds("planted-failure", quiet_world(), 200, [&](const Scenario& scenario) {
        const RunReport report = run_twice(scenario);
        const bool large =
            std::any_of(report.agents.begin(), report.agents.end(), [&](const AgentResult&) {
              return scenario.cluster.nodes.size() >= 3 && report.rounds > 0;
            });
        if (large) hash = report.hash;
        return large ? "a round of three" : "";
      });
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->cluster.nodes.size(), 3U) << "the world was not shrunk";
  const Scenario again =
      load_scenario_file((failure_directory() / "planted-failure.json").string());
  const RunReport report = run_twice(again);
  EXPECT_EQ(report.hash, hash);
  EXPECT_TRUE(report.passed);
}

}  // namespace
}  // namespace hooke::scenario
