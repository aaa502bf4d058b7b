#include "scenarios/hunt/sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"
#include "scenarios/hunt/explorer.h"

namespace hooke::hunt {
namespace {

using scenario::Scenario;
using testing::Contains;
using testing::Not;

class Sweep : public testing::Test {
 protected:
  static Scenario two_nodes() {
    return scenario::load_scenario(R"({"version": 1, "name": "two", "seed": 3,
        "protocol": {"rendezvous": {"min_nodes": 2, "max_nodes": 2}},
        "cluster": {"nodes": [{"id": "a..b"}]},
        "workers": {"program": [{"run": "5s"}, {"exit": 0}]}})",
                                   "two");
  }
  kernel::Kernel kernel;
  properties::InvariantRegistry invariants = properties::InvariantRegistry::with_builtins();
};

TEST_F(Sweep, BoundariesAreWhatHappensOnNodesEachWithItsNumber) {
  const std::vector<Boundary> found = boundaries(kernel, two_nodes(), invariants);
  EXPECT_THAT(found, Contains(Boundary{"rendezvous.joined", "a", 1}));
  EXPECT_THAT(found, Contains(Boundary{"worker.started", "b", 1}));
  EXPECT_THAT(found, Contains(Boundary{"agent.finished", "b", 1}));
  std::set<std::tuple<std::string, std::string, std::int64_t>> different;
  for (const Boundary& boundary : found) {
    EXPECT_TRUE(boundary.node == "a" || boundary.node == "b") << boundary.node;
    EXPECT_TRUE(different.emplace(boundary.event, boundary.node, boundary.passage).second);
  }
}

TEST_F(Sweep, EveryFaultHappensWhereItIsPut) {
  const Scenario reference = two_nodes();
  const std::vector<Boundary> found = boundaries(kernel, reference, invariants);
  const std::vector<Scenario> worlds = with_one_fault_more(reference, found, {"*"});
  EXPECT_EQ(worlds.size() % found.size(), 0U);
  EXPECT_GE(worlds.size(), 12 * found.size());
  for (const Scenario& world : worlds) {
    ASSERT_EQ(scenario::load_scenario(scenario::write_scenario(world), "world"), world);
    const WorldResult result = play(kernel, world, 0, invariants);
    ASSERT_EQ(result.faults.size(), 1U) << scenario::write_scenario(world);
    EXPECT_EQ(result.faults.front().word, world.timeline.back().what);
    EXPECT_FALSE(result.determinism_failures);
  }
}

TEST_F(Sweep, OnlyTheWordsThatAreAskedForAreTried) {
  const Scenario reference = two_nodes();
  const std::vector<Boundary> one{{"rendezvous.joined", "b", 1}};
  const std::vector<Scenario> worlds = with_one_fault_more(reference, one, {"agent.kill", "net.*"});
  std::vector<std::string> words;
  for (const Scenario& world : worlds) {
    words.push_back(world.timeline.back().what);
    EXPECT_EQ(world.timeline.back().from, std::vector<std::string>{"b"});
  }
  EXPECT_THAT(words, testing::ElementsAre("agent.kill", "net.partition", "net.reset"));
}

TEST_F(Sweep, SecondFaultsComeOnlyWhereTheFirstHasChangedSomething) {
  const std::vector<Boundary> one{{"worker.started", "b", 1}};
  const Scenario single = with_one_fault_more(two_nodes(), one, {"worker.signal"}).front();
  const std::vector<Boundary> all = boundaries(kernel, single, invariants);
  const std::vector<Boundary> touched =
      boundaries_touched_by_last_fault(kernel, single, invariants);
  EXPECT_THAT(touched, Contains(Boundary{"worker.ended", "b", 1}));
  EXPECT_THAT(touched, Not(Contains(Boundary{"worker.started", "b", 1})));
  EXPECT_THAT(touched, Not(Contains(Boundary{"agent.started", "a", 1})));
  EXPECT_LT(touched.size(), all.size());
  for (const Boundary& boundary : touched) EXPECT_THAT(all, Contains(boundary));
}

TEST_F(Sweep, AFaultThatNeverHappensTouchesNothing) {
  Scenario single = two_nodes();
  const std::vector<Boundary> never{{"rendezvous.joined", "b", 40}};
  single = with_one_fault_more(single, never, {"agent.kill"}).front();
  EXPECT_TRUE(boundaries_touched_by_last_fault(kernel, single, invariants).empty());
}

}  // namespace
}  // namespace hooke::hunt
