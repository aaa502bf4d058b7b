#include "scenarios/hunt/explainer.h"

#include <gtest/gtest.h>

#include "properties/unit/scenarios/test_files.h"
#include "properties/unit/scenarios/test_scenario.h"
#include "scenarios/format/loader.h"
#include "scenarios/hunt/cause_recorder.h"
#include "scenarios/simulated/timeline.h"

namespace hooke::hunt {
namespace {

using namespace std::chrono_literals;
using scenario::Scenario;

class Court {
 public:
  RunScenario runner() {
    return [this](const Scenario& scenario, const scenario::RunOptions& options) {
      return scenario::run(kernel_, scenario, options, invariants_);
    };
  }
  /// Options to explain why `scenario` breaks `invariant`.
  ExplainOptions options(const Scenario& scenario, const std::string& invariant) {
    const auto target = target_of(runner()(scenario, {}), invariant);
    if (!target) throw std::runtime_error(scenario.name + " keeps " + invariant);
    ExplainOptions options;
    options.target = *target;
    options.moments = 6;
    options.futures = 4;
    options.worlds = 3;
    // Every event by its name and node, but for what repeats itself all the time.
    options.phrase = [](const sim::Event& event) {
      const std::string name(event.type->name);
      return name.starts_with("store.") || name == "rendezvous.write" ? "" : name;
    };
    return options;
  }

 private:
  kernel::Kernel kernel_;
  properties::InvariantRegistry invariants_ = properties::InvariantRegistry::with_builtins();
};

Scenario library(const std::string& name) {
  return scenario::load_scenario_file(
      (scenario::source_directory() / "scenarios/library" / (name + ".json")).string());
}

/// A worker that cannot be killed for a while, and for good once only the others are healed.
Scenario asleep_for_good() {
  Scenario scenario = scenario::job(3);
  scenario.protocol.defects = {"worker.killed_waited_for_without_limit"};
  scenario.protocol.rendezvous.min_nodes = 2;
  scenario.workers.peer_abort = 5s;
  scenario.timeline = {scenario::at(5s, "worker.unkillable", {"c"}),
                       scenario::at(8s, "worker.exit", {"b"})};
  scenario.timeline[0].duration = 10s;
  scenario.core = scenario::CorePlan{10s, {"a", "b"}};
  scenario.time_limit = 1000s;
  return scenario;
}

std::vector<std::string> told(const CausalStory& story) {
  std::vector<std::string> out;
  for (const CauseLine& line : story.lines) {
    out.push_back((line.node.empty() ? "" : line.node + " ") + line.what);
  }
  return out;
}

bool holds(const std::vector<std::string>& lines, const std::string& line) {
  return std::find(lines.begin(), lines.end(), line) != lines.end();
}

bool averts(const std::vector<Counterfactual>& changes, const std::string& change) {
  return std::any_of(changes.begin(), changes.end(),
                     [&](const Counterfactual& each) { return each.change == change; });
}

// ---- the story ----------------------------------------------------------------------------------

TEST(CausalStory, FollowsTheCausesFromTheViolationToTheBeginning) {
  Court court;
  const Scenario scenario = library("known_issues/incident-05-stale-worker-keys");
  const auto story = causes_of_failure(scenario, court.options(scenario, "safety.round_isolation"),
                                       court.runner());
  ASSERT_TRUE(story.has_value());
  const std::vector<std::string> lines = told(*story);
  // The reader, why it was started again, and the agent that made it so; in this order.
  const auto find = [&](const std::string& line) {
    return std::find(lines.begin(), lines.end(), line) - lines.begin();
  };
  EXPECT_LT(find("a group.restarting"), find("a worker.stale_read"));
  EXPECT_EQ(lines.back(), "a worker.stale_read");
  EXPECT_TRUE(std::is_sorted(story->lines.begin(), story->lines.end(),
                             [](const CauseLine& x, const CauseLine& y) { return x.at < y.at; }));
  EXPECT_LE(lines.size(), 40U);
  EXPECT_NE(story->witness.find("process_group"), std::string::npos);
}

TEST(CausalStory, TellsOfLateWrites) {
  Court court;
  const Scenario scenario = library("workers/late-write-of-an-orphan");
  const auto story = causes_of_failure(scenario, court.options(scenario, "safety.round_isolation"),
                                       court.runner());
  ASSERT_TRUE(story.has_value());
  const auto late = [](const CauseLine& line) {
    return line.node == "b" && line.what == "worker.store_asked";
  };
  EXPECT_EQ(std::count_if(story->lines.begin(), story->lines.end(), late), 1)
      << "the one write of the worker that is left over";
}

TEST(CausalStory, TellsWhichOfTheNamedAgentsWasTakenForDead) {
  Court court;
  const Scenario scenario = library("weaknesses/paused-agent-splits-the-job");
  const auto story =
      causes_of_failure(scenario, court.options(scenario, "safety.one_world"), court.runner());
  ASSERT_TRUE(story.has_value());
  const std::vector<std::string> lines = told(*story);
  const auto find = [&](const std::string& line) {
    return std::find(lines.begin(), lines.end(), line) - lines.begin();
  };
  ASSERT_TRUE(holds(lines, "b rendezvous.evicted"));
  EXPECT_LT(find("*** agent.pause a"), find("b rendezvous.evicted"));
  EXPECT_LT(find("b rendezvous.evicted"), find("b group.restarting"));
}

TEST(CausalStory, TellsOfASilenceTheLastThatWasHeardOfThoseItNames) {
  Court court;
  const Scenario scenario = library("known_issues/incident-01-dead-participant");
  const auto story = causes_of_failure(scenario, court.options(scenario, "liveness.loss_detection"),
                                       court.runner());
  ASSERT_TRUE(story.has_value());
  const std::vector<std::string> lines = told(*story);
  EXPECT_TRUE(holds(lines, "*** node.crash b"));
  EXPECT_TRUE(holds(lines, "b process.ended"));
  EXPECT_FALSE(holds(lines, "node.crashed")) << "what the timeline did is told once";
  for (const CauseLine& line : story->lines) EXPECT_LE(line.at, story->at) << line.what;
}

TEST(CausalStory, TellsWhatGoesRoundInCirclesOnce) {
  Court court;
  const Scenario scenario = library("known_issues/incident-11-endless-restarts");
  ExplainOptions options = court.options(scenario, "liveness.no_livelock");
  options.phrase = [](const sim::Event& event) {
    const std::string name(event.type->name);
    return name == "group.restarting" || name == "rendezvous.joined" ? name : "";
  };
  const auto story = causes_of_failure(scenario, options, court.runner());
  ASSERT_TRUE(story.has_value());
  EXPECT_LE(story->lines.size(), 12U);
  const std::vector<std::string> lines = told(*story);
  EXPECT_TRUE(std::any_of(lines.begin(), lines.end(), [](const std::string& line) {
    return line.find("… and so on") != std::string::npos;
  }));
}

TEST(CausalStory, HasNothingToTellOfARunThatHolds) {
  Court court;
  ExplainOptions options;
  options.target = {"safety.one_world", "whatever"};
  options.phrase = [](const sim::Event&) { return ""; };
  EXPECT_FALSE(causes_of_failure(scenario::job(2), options, court.runner()).has_value());
}

TEST(CausalStory, RecordsOnlyWhatHasAPhraseButFollowsCausesThroughAll) {
  Court court;
  const std::function<std::string(const sim::Event&)> phrase = [](const sim::Event& event) {
    return event.type->name == "agent.started" || event.type->name == "agent.finished"
               ? std::string(event.type->name)
               : std::string();
  };
  CauseRecorder recorder(phrase, {"a"});
  scenario::RunOptions options;
  options.sinks.push_back(&recorder);
  court.runner()(scenario::job(1), options);
  ASSERT_EQ(recorder.lines().size(), 2U);
  EXPECT_EQ(recorder.lines()[0].told.what, "agent.started");
  EXPECT_EQ(recorder.lines()[0].told.node, "a");
  EXPECT_EQ(recorder.ancestry(recorder.lines()[1].event), (std::vector<std::size_t>{1, 0}));
}

// ---- the point of no return ---------------------------------------------------------------------

TEST(Explainer, KeepsWhatItHasWhenItIsStopped) {
  Court court;
  const Scenario scenario = library("known_issues/incident-01-dead-participant");
  ExplainOptions options = court.options(scenario, "liveness.loss_detection");
  const auto runs_until_stopped = [&](int runs, const auto& answer) {
    int left = runs;
    options.enough = [&left] { return left <= 0; };
    const RunScenario inner = court.runner();
    return answer([&left, inner](const auto& what, const scenario::RunOptions& how) {
      --left;
      return inner(what, how);
    });
  };
  const auto futures = [&](const RunScenario& run) {
    return find_point_of_no_return(scenario, sim::WorldTime(80s), options, run);
  };
  const NoReturn some = runs_until_stopped(30, futures), all = runs_until_stopped(10'000, futures);
  EXPECT_TRUE(all.complete);
  EXPECT_FALSE(some.complete);
  EXPECT_FALSE(some.left_alone.has_value());
  ASSERT_FALSE(some.futures.empty());
  ASSERT_LT(some.futures.size(), all.futures.size());
  EXPECT_TRUE(std::equal(some.futures.begin(), some.futures.end(), all.futures.begin()));

  const auto changes = [&](const RunScenario& run) {
    return find_counterfactuals(scenario, options, run);
  };
  const auto none = runs_until_stopped(3, changes), found = runs_until_stopped(10'000, changes);
  EXPECT_TRUE(none.empty());
  EXPECT_FALSE(found.empty());
}

TEST(PointOfNoReturn, IsTheCrashThatNobodyNotices) {
  Court court;
  const Scenario scenario = library("known_issues/incident-01-dead-participant");
  const ExplainOptions options = court.options(scenario, "liveness.loss_detection");
  const NoReturn found =
      find_point_of_no_return(scenario, sim::WorldTime(80s), options, court.runner());
  ASSERT_TRUE(found.left_alone.has_value());
  EXPECT_EQ(found.left_alone->what, "*** node.crash b");
  EXPECT_EQ(found.left_alone->at, sim::WorldTime(60s));
  // The crash comes in every future in which the scenario goes on.
  ASSERT_TRUE(found.as_it_goes_on.has_value());
  EXPECT_EQ(found.as_it_goes_on->at, sim::WorldTime());
  ASSERT_GE(found.futures.size(), 4U);
  for (const Futures& each : found.futures) {
    EXPECT_EQ(each.as_it_goes_on, (Share{4, 4}));
    EXPECT_EQ(each.left_alone, (Share{each.moment < sim::WorldTime(60s) ? 0U : 4U, 4}));
  }
}

TEST(PointOfNoReturn, IsTheStartOfAnAgentWhoseClockIsWrong) {
  Court court;
  const Scenario scenario = library("rendezvous/clock-ahead-opens-a-round-alone");
  const NoReturn found = find_point_of_no_return(
      scenario, sim::WorldTime(81s), court.options(scenario, "safety.one_world"), court.runner());
  ASSERT_TRUE(found.left_alone.has_value());
  EXPECT_EQ(found.left_alone->node, "c");
  EXPECT_EQ(found.left_alone->at, sim::WorldTime(60s));
}

TEST(PointOfNoReturn, CanBeTheVeryBeginning) {
  Court court;
  Scenario scenario = library("known_issues/incident-01-dead-participant");
  scenario.timeline.insert(scenario.timeline.begin(), scenario::at(0s, "disk.full", {"a"}));
  scenario.timeline[0].duration = 1s;
  const NoReturn found =
      find_point_of_no_return(scenario, sim::WorldTime(80s),
                              court.options(scenario, "liveness.loss_detection"), court.runner());
  ASSERT_TRUE(found.as_it_goes_on.has_value());
  EXPECT_EQ(found.as_it_goes_on->what, "*** disk.full a");
  ASSERT_TRUE(found.left_alone.has_value());
  EXPECT_EQ(found.left_alone->at, sim::WorldTime(60s));
}

TEST(PointOfNoReturn, IsTheDrawThatDecides) {
  // A made-up invariant: no agent's start is followed by a worker's that is an even number of
  // microseconds late. It is drawn when the worker starts, and not before.
  Court court;
  const Scenario scenario = scenario::job(2);
  const auto odd = [](sim::WorldTime at) { return at.time_since_epoch() / 1us % 2 == 1; };
  const RunScenario run = [&](const Scenario& what, const scenario::RunOptions& given) {
    scenario::Lines lines;
    scenario::RunOptions watched = given;
    watched.sinks.push_back(&lines);
    scenario::RunReport report = court.runner()(what, watched);
    report.violations.clear();
    if (odd(sim::WorldTime(lines.last_at["worker.started"]))) {
      report.violations = {{"safety.x", "it", report.world_time + sim::WorldTime(), {}}};
    }
    return report;
  };
  ExplainOptions options;
  options.target = {"safety.x", "it"};
  options.moments = 8;
  options.futures = 16;
  options.phrase = [](const sim::Event& event) { return std::string(event.type->name); };
  Scenario failing = scenario;
  scenario::RunOptions once;
  once.determinism_check = false;
  while (run(failing, once).violations.empty()) ++failing.seed;
  const NoReturn found = find_point_of_no_return(failing, sim::WorldTime(3600s), options, run);
  ASSERT_TRUE(found.as_it_goes_on.has_value());
  EXPECT_FALSE(found.left_alone.has_value()) << "the scenario does nothing in its course";
  EXPECT_FALSE(found.futures.front().as_it_goes_on.certain());
  EXPECT_GT(found.futures.front().as_it_goes_on.failed, 0U);
  EXPECT_TRUE(found.futures.back().as_it_goes_on.certain());
  EXPECT_GT(found.as_it_goes_on->at, sim::WorldTime());
  EXPECT_LE(found.as_it_goes_on->at, sim::WorldTime(2s));
}

// ---- what averts it -----------------------------------------------------------------------------

TEST(Counterfactuals, NameWhatMendsAStaleKey) {
  Court court;
  const Scenario scenario = library("known_issues/stale-worker-keys-after-restart");
  const auto changes = find_counterfactuals(
      scenario, court.options(scenario, "safety.round_isolation"), court.runner());
  EXPECT_TRUE(averts(changes, "TORCH_DISABLE_SHARE_RDZV_TCP_STORE=1"));
  EXPECT_TRUE(averts(changes, "the variant hardened"));
  EXPECT_FALSE(averts(changes, "last_call 1m instead of 30s"));
  for (const Counterfactual& each : changes) {
    EXPECT_EQ(each.before, (Share{3, 3}));
    EXPECT_EQ(each.after, (Share{0, 3}));
  }
}

TEST(Counterfactuals, HoldInRunsOfTheirOwn) {
  Court court;
  Scenario scenario = library("rendezvous/clock-ahead-opens-a-round-alone");
  const auto changes =
      find_counterfactuals(scenario, court.options(scenario, "safety.one_world"), court.runner());
  ASSERT_TRUE(averts(changes, "the clock of node c right"));
  ASSERT_TRUE(averts(changes, "keep-alive interval 10s instead of 5s"));
  scenario.protocol.rendezvous.keep_alive_interval = 10s;
  for (const std::uint64_t seed : {scenario.seed, scenario.seed + 1, scenario.seed + 2}) {
    scenario::RunOptions options;
    options.seed = seed;
    EXPECT_FALSE(target_of(court.runner()(scenario, options), "safety.one_world"));
  }
}

TEST(Counterfactuals, AreNoneThatOnlyKeepTheJobFromBeginning) {
  // Without node b no round is formed, and no agent is lost.
  Court court;
  Scenario scenario = library("known_issues/incident-01-dead-participant");
  scenario.protocol.rendezvous.min_nodes = 2;
  scenario.cluster.nodes[1].start = 5s;
  const auto changes = find_counterfactuals(
      scenario, court.options(scenario, "liveness.loss_detection"), court.runner());
  EXPECT_TRUE(averts(changes, "without node.crash b at 1m"));
  EXPECT_TRUE(averts(changes, "the variant hardened"));
  EXPECT_FALSE(averts(changes, "node b started never, not at 5s"));
  EXPECT_FALSE(averts(changes, "node.crash b at 1m, but one second later"));
}

TEST(Counterfactuals, TryWithoutTheHealingOfACoreWhereThatCanSaySomething) {
  Court court;
  const Scenario scenario = library("rendezvous/healed-core-never-told");
  const std::string without = "without the healing of the core";
  const auto of_core =
      find_counterfactuals(scenario, court.options(scenario, "liveness.core"), court.runner());
  EXPECT_FALSE(averts(of_core, without)) << "nothing is demanded of a core that is none";
  EXPECT_TRUE(averts(of_core, "peer_abort 1m instead of never"));
  EXPECT_TRUE(averts(of_core, "the variant hardened"));
  const Scenario asleep = asleep_for_good();
  const auto of_stops =
      find_counterfactuals(asleep, court.options(asleep, "liveness.restart_stops"), court.runner());
  EXPECT_TRUE(averts(of_stops, without));
  EXPECT_TRUE(averts(of_stops, "all nodes in the core"));
}

TEST(CausalStory, TellsOfAHealedCore) {
  Court court;
  const Scenario scenario = library("rendezvous/healed-core-never-told");
  ExplainOptions options = court.options(scenario, "liveness.core");
  const auto story = causes_of_failure(scenario, options, court.runner());
  ASSERT_TRUE(story);
  EXPECT_TRUE(std::any_of(story->lines.begin(), story->lines.end(),
                          [](const CauseLine& line) { return line.what == "core.healed"; }));
}

TEST(PointOfNoReturn, LeavesWhatIsBrokenBrokenWhenItIsLeftAlone) {
  Court court;
  const Scenario scenario = asleep_for_good();
  ExplainOptions options = court.options(scenario, "liveness.restart_stops");
  const NoReturn found =
      find_point_of_no_return(scenario, sim::WorldTime(900s), options, court.runner());
  ASSERT_TRUE(found.left_alone);
  EXPECT_EQ(found.left_alone->at, sim::WorldTime(10s)) << "before that the worker would wake";
}

TEST(Counterfactuals, SayWhatBreaksInstead) {
  // With a seat for everybody the job goes on without end, as two worlds.
  Court court;
  const Scenario scenario = library("known_issues/incident-11-endless-restarts");
  const auto changes = find_counterfactuals(
      scenario, court.options(scenario, "liveness.no_livelock"), court.runner());
  const auto seats = std::find_if(changes.begin(), changes.end(), [](const Counterfactual& each) {
    return each.change == "max_nodes 3 instead of 2";
  });
  ASSERT_NE(seats, changes.end());
  EXPECT_EQ(seats->broken_instead, std::vector<std::string>{"safety.one_world"});
  EXPECT_TRUE(averts(changes, "the variant hardened"));
  EXPECT_TRUE(averts(changes, "node c started never, not at 70s"));
}

}  // namespace
}  // namespace hooke::hunt
