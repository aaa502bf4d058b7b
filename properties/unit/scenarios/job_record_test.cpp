// The record of a simulated job, read by an onlooker from its beginning to its end.
#include "model/rendezvous/job_record.h"

#include <gtest/gtest.h>

#include "model/rendezvous/core/errors.h"
#include "model/store/kinds/tcp_stores.h"
#include "properties/unit/scenarios/test_scenario.h"
#include "scenarios/simulated/cluster.h"
#include "sim/world/world.h"

namespace hooke::scenario {
namespace {

using model::JobStatus;

/// Runs `job` over a store of its own for 100 s, and takes its record every 200 ms.
std::vector<model::JobRecord> records_of(Scenario scenario) {
  scenario.cluster.store_host.clear();
  scenario.timeline.push_back(at(100s, "clock.jump", {"a"}));
  scenario.timeline.back().span = 1s;
  std::vector<model::JobRecord> records;
  RunOptions options;
  options.determinism_check = false;
  options.prepare = [&](world::World& world) {
    world.register_program("onlooker", [&](sim::Ports& ports) -> int {
      model::TcpStoreOptions target;
      target.endpoint = {std::string(kStoreMachine), kStorePort};
      const auto store = model::connect_tcp_store(ports, target);
      for (;;) {
        const auto view = model::observe_c10d(*store, std::string(kRunId));
        records.push_back(
            model::job_record(std::string(kRunId), "c10d", view, ports.clock.wall_now()));
        ports.executor.sleep_until(ports.clock.monotonic_now() + 200ms);
      }
    });
    sim::SpawnRequest request;
    request.argv = {"onlooker"};
    ASSERT_TRUE(world.start(sim::NodeId{0}, request).ok());
  };
  EXPECT_EQ(run_bare(scenario, nullptr, options).harness_failure, "");
  return records;
}

/// Each status once for as long as it stays.
std::vector<std::string> course(const std::vector<model::JobRecord>& records) {
  std::vector<std::string> out;
  for (const model::JobRecord& each : records) {
    std::string status(to_string(each.status));
    if (each.round) status += " " + std::to_string(*each.round);
    if (out.empty() || out.back() != status) out.push_back(status);
  }
  return out;
}

TEST(JobRecord, follows_a_job_and_gives_nothing_stale_after_its_end) {
  Scenario scenario = job(2);
  scenario.workers.per_node = 3;
  scenario.cluster.nodes[1].start = 5s;
  const std::vector<model::JobRecord> records = records_of(scenario);
  EXPECT_EQ(course(records), (std::vector<std::string>{"unknown", "no state", "gathering 0",
                                                       "complete 0", "closed"}));
  for (const model::JobRecord& each : records) {
    EXPECT_EQ(each.running(),
              each.status == JobStatus::gathering || each.status == JobStatus::complete);
    const bool complete = each.status == JobStatus::complete;
    EXPECT_EQ(each.group_world_size, complete ? std::optional<std::int64_t>(2) : std::nullopt);
    EXPECT_EQ(each.participants.size(), complete ? 2U : each.running() ? 1U : 0U);
    if (!complete) {
      EXPECT_FALSE(each.master || each.world_size);
      continue;
    }
    for (const model::JobNode& node : each.participants) {
      EXPECT_EQ(each.rank_of(node.node.value()), node.rank);
      EXPECT_LT(node.heartbeat_age, std::optional<Duration>(15s)) << "it would count as dead";
    }
  }
  const auto last = std::find_if(records.rbegin(), records.rend(),
                                 [](const auto& each) { return each.running(); });
  ASSERT_NE(last, records.rend());
  EXPECT_EQ(last->world_size, 6);
  ASSERT_TRUE(last->master.has_value());
  EXPECT_TRUE(last->master->master_addr.starts_with(last->participants[0].node.value().addr));
}

TEST(JobRecord, of_a_restarted_job_tells_the_new_round) {
  Scenario scenario = job(2);
  scenario.workers.overrides["b"] = {work(5s), exit_with(3)};
  const std::vector<std::string> seen = course(records_of(scenario));
  ASSERT_GE(seen.size(), 3U);
  EXPECT_EQ(seen.back(), "closed");
  EXPECT_NE(std::find(seen.begin(), seen.end(), "complete 0"), seen.end());
  EXPECT_NE(std::find(seen.begin(), seen.end(), "complete 1"), seen.end());
}

}  // namespace
}  // namespace hooke::scenario
