// Triggers of every kind, roles, repetition, and the words of the timeline.
#include <gtest/gtest.h>

#include <stdexcept>

#include "properties/unit/scenarios/test_scenario.h"
#include "scenarios/format/vocabulary.h"
#include "scenarios/simulated/actions.h"

namespace hooke::scenario {
namespace {

TEST(Timeline, an_entry_with_a_time_acts_exactly_then) {
  Scenario scenario = long_job(2);
  scenario.timeline = {at(12345ms, "agent.kill", {"b"})};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  ASSERT_EQ(
      lines.with({"12.345000000 s harness timeline.acted", "agent.kill", "target=\"b\""}).size(),
      1U);
  EXPECT_EQ(report.agents.at(1).outcome, "killed");
  EXPECT_EQ(report.agents.at(1).exit_code, -9);
  EXPECT_EQ(report.agents.at(1).ended, sim::WorldTime(12345ms));
  ASSERT_EQ(report.faults.size(), 1U);
  EXPECT_EQ(report.faults[0].felt, 1U);
}

TEST(Timeline, an_entry_waits_for_the_nth_event_with_the_fields_and_the_node_it_names) {
  Scenario scenario = long_job(3);
  TimelineEntry entry = on("worker.started", "agent.kill", {"c"});
  entry.trigger.on_node = "b";
  entry.trigger.fields = {{"local_rank", "1"}, {"run_id", "job"}};
  entry.trigger.after = 1500ms;
  scenario.timeline = {entry};
  scenario.workers.per_node = 2;
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  const auto started = lines.with({"b[", "worker.started", "local_rank=1"});
  const auto acted = lines.with({"timeline.acted"});
  ASSERT_EQ(acted.size(), 1U) << unmet(report);
  ASSERT_FALSE(started.empty());
  EXPECT_NEAR(std::stod(acted[0]), std::stod(started[0]) + 1.5, 1e-6);
  EXPECT_EQ(report.agents.at(2).outcome, "killed");
}

TEST(Timeline, the_second_matching_event_is_meant_when_the_passage_is_2) {
  Scenario scenario = long_job(2);
  TimelineEntry entry = on("worker.started", "agent.kill");
  entry.trigger.passage = 2;
  scenario.timeline = {entry};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  const auto started = lines.with({"worker.started"});
  const auto acted = lines.with({"timeline.acted"});
  ASSERT_GE(started.size(), 2U);
  ASSERT_EQ(acted.size(), 1U);
  EXPECT_EQ(std::stod(acted[0]), std::stod(started[1]));
  // No node is named: the one where the event happened is meant.
  const std::string where = started[1].substr(started[1].find(" s ") + 3, 1);
  EXPECT_NE(acted[0].find("target=\"" + where + "\""), std::string::npos) << acted[0];
}

TEST(Timeline, an_entry_whose_event_never_comes_does_not_keep_the_run_alive) {
  Scenario scenario = job(1);
  scenario.timeline = {on("agent.signalled", "agent.kill", {"a"})};
  const RunReport report = run_bare(scenario);
  EXPECT_EQ(report.end, kernel::RunEnd::stopped);
  EXPECT_LT(report.world_time, 30s);
  EXPECT_TRUE(report.faults.empty());
}

std::vector<std::string> never_happened(const RunReport& report) {
  std::vector<std::string> out;
  for (const NeverHappened& each : report.never_happened) {
    out.push_back(std::to_string(each.entry) + " " + each.what + ": " + each.why);
  }
  return out;
}

TEST(Timeline, says_which_entries_waited_in_vain_and_for_what) {
  Scenario scenario = job(2);
  TimelineEntry third = on("worker.started", "agent.kill", {"a"});
  third.trigger.passage = 3;
  TimelineEntry nowhere = on("rendezvous.evicted", "net.reset", {"a"});
  nowhere.trigger.on_node = "b";
  TimelineEntry point;
  point.trigger.fault_point = "legacy.setup";
  point.what = "agent.kill";
  scenario.timeline = {at(5s, "clock.jump", {"a"}), third, nowhere, point};
  scenario.timeline[0].span = 1s;
  EXPECT_EQ(never_happened(run_bare(scenario)),
            (std::vector<std::string>{"1 agent.kill: worker.started was met 2 of 3 times",
                                      "2 net.reset: rendezvous.evicted on b was met 0 of 1 times",
                                      "3 agent.kill: the fault point legacy.setup was met 0 of 1 "
                                      "times"}));
}

TEST(Timeline, says_what_lay_beyond_the_end_of_the_run) {
  Scenario scenario = long_job(1);
  TimelineEntry late = on("worker.started", "agent.kill", {"a"});
  late.trigger.after = 200s;
  TimelineEntry often = at(90s, "net.reset", {"a"});
  often.every = 5s;
  often.times = 4;
  scenario.timeline = {late, often};
  scenario.time_limit = 100s;
  const RunReport report = run_bare(scenario);
  const auto never = never_happened(report);
  ASSERT_EQ(never.size(), 2U);
  EXPECT_TRUE(never[0].starts_with("0 agent.kill: due at 200.")) << never[0];
  EXPECT_TRUE(never[0].ends_with(" s, but the run ended at 100.000 s")) << never[0];
  EXPECT_EQ(never[1],
            "1 net.reset: it happened 3 of 4 times; due at 105.000 s, but the run ended at 100.000 "
            "s");
  ASSERT_EQ(report.faults.size(), 3U);
  EXPECT_EQ(report.faults[2].entry, 1U);
}

TEST(Timeline, a_process_killed_at_a_fault_point_does_nothing_behind_it) {
  Scenario scenario = job(1);
  TimelineEntry entry;
  entry.trigger.fault_point = "agent.ranks_assigned";
  entry.trigger.on_node = "a";
  entry.what = "agent.kill";
  scenario.timeline = {entry};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_EQ(report.agents.at(0).outcome, "killed");
  EXPECT_EQ(lines.count["ranks.assigned"], 1);
  EXPECT_EQ(lines.count["worker.started"], 0);
  ASSERT_EQ(report.faults.size(), 1U);
  EXPECT_EQ(report.faults[0].felt, 1U);
}

TEST(Timeline, a_fault_point_entry_can_act_some_time_after_the_passage) {
  Scenario scenario = long_job(1);
  TimelineEntry entry;
  entry.trigger.fault_point = "agent.workers_started";
  entry.trigger.after = 7s;
  entry.what = "agent.kill";
  scenario.timeline = {entry};
  Lines lines;
  run_bare(scenario, &lines);
  ASSERT_EQ(lines.count["timeline.acted"], 1);
  EXPECT_GE(lines.last_at["timeline.acted"], lines.last_at["worker.started"] + 7s);
}

TEST(Timeline, every_repeats_as_often_as_times_says) {
  Scenario scenario = long_job(2);
  TimelineEntry entry = at(20s, "net.reset", {"a"});
  entry.to = {"b"};
  entry.every = 5s;
  entry.times = 4;
  scenario.timeline = {entry};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  ASSERT_EQ(report.faults.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(report.faults[i].at, sim::WorldTime(20s + 5s * static_cast<int>(i)));
  }
}

TEST(Timeline, rank0_is_the_worker_that_holds_it_when_the_entry_acts) {
  Scenario scenario = long_job(3);
  scenario.cluster.store_host = "b";
  scenario.timeline = {at(20s, "agent.kill", {"rank0"}), at(21s, "agent.kill", {"store_host"})};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_EQ(lines.with({"rendezvous.joined", "rank=0"}).at(0).find(" s a["), 11U);
  EXPECT_EQ(report.agents.at(0).outcome, "killed");
  EXPECT_EQ(report.agents.at(1).outcome, "killed");
  EXPECT_NE(report.agents.at(2).outcome, "killed");
}

TEST(Timeline, a_role_that_no_node_holds_yet_changes_nothing) {
  Scenario scenario = job(2);
  TimelineEntry cut = at(0s, "net.partition", {"rank0"});
  scenario.timeline = {at(0s, "agent.kill", {"rank0"}), cut};
  const RunReport report = run_bare(scenario);
  ASSERT_EQ(report.faults.size(), 2U);
  EXPECT_EQ(report.faults[0].felt, 0U);
  EXPECT_EQ(report.faults[1].felt, 0U);
  EXPECT_EQ(outcomes(report), (std::vector<std::string>{"a succeeded", "b succeeded"}));
}

TEST(Timeline, all_means_every_node_of_the_job_but_not_the_external_store) {
  Scenario scenario = long_job(3);
  scenario.cluster.store_host.clear();
  scenario.timeline = {at(20s, "agent.kill", {"all"})};
  Lines lines;
  lines.names = {"a", "b", "c", "store"};
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_EQ(outcomes(report), (std::vector<std::string>{"a killed", "b killed", "c killed"}));
  EXPECT_TRUE(lines.with({"store[", "process.ended"}).empty());
}

TEST(Timeline, an_agent_restarts_when_its_predecessor_has_ended_and_not_before) {
  Scenario scenario = long_job(2);
  scenario.protocol.rendezvous.min_nodes = 1;
  scenario.workers.slow_stop = 10s;
  scenario.workers.program = {work(60s), exit_with(0)};
  scenario.timeline = {at(40s, "agent.signal", {"b"}), at(42s, "agent.restart", {"b"})};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  ASSERT_EQ(report.agents.size(), 3U);
  EXPECT_EQ(report.agents[1].outcome, "signalled");
  EXPECT_EQ(report.agents[2].node, "b");
  EXPECT_GE(report.agents[1].ended, sim::WorldTime(50s));
  const auto started = lines.with({"b[", "process.started", "program=\"agent\""});
  ASSERT_EQ(started.size(), 2U);
  EXPECT_NEAR(std::stod(started[1]),
              static_cast<double>(report.agents[1].ended.time_since_epoch().count()) / 1e9, 1e-6);
  EXPECT_EQ(report.faults.at(1).felt, 1U);
}

TEST(Timeline, a_crashed_node_is_reported_as_crashed_and_comes_up_again_after_for) {
  Scenario scenario = long_job(2);
  TimelineEntry crash = at(20s, "node.crash", {"b"});
  crash.duration = 15s;
  scenario.timeline = {crash};
  scenario.time_limit = 60s;
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  ASSERT_GE(report.agents.size(), 3U);
  EXPECT_EQ(report.agents[1].outcome, "crashed");
  EXPECT_EQ(report.agents[1].exit_code, std::nullopt);
  EXPECT_EQ(lines.last_at["node.restarted"], 35s);
  EXPECT_EQ(report.agents[2].node, "b");
}

TEST(Timeline, an_external_store_that_restarts_comes_up_empty) {
  Scenario scenario = long_job(2);
  scenario.cluster.store_host.clear();
  scenario.timeline = {at(20s, "store.restart")};
  scenario.time_limit = 200s;
  Lines lines;
  lines.names = {"a", "b", "store"};
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_EQ(lines.with({"store[", "store.serving"}).size(), 2U);
  EXPECT_EQ(outcomes(report), (std::vector<std::string>{"a error", "b error"}));
}

TEST(Timeline, no_agent_starts_beside_an_external_store_which_comes_up_again) {
  Scenario scenario = long_job(2);
  scenario.cluster.store_host.clear();
  scenario.timeline = {at(10s, "agent.restart", {"store_host"}), at(20s, "store.restart")};
  scenario.time_limit = 200s;
  Lines lines;
  lines.names = {"a", "b", "store"};
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_TRUE(lines.with({"store[", "agent.started"}).empty());
  EXPECT_EQ(lines.with({"store[", "store.serving"}).size(), 2U);
  EXPECT_EQ(report.agents.size(), 2U);
}

TEST(Timeline, an_external_store_whose_port_a_stranger_holds_does_not_come_up_again) {
  for (const std::string backend : {"c10d", "etcd-v2", "etcd-v3"}) {
    Scenario scenario = long_job(2);
    scenario.protocol.rendezvous.backend = backend;
    scenario.cluster.store_host.clear();
    TimelineEntry busy = at(10s, "port.busy", {"store_host"});
    busy.amount = 29400;
    scenario.timeline = {busy, at(20s, "store.restart")};
    scenario.time_limit = 200s;
    Lines lines;
    lines.names = {"a", "b", "store"};
    const RunReport report = run_bare(scenario, &lines);
    EXPECT_EQ(report.harness_failure, "") << backend;
    EXPECT_EQ(lines.with({"store[", "store.serving"}).size(), 1U) << backend;
    EXPECT_EQ(lines.with({"store[", "process.ended", "status=1"}).size(), 1U) << backend;
  }
}

TEST(Timeline, a_scheduler_relaunches_a_failed_agent_as_often_as_it_may) {
  Scenario scenario = job(1);
  scenario.protocol.agent.max_restarts = 0;
  scenario.workers.overrides["a/*"] = {work(5s), exit_with(1)};
  TimelineEntry entry = at(0s, "sched.relaunch", {"a"});
  entry.span = 20s;
  entry.amount = 2;
  scenario.timeline = {entry};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  ASSERT_EQ(report.agents.size(), 3U);
  const auto started = lines.with({"process.started", "program=\"agent\""});
  EXPECT_NEAR(std::stod(started.at(1)),
              static_cast<double>(report.agents[0].ended.time_since_epoch().count()) / 1e9 + 20,
              1e-6);
  EXPECT_EQ(report.faults.at(0).felt, 2U);
}

TEST(Timeline, a_lasting_fault_ends_when_its_time_is_over) {
  Scenario scenario = long_job(2);
  TimelineEntry entry = at(20s, "net.partition", {"a"});
  entry.to = {"b"};
  entry.duration = 6s;
  scenario.timeline = {entry};
  Lines lines;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_EQ(lines.last_at["fault.ended"], 26s);
  EXPECT_GE(report.faults.at(0).felt, 1U);
  EXPECT_EQ(outcomes(report), (std::vector<std::string>{"a succeeded", "b succeeded"}));
}

TEST(Timeline, a_scheduler_kills_an_agent_whose_health_check_says_that_it_is_not_alive) {
  Scenario scenario = job(2);
  scenario.protocol.agent.environment["TORCHELASTIC_HEALTH_CHECK_PORT"] = "8080";
  scenario.workers.overrides["b"] = {work(200s), exit_with(0)};
  scenario.timeline = {at(0s, "sched.health_kill", {"a"})};
  EXPECT_EQ(outcomes(run_bare(scenario)), (std::vector<std::string>{"a succeeded", "b succeeded"}));
  // a is done after 20 s and waits for b, a minute of which is too much under this defect.
  scenario.protocol.defects = {"health_check.silent_in_exit_barrier"};
  const RunReport report = run_bare(scenario);
  EXPECT_EQ(outcomes(report).at(0), "a killed");
  EXPECT_GT(report.agents.at(0).ended, sim::WorldTime(80s));
  EXPECT_LT(report.agents.at(0).ended, sim::WorldTime(100s));
  EXPECT_EQ(report.faults.at(0).felt, 2U) << "the probe, and the kill";
}

TEST(Timeline, a_scheduler_without_a_health_check_to_ask_kills_no_node) {
  Scenario scenario = job(1);
  scenario.timeline = {at(0s, "sched.health_kill", {"a"})};
  EXPECT_EQ(outcomes(run_bare(scenario)), std::vector<std::string>{"a succeeded"});
}

TEST(Timeline, every_word_of_the_vocabulary_can_be_acted_on) {
  for (const Word& word : vocabulary()) {
    Scenario scenario = long_job(3);
    if (word.name == "store.restart" || word.etcd) scenario.cluster.store_host.clear();
    if (word.etcd) scenario.protocol.rendezvous.backend = "etcd-v3";
    TimelineEntry entry = at(20s, std::string(word.name));
    if (((word.required | word.optional) & (kNode | kPaths)) != 0) entry.from = {"b"};
    if ((word.required & kBy) != 0) entry.span = 1s;
    if ((word.required & kAmount) != 0) entry.amount = 1000;
    if ((word.required & kText) != 0) entry.text = "keep_alive";
    scenario.timeline = {entry};
    scenario.time_limit = 60s;
    const RunReport report = run_bare(scenario);
    EXPECT_EQ(report.harness_failure, "") << word.name;
    EXPECT_EQ(report.faults.size(), 1U) << word.name;
  }
}

TEST(Timeline, what_no_loader_lets_through_is_refused_with_a_reason) {
  const auto refused = [](const TimelineEntry& entry) -> std::string {
    Scenario scenario = job(2);
    scenario.timeline = {entry};
    try {
      run_bare(scenario);
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(refused(at(1s, "node.crsh", {"a"})).find("node.crsh"), std::string::npos);
  EXPECT_NE(refused(at(1s, "node.crash", {"x"})).find("\"x\""), std::string::npos);
  EXPECT_NE(refused(at(1s, "node.crash")).find("needs \"node\""), std::string::npos);
  EXPECT_NE(refused(at(1s, "net.delay", {"a"})).find("needs \"by\""), std::string::npos);
  EXPECT_NE(refused(at(1s, "store.restart")).find("external"), std::string::npos);
  EXPECT_NE(refused(at(1s, "store.stale_read")).find("etcd"), std::string::npos);
  TimelineEntry never;
  never.what = "node.crash";
  EXPECT_NE(refused(never).find("exactly one"), std::string::npos);
}

}  // namespace
}  // namespace hooke::scenario
