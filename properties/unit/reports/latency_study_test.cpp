// The latency study, at sizes that take no time.
#include "reports/latency_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

namespace hooke::report {
namespace {

using namespace std::chrono_literals;

Study study_of(std::vector<std::int64_t> nodes, std::int64_t seeds, sim::Duration join_timeout,
               std::int64_t service_us = 11) {
  StudyPlan plan;
  plan.nodes = std::move(nodes);
  plan.seeds = seeds;
  plan.service_us = {service_us};
  plan.join_timeout = join_timeout;
  std::ostringstream table;
  return run_study(plan, table);
}

TEST(LatencyStudy, follows_every_node_of_every_seed_into_the_round) {
  const Study study = study_of({2, 8}, 3, 600s);
  ASSERT_EQ(study.points.size(), 2U);
  const StudyPoint& eight = study.points[1];
  EXPECT_EQ(eight.seeds, 3);
  EXPECT_EQ(eight.joins, 24U);
  EXPECT_EQ(eight.failures, 0U);
  // A node looks again a second after it has put itself on the list.
  EXPECT_GE(eight.p50, 1s);
  EXPECT_LE(eight.p50, eight.p99);
  EXPECT_LE(eight.p99, eight.last);
  EXPECT_GE(eight.attempts_per_node, 1.0);
  EXPECT_GT(eight.bytes_per_node, study.points[0].bytes_per_node);
}

TEST(LatencyStudy, is_the_same_each_time) {
  EXPECT_EQ(study_of({4}, 2, 600s).points[0].p50, study_of({4}, 2, 600s).points[0].p50);
}

TEST(LatencyStudy, of_a_size_that_lets_nobody_in_runs_one_seed_and_gives_no_latencies) {
  // A store that takes half a second for each request cannot answer eight nodes within a second.
  const Study study = study_of({8}, 3, 1s, 500'000);
  const StudyPoint& point = study.points[0];
  EXPECT_EQ(point.joins, 0U);
  EXPECT_EQ(point.failures, 8U);
  EXPECT_EQ(point.seeds, 1);
  const auto json = nlohmann::json::parse(study_json(study));
  EXPECT_TRUE(json[0]["p50_ns"].is_null());
  EXPECT_THAT(study_csv(study), testing::HasSubstr("\n8,500000,1,0,8,,,,"));
}

}  // namespace
}  // namespace hooke::report
