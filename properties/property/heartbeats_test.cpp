// Random workers that beat, fall silent, hang and come back, over links that are cut, slowed and
// reset, under agents that stand still for a while.
#include <gtest/gtest.h>

#include "dice.h"
#include "scenarios/format/writer.h"
#include "scenarios/simulated/runner.h"

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;
using model::HeartbeatPolicy;

WorkerStep beat(const char* what) {
  WorkerStep out;
  out.kind = WorkerStep::Kind::beat;
  out.text = what;
  return out;
}
WorkerStep run_for(Duration span) {
  WorkerStep out;
  out.kind = WorkerStep::Kind::run;
  out.span = span;
  return out;
}

WorkerProgram random_beating_program(Dice& dice) {
  WorkerProgram out{run_for(dice.span(0s, 3s)), beat("start")};
  for (std::int64_t i = dice.below(4); i > 0; --i) {
    out.push_back(run_for(dice.span(1s, 8s)));
    if (dice.below(3) > 0) {
      out.push_back(beat("pause"));
      out.push_back(run_for(dice.span(100ms, 9s)));
      out.push_back(beat("start"));
    }
  }
  out.push_back(run_for(dice.span(1s, 8s)));
  if (dice.below(2) == 0) out.push_back(beat("stop"));
  WorkerStep end;
  end.kind = dice.below(6) == 0 ? WorkerStep::Kind::hang : WorkerStep::Kind::exit;
  end.code = end.kind == WorkerStep::Kind::exit && dice.below(4) == 0 ? 3 : 0;
  if (end.kind == WorkerStep::Kind::hang && dice.below(2) == 0) out.push_back(run_for(10s));
  out.push_back(end);
  return out;
}

TimelineEntry random_fault(Dice& dice) {
  TimelineEntry out;
  out.trigger.at = dice.span(1s, 20s);
  out.from = {"a"};
  switch (dice.below(6)) {
    case 0: out.what = "worker.hang"; return out;
    case 1:
      out.what = "agent.pause";
      out.duration = dice.span(100ms, 15s);
      return out;
    case 2:
      out.what = "clock.jump";
      out.span = dice.span(-60s, 60s);
      return out;
    case 3: out.what = "net.reset"; break;
    case 4:
      out.what = "net.delay";
      out.span = dice.span(1ms, 5s);
      out.duration = dice.span(1s, 10s);
      break;
    default:
      out.what = "net.partition";
      out.duration = dice.span(1s, 15s);
      break;
  }
  out.to = {"a"};
  return out;
}

Scenario random_heartbeats(std::uint32_t seed) {
  Dice dice(seed);
  Scenario scenario;
  scenario.name = "heartbeats-" + std::to_string(seed);
  scenario.seed = seed;
  model::HeartbeatPlan& plan = scenario.protocol.agent.heartbeats.emplace();
  plan.interval = dice.span(200ms, 1500ms);
  plan.deadline = plan.interval + dice.span(500ms, 5s);
  if (dice.below(2) == 0) plan.first_beat = dice.span(1s, 6s);
  plan.policy = static_cast<HeartbeatPolicy>(dice.below(3));
  scenario.protocol.agent.max_restarts = 2;
  scenario.protocol.agent.monitor_interval = dice.span(50ms, 3s);
  NodePlan node;
  node.id = "a";
  node.clock_skew = dice.span(-60s, 60s);
  node.clock_drift_ppm = dice.below(2001) - 1000;
  scenario.cluster.nodes = {node};
  scenario.workers.per_node = 1 + dice.below(3);
  scenario.workers.program = random_beating_program(dice);
  for (std::int64_t i = 0; i < scenario.workers.per_node; ++i) {
    scenario.workers.overrides["a/" + std::to_string(i)] = random_beating_program(dice);
  }
  for (std::int64_t i = dice.below(4); i > 0; --i) scenario.timeline.push_back(random_fault(dice));
  scenario.time_limit = 300s;
  return scenario;
}

/// Counts what came of heartbeats.
class BeatTally final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    lost += event.type->name == "heartbeat.lost" ? 1 : 0;
    returned += event.type->name == "heartbeat.returned" ? 1 : 0;
    restarts +=
        event.type->name == "group.restarting" && event.field("cause").text() == "heartbeat_loss"
            ? 1
            : 0;
  }
  int lost = 0, returned = 0, restarts = 0;
};

TEST(RandomHeartbeats, lose_a_worker_if_and_only_if_nothing_comes_from_it_and_end_it_by_policy) {
  kernel::Kernel kernel;
  BeatTally tally;
  for (std::uint32_t seed = 0; seed < 1000; ++seed) {
    const Scenario scenario = random_heartbeats(seed);
    RunOptions options;
    options.determinism_check = false;
    options.sinks.push_back(&tally);
    const RunReport report =
        run(kernel, scenario, options, properties::InvariantRegistry::with_builtins());
    ASSERT_EQ(report.harness_failure, "") << write_scenario(scenario);
    for (const properties::Violation& violation : report.violations) {
      ASSERT_EQ(violation.invariant.find("heartbeat_"), std::string::npos)
          << violation.invariant << ": " << violation.witness << "\n"
          << write_scenario(scenario);
    }
  }
  EXPECT_GT(tally.lost, 500);
  EXPECT_GT(tally.returned, 100);
  EXPECT_GT(tally.restarts, 100);
}

}  // namespace
}  // namespace hooke::scenario
