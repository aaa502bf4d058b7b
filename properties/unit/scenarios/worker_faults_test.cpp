// The words of the timeline that are about workers.
#include <gtest/gtest.h>

#include "properties/unit/scenarios/test_scenario.h"

namespace hooke::scenario {
namespace {

Scenario long_work(std::int64_t nodes) {
  Scenario scenario = job(nodes);
  scenario.workers.program = {work(300s), exit_with(0)};
  return scenario;
}

TEST(WorkerFaults, worker_entries_reach_the_worker_of_that_local_rank) {
  Scenario scenario = long_work(2);
  scenario.workers.per_node = 2;
  scenario.protocol.agent.max_restarts = 0;
  TimelineEntry entry = at(20s, "worker.exit", {"b"});
  entry.local_rank = 1;
  entry.amount = 7;
  scenario.timeline = {entry};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_EQ(lines.with({"b[", "worker.ended", "local_rank=1", "status=7"}).size(), 1U)
      << unmet(report);
  EXPECT_EQ(report.agents.at(1).outcome, "failed");
}

TEST(WorkerFaults, a_worker_can_be_made_to_stop_slowly_while_it_runs) {
  Scenario scenario = long_work(1);
  TimelineEntry slow = at(10s, "worker.slow_stop", {"a"});
  slow.span = 8s;
  scenario.timeline = {slow, at(20s, "agent.signal", {"a"})};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_EQ(lines.with({"worker.ended", "status=0"}).size(), 1U) << unmet(report);
  EXPECT_GE(report.world_time, 28s);
  EXPECT_EQ(report.faults.at(0).felt, 1U);
}

TEST(WorkerFaults, a_worker_can_be_given_children) {
  Scenario scenario = long_work(1);
  TimelineEntry entry = at(10s, "worker.children", {"a"});
  entry.amount = 3;
  scenario.timeline = {entry, at(20s, "agent.signal", {"a"})};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_EQ(lines.with({"process.started", "program=\"worker-child\""}).size(), 3U);
  EXPECT_EQ(report.faults.at(0).felt, 3U);
}

TEST(WorkerFaults, a_worker_that_cannot_run_starts_no_children) {
  for (const char* const held : {"worker.unkillable", "worker.signal"}) {
    Scenario scenario = long_work(1);
    TimelineEntry hold = at(5s, held, {"a"}), children = at(10s, "worker.children", {"a"});
    hold.signal = "STOP";
    children.amount = 1;
    scenario.timeline = {hold, children};
    scenario.time_limit = 20s;
    Lines lines;
    const RunReport report = run_bare(scenario, &lines);
    EXPECT_TRUE(lines.with({"process.started", "program=\"worker-child\""}).empty()) << held;
    EXPECT_EQ(report.faults.at(1).felt, 0U) << held;
  }
}

}  // namespace
}  // namespace hooke::scenario
