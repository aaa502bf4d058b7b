// The shared picture of a run.
#include "properties/invariants/job_view.h"

#include <gtest/gtest.h>

#include "event_builder.h"
#include "properties/invariants/judge.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
namespace wev = world::events;

const Job& only_job(const Script& script) {
  const JobId job = script.view().find_job("job");
  EXPECT_NE(job, kNoJob);
  return script.view().job(job);
}

TEST(JobView, agents_go_through_their_stages) {
  Script script;
  script.agent_starts("a");
  const auto stage = [&] { return script.view().agent(AgentId{0}).stage; };
  EXPECT_EQ(stage(), Stage::starting);
  script.joining("a");
  EXPECT_EQ(stage(), Stage::joining);
  script.joined("a", 0, 0, 1, "a.sim:1");
  EXPECT_EQ(stage(), Stage::joined);
  script.workers_start("a");
  EXPECT_EQ(stage(), Stage::running);
  script.restarts("a", "membership_change");
  EXPECT_EQ(stage(), Stage::restarting);
  script.form(1, {"a"}).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED");
  EXPECT_EQ(stage(), Stage::stopping);
  script.enters_barrier("a");
  EXPECT_EQ(stage(), Stage::barrier);
  script.leaves_barrier("a", "passed");
  EXPECT_EQ(stage(), Stage::stopping);
  script.finishes("a", "succeeded", 0);
  EXPECT_EQ(stage(), Stage::finished);
  EXPECT_FALSE(script.view().agent(AgentId{0}).alive());
  EXPECT_EQ(script.view().agent(AgentId{0}).outcome, "succeeded");
}

TEST(JobView, an_agent_that_leaves_its_round_without_wanting_another_is_ending) {
  const auto stage_after = [](bool joins) {
    Script script;
    script.agent_starts("a").joining("a").joined("a", 0, 0, 1, "a.sim:1");
    if (joins) script.joining("a");
    script.emit("a", 100, ev::rendezvous_left, {"job", 0, 0});
    return script.view().agent(AgentId{0}).stage;
  };
  EXPECT_EQ(stage_after(false), Stage::stopping) << "it could not start its workers";
  EXPECT_EQ(stage_after(true), Stage::joining);
}

TEST(JobView, joining_counts_agents_that_wait_for_a_round_and_spares) {
  Script script = two_nodes_at_work();
  EXPECT_EQ(only_job(script).joining, 0);
  EXPECT_EQ(only_job(script).seated, 2);
  script.agent_starts("c").joining("c");
  EXPECT_EQ(only_job(script).joining, 1);
  script.added("c", "redundancy_list", 0);
  EXPECT_EQ(only_job(script).joining, 1);
  script.added("c", "wait_list", 0);
  EXPECT_EQ(only_job(script).joining, 1);
  script.crash("c");
  EXPECT_EQ(only_job(script).joining, 0);
}

TEST(JobView, a_seat_is_given_up_by_leaving_dying_or_eviction) {
  Script script;
  script.agent_starts("a").agent_starts("b").agent_starts("c").form(0, {"a", "b", "c"});
  const Round* round = script.view().round(script.view().find_job("job"), 0);
  ASSERT_NE(round, nullptr);
  EXPECT_EQ(round->participants, 3);
  EXPECT_EQ(round->current_members, 3);
  EXPECT_EQ(round->first, AgentId{0});
  script.emit("a", 100, ev::rendezvous_left, {"job", 0, 2});
  EXPECT_EQ(round->current_members, 2);
  script.crash("b");
  EXPECT_EQ(round->current_members, 1);
  script.emit("a", 100, ev::rendezvous_evicted, {"job", 0, "c.sim_100_0", 0, 1});
  EXPECT_EQ(round->current_members, 0);
}

TEST(JobView, a_member_of_the_legacy_rendezvous_is_evicted_by_its_keep_alive) {
  Script script;
  script.agent_starts("a").agent_starts("b").agent_starts("c").form(1, {"a", "b"});
  const Round* round = script.view().round(script.view().find_job("job"), 1);
  script.emit("c", 100, ev::rendezvous_evicted, {"job", 1, "/p2p/run_job/rdzv/v_1/rank_7", 0, 1});
  EXPECT_EQ(round->current_members, 2);
  script.emit("c", 100, ev::rendezvous_evicted, {"job", 1, "/p2p/run_job/rdzv/v_1/rank_1", 0, 1});
  EXPECT_EQ(round->current_members, 1);
  EXPECT_FALSE(script.view().agent(AgentId{1}).member);
}

TEST(JobView, a_job_is_decided_by_a_full_exit_barrier) {
  Script script = two_nodes_at_work();
  script.at(5s).enters_barrier("a");
  EXPECT_FALSE(only_job(script).over);
  script.at(6s).enters_barrier("b");
  EXPECT_EQ(only_job(script).over, sim::WorldTime(6s));
}

TEST(
    JobView,
    an_agent_that_is_done_is_no_member_of_a_group_that_meets_under_the_same_number_in_a_new_store) {
  Script script;
  script.agent_starts("a").agent_starts("b").form(0, {"a", "b"}).at(5s).crash("a");
  script.agent_starts("a").serves_store("a", 29400).at(6s).enters_barrier("b").at(7s);
  EXPECT_EQ(only_job(script).rounds.at(0).current_members, 1);
  script.agent_starts("c").form(0, {"a", "c"});
  EXPECT_EQ(only_job(script).rounds.at(0).current_members, 2);
  EXPECT_THAT(only_job(script).rounds.at(0).in_barrier, testing::IsEmpty());
}

TEST(JobView, a_job_is_decided_by_a_failure_without_restart_and_not_by_one_with) {
  Script script = two_nodes_at_work();
  script.group("a", "FAILED");
  EXPECT_FALSE(only_job(script).over);
  script.at(7s).emit("a", 100, ev::group_state, {"FAILED", 3});
  EXPECT_EQ(only_job(script).over, sim::WorldTime(7s));
}

TEST(JobView, a_job_that_has_gone_on_is_not_decided_by_agents_it_has_left_behind) {
  Script script = two_nodes_at_work();
  script.agent_starts("c").form(1, {"a", "c"});
  script.at(7s).emit("b", 100, ev::group_state, {"FAILED", 3});
  EXPECT_FALSE(only_job(script).over);
}

TEST(JobView, a_relaunch_under_the_same_run_id_is_undecided) {
  Script script = two_nodes_at_work();
  script.at(5s).succeed({"a", "b"}).at(60s).agent_starts("a");
  EXPECT_FALSE(only_job(script).over);
  EXPECT_EQ(only_job(script).living, 1);
}

TEST(JobView, nodes_are_called_as_they_were_told_or_as_their_agents_introduce_themselves) {
  EXPECT_EQ(JobView().name(sim::NodeId{1}), "1");
  Script script;
  script.agent_starts("a").agent_starts("b");
  EXPECT_EQ(script.view().name(sim::NodeId{1}), "b");
  EXPECT_EQ(script.view().node_called("b"), sim::NodeId{1});
  script.emit("b", 100, ev::rendezvous_joining, {"job", "gpu7.sim_100_0", -1});
  EXPECT_EQ(script.view().name(sim::NodeId{1}), "gpu7");
  EXPECT_EQ(script.view().describe(AgentId{1}), "the agent on node gpu7 (pid 100)");
  EXPECT_EQ(script.view().node_called("gpu7.sim"), sim::NodeId{1});
  EXPECT_EQ(script.view().node_called("gpu7"), sim::NodeId{1});
  EXPECT_FALSE(script.view().node_called("nobody"));
}

TEST(JobView, a_reused_number_is_a_new_process) {
  Script script = two_nodes_at_work();
  const std::int64_t pid = script.worker_pid("a", 0);
  const Process* worker = script.view().process(sim::NodeId{0}, sim::Pid{101});
  ASSERT_NE(worker, nullptr);
  EXPECT_TRUE(worker->worker);
  EXPECT_EQ(worker->owner, AgentId{0});
  script.worker_ends("a", 0, 1).reaps("a").at(9s).emit("a", pid, wev::process_started,
                                                       {0, "cron", pid});
  const Process* stranger = script.view().process(sim::NodeId{0}, sim::Pid{101});
  ASSERT_NE(stranger, nullptr);
  EXPECT_FALSE(stranger->worker);
  EXPECT_EQ(stranger->owner, kNoAgent);
  EXPECT_EQ(stranger->started, sim::WorldTime(9s));
}

TEST(JobView, a_signal_from_its_own_agent_tells_a_worker_to_stop_and_others_do_not) {
  Script script = two_nodes_at_work();
  script.at(3s).emit("a", 101, wev::process_signalled, {0, 101, 15, 1});
  EXPECT_FALSE(script.view().process(sim::NodeId{0}, sim::Pid{101})->told_to_stop);
  script.at(4s).emit("a", 101, wev::process_signalled, {100, 101, 15, 1});
  EXPECT_EQ(script.view().process(sim::NodeId{0}, sim::Pid{101})->told_to_stop, sim::WorldTime(4s));
}

TEST(JobView, the_spans_of_a_job_are_the_longest_of_its_agents) {
  Script script;
  script.settings.keep_alive = 3s;
  script.settings.shutdown = 90s;
  script.agent_starts("a");
  script.settings.keep_alive = 20s;
  script.settings.shutdown = 10s;
  script.agent_starts("b");
  EXPECT_EQ(only_job(script).timeouts.keep_alive, 20s);
  EXPECT_EQ(only_job(script).timeouts.shutdown, 90s);
  EXPECT_EQ(script.view().agent(AgentId{0}).timeouts.keep_alive, 3s);
}

TEST(JobView, showing_an_event_twice_changes_nothing) {
  JobView view;
  const sim::FieldValue started[] = {"job", "c10d", 1, 4, 1, 3, 0};
  const sim::Event event{sim::EventId{1}, {},           sim::WorldTime{},   sim::WallTime{},
                         sim::NodeId{0},  sim::Pid{10}, &ev::agent_started, started};
  view.see(event);
  view.see(event);
  EXPECT_EQ(view.agent_count(), 1U);
}

TEST(SecondsText, is_whole_milliseconds) {
  EXPECT_EQ(seconds_text(sim::Duration(1'234'567'890)), "1.234 s");
  EXPECT_EQ(seconds_text(sim::WorldTime(90s)), "90.000 s");
}

}  // namespace
}  // namespace hooke::properties::test
