// What workers ask of their store, where the scenario wants it on the trace, and what the words of the
// timeline do to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "properties/unit/scenarios/test_scenario.h"

namespace hooke::scenario {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

Scenario two_workers(bool trace_store) {
  Scenario scenario = job(2);
  scenario.workers.program = {init(), collective(1, 1s), exit_with(0)};
  scenario.workers.trace_store = trace_store;
  return scenario;
}

TEST(WorkersStore, is_traced_only_where_the_scenario_says_so_and_nothing_else_changes) {
  Lines without;
  Lines with;
  const RunReport quiet = run_bare(two_workers(false), &without);
  const RunReport traced = run_bare(two_workers(true), &with);
  EXPECT_THAT(without.with({"worker.store_"}), IsEmpty());
  EXPECT_NE(quiet.hash, traced.hash);
  EXPECT_EQ(quiet.world_time, traced.world_time);
  std::map<std::string, int> rest;
  for (const auto& [name, count] : with.count) {
    if (!name.starts_with("worker.store_")) rest[name] = count;
  }
  EXPECT_EQ(rest, (std::map<std::string, int>(without.count.begin(), without.count.end())));
}

TEST(WorkersStore, is_told_with_whole_keys_and_the_worker_and_its_round) {
  Lines lines;
  run_bare(two_workers(true), &lines);
  EXPECT_THAT(lines.with({"worker.store_asked", "operation=\"set\"", "key=\"process_group/0\"",
                          "rank=0", "round=0"}),
              SizeIs(1));
  EXPECT_THAT(lines.with({"worker.store_asked", "operation=\"set\"", "key=\"process_group/1\"",
                          "rank=1", "newest_round=0"}),
              SizeIs(1));
  EXPECT_EQ(lines.count["worker.store_asked"], lines.count["worker.store_answered"]);
}

TEST(WorkerFaults, worker_entries_reach_the_worker_of_that_local_rank) {
  Scenario scenario = long_job(2);
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
  Scenario scenario = long_job(1);
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
  Scenario scenario = long_job(1);
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
    Scenario scenario = long_job(1);
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
