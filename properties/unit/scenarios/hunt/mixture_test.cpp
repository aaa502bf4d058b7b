#include "scenarios/hunt/mixture.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "reports/mixture_table.h"
#include "scenarios/format/loader.h"
#include "scenarios/simulated/runner.h"

namespace hooke::hunt {
namespace {

using scenario::Scenario;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Scenario job_of(std::size_t nodes) {
  Scenario scenario;
  for (std::size_t i = 0; i < nodes; ++i) {
    scenario.cluster.nodes.emplace_back().id = std::string(1, static_cast<char>('a' + i));
  }
  return scenario;
}

TEST(Placements, AreAllOfASmallJobFewerBeforeMore) {
  EXPECT_THAT(placements(job_of(2)),
              ElementsAre(Placement{}, Placement{"a"}, Placement{"b"}, Placement{"a", "b"}));
  EXPECT_EQ(placements(job_of(5)).size(), 32U);
}

TEST(Placements, OfALargeJobAreItsFirstItsLastEachAloneAndAllButEach) {
  const std::vector<Placement> some = placements(job_of(8));
  EXPECT_EQ(std::set(some.begin(), some.end()).size(), some.size()) << "none twice";
  EXPECT_EQ(some.front().size(), 0U);
  EXPECT_EQ(some.back().size(), 8U);
  const auto of_size = [&](std::size_t size) {
    return std::count_if(some.begin(), some.end(),
                         [&](const Placement& each) { return each.size() == size; });
  };
  EXPECT_EQ(of_size(1), 8);
  EXPECT_EQ(of_size(4), 2);
  EXPECT_EQ(of_size(7), 8);
}

TEST(Placements, ChangeTheVariantsOfTheirNodesAlone) {
  Scenario scenario = job_of(3);
  const Scenario mixed = with_hardened(scenario, {"b"});
  EXPECT_EQ(mixed.variant_of(mixed.cluster.nodes[1]), model::Variant::hardened);
  scenario.cluster.nodes[1].variant = model::Variant::hardened;
  EXPECT_EQ(mixed, scenario);
}

/// Of two nodes, with what breaks in each of the four placements.
Mixture of_two(const std::vector<std::map<std::string, std::int64_t>>& broken) {
  Mixture mixture;
  mixture.nodes = {"a", "b"};
  mixture.roles = {{"a", {"store", "late"}}};
  mixture.invariants = {"p"};
  mixture.runs = 5;
  const std::vector<Placement> all = placements(job_of(2));
  for (std::size_t i = 0; i < all.size(); ++i) mixture.trials.push_back({all[i], broken[i]});
  return mixture;
}

TEST(Mixtures, NameTheSmallestPlacementsThatAreEnough) {
  EXPECT_THAT(of_two({{{"p", 5}}, {{"p", 1}}, {}, {}}).enough("p"), ElementsAre(Placement{"b"}));
  EXPECT_THAT(of_two({{{"p", 5}}, {}, {}, {}}).enough("p"),
              ElementsAre(Placement{"a"}, Placement{"b"}));
  EXPECT_THAT(of_two({{{"p", 5}}, {{"p", 5}}, {{"p", 5}}, {}}).enough("p"),
              ElementsAre(Placement{"a", "b"}));
  EXPECT_THAT(of_two({{{"p", 5}}, {}, {{"p", 5}}, {{"p", 1}}}).enough("p"), IsEmpty())
      << "what a larger placement undoes was not enough";
}

TEST(Mixtures, NameWhatNeitherKindBreaksAlone) {
  EXPECT_THAT(of_two({{{"p", 5}}, {{"q", 1}}, {{"p", 2}}, {{"r", 1}}}).only_mixed(),
              ElementsAre("q"));
  EXPECT_THAT(of_two({{{"p", 5}}, {{"p", 1}}, {{"r", 2}}, {{"r", 1}}}).only_mixed(), IsEmpty());
}

TEST(Mixtures, AreOneLineForEachInvariant) {
  EXPECT_EQ(report::mixture_rows(of_two({{{"p", 4}}, {{"p", 1}}, {}, {}}), "x/y"),
            "| `x/y` | `p` | a (store, late), b | 4/5 | 1/2 1/1 | b |\n");
  EXPECT_THAT(report::mixture_rows(of_two({{{"p", 4}}, {}, {}, {}}), "x"),
              HasSubstr("| any one |"));
  EXPECT_THAT(report::mixture_rows(of_two({{{"p", 4}}, {{"p", 1}}, {{"p", 1}}, {}}), "x"),
              HasSubstr("| all |"));
  EXPECT_EQ(report::only_mixed_rows(of_two({{{"p", 4}}, {}, {{"q", 2}}, {}}), "x"),
            "| `x` | `q` | a (store, late), b | 1/2 1/1 |\n");
}

/// The budget of restarts is each agent's own, unless all count together.
TEST(Mixtures, OfARestartBudgetNeedEverybody) {
  const Scenario scenario = scenario::load_scenario(R"({"version": 1, "name": "budget", "seed": 7,
      "time_limit": "900s",
      "protocol": {"rendezvous": {"min_nodes": 2, "max_nodes": 2},
                   "agent": {"max_restarts": 1,
                             "environment": {"TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1"}}},
      "cluster": {"nodes": [{"id": "a..b"}]},
      "workers": {"program": [{"init": true}, {"collective": 6, "work": "10s"}, {"exit": 0}],
                  "peer_abort": "10s"},
      "timeline": [{"at": "30s", "do": "worker.exit", "node": "a"},
                   {"at": "90s", "do": "worker.exit", "node": "b"}],
      "expect": {"violates": ["safety.restart_budget"]}})",
                                                    "budget");
  ASSERT_TRUE(can_be_mixed(scenario));
  kernel::Kernel kernel;
  const Mixture mixture = mix(kernel, scenario, 2, properties::InvariantRegistry::with_builtins());
  EXPECT_THAT(mixture.invariants, ElementsAre("safety.restart_budget"));
  ASSERT_EQ(mixture.trials.size(), 4U);
  EXPECT_EQ(mixture.trials.front().broken.at("safety.restart_budget"), 2);
  EXPECT_THAT(mixture.trials.back().broken, IsEmpty());
}

/// An agent of PyTorch that has hosted the store begins again in an empty one; the hardened agent
/// that has outlived it must not do so, too.
TEST(Mixtures, GoOnWithTheirRoundsInAStoreThatIsNew) {
  Scenario scenario = scenario::load_scenario(R"({"version": 1, "name": "again",
      "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 2}},
      "cluster": {"nodes": [{"id": "b"}, {"id": "c", "variant": "hardened"}]},
      "workers": {"program": [{"collective": 1}]},
      "timeline": [{"when": {"fault_point": "rendezvous.before_write"}, "do": "agent.restart"}]})",
                                              "again");
  kernel::Kernel kernel;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  int again = 0;
  for (scenario.seed = 0; scenario.seed < 10; ++scenario.seed) {
    const auto report = scenario::run(kernel, scenario, {}, invariants);
    for (const properties::Violation& violation : report.violations) {
      EXPECT_NE(violation.invariant, "safety.round_monotonic") << violation.witness;
    }
    if (report.rounds > 2) ++again;
  }
  EXPECT_GT(again, 0) << "nothing was at stake";
}

/// Rank 0 of PyTorch says once where the workers meet; a hardened member must not wait for it to be
/// said again when the workers have been restarted.
TEST(Mixtures, MeetAgainWhereAnAgentOfPyTorchStillServes) {
  Scenario scenario = scenario::load_scenario(R"({"version": 1, "name": "restart",
      "protocol": {"rendezvous": {"min_nodes": 2, "max_nodes": 2}},
      "cluster": {"nodes": [{"id": "a"}, {"id": "b", "variant": "hardened"}],
                  "store_host": "external"},
      "workers": {"program": [{"run": "20s"}, {"exit": 0}],
                  "overrides": {"b/0": [{"run": "5s"}, {"exit": 3}]}},
      "expect": {"outcome": {"a": "succeeded", "b": "succeeded"}, "rounds": {"min": 2, "max": 2},
                 "within": "60s"}})",
                                              "restart");
  kernel::Kernel kernel;
  const auto invariants = properties::InvariantRegistry::with_builtins();
  for (scenario.seed = 0; scenario.seed < 10; ++scenario.seed) {
    EXPECT_TRUE(scenario::run(kernel, scenario, {}, invariants).passed) << scenario.seed;
  }
}

}  // namespace
}  // namespace hooke::hunt
