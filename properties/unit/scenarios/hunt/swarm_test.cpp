#include "scenarios/swarm/swarm.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "scenarios/format/json_reader.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/format/writer.h"

namespace hooke::hunt {
namespace {

using scenario::Scenario;
using scenario::ScenarioError;
using testing::HasSubstr;

TEST(Swarm, EveryWorldIsOneThatTheLoaderAcceptsAsItIs) {
  for (std::uint64_t seed = 0; seed < 3'000; ++seed) {
    const Scenario world = draw(Swarm(), seed);
    const std::string text = scenario::write_scenario(world);
    ASSERT_EQ(scenario::load_scenario(text, "world"), world) << text;
  }
}

TEST(Swarm, AWorldIsTheSameForEverAndNoOtherHasItsSeed) {
  EXPECT_EQ(draw(Swarm(), 7), draw(Swarm(), 7));
  EXPECT_EQ(draw(Swarm(), 7).seed, 7U);
  EXPECT_NE(draw(Swarm(), 7), draw(Swarm(), 8));
}

TEST(Swarm, EveryWordEveryStrategyAndEveryTriggerHappensSomewhere) {
  std::set<std::string> words;
  std::set<kernel::Strategy> strategies;
  std::set<std::string> points;
  bool by_event = false;
  for (std::uint64_t seed = 0; seed < 6'000; ++seed) {
    const Scenario world = draw(Swarm(), seed);
    strategies.insert(world.schedule.strategy);
    for (const scenario::TimelineEntry& entry : world.timeline) {
      words.insert(entry.what);
      if (entry.trigger.fault_point) points.insert(*entry.trigger.fault_point);
      if (entry.trigger.event) by_event = true;
    }
  }
  const auto hunted = std::ranges::count_if(scenario::vocabulary(), &scenario::Word::hunted);
  EXPECT_EQ(std::ssize(words), hunted);
  EXPECT_EQ(strategies.size(), 6U);
  EXPECT_EQ(points.size(), scenario::fault_points().size());
  EXPECT_TRUE(by_event);
}

TEST(Swarm, WorkersAreGuardedAndBeatWorkForLongStopSlowlyAndSomeNodesNeverCome) {
  int guarded = 0;
  int several_on_a_node = 0;
  int beating = 0;
  int long_work = 0;
  int slower_than_the_usual_grace = 0;
  int absent = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    const Scenario world = draw(Swarm(), seed);
    const scenario::WorkerProgram& program = world.workers.program;
    const auto has = [](const scenario::WorkerProgram& steps, scenario::WorkerStep::Kind kind) {
      return std::any_of(steps.begin(), steps.end(), [&](const auto& s) { return s.kind == kind; });
    };
    const bool watched =
        world.protocol.agent.environment.contains("TORCHELASTIC_ENABLE_FILE_TIMER");
    EXPECT_EQ(has(program, scenario::WorkerStep::Kind::acquire), watched) << seed;
    EXPECT_EQ(has(program, scenario::WorkerStep::Kind::beat),
              world.protocol.agent.heartbeats.has_value())
        << seed;
    guarded += watched ? 1 : 0;
    beating += world.protocol.agent.heartbeats ? 1 : 0;
    const auto second = world.workers.overrides.find(world.cluster.nodes.back().id + "/1");
    if (watched && second != world.workers.overrides.end() && second->second != program) {
      ++several_on_a_node;
    }
    long_work += std::any_of(program.begin(), program.end(), [](const auto& s) {
      return s.kind == scenario::WorkerStep::Kind::run && s.span > std::chrono::seconds(60);
    });
    slower_than_the_usual_grace += world.workers.slow_stop > std::chrono::seconds(30) ? 1 : 0;
    for (const scenario::NodePlan& node : world.cluster.nodes) absent += node.start ? 0 : 1;
  }
  for (const int count :
       {guarded, several_on_a_node, beating, long_work, slower_than_the_usual_grace, absent}) {
    EXPECT_GT(count, 30);
  }
}

TEST(Swarm, MostKindsOfFaultAreOffInAWorldSoThatTheOthersHaveRoom) {
  Swarm swarm;
  swarm.faults = {100, 100};
  double kinds = 0;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::set<std::string> words;
    for (const auto& entry : draw(swarm, seed).timeline) words.insert(entry.what);
    kinds += static_cast<double>(words.size());
  }
  EXPECT_LT(kinds / 50, static_cast<double>(scenario::vocabulary().size()) / 3);
}

TEST(Swarm, DrawsAWordThatIsNotHuntedWhereItIsNamed) {
  Swarm swarm;
  swarm.faults = {3, 3};
  swarm.words = {"worker.start_fails"};
  for (const auto& entry : draw(swarm, 1).timeline) EXPECT_EQ(entry.what, "worker.start_fails");
  EXPECT_EQ(draw(swarm, 1).timeline.size(), 3U);
}

TEST(Swarm, StaysInTheSpaceThatAFileDescribes) {
  const Swarm swarm = load_swarm(R"({"version": 1, "variants": ["hardened"], "backends": ["etcd"],
      "nodes": [3, 4], "spare_seats": [1, 1], "surplus_nodes": [0, 0], "workers_per_node": [2, 2],
      "max_restarts": [5, 5], "faults": [2, 3], "words": ["net.*"], "fault_points": ["legacy.*"],
      "strategies": ["pct"], "defects": ["launcher.shutdown_on_signal"], "cores": false,
      "time_limit": "90s"})",
                                 "space");
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Scenario world = draw(swarm, seed);
    EXPECT_EQ(world.protocol.variant, model::Variant::hardened);
    EXPECT_EQ(world.protocol.defects, swarm.defects);
    EXPECT_EQ(world.protocol.rendezvous.backend, "etcd");
    EXPECT_EQ(world.protocol.rendezvous.min_nodes + 1, world.protocol.rendezvous.max_nodes);
    EXPECT_THAT(world.cluster.nodes.size(), testing::AnyOf(3U, 4U));
    EXPECT_EQ(world.workers.per_node, 2);
    EXPECT_EQ(world.protocol.agent.max_restarts, 5);
    EXPECT_THAT(world.timeline.size(), testing::AnyOf(2U, 3U));
    EXPECT_EQ(world.schedule.strategy, kernel::Strategy::pct);
    EXPECT_EQ(world.time_limit, std::chrono::seconds(90));
    EXPECT_FALSE(world.core);
    for (const auto& entry : world.timeline) {
      EXPECT_THAT(entry.what, testing::StartsWith("net."));
      if (entry.trigger.fault_point) {
        EXPECT_THAT(*entry.trigger.fault_point, testing::StartsWith("legacy."));
      }
    }
  }
}

TEST(Swarm, GivesAgentsTheirPartsAndChangesNothingElse) {
  const Swarm swarm = load_swarm(
      R"({"version": 1, "restart_policies": ["torch", "backoff:first=2s"],
          "process_launchers": ["pool"], "shutdowns": ["torch", "graceful:limit=20s", "strict"]})",
      "space");
  std::map<std::string, int> drawn;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    Scenario world = draw(swarm, seed);
    ASSERT_EQ(scenario::load_scenario(scenario::write_scenario(world), "world"), world);
    scenario::AgentPlan& agent = world.protocol.agent;
    ++drawn[agent.restart_policy], ++drawn[agent.process_launcher], ++drawn[agent.shutdown];
    const scenario::AgentPlan usual;
    agent.restart_policy = usual.restart_policy;
    agent.process_launcher = usual.process_launcher;
    agent.shutdown = usual.shutdown;
    // Workers that are leased need a pool with room for them.
    const std::int64_t slots = std::exchange(world.cluster.pool_slots, std::nullopt).value_or(0);
    EXPECT_TRUE(slots == world.workers.per_node || slots == 2 * world.workers.per_node) << slots;
    const Scenario same = draw(Swarm(), seed);
    EXPECT_GE(world.time_limit, same.time_limit) << "a core that waits takes longer";
    world.time_limit = same.time_limit;
    EXPECT_EQ(world, same);
  }
  EXPECT_GT(drawn["backoff:first=2s"], 100);
  EXPECT_EQ(drawn["pool"], 300);
  EXPECT_GT(drawn["graceful:limit=20s"], 60);
  EXPECT_GT(drawn["strict"], 60);
}

TEST(Swarm, GivesHardenedAgentsPoliciesOfTheirOwnInSomeWorldsAndChangesNothingElse) {
  Swarm hardened;
  hardened.variants = {model::Variant::hardened};
  Swarm without = hardened;
  without.restart_policies = without.shutdowns = {"torch"};
  const scenario::AgentPlan usual;
  std::map<std::string, int> drawn;
  for (std::uint64_t seed = 0; seed < 2'000; ++seed) {
    Scenario world = draw(hardened, seed);
    ASSERT_EQ(scenario::load_scenario(scenario::write_scenario(world), "world"), world);
    scenario::AgentPlan& agent = world.protocol.agent;
    if (agent.restart_policy != usual.restart_policy) ++drawn["a policy"];
    if (agent.shutdown != usual.shutdown) ++drawn["a shutdown"];
    for (const std::string* const text : {&agent.restart_policy, &agent.shutdown})
      ++drawn[text->substr(0, text->find(':'))];
    const Scenario same = draw(without, seed);
    EXPECT_GE(world.time_limit, same.time_limit) << "a core that pauses takes longer";
    world.time_limit = same.time_limit;
    agent.restart_policy = usual.restart_policy;
    agent.shutdown = usual.shutdown;
    EXPECT_EQ(world, same) << seed;
    EXPECT_EQ(draw(Swarm(), seed).protocol.agent.restart_policy, usual.restart_policy);
  }
  for (const char* what : {"a policy", "a shutdown"}) {
    EXPECT_GT(drawn[what], 2'000 / 12) << what;
    EXPECT_LT(drawn[what], 2'000 / 6) << what;
  }
  for (const char* kind : {"backoff", "failed-only", "per-worker", "rerun", "graceful", "strict"})
    EXPECT_GT(drawn[kind], 10) << kind;
}

TEST(Swarm, MixesTheVariantsOfNodesAndChangesNothingElse) {
  const Swarm swarm = load_swarm(
      R"({"version": 1, "variants": ["torch-2.x", "hardened"], "mixed": true})", "space");
  int mixed = 0;
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Scenario world = draw(swarm, seed);
    ASSERT_EQ(scenario::load_scenario(scenario::write_scenario(world), "world"), world);
    std::set<model::Variant> variants;
    for (scenario::NodePlan& node : world.cluster.nodes) {
      variants.insert(world.variant_of(node));
      node.variant.reset();
    }
    if (variants.size() > 1) ++mixed;
    EXPECT_EQ(world, draw(Swarm(), seed)) << "the same world, all of it torch-2.x";
  }
  EXPECT_GT(mixed, 50);
}

TEST(Swarm, HealsACoreInHalfOfTheWorldsAndChangesNothingElse) {
  Swarm without;
  without.cores = false;
  Swarm with;
  with.cores = true;
  int healed = 0;
  int enough = 0;
  for (std::uint64_t seed = 0; seed < 1'000; ++seed) {
    Scenario world = draw(with, seed);
    const Scenario same = draw(without, seed);
    ASSERT_FALSE(same.core) << seed;
    if (world.core) {
      ++healed;
      EXPECT_GE(world.core->at, std::chrono::seconds(60)) << seed;
      EXPECT_LE(world.core->at, std::chrono::seconds(150)) << seed;
      EXPECT_GE(world.core->nodes.size(), 1U) << seed;
      EXPECT_GE(world.time_limit, same.time_limit) << seed;
      const auto least = static_cast<std::size_t>(world.protocol.rendezvous.min_nodes);
      enough += world.core->nodes.size() >= least ? 1 : 0;
      world.core.reset();
      world.time_limit = same.time_limit;
    }
    EXPECT_EQ(world, same) << "but for its core";
  }
  EXPECT_GT(healed, 450);
  EXPECT_LT(healed, 550);
  EXPECT_GT(enough, healed * 3 / 4);
  EXPECT_LT(enough, healed) << "too few for a round, too";
}

TEST(Swarm, ACoreHasTimeToEndOnceItIsHealed) {
  Swarm swarm;
  swarm.cores = true;
  swarm.time_limit = std::chrono::seconds(90);
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const Scenario world = draw(swarm, seed);
    if (!world.core) {
      EXPECT_EQ(world.time_limit, std::chrono::seconds(90)) << seed;
      continue;
    }
    const auto& rendezvous = world.protocol.rendezvous;
    EXPECT_GT(world.time_limit, world.core->at + 2 * rendezvous.join) << seed;
    EXPECT_GT(world.time_limit, world.core->at + 2 * world.protocol.agent.exit_barrier_timeout);
  }
}

TEST(Swarm, AFileWithNothingButItsVersionIsTheDefault) {
  EXPECT_EQ(load_swarm(R"({"version": 1})", "space"), Swarm());
}

TEST(Swarm, BadFilesAreRefusedWithThePlace) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      load_swarm(text, "s.json");
    } catch (const ScenarioError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal(R"({"version": 1, "variants": ["hardened", "torch-1.13"], "mixed": true})"),
              HasSubstr("/mixed: expected false, or variants that can be in one job"));
  EXPECT_THAT(refusal(R"({"version": 2})"), HasSubstr("s.json: /version: expected 1"));
  EXPECT_THAT(refusal(R"({"version": 1, "node": [1, 2]})"), HasSubstr("did you mean \"nodes\""));
  EXPECT_THAT(refusal(R"({"version": 1, "nodes": [4, 2]})"), HasSubstr("/nodes/1: expected"));
  EXPECT_THAT(refusal(R"({"version": 1, "nodes": [0, 2]})"), HasSubstr("/nodes/0: expected"));
  EXPECT_THAT(refusal(R"({"version": 1, "faults": [3]})"), HasSubstr("/faults: expected two"));
  EXPECT_THAT(refusal(R"({"version": 1, "words": []})"), HasSubstr("/words: expected at least"));
  EXPECT_THAT(refusal(R"({"version": 1, "words": ["nt.*"]})"), HasSubstr("/words/0: expected"));
  EXPECT_THAT(refusal(R"({"version": 1, "strategies": ["ptc"]})"),
              HasSubstr("did you mean \"pct\""));
  EXPECT_THAT(refusal(R"({"version": 1, "backends": ["etdc"]})"),
              HasSubstr("did you mean \"etcd\""));
  EXPECT_THAT(
      refusal(R"({"version": 1, "shutdowns": ["torch", "grace"]})"),
      AllOf(HasSubstr("/shutdowns/1: expected what agents of each backend"), HasSubstr("grace")));
  EXPECT_THAT(refusal(R"({"version": 1, "restart_policies": ["failed-only"]})"),
              AllOf(HasSubstr("/restart_policies/0: expected what agents of each backend"),
                    HasSubstr("needs the static rendezvous")));
  EXPECT_EQ(refusal(R"({"version": 1, "backends": ["static"],
                        "restart_policies": ["failed-only"]})"),
            "accepted");
  EXPECT_THAT(refusal(R"({"version": 1, "cores": 1})"), HasSubstr("/cores: expected"));
  EXPECT_THAT(refusal("{"), HasSubstr("byte 1"));
}

}  // namespace
}  // namespace hooke::hunt
