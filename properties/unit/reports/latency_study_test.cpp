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
               sim::Duration service = 11us) {
  StudyPlan plan;
  plan.nodes = std::move(nodes);
  plan.seeds = seeds;
  plan.service = {service};
  plan.join_timeout = join_timeout;
  std::ostringstream table;
  return run_study(plan, table);
}

double in_ms(sim::Duration span) {
  return std::chrono::duration<double, std::milli>(span).count();
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

TEST(LatencyStudy, of_a_size_that_lets_no_node_in_runs_one_seed_and_gives_no_latencies) {
  // A store that takes half a second for each request cannot answer eight nodes within a second.
  const Study study = study_of({8}, 3, 1s, 500ms);
  const StudyPoint& point = study.points[0];
  EXPECT_EQ(point.joins, 0U);
  EXPECT_EQ(point.failures, 8U);
  EXPECT_EQ(point.seeds, 1);
  const auto document = nlohmann::json::parse(study_json(study));
  EXPECT_TRUE(document[0]["p50_ns"].is_null());
  EXPECT_THAT(study_csv(study), testing::HasSubstr("\n8,500000,1,0,8,,,,"));
}

TEST(LatencyStudy, nodes_that_start_within_a_span_wait_for_the_last_of_them) {
  StudyPlan plan;
  plan.nodes = {8};
  plan.seeds = 1;
  plan.start_spread = 10s;
  std::ostringstream table;
  const StudyPoint spread = run_study(plan, table).points[0];
  EXPECT_EQ(spread.joins, 8U);
  EXPECT_GT(spread.whole, 5s);
  EXPECT_LT(spread.p50, spread.last);
  EXPECT_LT(spread.whole, 12s);
}

TEST(LatencyStudy, compares_kinds_of_rendezvous) {
  StudyPlan plan;
  plan.nodes = {4};
  plan.seeds = 1;
  plan.backends = {"c10d", "static", "etcd-v3", "etcd"};
  plan.variants = {model::Variant::torch_2_x, model::Variant::hardened};
  std::ostringstream table;
  const Study study = run_study(plan, table);
  ASSERT_EQ(study.points.size(), 8U);
  for (const StudyPoint& point : study.points) {
    EXPECT_EQ(point.joins, 4U) << point.backend;
    ASSERT_TRUE(point.formed) << point.backend;
    EXPECT_GE(*point.formed, point.whole) << point.backend;
    EXPECT_EQ(point.attempts_per_node > 0, point.backend == "c10d" || point.backend == "etcd-v3");
  }
  // No node waits for a second to look again.
  EXPECT_LT(*study.points[2].formed, 1s);
  EXPECT_THAT(table.str(), testing::HasSubstr("\nstatic, hardened "));
  EXPECT_THAT(study_csv(study), testing::HasSubstr(",etcd,hardened,0,"));
}

/// Of six nodes two are lost while they join.
StudyPoint with_losses(model::Variant variant) {
  StudyPlan plan;
  plan.nodes = {6};
  plan.seeds = 1;
  plan.lost = 2;
  plan.variants = {variant};
  std::ostringstream table;
  return run_study(plan, table).points[0];
}

TEST(LatencyStudy, says_that_nodes_are_in_a_round_with_lost_ones_and_form_no_group) {
  const StudyPoint torch = with_losses(model::Variant::torch_2_x);
  EXPECT_EQ(torch.lost, 2);
  EXPECT_EQ(torch.joins + torch.failures, 4U);
  EXPECT_FALSE(torch.formed);
  const StudyPoint hardened = with_losses(model::Variant::hardened);
  EXPECT_EQ(hardened.joins, 4U);
  ASSERT_TRUE(hardened.formed);
  EXPECT_GT(*hardened.formed, hardened.whole);
}

TEST(LatencyStudy, follows_agents_to_their_ends_in_time_with_the_square_of_the_nodes_up_to_2_0) {
  StudyPlan plan;
  plan.seeds = 1;
  plan.nodes = {20, 40};
  plan.backends = {"static"};
  plan.variants = {model::Variant::torch_2_0, model::Variant::torch_2_4};
  plan.service = {1ms};
  plan.to_the_end = true;
  std::ostringstream table;
  const Study study = run_study(plan, table);
  for (const StudyPoint& point : study.points) {
    ASSERT_TRUE(point.formed && point.barrier);
  }
  const auto ranks = [&](std::size_t i) { return *study.points[i].formed; };
  const auto barrier = [&](std::size_t i) { return *study.points[i].barrier; };
  // Each of 40 agents asks for 40 keys, by two requests of 1 ms each.
  EXPECT_NEAR(in_ms(ranks(1)), 2 * 40 * 40, 500);
  EXPECT_GT(ranks(1), 3 * ranks(0));
  EXPECT_GT(barrier(1), 3 * barrier(0));
  EXPECT_LT(ranks(3), ranks(1) / 5);
  EXPECT_LT(barrier(3), barrier(1) / 5);
  EXPECT_THAT(table.str(), testing::HasSubstr("formed  barrier"));
}

TEST(LatencyStudy, hardened_agents_of_a_static_job_ask_for_no_key_of_each_other_agent) {
  StudyPlan plan;
  plan.seeds = 1;
  plan.nodes = {50, 200};
  plan.backends = {"static"};
  plan.variants = {model::Variant::hardened};
  plan.calibration.emplace();
  plan.calibration->service_time = 1us;
  plan.calibration->service_time_per_byte = 1us;
  std::ostringstream table;
  const Study study = run_study(plan, table);
  ASSERT_TRUE(study.points[0].formed && study.points[1].formed);
  // Four times as many send and get four times as many bytes.
  EXPECT_LT(*study.points[1].formed, 6 * *study.points[0].formed);
}

TEST(LatencyStudy, finds_no_convoy_of_hardened_nodes_that_lose_their_writes) {
  StudyPlan plan;
  plan.nodes = {96};
  plan.seeds = 1;
  plan.service = {1ms};
  plan.variants = {model::Variant::torch_2_x, model::Variant::hardened};
  std::ostringstream table;
  const Study study = run_study(plan, table);
  EXPECT_GT(study.points[0].attempts_per_node, 30);
  EXPECT_LT(study.points[1].attempts_per_node, 10);
  EXPECT_LT(study.points[1].last, study.points[0].last);
}

TEST(LatencyStudy, takes_store_and_network_from_a_calibration) {
  StudyPlan plan;
  plan.nodes = {8};
  plan.seeds = 1;
  plan.calibration.emplace();
  plan.calibration->service_time = 50ms;
  std::ostringstream table;
  const StudyPoint slow = run_study(plan, table).points[0];
  EXPECT_EQ(slow.service, 50ms);
  EXPECT_GT(slow.last, study_of({8}, 1, 600s).points[0].last);
}

TEST(LatencyStudy, a_run_that_takes_too_long_is_marked_and_its_progress_is_told) {
  StudyPlan plan;
  plan.nodes = {256};
  plan.seeds = 1;
  plan.keep_alive = 10ms;  // the store has more heartbeats than it can serve
  plan.real_time_max = 300ms;
  std::ostringstream table;
  std::size_t reports = 0;
  const Study study = run_study(plan, table, [&](const StudyProgress& so_far) {
    EXPECT_EQ(so_far.nodes, 256);
    EXPECT_LT(so_far.now, so_far.end);
    ++reports;
  });
  EXPECT_EQ(study.points[0].cut, 1);
  EXPECT_GT(reports, 0U);
  EXPECT_THAT(table.str(), testing::HasSubstr("cut: --real-time-limit"));
}

}  // namespace
}  // namespace hooke::report
