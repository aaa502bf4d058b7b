// Random workers that guard random steps, on machines whose clocks are wrong and jump, beside
// strangers that scribble into the timer file or keep it open, with servers that come and go with
// the workers' incarnations.
#include <gtest/gtest.h>

#include "dice.h"
#include "scenarios/format/writer.h"
#include "scenarios/simulated/runner.h"
#include "sim/port/process_host.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;
using model::Variant;

WorkerStep step(WorkerStep::Kind kind, Duration span, std::string text = "") {
  WorkerStep out;
  out.kind = kind;
  out.span = span;
  out.code = kind == WorkerStep::Kind::acquire ? static_cast<int>(sim::Signal::kill) : 0;
  out.text = std::move(text);
  return out;
}

WorkerProgram random_timed_program(Dice& dice) {
  using Kind = WorkerStep::Kind;
  WorkerProgram out;
  for (std::int64_t i = dice.below(4); i >= 0; --i) {
    const std::string scope = dice.below(3) == 0 ? "shared" : "step " + std::to_string(i);
    const Duration after = dice.span(1s, 8s);
    // Most end in time, some only just, some too late, and some never.
    const std::int64_t fate = dice.below(10);
    const Duration work = fate < 5   ? after / 2
                          : fate < 7 ? after - dice.span(5ms, 300ms)
                                     : after + dice.span(0s, 4s);
    out.push_back(step(Kind::acquire, after, scope));
    out.push_back(step(Kind::run, work));
    if (dice.below(8) == 0) out.push_back(step(Kind::scribble, 0s, "what is this"));
    if (dice.below(8) == 0) out.push_back(step(Kind::hold_timer, dice.span(1s, 10s)));
    if (fate < 9) out.push_back(step(Kind::release, 0s, scope));
    if (fate == 9 && dice.below(2) == 0) break;  // ends inside its guarded step
  }
  WorkerStep exit = step(Kind::exit, 0s);
  exit.code = dice.below(4) == 0 ? 3 : 0;
  out.push_back(exit);
  return out;
}

Scenario random_timers(std::uint32_t seed, Variant variant) {
  Dice dice(seed);
  Scenario scenario;
  scenario.name = "timers-" + std::to_string(seed);
  scenario.seed = seed;
  scenario.protocol.variant = variant;
  scenario.protocol.agent.environment["TORCHELASTIC_ENABLE_FILE_TIMER"] = "1";
  scenario.protocol.agent.max_restarts = 2;
  NodePlan node;
  node.id = "a";
  node.clock_skew = dice.span(-60s, 60s);
  node.clock_drift_ppm = dice.below(2001) - 1000;
  scenario.cluster.nodes = {node};
  scenario.workers.per_node = 1 + dice.below(4);
  scenario.workers.program = {step(WorkerStep::Kind::run, 3s), step(WorkerStep::Kind::exit, 0s)};
  for (std::int64_t i = 0; i < scenario.workers.per_node; ++i) {
    scenario.workers.overrides["a/" + std::to_string(i)] = random_timed_program(dice);
  }
  if (dice.below(4) == 0) {
    TimelineEntry jump;
    jump.trigger.at = dice.span(1s, 10s);
    jump.what = "clock.jump";
    jump.from = {"a"};
    jump.span = dice.span(-30s, 30s);
    scenario.timeline.push_back(jump);
  }
  scenario.time_limit = 300s;
  return scenario;
}

/// Counts what the timers of a run did.
class TimerTally final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    kills += event.type->name == "timer.killed" ? 1 : 0;
    releases += event.type->name == "timer.released" ? 1 : 0;
    servers += event.type->name == "watchdog.changed" ? 1 : 0;
  }
  int kills = 0, releases = 0, servers = 0;
};

/// What the invariants about timers say of that world; empty when they hold.
std::string broken(kernel::Kernel& kernel, const Scenario& scenario, TimerTally& tally) {
  RunOptions options;
  options.determinism_check = false;
  options.sinks.push_back(&tally);
  const RunReport report =
      run(kernel, scenario, options, properties::InvariantRegistry::with_builtins());
  if (!report.harness_failure.empty()) return report.harness_failure;
  for (const properties::Violation& violation : report.violations) {
    if (violation.invariant.find("timer_") != std::string::npos) {
      return violation.invariant + ": " + violation.witness;
    }
  }
  return "";
}

TEST(RandomTimers, end_a_hardened_worker_if_and_only_if_it_let_its_deadline_pass) {
  kernel::Kernel kernel;
  TimerTally tally;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    const Scenario scenario = random_timers(seed, Variant::hardened);
    ASSERT_EQ(broken(kernel, scenario, tally), "") << write_scenario(scenario);
  }
  EXPECT_GT(tally.kills, 200);
  EXPECT_GT(tally.releases, 500);
  EXPECT_GT(tally.servers, 2500) << "servers come and go with the incarnations";
}

TEST(RandomTimers, of_pytorch_end_workers_that_were_in_time) {
  kernel::Kernel kernel;
  TimerTally tally;
  int wrong = 0;
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    if (!broken(kernel, random_timers(seed, Variant::torch_2_x), tally).empty()) ++wrong;
  }
  EXPECT_GT(wrong, 10) << "the invariants must see what the faithful variant breaks";
}

}  // namespace
}  // namespace hooke::scenario
