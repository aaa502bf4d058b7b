// A healed core in a whole run: what is started again, what stays broken, and what is on the trace.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/format/loader.h"
#include "scenarios/format/writer.h"
#include "scenarios/simulated/healed_core.h"
#include "test_scenario.h"

namespace hooke::scenario {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

/// Nodes a to d, two of which are enough, at work for ten minutes; a and b are healed at 60 s.
Scenario healed(std::vector<TimelineEntry> timeline) {
  Scenario scenario = job(4);
  scenario.cluster.store_host.clear();
  scenario.protocol.rendezvous.min_nodes = 2;
  scenario.protocol.rendezvous.last_call = 2s;
  scenario.workers.program = {work(600s), exit_with(0)};
  scenario.timeline = std::move(timeline);
  scenario.core = CorePlan{60s, {"a", "b"}};
  scenario.time_limit = 1800s;
  return scenario;
}

TEST(Core, IsOnTheTraceWithItsStoreAndTheWorkOfItsPrograms) {
  Lines lines;
  lines.names.emplace_back("store");
  Scenario scenario = healed({});
  scenario.workers.overrides["c"] = {work(700s), {WorkerStep::Kind::hang}};
  run_bare(scenario, &lines);
  EXPECT_THAT(lines.with({"core.healed"}),
              ElementsAre(HasSubstr(
                  "nodes=\"a,b,store\" work=700000000000 peers=60000000000 endless=\"c\"")));
}

TEST(Core, ANodeThatCrashedThereIsUpAgainWithAnAgentAndOneElsewhereNever) {
  Lines lines;
  TimelineEntry elsewhere = at(20s, "node.crash", {"c"});
  elsewhere.duration = 100s;
  run_bare(healed({at(20s, "node.crash", {"a"}), elsewhere}), &lines);
  EXPECT_THAT(lines.with({"node.restarted"}), SizeIs(1));
  EXPECT_THAT(lines.with({"node.restarted", "name=\"a\""}), SizeIs(1));
  EXPECT_THAT(lines.with({"agent.started", "s a["}), SizeIs(2)) << "at the start and when healed";
  EXPECT_THAT(lines.with({"agent.started", "s c["}), SizeIs(1));
}

TEST(Core, AnAgentThatWasKilledThereIsStartedAgainAndOneThatEndedByItselfIsNot) {
  Scenario scenario = healed(
      {at(20s, "agent.kill", {"a"}), at(20s, "agent.kill", {"c"}), at(20s, "agent.signal", {"b"})});
  const RunReport report = run_bare(scenario);
  EXPECT_THAT(outcomes(report), testing::UnorderedElementsAre("a killed", "b signalled", "c killed",
                                                              testing::_, testing::_))
      << unmet(report);
  EXPECT_EQ(report.agents.back().node, "a");
}

TEST(Core, ANodeWhoseAgentOnlyTheTimelineWouldHaveStartedGetsOne) {
  Scenario scenario = healed({});
  scenario.protocol.variant = model::Variant::hardened;
  scenario.cluster.nodes[1].start.reset();
  scenario.cluster.nodes[2].start.reset();
  const RunReport report = run_bare(scenario);
  EXPECT_THAT(outcomes(report), ElementsAre("a succeeded", "d succeeded", "b succeeded"))
      << unmet(report);
}

TEST(Core, NoEntryOfTheTimelineActsAnyMore) {
  TimelineEntry again = at(20s, "net.reset", {"a"});
  again.every = 30s;
  again.times = 20;
  TimelineEntry waiting = on("rendezvous.completed", "worker.exit", {"a"});
  waiting.trigger.after = 200s;
  TimelineEntry at_a_point = waiting;
  at_a_point.trigger = {};
  at_a_point.trigger.fault_point = "agent.exit_barrier";
  Lines lines;
  run_bare(healed({again, waiting, at_a_point, at(90s, "node.crash", {"b"})}), &lines);
  EXPECT_THAT(lines.with({"timeline.acted"}), SizeIs(2));
}

TEST(Core, WhatHadBeenSetOffElsewhereDoesNotHappenAndSchedulersWorkForTheCoreAlone) {
  TimelineEntry relaunch = at(1s, "sched.relaunch", {"a", "c"});
  relaunch.amount = 5;
  relaunch.span = 30s;
  Scenario scenario = healed({relaunch, at(50s, "agent.kill", {"a"}), at(50s, "agent.kill", {"c"}),
                              at(20s, "agent.restart", {"d"})});
  scenario.workers.program = {work(100s), exit_with(1)};
  scenario.protocol.agent.max_restarts = 0;
  Lines lines;
  run_bare(scenario, &lines);
  EXPECT_THAT(lines.with({"agent.started", "s c["}), SizeIs(1));
  EXPECT_THAT(lines.with({"agent.started", "s d["}), SizeIs(1));
  EXPECT_GE(lines.with({"agent.started", "s a["}).size(), 3U);
}

TEST(Core, TheStoreIsStartedAgainAndServesAsItDid) {
  TimelineEntry restart = at(20s, "store.restart");
  restart.duration = 500s;
  TimelineEntry slow = at(30s, "store.slow");
  slow.span = 2s;
  TimelineEntry backlog = at(30s, "store.backlog");
  backlog.amount = 1;
  Lines lines;
  lines.names.emplace_back("store");
  Scenario scenario = healed({restart, slow, backlog});
  scenario.protocol.variant = model::Variant::hardened;
  const RunReport report = run_bare(scenario, &lines);
  EXPECT_THAT(lines.with({"store.serving", "60.000", "purpose=\"rendezvous\""}), SizeIs(1));
  EXPECT_THAT(lines.with({"fault.ended", "service_slow", "60.000"}), SizeIs(1));
  EXPECT_THAT(outcomes(report), Contains("a succeeded")) << unmet(report);
}

TEST(Core, AnEtcdThatMisbehavesDoesSoNoLonger) {
  TimelineEntry stale = at(20s, "store.leader_change");
  Scenario scenario = healed({stale});
  scenario.protocol.rendezvous.backend = "etcd-v2";
  TimelineEntry for_a_while = stale;
  for_a_while.duration = 90s;
  scenario.timeline.push_back(for_a_while);
  Lines lines;
  run_bare(scenario, &lines);
  EXPECT_THAT(lines.with({"fault.ended", "etcd_leader_loss", "60.000"}), SizeIs(2));
  EXPECT_THAT(lines.with({"fault.ended", "etcd_leader_loss"}), SizeIs(2));
}

TEST(Core, TheHostOfTheStoreBelongsToIt) {
  Scenario scenario = healed({at(20s, "node.crash", {"d"})});
  scenario.cluster.store_host = "d";
  Lines lines;
  run_bare(scenario, &lines);
  EXPECT_THAT(lines.with({"core.healed"}), ElementsAre(HasSubstr("nodes=\"a,b,d\" work=")));
  EXPECT_THAT(lines.with({"node.restarted", "name=\"d\""}), SizeIs(1));
}

TEST(Core, ANameOfTheStoreThatNoMachineHasLeadsToIt) {
  TimelineEntry alias = at(0s, "dns.alias", {"store"});
  alias.text = "rendezvous";
  TimelineEntry astray = at(20s, "dns.alias", {"c"});
  astray.text = "rendezvous";
  alias.from = {"store_host"};
  Scenario scenario = healed({alias, astray, at(30s, "agent.kill", {"a"})});
  scenario.cluster.store_name = "rendezvous";
  const RunReport report = run_bare(scenario);
  EXPECT_EQ(report.agents.back().node, "a");
  EXPECT_EQ(report.agents.back().outcome, "succeeded") << unmet(report);
}

TEST(Core, WithoutItNothingIsDifferent) {
  TimelineEntry cut = at(20s, "net.partition", {"a"});
  cut.duration = 10s;
  Scenario scenario = healed({cut});
  Lines before;
  run_bare(scenario, &before);
  scenario.core.reset();
  Lines without;
  run_bare(scenario, &without);
  EXPECT_THAT(before.with({"core.healed"}), SizeIs(1));
  EXPECT_THAT(without.with({"core.healed"}), IsEmpty());
  for (std::size_t i = 0; i < without.all.size() && i < before.all.size(); ++i) {
    if (before.all[i].find("core.healed") != std::string::npos) return;
    ASSERT_EQ(before.all[i], without.all[i]);
  }
  FAIL() << "the core was never healed";
}

TEST(Core, TheWorkIsThatOfTheLongestProgram) {
  WorkersPlan plan;
  plan.peer_abort = 7s;
  plan.program = {work(5s), init(), collective(3, 4s), exit_with(0), work(100s)};
  EXPECT_EQ(work_needed(plan).longest, 17s);
  EXPECT_EQ(work_needed(plan).endless, "");
  plan.overrides["b/1/*"] = {work(30s), {WorkerStep::Kind::hang}};
  plan.overrides["c"] = {exit_with(1), {WorkerStep::Kind::hang}};
  EXPECT_EQ(work_needed(plan).longest, 30s);
  EXPECT_EQ(work_needed(plan).endless, "b/1/*");
  WorkerStep await{WorkerStep::Kind::await};
  await.text = "go";
  plan.program = {await};
  EXPECT_EQ(work_needed(plan).endless, "b/1/*") << "it gives up after peer_abort";
  plan.peer_abort.reset();
  EXPECT_EQ(work_needed(plan).endless, "*,b/1/*");
  EXPECT_EQ(work_needed(plan).longest, 30s);
}

TEST(Core, APeerIsWaitedForUntilTheStoreThatItWouldHaveServedIsGivenUp) {
  Scenario scenario = healed({});
  scenario.protocol.rendezvous.backend = "c10d";
  scenario.workers.peer_abort = 44s;
  scenario.workers.program = {init(), collective(6, 10ms), exit_with(0)};
  scenario.workers.overrides["a/*"] = {work(0s), exit_with(0)};
  EXPECT_EQ(wait_for_peers(scenario), 44s) << "the agents serve it";
  scenario.protocol.agent.environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1";
  EXPECT_EQ(wait_for_peers(scenario), 300s);
  scenario.workers.overrides["a/*"] = {exit_with(1)};
  EXPECT_EQ(wait_for_peers(scenario), 44s) << "a worker that fails ends its group";
  scenario.workers.overrides["a/*"] = {work(0s)};
  EXPECT_EQ(wait_for_peers(scenario), 300s);
  scenario.protocol.rendezvous.backend = "static";
  EXPECT_EQ(wait_for_peers(scenario), 44s);
  scenario.protocol.rendezvous.backend = "etcd";
  EXPECT_EQ(wait_for_peers(scenario), 300s);
  scenario.workers.program = {work(5s)};
  EXPECT_EQ(wait_for_peers(scenario), 44s) << "no worker has a group";
  scenario.workers.peer_abort.reset();
  EXPECT_EQ(wait_for_peers(scenario), std::nullopt);
}

TEST(Core, IsWrittenAsItIsRead) {
  Scenario scenario = healed({});
  const std::string text = write_scenario(scenario);
  EXPECT_THAT(text, HasSubstr(R"("core": {"at": "1m", "nodes": ["a", "b"]})"));
  EXPECT_EQ(load_scenario(text, "x"), scenario);
  scenario.core.reset();
  EXPECT_THAT(write_scenario(scenario), Not(HasSubstr("core")));
}

}  // namespace
}  // namespace hooke::scenario
