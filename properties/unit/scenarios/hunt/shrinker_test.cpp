#include "scenarios/hunt/shrinker.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "properties/unit/scenarios/test_files.h"
#include "properties/unit/scenarios/test_scenario.h"
#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"
#include "scenarios/hunt/shrink_search.h"

namespace hooke::hunt {
namespace {

using namespace std::chrono_literals;
using scenario::Scenario;

/// Runs judged by every built-in promise; counts them.
class Laboratory {
 public:
  scenario::RunReport run(const Scenario& scenario, const scenario::RunOptions& options = {}) {
    ++runs;
    return scenario::run(kernel_, scenario, options, invariants_);
  }
  RunScenario runner() {
    return [this](const Scenario& scenario, const scenario::RunOptions& options) {
      return run(scenario, options);
    };
  }
  std::size_t runs = 0;

 private:
  kernel::Kernel kernel_;
  properties::InvariantRegistry invariants_ = properties::InvariantRegistry::with_builtins();
};

Scenario museum(const std::string& name) {
  return scenario::load_scenario_file(
      (scenario::source_directory() / "scenarios/library/museum" / (name + ".json")).string());
}

scenario::TimelineEntry fault(sim::Duration at, const std::string& what, const std::string& node) {
  scenario::TimelineEntry entry = scenario::at(at, what);
  if (!node.empty()) entry.from = {node};
  return entry;
}

/// What a random search would have around a failure: idle machines, harmless faults, settings.
Scenario with_noise(Scenario scenario) {
  scenario.seed = 982451653;
  scenario.references.clear();
  scenario.expect = {};
  for (const char* id : {"x", "y", "z"}) {
    scenario::NodePlan node;
    node.id = id;
    node.start.reset();
    scenario.cluster.nodes.push_back(node);
  }
  scenario.cluster.service_time = 37us;
  scenario.cluster.bandwidth_bits_per_s = 3'000'000'000;
  scenario.protocol.rendezvous.close = 17s;
  scenario.protocol.agent.environment["NCCL_DEBUG"] = "INFO";
  scenario.workers.overrides["x"] = {scenario::exit_with(0)};
  const std::string node = scenario.cluster.nodes.front().id;
  std::vector<scenario::TimelineEntry> noise{
      fault(1234ms, "clock.drift", "y"),   fault(2345ms, "net.delay", node),
      fault(13579ms, "disk.full", "x"),    fault(3217ms, "dns.alias", "y"),
      fault(4711ms, "worker.exit", "z"),   fault(8765ms, "clock.skew", "z"),
      fault(12321ms, "agent.signal", "x"),
  };
  noise[0].amount = 7;
  noise[1].duration = 731ms;
  noise[1].span = 3ms;
  noise[2].duration = 9137ms;
  noise[3].text = "elsewhere";
  noise[5].span = 129ms;
  scenario.timeline.insert(scenario.timeline.begin(), noise.begin(), noise.end());
  return scenario;
}

Shrunk shrunk(Laboratory& laboratory, const Scenario& start, ShrinkOptions options = {}) {
  scenario::RunOptions first;
  first.twin = false;
  const auto target = target_of(start, laboratory.run(start, first), options.target.invariant);
  if (!target) throw std::runtime_error(start.name + " does not fail");
  options.target = *target;
  auto result = shrink(start, options, laboratory.runner());
  if (!result) throw std::runtime_error(start.name + " does not fail again");
  return std::move(*result);
}

/// The written file passes as it is, and still fails in the way it was shrunk for.
void expect_proof(Laboratory& laboratory, const Shrunk& shrunk, const std::string& invariant) {
  const std::string text = scenario::write_scenario(shrunk.scenario);
  const scenario::RunOptions options;
  const scenario::RunReport report =
      laboratory.run(scenario::load_scenario(text, "shrunk"), options);
  EXPECT_TRUE(report.passed) << text << scenario::unmet(report);
  EXPECT_EQ(shrunk.scenario.expect.violates.front(), invariant);
  EXPECT_NE(shrunk.scenario.description.find(invariant), std::string::npos);
}

TEST(Shrinker, FindsTheBugsOfTheMuseumUnderTheNoise) {
  for (const char* name :
       {"incident-01-dead-participant", "incident-02-departure-closes",
        "incident-03-sigterm-closes-for-good", "incident-05-stale-worker-keys",
        "incident-09-restart-budget", "incident-10-store-host", "incident-11-endless-restarts",
        "incident-13-exit-barrier", "incident-15-transient-store-error",
        "incident-33-spare-crashes-on-clean-close"}) {
    SCOPED_TRACE(name);
    Laboratory laboratory;
    const Scenario bare = museum(name);
    ShrinkOptions options;
    options.target.invariant = bare.expect.violates.front();
    // Some of them need the right draws, too.
    Scenario noisy = with_noise(bare);
    const std::uint64_t last = noisy.seed + 500;
    while (!target_of(noisy, laboratory.run(noisy), options.target.invariant)) {
      ASSERT_LT(++noisy.seed, last)
          << "the noise averts what it was put upon: " << scenario::write_scenario(noisy);
    }
    const Shrunk small = shrunk(laboratory, noisy, options);
    EXPECT_TRUE(small.minimal);
    EXPECT_LE(small.scenario.cluster.nodes.size(), bare.cluster.nodes.size());
    EXPECT_LE(small.scenario.timeline.size(), bare.timeline.size());
    EXPECT_LE(scenario::write_scenario(small.scenario).size(),
              scenario::write_scenario(noisy).size());
    expect_proof(laboratory, small, bare.expect.violates.front());
  }
}

/// Every element of every list and object of the file, one at a time.
void without_each(
    const nlohmann::ordered_json& whole, const nlohmann::ordered_json& part,
    const nlohmann::ordered_json::json_pointer& place,
    const std::function<void(const nlohmann::ordered_json&, const std::string&)>& act) {
  std::size_t index = 0;
  for (const auto& [key, value] : part.items()) {
    nlohmann::ordered_json candidate = whole;
    if (part.is_array()) {
      candidate.at(place).erase(index);
    } else {
      candidate.at(place).erase(key);
    }
    const auto below = part.is_array() ? place / index : place / key;
    act(candidate, below.to_string());
    if (value.is_structured()) without_each(whole, value, below, act);
    ++index;
  }
}

TEST(Shrinker, LeavesNoLineThatIsNotNeeded) {
  Laboratory laboratory;
  ShrinkOptions options;
  options.target.invariant = "safety.bounds";
  const Shrunk small =
      shrunk(laboratory, with_noise(museum("incident-11-endless-restarts")), options);
  Scenario bare = small.scenario;
  bare.description.clear();
  bare.expect = {};
  const auto target = target_of(bare, laboratory.run(bare), "safety.bounds");
  const auto json = nlohmann::ordered_json::parse(scenario::write_scenario(bare));
  int valid = 0;
  without_each(json, json, nlohmann::ordered_json::json_pointer(),
               [&](const nlohmann::ordered_json& candidate, const std::string& what) {
                 // What is no choice of the shrinker's: who it is, which protocol, and when to stop
                 // looking.
                 for (const char* kept :
                      {"/version", "/name", "/seed", "/protocol/variant", "/time_limit"}) {
                   if (what == kept) return;
                 }
                 Scenario without;
                 try {
                   without = scenario::load_scenario(candidate.dump(), "candidate");
                 } catch (const scenario::ScenarioError&) {
                   return;
                 }
                 if (without == bare) return;
                 ++valid;
                 const auto kinds = kinds_of(laboratory.run(without));
                 EXPECT_EQ(std::count(kinds.begin(), kinds.end(), *target), 0)
                     << what << " is not needed";
               });
  EXPECT_GE(valid, 5);
}

TEST(Shrinker, GivesTheSameResultEachTime) {
  const Scenario noisy = with_noise(museum("incident-10-store-host"));
  Laboratory laboratory;
  const Shrunk first = shrunk(laboratory, noisy);
  EXPECT_EQ(laboratory.runs, first.runs + 1);
  const Shrunk second = shrunk(laboratory, noisy);
  EXPECT_EQ(first.scenario, second.scenario);
  EXPECT_EQ(first.runs, second.runs);
}

TEST(Shrinker, TakesTheCallersWordForTheStart) {
  const Scenario noisy = with_noise(museum("incident-10-store-host"));
  Laboratory laboratory;
  const Shrunk by_itself = shrunk(laboratory, noisy);
  ShrinkOptions options;
  scenario::RunOptions once;
  once.twin = false;
  options.start = laboratory.run(noisy, once);
  const Shrunk told = shrunk(laboratory, noisy, options);
  EXPECT_EQ(told.scenario, by_itself.scenario);
  EXPECT_EQ(told.runs + 1, by_itself.runs);
  options.target = {"safety.one_world", "whatever"};
  EXPECT_FALSE(shrink(noisy, options, laboratory.runner()).has_value());
}

TEST(Shrinker, MakesASeedOfACapsule) {
  // What an explorer hands over: a random schedule, with every choice on a tape.
  Laboratory laboratory;
  Scenario capsule = with_noise(museum("incident-05-stale-worker-keys"));
  scenario::RunOptions recorded;
  capsule.schedule = kernel::Strategy::random;
  recorded.record_tape = true;
  capsule.tape = laboratory.run(capsule, recorded).tape;
  ASSERT_GT(capsule.tape->size(), 100U);
  ShrinkOptions options;
  options.target.invariant = "safety.round_isolation";
  const Shrunk small = shrunk(laboratory, capsule, options);
  EXPECT_TRUE(small.minimal);
  EXPECT_FALSE(small.scenario.tape.has_value());
  EXPECT_EQ(small.scenario.schedule.strategy, kernel::Strategy::fifo);
  EXPECT_LE(small.scenario.cluster.nodes.size(), 2U);
  EXPECT_EQ(small.scenario.timeline.size(), 0U);
  expect_proof(laboratory, small, "safety.round_isolation");
}

TEST(Shrinker, KeepsToItsBudgetAndSaysSo) {
  ShrinkOptions options;
  options.runs_max = 10;
  Laboratory laboratory;
  const Shrunk small = shrunk(laboratory, with_noise(museum("incident-10-store-host")), options);
  EXPECT_FALSE(small.minimal);
  EXPECT_EQ(small.runs, 10U);
  expect_proof(laboratory, small, "safety.store_lifetime");
}

TEST(Shrinker, HasNothingToDoWhereEveryPromiseHolds) {
  Laboratory laboratory;
  const Scenario healthy = scenario::job(2);
  EXPECT_FALSE(target_of(healthy, laboratory.run(healthy), "").has_value());
  ShrinkOptions options;
  options.target = {"safety.one_world", "whatever"};
  EXPECT_FALSE(shrink(healthy, options, laboratory.runner()).has_value());
}

TEST(Shrinker, FollowsAPromiseThatTheScenarioDoesNotExpectToBreak) {
  scenario::RunReport report;
  report.violations = {{"safety.x", "node a", sim::WorldTime(2s), {}},
                       {"safety.y", "node b", sim::WorldTime(1s), {}},
                       {"safety.z", "node c", sim::WorldTime(3s), {}}};
  Scenario scenario;
  EXPECT_EQ(target_of(scenario, report, "")->invariant, "safety.y");
  scenario.expect.violates = {"safety.y", "safety.x"};
  EXPECT_EQ(target_of(scenario, report, "")->invariant, "safety.z");
  EXPECT_EQ(target_of(scenario, report, "safety.x")->invariant, "safety.x");
  EXPECT_FALSE(target_of(scenario, report, "safety.w").has_value());
  report.harness_failure = "two runs of seed 5 differ";
  EXPECT_EQ(target_of(scenario, report, "")->invariant, "harness");
}

TEST(Shrinker, TakesAnotherCauseOnlyWhenToldTo) {
  // The same promise is broken in two ways; the simpler one is of the other kind.
  const auto run = [](const Scenario& scenario, const scenario::RunOptions&) {
    scenario::RunReport report;
    report.violations = {{"safety.bounds",
                          scenario.timeline.empty() ? "a round too small" : "a round too big",
                          {},
                          {}}};
    return report;
  };
  Scenario start = scenario::job(1);
  start.timeline = {fault(1s, "agent.kill", "a")};
  ShrinkOptions options;
  options.target = {"safety.bounds", "a round too big"};
  EXPECT_EQ(shrink(start, options, run)->scenario.timeline.size(), 1U);
  options.any_cause = true;
  EXPECT_EQ(shrink(start, options, run)->scenario.timeline.size(), 0U);
}

TEST(Shrinker, TakesNodesAwayWithAllThatNamesThem) {
  // Fails while c is there and a fault hits it.
  const auto run = [](const Scenario& scenario, const scenario::RunOptions&) {
    scenario::RunReport report;
    for (const scenario::TimelineEntry& entry : scenario.timeline) {
      if (std::count(entry.from.begin(), entry.from.end(), "c") != 0) {
        report.violations = {{"safety.bounds", "it", {}, {}}};
      }
    }
    return report;
  };
  Scenario start = scenario::job(5);
  start.timeline = {fault(1s, "agent.kill", "a"), fault(2s, "agent.kill", "c"),
                    fault(3s, "agent.kill", "e")};
  start.timeline[1].from = {"b", "c", "e"};
  start.workers.overrides["d/0"] = {scenario::exit_with(1)};
  ShrinkOptions options;
  options.target = {"safety.bounds", "it"};
  const Shrunk small = *shrink(start, options, run);
  ASSERT_EQ(small.scenario.cluster.nodes.size(), 1U);
  EXPECT_EQ(small.scenario.cluster.nodes[0].id, "c");
  EXPECT_EQ(small.scenario.cluster.store_host, "c");
  EXPECT_EQ(small.scenario.protocol.rendezvous.max_nodes, 1);
  EXPECT_TRUE(small.scenario.workers.overrides.empty());
  ASSERT_EQ(small.scenario.timeline.size(), 1U);
  EXPECT_EQ(small.scenario.timeline[0].from, std::vector<std::string>{"c"});
}

TEST(Shrinker, KeepsOfACoreWhatTheFailureNeeds) {
  // Fails while c is healed at all, and in the second case for another reason.
  const auto run = [](const Scenario& scenario, const scenario::RunOptions&) {
    scenario::RunReport report;
    const auto is_c = [](const auto& node) { return node == "c"; };
    if (scenario.core &&
        std::any_of(scenario.core->nodes.begin(), scenario.core->nodes.end(), is_c))
      report.violations = {{"liveness.core", "it", {}, {}}};
    report.violations.push_back({"safety.bounds", "it", {}, {}});
    return report;
  };
  Scenario start = scenario::job(5);
  start.time_limit = 600s;
  start.core = scenario::CorePlan{123'456ms, {"b", "c", "e"}};
  ShrinkOptions options;
  options.target = {"liveness.core", "it"};
  const Scenario small = shrink(start, options, run)->scenario;
  ASSERT_TRUE(small.core);
  EXPECT_EQ(small.core->nodes, std::vector<std::string>{"c"});
  EXPECT_EQ(small.core->at, 1s);
  EXPECT_EQ(small.cluster.nodes.size(), 1U);
  options.target = {"safety.bounds", "it"};
  EXPECT_FALSE(shrink(start, options, run)->scenario.core);
}

TEST(Shrinker, RoundsNumbersAndTurnsEventsIntoTimes) {
  // Fails when connections are reset between 3 s and 5 s.
  Laboratory laboratory;
  const auto run = [&](const Scenario& scenario, const scenario::RunOptions& options) {
    scenario::RunReport report = laboratory.run(scenario, options);
    report.violations.clear();
    for (const scenario::InjectedFault& each : report.faults) {
      if (each.what == "net.reset" && each.at > sim::WorldTime(3s) && each.at < sim::WorldTime(5s))
        report.violations = {{"safety.bounds", "it", each.at, {}}};
    }
    return report;
  };
  Scenario start = scenario::job(1);
  start.timeline = {scenario::on("worker.started", "net.reset")};
  start.timeline[0].trigger.fields["local_rank"] = "0";
  start.timeline[0].trigger.after = 3217ms;
  start.cluster.nodes[0].start = 17ms;
  ShrinkOptions options;
  options.target = {"safety.bounds", "it"};
  const Shrunk small = *shrink(start, options, run);
  ASSERT_EQ(small.scenario.timeline.size(), 1U);
  ASSERT_TRUE(small.scenario.timeline[0].trigger.at.has_value());
  EXPECT_EQ(*small.scenario.timeline[0].trigger.at, 4s);
  EXPECT_EQ(small.scenario.cluster.nodes[0].start, sim::Duration::zero());
}

TEST(Shrinker, MovesWhatHappensAtTheSameTimeTogether) {
  // Fails while b and c start at the same time, after a.
  const auto run = [](const Scenario& scenario, const scenario::RunOptions&) {
    scenario::RunReport report;
    const auto& nodes = scenario.cluster.nodes;
    if (nodes.size() == 3 && nodes[1].start == nodes[2].start && nodes[0].start < nodes[1].start) {
      report.violations = {{"safety.bounds", "it", {}, {}}};
    }
    return report;
  };
  Scenario start = scenario::job(3);
  start.cluster.nodes[1].start = start.cluster.nodes[2].start = 70s;
  ShrinkOptions options;
  options.target = {"safety.bounds", "it"};
  const Shrunk small = *shrink(start, options, run);
  EXPECT_EQ(small.scenario.cluster.nodes[1].start, 1s);
  EXPECT_EQ(small.scenario.cluster.nodes[2].start, 1s);
}

TEST(Shrinker, TellsTheTimelineInTheOrderOfTime) {
  // Fails while there are two faults, and the one on b comes first.
  const auto run = [](const Scenario& scenario, const scenario::RunOptions&) {
    scenario::RunReport report;
    std::map<std::string, sim::Duration> at;
    for (const scenario::TimelineEntry& entry : scenario.timeline) {
      at[entry.from.front()] = *entry.trigger.at;
    }
    if (at.contains("a") && at.contains("b") && at["b"] < at["a"]) {
      report.violations = {{"safety.bounds", "it", {}, {}}};
    }
    return report;
  };
  Scenario start = scenario::job(2);
  start.timeline = {fault(9s, "agent.kill", "a"), fault(4s, "agent.kill", "b")};
  ShrinkOptions options;
  options.target = {"safety.bounds", "it"};
  const Shrunk small = *shrink(start, options, run);
  ASSERT_EQ(small.scenario.timeline.size(), 2U);
  EXPECT_EQ(small.scenario.timeline[0].from.front(), "b");
  EXPECT_EQ(small.scenario.timeline[0].trigger.at, 1s);
  EXPECT_EQ(small.scenario.timeline[1].trigger.at, 2s);
}

TEST(Shrinker, NamesTheEventThatAnOddTimeMeans) {
  // Fails when the connections are reset within a microsecond of the start of the worker.
  Laboratory laboratory;
  const auto run = [&](const Scenario& scenario, const scenario::RunOptions& options) {
    scenario::Lines lines;
    scenario::RunOptions watched = options;
    watched.sinks.push_back(&lines);
    scenario::RunReport report = laboratory.run(scenario, watched);
    report.violations.clear();
    for (const scenario::InjectedFault& each : report.faults) {
      const sim::Duration late = each.at.time_since_epoch() - lines.last_at["worker.started"];
      if (each.what == "net.reset" && late >= 0ns && late <= 1us)
        report.violations = {{"safety.bounds", "it", each.at, {}}};
    }
    return report;
  };
  Scenario start = scenario::job(1);
  scenario::Lines lines;
  scenario::RunOptions watched;
  watched.sinks.push_back(&lines);
  laboratory.run(start, watched);
  start.timeline = {fault(lines.last_at["worker.started"] + 1us, "net.reset", "")};
  ShrinkOptions options;
  options.target = {"safety.bounds", "it"};
  const Shrunk small = *shrink(start, options, run);
  ASSERT_EQ(small.scenario.timeline.size(), 1U);
  EXPECT_FALSE(small.scenario.timeline[0].trigger.at.has_value());
  EXPECT_TRUE(small.scenario.timeline[0].trigger.event.has_value());
}

TEST(Shrinker, KeepsOfATapeWhatTheFailureNeeds) {
  // Fails when the third draw of a's link is not the quiet one: no seed below six does.
  const kernel::RecordedChoice needed{"network.latency", 11, 12, 3, 5};
  const auto run = [&](const Scenario& scenario, const scenario::RunOptions&) {
    scenario::RunReport report;
    if (scenario.tape &&
        std::find(scenario.tape->begin(), scenario.tape->end(), needed) != scenario.tape->end()) {
      report.violations = {{"safety.bounds", "it", {}, {}}};
    }
    return report;
  };
  Scenario start = scenario::job(1);
  start.tape.emplace();
  for (std::uint64_t i = 0; i < 100; ++i) start.tape->push_back({"schedule", 0, 0, i, 2});
  start.tape->push_back(needed);
  for (std::uint64_t i = 0; i < 100; ++i) start.tape->push_back({"network.latency", 7, 8, i, 2});
  ShrinkOptions options;
  options.target = {"safety.bounds", "it"};
  start.schedule = kernel::Strategy::random;
  const Shrunk small = *shrink(start, options, run);
  EXPECT_EQ(small.scenario.tape, kernel::Tape{needed});
  EXPECT_EQ(small.scenario.schedule.strategy, kernel::Strategy::fifo);
  EXPECT_LE(small.runs, 80U);
}

TEST(Shrinker, PrefersASeedToATapeAndAnyOrderToARandomOne) {
  const auto run = [&](const Scenario& scenario, const scenario::RunOptions&) {
    scenario::RunReport report;
    if (scenario.tape || scenario.seed == 4) {
      report.violations = {{"safety.bounds", "it", {}, {}}};
    }
    return report;
  };
  Scenario start = scenario::job(1);
  start.seed = 123456789;
  start.tape = kernel::Tape{{"schedule", 0, 0, 1, 2}};
  ShrinkOptions options;
  options.target = {"safety.bounds", "it"};
  start.schedule = kernel::Strategy::random;
  const Shrunk small = *shrink(start, options, run);
  EXPECT_FALSE(small.scenario.tape.has_value());
  EXPECT_EQ(small.scenario.seed, 4U);
  EXPECT_EQ(small.scenario.schedule.strategy, kernel::Strategy::fifo);
}

TEST(Shrinker, NamesTheFewChoicesOfARandomScheduleThatMatter) {
  // Fails when ready fiber 3 goes first at the tenth choice; some seeds do that.
  const auto run = [&](const Scenario& scenario, const scenario::RunOptions&) {
    scenario::RunReport report;
    kernel::SeededSource seeded(scenario.seed);
    const kernel::ReplaySource replay(scenario.tape.value_or(kernel::Tape{}));
    kernel::ReplaySource replayed = replay;
    kernel::ChoiceSource& source =
        scenario.tape ? static_cast<kernel::ChoiceSource&>(replayed) : seeded;
    kernel::RecordingSource recording(source);
    kernel::Stream stream(recording, "schedule", 0);
    for (int i = 0; i < 30; ++i) {
      if (stream.below(4) == 3 && i == 10 &&
          scenario.schedule.strategy == kernel::Strategy::random) {
        report.violations = {{"safety.bounds", "it", {}, {}}};
      }
    }
    report.tape = recording.tape();
    return report;
  };
  Scenario start = scenario::job(1);
  start.seed = 1'000;
  ShrinkOptions options;
  options.target = {"safety.bounds", "it"};
  start.schedule = kernel::Strategy::random;
  while (run(start, {}).violations.empty()) ++start.seed;
  const Shrunk small = *shrink(start, options, run);
  EXPECT_EQ(small.scenario.schedule.strategy, kernel::Strategy::random);
  EXPECT_EQ(small.scenario.tape, (kernel::Tape{{"schedule", 0, 0, 10, 3}}));
}

TEST(Shrinker, CountsDigitsAsAReaderDoes) {
  using nlohmann::ordered_json;
  EXPECT_EQ(digits_of(ordered_json(0)), 0U);
  EXPECT_EQ(digits_of(ordered_json(-20)), 1U);
  EXPECT_EQ(digits_of(ordered_json(3217)), 4U);
  EXPECT_EQ(digits_of(ordered_json("3217ms")), 4U);
  EXPECT_EQ(digits_of(ordered_json("-30s")), 1U);
  EXPECT_EQ(digits_of(ordered_json("0s")), 0U);
  EXPECT_EQ(digits_of(ordered_json("node.crash")), 0U);
}

}  // namespace
}  // namespace hooke::hunt
