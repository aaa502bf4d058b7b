// What workers ask of their store, where the scenario wants it on the trace.
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

}  // namespace
}  // namespace hooke::scenario
