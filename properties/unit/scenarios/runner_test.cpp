// What a run is made of besides the job: seeds, tapes, limits.
#include "scenarios/simulated/runner.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <thread>

#include "model/observe/trace_events.h"
#include "properties/unit/scenarios/judged_runs.h"
#include "properties/unit/scenarios/test_scenario.h"
#include "scenarios/outcome/outcomes.h"
#include "sim/world/world.h"

namespace hooke::scenario {
namespace {

// ---- seeds and tapes ----------------------------------------------------------------------------

TEST(Runner, one_seed_gives_one_stream_of_events_and_another_seed_another) {
  Lines first, again, other;
  RunOptions options;
  options.seed = 8;
  const RunReport one = run_bare(job(4), &first);
  const RunReport two = run_bare(job(4), &again);
  const RunReport three = run_bare(job(4), &other, options);
  EXPECT_EQ(first.all, again.all);
  EXPECT_EQ(one.hash, two.hash);
  EXPECT_NE(first.all, other.all);
  EXPECT_NE(one.hash, three.hash);
  EXPECT_EQ(three.seed, 8U);
}

TEST(Runner, runs_on_one_kernel_do_not_know_of_each_other) {
  kernel::Kernel kernel;
  const properties::InvariantRegistry none;
  Scenario disturbed = job(3);
  disturbed.workers.program = {init(), collective(50, 1s)};
  disturbed.timeline = {at(20s, "node.crash", {"a"}), at(25s, "net.partition", {"b"})};
  disturbed.time_limit = 100s;
  const std::string before = run(kernel, job(4), {}, none).hash;
  run(kernel, disturbed, {}, none);
  EXPECT_EQ(run(kernel, job(4), {}, none).hash, before);
}

TEST(Runner, a_recorded_tape_replays_to_the_same_hash_under_any_seed) {
  Scenario scenario = job(3);
  scenario.workers.program = {init(), collective(5, 1s), exit_with(0)};
  scenario.timeline = {at(15s, "worker.exit", {"b"})};
  for (const kernel::Strategy strategy : {kernel::Strategy::fifo, kernel::Strategy::random}) {
    RunOptions options;
    options.record_tape = true;
    options.schedule = strategy;
    const RunReport recorded = run_bare(scenario, nullptr, options);
    ASSERT_FALSE(recorded.tape.empty());
    Scenario reproducer = scenario;
    reproducer.tape = recorded.tape;
    options.seed = 12345;
    EXPECT_EQ(run_bare(reproducer, nullptr, options).hash, recorded.hash);
  }
}

TEST(Runner, a_fork_shares_the_past_and_draws_another_future) {
  Lines whole, forked, again;
  RunOptions options;
  const RunReport one = run_bare(job(4), &whole);
  ASSERT_GT(whole.all.size(), 40U);
  options.fork = Fork{sim::WorldTime(whole.last_at["rendezvous.completed"]), 99};
  const RunReport other = run_bare(job(4), &forked, options);
  EXPECT_TRUE(other.passed) << "its determinism check forks, too: " << unmet(other);
  EXPECT_NE(one.hash, other.hash);
  EXPECT_EQ(run_bare(job(4), &again, options).hash, other.hash);
  // What happened until then is the same, line by line.
  const auto parted =
      std::mismatch(whole.all.begin(), whole.all.end(), forked.all.begin(), forked.all.end());
  const auto is_completion = [](const std::string& line) {
    return line.find("rendezvous.completed") != std::string::npos;
  };
  EXPECT_TRUE(std::any_of(whole.all.begin(), parted.first, is_completion));
  // After the end there is nothing left to draw.
  options.fork = Fork{sim::WorldTime(one.world_time), 99};
  EXPECT_EQ(run_bare(job(4), nullptr, options).hash, one.hash);
}

TEST(Runner, the_order_of_ready_fibers_can_be_drawn_as_well) {
  RunOptions options;
  options.schedule = kernel::Strategy::random;
  Scenario scenario = job(4);
  for (const char* node : {"a", "b", "c", "d"}) scenario.expect.outcome[node] = "succeeded";
  const RunReport report = run_bare(scenario, nullptr, options);
  EXPECT_TRUE(report.passed) << unmet(report);
}

// ---- how a run ends -----------------------------------------------------------------------------

TEST(Runner, a_run_is_cut_at_its_time_limit_and_says_which_agents_still_run) {
  Scenario scenario = job(2);
  scenario.workers.program = {{WorkerStep::Kind::hang, {}, 0, 1}};
  scenario.time_limit = 100s;
  scenario.expect.outcome = {{"a", "running"}, {"b", "running"}};
  const RunReport report = run_bare(scenario);
  EXPECT_TRUE(report.passed) << unmet(report);
  EXPECT_EQ(report.end, kernel::RunEnd::world_time_exhausted);
  EXPECT_EQ(report.world_time, 100s);
}

TEST(Runner, a_runaway_world_ends_at_its_steps_with_a_clear_verdict) {
  RunOptions options;
  options.steps_max = 10'000;
  options.prepare = [](world::World& world) {
    world.register_program("spinner", [](sim::Ports& ports) -> int {
      for (;;) ports.executor.sleep_until(ports.clock.monotonic_now());
    });
    sim::SpawnRequest request;
    request.argv = {"spinner"};
    ASSERT_TRUE(world.start(sim::NodeId{0}, request).ok());
  };
  const RunReport report = run_bare(job(1), nullptr, options);
  EXPECT_FALSE(report.passed);
  EXPECT_EQ(report.end, kernel::RunEnd::steps_exhausted);
  EXPECT_EQ(unmet_names(report), std::vector<std::string>());
  EXPECT_NE(report.inconclusive.find("limit of steps"), std::string::npos);
  EXPECT_FALSE(report.trace_difference.has_value());
}

TEST(Runner, a_job_that_goes_round_in_circles_ends_at_its_rounds_with_a_clear_verdict) {
  Scenario scenario = job(2);
  scenario.workers.program = {{WorkerStep::Kind::exit, {}, 3, 1}};
  scenario.protocol.agent.max_restarts = 100;
  RunOptions options;
  options.rounds_max = 4;
  const RunReport report = run_bare(scenario, nullptr, options);
  EXPECT_EQ(report.rounds, 4);
  EXPECT_TRUE(report.rounds_exhausted);
  EXPECT_FALSE(report.passed);
  EXPECT_NE(report.inconclusive.find("limit of rounds"), std::string::npos) << unmet(report);
  EXPECT_FALSE(report.trace_difference.has_value());
}

TEST(Runner, a_run_that_takes_too_long_is_ended_and_not_repeated) {
  RunOptions options;
  options.wall_time_max = std::chrono::milliseconds(20);
  options.prepare = [](world::World& world) {
    world.register_program("spinner", [](sim::Ports& ports) -> int {
      for (;;) ports.executor.sleep_until(ports.clock.monotonic_now());
    });
    sim::SpawnRequest request;
    request.argv = {"spinner"};
    ASSERT_TRUE(world.start(sim::NodeId{0}, request).ok());
  };
  const RunReport report = run_bare(job(1), nullptr, options);
  EXPECT_EQ(report.end, kernel::RunEnd::wall_time_exhausted);
  EXPECT_FALSE(report.passed);
  EXPECT_NE(report.inconclusive.find("limit of real time"), std::string::npos);
  EXPECT_EQ(report.harness_failure, "");
}

/// A job that a limit of the harness cuts while its workers run: its first `steps_max` steps.
RunReport run_cut(const Scenario& scenario, const properties::InvariantRegistry& registry = {}) {
  RunOptions options;
  options.steps_max = 400;
  kernel::Kernel kernel;
  RunReport report = run(kernel, scenario, options, registry);
  EXPECT_EQ(report.end, kernel::RunEnd::steps_exhausted);
  return report;
}

TEST(Runner, what_a_cut_run_has_not_shown_yet_is_undecided) {
  Scenario scenario = job(3);
  scenario.expect.outcome = {{"a", "failed"}};
  scenario.expect.exit_code = {{"b", 1}};
  scenario.expect.rounds_min = 5;
  scenario.expect.rounds_max = 1;
  scenario.expect.within = 100s;
  scenario.expect.coverage = {"cas_lost"};
  scenario.expect.violates = {"safety.x"};
  Trigger ended;
  ended.event = "worker.ended";
  scenario.expect.events = {ended};
  scenario.expect.never = {ended};
  const RunReport report = run_cut(scenario);
  EXPECT_FALSE(report.passed);
  EXPECT_NE(report.inconclusive, "");
  EXPECT_EQ(unmet_names(report), std::vector<std::string>()) << unmet(report);
}

TEST(Runner, what_a_cut_run_has_broken_already_stays_broken) {
  const auto decided = [](const RunReport& report) {
    EXPECT_FALSE(report.passed);
    EXPECT_EQ(report.inconclusive, "");
    return unmet_names(report);
  };
  Scenario scenario = job(3);
  scenario.expect.within = 1ms;
  EXPECT_EQ(decided(run_cut(scenario)), (std::vector<std::string>{"expect.within", "limits"}));
  scenario.expect.within.reset();
  Trigger started;
  started.event = "agent.started";
  scenario.expect.never = {started};
  EXPECT_EQ(decided(run_cut(scenario)), (std::vector<std::string>{"expect.never.0", "limits"}));
  scenario.expect.never.clear();
  scenario.expect.rounds_max = 0;
  EXPECT_EQ(decided(run_cut(scenario)), (std::vector<std::string>{"expect.rounds.max", "limits"}));
  scenario.expect.rounds_max.reset();
  properties::InvariantRegistry registry;
  registry.add([] { return std::make_unique<Breaks>("safety.x", "worker.started"); });
  EXPECT_EQ(decided(run_cut(scenario, registry)), (std::vector<std::string>{"safety.x", "limits"}));
  scenario.expect.violates = {"safety.x"};
  EXPECT_NE(run_cut(scenario, registry).inconclusive, "");
}

TEST(Runner, a_second_run_that_the_machine_cuts_leaves_the_check_of_determinism_open) {
  Scenario scenario = job(4);
  scenario.workers.program = {init(), collective(500, 1s), exit_with(0)};
  int runs = 0;
  RunOptions options;
  options.wall_time_max = std::chrono::seconds(1);
  options.prepare = [&runs](world::World& world) {
    ++runs;
    const auto dawdle = [](void* count, std::uint64_t) {
      if (*static_cast<int*>(count) == 2) std::this_thread::sleep_for(std::chrono::seconds(1));
    };
    world.kernel().at(sim::WorldTime(5s), {dawdle, &runs});
  };
  const RunReport report = run_bare(scenario, nullptr, options);
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(report.end, kernel::RunEnd::stopped);
  EXPECT_TRUE(report.check_cut);
  EXPECT_FALSE(report.passed);
  EXPECT_NE(report.inconclusive.find("second run"), std::string::npos) << unmet(report);
  EXPECT_EQ(report.harness_failure, "");
}

TEST(Runner, a_fiber_that_fails_makes_the_harness_fail_and_names_it) {
  RunOptions options;
  options.prepare = [](world::World& world) {
    world.register_program("faulty", [](sim::Ports&) -> int { throw std::logic_error("oops"); });
    sim::SpawnRequest request;
    request.argv = {"faulty"};
    ASSERT_TRUE(world.start(sim::NodeId{0}, request).ok());
  };
  const RunReport report = run_bare(job(1), nullptr, options);
  EXPECT_EQ(report.end, kernel::RunEnd::failed);
  EXPECT_NE(report.harness_failure.find("faulty"), std::string::npos);
  EXPECT_NE(report.harness_failure.find("oops"), std::string::npos);
  EXPECT_FALSE(report.passed);
}

/// Owes something for a span after each end of an agent.
class Owes final : public properties::Invariant {
 public:
  explicit Owes(Duration span) : span_(span) {}
  [[nodiscard]] std::string_view id() const override { return "safety.owes"; }
  [[nodiscard]] std::string_view meaning() const override { return "It is kept in time."; }
  void on_event(const sim::Event& event) override {
    if (event.type == &model::events::agent_finished) until_ = event.at + span_;
  }
  [[nodiscard]] sim::WorldTime owed_until() const override { return until_; }
  void finish(const properties::RunFacts& facts) override { end_seen = facts.end; }
  [[nodiscard]] const std::vector<properties::Violation>& violations() const override {
    return none_;
  }
  static inline sim::WorldTime end_seen{};

 private:
  Duration span_;
  sim::WorldTime until_{};
  std::vector<properties::Violation> none_;
};

RunReport run_owing(const Scenario& scenario, Duration span, Lines* lines = nullptr) {
  properties::InvariantRegistry registry;
  registry.add([span] { return std::make_unique<Owes>(span); });
  kernel::Kernel kernel;
  RunOptions options;
  if (lines != nullptr) options.sinks.push_back(lines);
  return run(kernel, scenario, options, registry);
}

TEST(Runner, a_run_goes_on_for_what_is_still_owed_when_every_agent_is_over) {
  const RunReport usual = run_owing(job(2), Duration::zero());
  Lines lines;
  const RunReport longer = run_owing(job(2), 7s, &lines);
  EXPECT_EQ(longer.end, kernel::RunEnd::stopped);
  EXPECT_EQ(longer.judged_at, sim::WorldTime(lines.last_at["agent.finished"] + 7s));
  EXPECT_EQ(Owes::end_seen, longer.judged_at);
  EXPECT_LT(usual.world_time, longer.world_time);
  EXPECT_TRUE(longer.passed) << "the second run goes on as long: " << unmet(longer);
}

TEST(Runner, nothing_that_is_owed_lasts_longer_than_the_time_limit) {
  Scenario scenario = job(2);
  scenario.time_limit = 100s;
  const RunReport report = run_owing(scenario, 1'000s);
  EXPECT_EQ(report.world_time, 100s);
  EXPECT_EQ(outcomes(report), (std::vector<std::string>{"a succeeded", "b succeeded"}));
  EXPECT_TRUE(report.passed) << unmet(report);
}

TEST(Runner, the_workers_that_the_last_agent_leaves_behind_are_seen) {
  Scenario scenario = job(2);
  scenario.workers.program = {work(60s), exit_with(0)};
  scenario.timeline = {at(20s, "agent.kill", {"a"}), at(20s, "agent.kill", {"b"})};
  kernel::Kernel kernel;
  const RunReport report =
      run(kernel, scenario, {}, properties::InvariantRegistry::with_builtins());
  EXPECT_GT(report.judged_at, sim::WorldTime(21s));
  EXPECT_LT(report.judged_at, sim::WorldTime(22s));
  std::size_t orphans = 0;
  for (const auto& each : report.violations) orphans += each.invariant == "safety.no_orphans";
  EXPECT_EQ(orphans, 2U) << unmet(report);
}

TEST(Runner, an_agent_whose_start_is_left_to_the_timeline_starts_only_then) {
  Scenario scenario = job(2);
  scenario.protocol.rendezvous.min_nodes = 1;
  scenario.cluster.nodes[1].start.reset();
  scenario.timeline = {at(500s, "agent.start", {"b"})};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  ASSERT_EQ(report.agents.size(), 2U);
  // a is long over: the run still waits for what the timeline has to do.
  EXPECT_LT(report.agents[0].ended, sim::WorldTime(100s));
  EXPECT_EQ(lines.with({"500.000000000 s b[", "process.started"}).size(), 1U);
}

// ---- verdicts -----------------------------------------------------------------------------------

}  // namespace
}  // namespace hooke::scenario
