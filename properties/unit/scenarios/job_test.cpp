// Whole jobs from start to end: agents, rendezvous, store, workers.
#include <gtest/gtest.h>

#include <cstdlib>

#include "properties/unit/scenarios/test_scenario.h"
#include "scenarios/format/loader.h"

namespace hooke::scenario {
namespace {

TEST(Job, one_node_runs_its_worker_and_succeeds) {
  Scenario scenario = job(1);
  scenario.expect.outcome = {{"a", "succeeded"}};
  scenario.expect.exit_code = {{"a", 0}};
  scenario.expect.rounds_min = scenario.expect.rounds_max = 1;
  scenario.expect.within = 25s;
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_TRUE(report.passed) << unmet(report);
  EXPECT_EQ(report.end, kernel::RunEnd::stopped);
  EXPECT_EQ(lines.count["worker.started"], 1);
  EXPECT_GE(report.world_time, 20s);
}

TEST(Job, four_nodes_form_one_round_and_their_workers_meet) {
  Scenario scenario = job(4);
  scenario.workers.per_node = 2;
  scenario.workers.program = {init(), collective(5, 1s), exit_with(0)};
  scenario.expect.rounds_max = 1;
  for (const char* node : {"a", "b", "c", "d"}) scenario.expect.outcome[node] = "succeeded";
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_TRUE(report.passed) << unmet(report);
  EXPECT_EQ(lines.count["worker.initialized"], 8);
  EXPECT_EQ(lines.with({"worker.collective", "result=\"ok\""}).size(), 40U);
  EXPECT_EQ(lines.count["worker.stale_read"], 0);
}

TEST(Job, a_hardened_agent_and_one_that_is_not_form_one_round) {
  Scenario scenario = job(3);
  scenario.cluster.nodes[1].variant = model::Variant::hardened;
  scenario.workers.program = {init(), collective(5, 1s), exit_with(0)};
  scenario.expect.rounds_max = 1;
  for (const char* node : {"a", "b", "c"}) scenario.expect.outcome[node] = "succeeded";
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_TRUE(report.passed) << unmet(report);
  EXPECT_EQ(lines.count["worker.initialized"], 3);
  // Only a hardened agent draws a number for itself; the others are all their host's first.
  EXPECT_EQ(lines.with({"rendezvous.joined", "_0\""}).size(), 2U);
  EXPECT_EQ(lines.with({"rendezvous.joined", "b_100_0\""}).size(), 0U);
}

TEST(Job, the_1_13_variant_runs_its_workers_over_a_store_of_rank_0) {
  Scenario scenario = job(3);
  scenario.protocol.variant = model::Variant::torch_1_13;
  scenario.workers.program = {init(), collective(2, 1s), work(1s), exit_with(0)};
  for (const char* node : {"a", "b", "c"}) scenario.expect.outcome[node] = "succeeded";
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_TRUE(report.passed) << unmet(report);
  EXPECT_EQ(lines.count["worker.initialized"], 3);
  EXPECT_EQ(lines.with({"store.serving", "purpose=\"workers\""}).size(), 1U);
}

TEST(Job, a_worker_that_serves_the_group_stays_until_everybody_has_met) {
  Scenario scenario = job(4);
  scenario.protocol.variant = model::Variant::torch_1_13;
  scenario.workers.program = {init(), exit_with(0)};
  for (const char* node : {"a", "b", "c", "d"}) scenario.expect.outcome[node] = "succeeded";
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    scenario.seed = seed;
    Lines lines;
    const RunReport report = run_bare(scenario, &lines);
    EXPECT_TRUE(report.passed) << unmet(report);
    EXPECT_EQ(lines.count["worker.initialized"], 4);
    EXPECT_TRUE(lines.with({"worker.ended", "status=1"}).empty());
  }
}

TEST(Job, an_external_store_serves_agents_of_which_none_is_the_host) {
  Scenario scenario = job(2);
  scenario.cluster.store_host.clear();
  for (const char* node : {"a", "b"}) scenario.expect.outcome[node] = "succeeded";
  Lines lines;
  lines.names = {"a", "b", "store"};
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_TRUE(report.passed) << unmet(report);
  EXPECT_EQ(lines.with({"store[", "store.serving", "port=29400"}).size(), 1U);
  EXPECT_EQ(lines.with({"store.serving", "purpose=\"rendezvous\""}).size(), 1U);
}

TEST(Job, a_late_joiner_is_admitted_by_a_second_round) {
  Scenario scenario = job(3);
  scenario.protocol.variant = model::Variant::torch_1_13;
  scenario.protocol.rendezvous.min_nodes = 2;
  scenario.protocol.rendezvous.last_call = 2s;
  scenario.cluster.nodes[2].start = 30s;
  scenario.workers.program = {work(60s), exit_with(0)};
  scenario.expect.rounds_min = scenario.expect.rounds_max = 2;
  for (const char* node : {"a", "b", "c"}) scenario.expect.outcome[node] = "succeeded";
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_TRUE(report.passed) << unmet(report);
  EXPECT_EQ(lines.count["worker.started"], 5);  // two in the first round, three in the second
}

TEST(Job, a_late_joiner_waits_in_vain_for_an_address_that_2_x_publishes_only_once) {
  Scenario scenario = job(3);
  scenario.protocol.rendezvous.min_nodes = 2;
  scenario.protocol.rendezvous.last_call = 2s;
  scenario.cluster.nodes[2].start = 30s;
  scenario.workers.program = {work(60s), exit_with(0)};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  // Rank 0 does not publish its address again for the new round.
  EXPECT_EQ(lines.with({"rendezvous.completed", "round=1", "participants=3"}).size(), 1U);
  EXPECT_TRUE(lines.with({"c[", "worker.started"}).empty());
  EXPECT_EQ(report.agents.at(2).outcome, "error");
}

TEST(Job, a_failing_worker_is_restarted_within_the_budget) {
  Scenario scenario = job(2);
  scenario.workers.program = {work(30s), exit_with(0)};
  scenario.workers.overrides["b/0"] = {work(5s), exit_with(3)};
  for (const char* node : {"a", "b"}) scenario.expect.outcome[node] = "succeeded";
  scenario.expect.rounds_min = scenario.expect.rounds_max = 2;
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_TRUE(report.passed) << unmet(report);
  EXPECT_EQ(lines.with({"b[", "group.restarting", "cause=\"worker_failure\""}).size(), 1U);
  EXPECT_EQ(lines.with({"a[", "group.restarting", "cause=\"membership_change\""}).size(), 1U);
}

TEST(Job, a_worker_that_always_fails_spends_the_budget_and_fails_the_agent) {
  Scenario scenario = job(1);
  scenario.protocol.agent.max_restarts = 2;
  scenario.workers.overrides["a/*"] = {work(5s), exit_with(3)};
  scenario.expect.outcome = {{"a", "failed"}};
  scenario.expect.exit_code = {{"a", 1}};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_TRUE(report.passed) << unmet(report);
  EXPECT_EQ(lines.count["worker.started"], 3);
}

TEST(Job, a_lost_peer_makes_the_others_abort_after_peer_abort) {
  Scenario scenario = job(2);
  scenario.protocol.agent.max_restarts = 0;
  scenario.workers.program = {init(), collective(100, 1s)};
  scenario.workers.overrides["b/0"] = {
      init(), collective(5, 1s), {WorkerStep::Kind::hang, {}, 0, 1}};
  scenario.workers.peer_abort = 40s;
  scenario.time_limit = 300s;
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  const auto lost = lines.with({"a[", "worker.collective", "step=5", "result=\"peer_lost\""});
  ASSERT_EQ(lost.size(), 1U) << unmet(report);
  EXPECT_EQ(outcomes(report).front(), "a failed");
}

TEST(Job, the_loss_of_the_machine_of_rank_0_makes_the_others_abort_after_peer_abort_too) {
  for (const model::Variant variant : {model::Variant::torch_2_x, model::Variant::torch_1_13}) {
    Scenario scenario = job(3);
    scenario.protocol.variant = variant;
    scenario.protocol.agent.max_restarts = 0;
    scenario.cluster.store_host.clear();
    scenario.workers.program = {init(), collective(100, 1s)};
    scenario.workers.peer_abort = 10s;
    scenario.time_limit = 2'000s;
    TimelineEntry crash = at(20s, "node.crash", {"rank0"});
    scenario.timeline = {crash};
    Lines lines;
    const RunReport report = run_bare(scenario, &lines);
    const auto ended = lines.with({"worker.ended", "status=1"});
    ASSERT_FALSE(ended.empty()) << unmet(report);
    // Once for a wait, and once more for the store's word that the wait is over.
    for (const std::string& line : ended) EXPECT_LT(std::stod(line), 20 + 1 + 10 + 10 + 1) << line;
  }
}

TEST(Job, workers_that_stop_slowly_finish_their_checkpoint) {
  Scenario scenario = job(1);
  scenario.workers.slow_stop = 12s;
  scenario.workers.program = {work(600s), exit_with(0)};
  scenario.timeline = {at(10s, "agent.signal", {"a"})};
  scenario.expect.outcome = {{"a", "signalled"}};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_TRUE(report.passed) << unmet(report);
  EXPECT_EQ(lines.with({"worker.ended", "status=0", "stopped=1"}).size(), 1U);
  EXPECT_GE(report.world_time, 22s);
  EXPECT_LT(report.world_time, 24s);
}

TEST(Job, a_worker_stuck_in_a_native_call_runs_no_handler_and_is_killed) {
  Scenario scenario = job(1);
  scenario.workers.slow_stop = 1s;
  scenario.workers.program = {{WorkerStep::Kind::hang, {}, 0, 1}};
  scenario.timeline = {at(10s, "agent.signal", {"a"})};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_EQ(lines.with({"worker.ended", "status=-9"}).size(), 1U) << unmet(report);
  EXPECT_GE(report.world_time, 40s);
}

TEST(Job, a_worker_can_die_of_a_signal_of_its_own) {
  Scenario scenario = job(1);
  scenario.protocol.agent.max_restarts = 0;
  scenario.workers.program = {work(1s), {WorkerStep::Kind::signal, {}, 9, 1}, work(100s)};
  scenario.expect.outcome = {{"a", "failed"}};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_TRUE(report.passed) << unmet(report);
  EXPECT_EQ(lines.with({"failure.reported", "status=-9"}).size(), 1U);
}

TEST(Job, a_worker_that_is_started_again_alone_meets_no_other) {
  Scenario scenario = job(2);
  scenario.protocol.rendezvous.backend = "static";
  scenario.workers.program = {init(), collective(30, 1s), exit_with(0)};
  scenario.workers.overrides["b/0"] = {init(), work(5s), exit_with(1)};
  scenario.workers.peer_abort.reset();
  scenario.time_limit = 600s;
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_EQ(outcomes(report), (std::vector<std::string>{"a running", "b running"}));
  EXPECT_EQ(lines.count["worker.initialized"], 2);
  EXPECT_EQ(lines.count["worker.collective"], 0);
}

TEST(Job, ranks_meet_in_a_group_that_all_have_begun_as_often) {
  const WorkerStep destroy{WorkerStep::Kind::destroy, {}, 0, 1, "process group"};
  Scenario scenario = job(2);
  scenario.workers.program = {init(), collective(1, 1s), destroy,
                              init(), collective(1, 1s), exit_with(0)};
  Lines lines;
  run_bare(scenario, &lines);
  EXPECT_EQ(lines.count["worker.initialized"], 4);
  EXPECT_EQ(lines.with({"worker.collective", "result=\"ok\""}).size(), 4U);
  EXPECT_EQ(lines.count["worker.stale_read"], 0);

  scenario.workers.overrides["b/*"] = {init(), collective(2, 1s), exit_with(0)};
  scenario.protocol.agent.max_restarts = 0;
  Lines apart;
  EXPECT_EQ(outcomes(run_bare(scenario, &apart)).at(0), "a failed");
  EXPECT_EQ(apart.count["worker.initialized"], 2);
  EXPECT_EQ(apart.with({"worker.collective", "result=\"ok\""}).size(), 2U);
}

TEST(Job, agents_find_the_store_by_the_name_that_they_are_given) {
  Scenario scenario = job(2);
  for (NodePlan& node : scenario.cluster.nodes) node.start = 1s;
  scenario.cluster.store_name = "head.svc";
  TimelineEntry alias = at(0s, "dns.alias", {"a"});
  alias.text = "head.svc";
  scenario.timeline = {alias};
  EXPECT_EQ(outcomes(run_bare(scenario)), (std::vector<std::string>{"a succeeded", "b succeeded"}));
  scenario.protocol.variant = model::Variant::torch_1_13;  // a does not know that it is meant
  EXPECT_EQ(outcomes(run_bare(scenario)), (std::vector<std::string>{"a error", "b error"}));
}

TEST(Job, a_network_card_that_has_a_name_excuses_no_agent) {
  Scenario scenario =
      load_scenario_file(std::string(std::getenv("HOOKE_SOURCE_DIR")) +
                         "/scenarios/library/known_issues/incident-01-dead-participant.json");
  for (NodePlan& node : scenario.cluster.nodes) {
    node.local_addr = node.id + "-ib0";
    TimelineEntry alias = at(0s, "dns.alias", {node.id});
    alias.text = node.local_addr;
    scenario.timeline.insert(scenario.timeline.begin(), alias);
  }
  kernel::Kernel kernel;
  const RunReport report =
      run(kernel, scenario, {}, properties::InvariantRegistry::with_builtins());
  ASSERT_EQ(report.violations.size(), 1U);
  EXPECT_EQ(report.violations[0].invariant, "liveness.loss_detection");
  EXPECT_EQ(report.violations[0].limit, "");
}

TEST(Job, a_complete_round_that_lost_everybody_stays_complete_under_a_defect) {
  Scenario scenario = job(2);
  scenario.cluster.store_host.clear();
  scenario.protocol.agent.environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1";
  scenario.workers.program = {work(60s), exit_with(0)};
  TimelineEntry crash = at(30s, "node.crash", {"a", "b"});
  crash.duration = 30s;
  scenario.timeline = {crash};
  scenario.time_limit = 600s;
  const auto latest = [&] {
    const RunReport report = run_bare(scenario);
    return report.agents.at(2).outcome + " " + report.agents.at(3).outcome;
  };
  EXPECT_EQ(latest(), "succeeded succeeded");
  scenario.protocol.defects = {"rendezvous.complete_stays"};
  EXPECT_EQ(latest(), "running running");
}

TEST(Job, values_of_an_earlier_incarnation_in_the_shared_store_are_seen_as_stale) {
  Scenario scenario = job(2);
  scenario.protocol.defects = {"worker_store.restart_count_prefix"};
  scenario.workers.program = {init(), collective(30, 1s), exit_with(0)};
  scenario.workers.overrides["a/0"] = {init(), collective(5, 1s), exit_with(1)};
  scenario.time_limit = 600s;
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  // b did not count the restart that a caused: it looks where round 0 left its keys.
  EXPECT_GE(lines.with({"b[", "worker.stale_read"}).size(), 1U) << unmet(report);
  EXPECT_TRUE(lines.with({"a[", "worker.stale_read"}).empty());
}

}  // namespace
}  // namespace hooke::scenario
