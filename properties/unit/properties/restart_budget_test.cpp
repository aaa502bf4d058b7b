// How often a job may fail.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <string>

#include "event_builder.h"
#include "model/observe/restart_events.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

AgentSettings budget_of(std::int64_t restarts) {
  AgentSettings settings;
  settings.max_restarts = restarts;
  return settings;
}

TEST(RestartBudget, failures_of_different_agents_count_for_one_job) {
  Script script = two_nodes_at_work(budget_of(1));
  script.at(10s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure").joining("a");
  script.restarts("b", "membership_change").at(41s).form(1, {"a", "b"});
  script.at(50s).worker_ends("b", 0, 1).reaps("b").restarts("b", "worker_failure").joining("b");
  script.restarts("a", "membership_change").at(81s).form(2, {"a", "b"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.restart_budget"),
              HasSubstr("round 2 at 81.000 s is restart 2 of job \"job\" after a failure (a worker "
                        "on node b failed); "
                        "max_restarts is 1"));
}

/// Node a restarts for a failure, in the next round b, which has counted that or has not, and then c,
/// which says that `left` of 3 restarts are left. The store is lost at `lost`; c has its seat at 70 s.
std::string says_left_after_others(std::int64_t left, bool counted,
                                   std::optional<sim::Duration> lost) {
  Script script = at_work_beside_a_store({"a", "b"});
  const auto fails = [&](const std::string& node, std::int64_t remaining, std::int64_t round) {
    script.worker_ends(node, 0, 1).reaps(node);
    script.emit(node, script.agent_pid(node), ev::group_restarting,
                {"worker_failure", remaining, round});
    script.stops_workers(node).joining(node);
  };
  script.at(10s);
  fails("a", 2, 0);
  script.restarts("b", "membership_change").at(40s).form(1, {"a", "b"}).at(50s);
  fails("b", counted ? 1 : 2, 1);
  script.restarts("a", "membership_change").agent_starts("c");
  if (lost && *lost < 70s) script.at(*lost).store_dies().store_starts();
  script.at(70s).form(2, {"a", "b", "c"});
  if (lost && *lost >= 70s) script.at(*lost).store_dies().store_starts();
  script.at(90s);
  fails("c", left, 2);
  return verdict(script, "safety.restart_budget");
}

TEST(RestartBudget, an_agent_says_no_more_than_its_job_has_left_where_agents_count_for_each_other) {
  EXPECT_EQ(says_left_after_others(0, true, std::nullopt), "kept");
  EXPECT_EQ(says_left_after_others(1, true, std::nullopt), "broken") << "it has not heard of one";
  EXPECT_EQ(says_left_after_others(2, false, std::nullopt), "kept") << "each counts for itself";
}

TEST(RestartBudget, an_agent_knows_since_it_has_a_seat_what_a_store_loses) {
  EXPECT_EQ(says_left_after_others(2, true, 60s), "broken");
  EXPECT_EQ(says_left_after_others(2, true, 70s), "excused by the store (store_taken)");
  EXPECT_EQ(says_left_after_others(2, true, 80s), "broken");
}

TEST(RestartBudget, agents_that_fail_together_restart_the_job_once) {
  Script script = two_nodes_at_work(budget_of(1));
  for (const char* node : {"a", "b"}) {
    script.at(10s)
        .worker_ends(node, 0, 1)
        .reaps(node)
        .restarts(node, "worker_failure")
        .joining(node);
  }
  script.at(41s).form(1, {"a", "b"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.restart_budget"), IsEmpty());
}

TEST(RestartBudget,
     one_that_fails_with_the_others_and_comes_later_restarts_the_job_no_second_time) {
  Script script = two_nodes_at_work(budget_of(1));
  script.at(10s).worker_ends("a", 0, 1).reaps("a").worker_ends("b", 0, 1).reaps("b");
  script.restarts("a", "worker_failure").joining("a").at(20s).form(1, {"a"});
  script.at(40s).restarts("b", "worker_failure").restarts("a", "membership_change");
  script.at(51s).form(2, {"a", "b"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.restart_budget"), IsEmpty());
}

TEST(RestartBudget, a_node_that_fails_and_returns_restarts_a_job_that_may_not_restart) {
  const auto told = [](bool store_has_forgotten) {
    Script script = two_nodes_at_work(budget_of(0));
    script.at(20s).worker_ends("b", 0, 3).reaps("b").finishes("b", "failed", 1);
    if (store_has_forgotten) script.at(21s).fault(0, "etcd_expiry");
    script.at(22s)
        .agent_starts("b")
        .joining("b")
        .added("b", "wait_list", 0)
        .restarts("a", "membership_change");
    script.at(53s).form(1, {"a", "b"});
    return witnesses(script.finish(false), "safety.restart_budget");
  };
  EXPECT_THAT(
      told(false),
      HasSubstr("restart 1 of job \"job\" after a failure (the agent on node b was relaunched)"));
  EXPECT_THAT(told(true), IsEmpty()) << "it cannot be known how it ended";
}

TEST(RestartBudget, no_agent_counts_a_failure_that_the_store_could_not_be_told_of) {
  const auto is_counted = [](sim::Duration from, sim::Duration to) {
    Script script(budget_of(0));
    script.agent_starts("a").agent_starts("b").form(0, {"a", "b"});
    script.at(from).fault(0, "service_error", {}, "store");
    if (to < 25s) script.at(to).fault_over(0, "service_error");
    script.at(20s).worker_ends("b", 0, 3).reaps("b").emit("b", 100, ev::job_given_up, {0});
    if (to > 25s) script.at(25s);
    script.finishes("b", "failed", 1).at(30s);
    if (to > 25s) script.fault_over(0, "service_error");
    script.agent_starts("b").joining("b").restarts("a", "rendezvous_lost").at(53s);
    return !witnesses(script.form(1, {"a", "b"}).finish(false), "safety.restart_budget").empty();
  };
  EXPECT_FALSE(is_counted(15s, 30s));
  EXPECT_TRUE(is_counted(5s, 8s)) << "the store answers again";
}

TEST(RestartBudget, no_agent_counts_a_restart_of_a_node_that_is_cut_off_ever_since) {
  const auto is_counted = [](const std::string& target, bool heals, sim::Duration from = 5s) {
    Script script(budget_of(1));
    script.store_starts().agent_starts("a").form(0, {"a"}).agent_starts("b");
    static_cast<void>(script.next_pid("c"));
    if (from < 10s) script.at(from).fault(0, "net_partition", {}, target);
    script.at(10s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure").joining("a");
    if (from > 10s) script.at(from).fault(0, "net_partition", {}, target);
    if (heals) script.at(15s).fault_over(0, "net_partition");
    script.at(20s).form(1, {"b"});
    script.at(30s).worker_ends("b", 0, 1).reaps("b").restarts("b", "worker_failure").joining("b");
    script.at(40s).form(2, {"b"});
    const auto broken = witnesses(script.finish(false), "safety.restart_budget");
    return broken.find("round 2 at 40.000 s is restart 2") != std::string::npos;
  };
  EXPECT_FALSE(is_counted("a", false));
  EXPECT_FALSE(is_counted("a", false, 11s)) << "no other agent has looked yet";
  EXPECT_TRUE(is_counted("a", false, 13s)) << "they have looked at the store meanwhile";
  EXPECT_TRUE(is_counted("a", true)) << "it could be heard before the others went on";
  EXPECT_TRUE(is_counted("c", false)) << "it could be heard all the time";
  EXPECT_TRUE(is_counted("a <-> b", false)) << "no store is there";
}

/// Two agents start a worker again alone, of a job that may do so once: the first one while a fault
/// on its way to the store begins and ends at these times, the second one at `again`.
std::string started_again_alone(sim::Duration from, sim::Duration to, sim::Duration again,
                                const std::string& cut = "store") {
  const bool is_store = cut == "store";
  Script script = at_work_beside_a_store({"a", "b"}, budget_of(1));
  const std::string fault = is_store ? "service_error" : "net_partition";
  const auto start_again = [&script](const std::string& node, std::int64_t rank) {
    script.emit(node, script.agent_pid(node), ev::worker_restarting,
                {script.worker_pid(node, 0), 0, rank, 0});
  };
  if (from < 10s) script.at(from).fault(0, fault, {}, cut);
  script.at(10s);
  start_again("a", 0);
  if (from > 10s) script.at(from).fault(0, fault, {}, cut);
  script.at(std::min(to, again)).fault_over(0, fault).at(again);
  start_again("b", 1);
  return witnesses(script.finish(false), "safety.restart_budget");
}

TEST(RestartBudget, workers_that_are_started_again_alone_count_once_their_agent_can_tell) {
  EXPECT_THAT(started_again_alone(5s, 20s, 60s),
              HasSubstr("rank 1 is started again alone at 60.000 s, which is restart 2 of job"));
  EXPECT_THAT(started_again_alone(5s, 20s, 34s), HasSubstr("restart 2"));
  EXPECT_THAT(started_again_alone(5s, 20s, 30s), IsEmpty()) << "it is told every ten seconds";
  EXPECT_THAT(started_again_alone(5s, 60s, 60s), IsEmpty()) << "the store is silent still";
  EXPECT_THAT(started_again_alone(5s, 60s, 60s, "a"), IsEmpty())
      << "the first one is cut off still";
  EXPECT_THAT(started_again_alone(40s, 60s, 60s, "a"), HasSubstr("restart 2")) << "it had told";
  EXPECT_THAT(started_again_alone(5s, 20s, 60s, "a"), HasSubstr("restart 2"));
}

TEST(RestartBudget, a_round_is_charged_with_workers_alone_of_which_its_agent_could_know) {
  const auto is_charged = [](sim::Duration fails) {
    Script script = at_work_beside_a_store({"a", "b"}, budget_of(1));
    script.at(5s).fault(0, "service_error", {}, "store").at(10s);
    script.emit("a", script.agent_pid("a"), ev::worker_restarting,
                {script.worker_pid("a", 0), 0, 0, 0});
    script.at(20s).fault_over(0, "service_error");
    script.at(fails).worker_ends("b", 0, 1).reaps("b").restarts("b", "worker_failure").joining("b");
    script.restarts("a", "membership_change").at(fails + 30s).form(1, {"a", "b"});
    return !witnesses(script.finish(false), "safety.restart_budget").empty();
  };
  EXPECT_FALSE(is_charged(30s)) << "it is told every ten seconds";
  EXPECT_TRUE(is_charged(40s));
}

TEST(RestartBudget, in_a_silence_an_agent_still_counts_its_own) {
  Script script = at_work_beside_a_store({"a", "b"}, budget_of(1));
  script.at(5s).fault(0, "service_error", {}, "store");
  for (const sim::Duration at : {10s, 20s}) {
    script.at(at).emit("a", script.agent_pid("a"), ev::worker_restarting,
                       {script.worker_pid("a", 0), 0, 0, 0});
  }
  EXPECT_THAT(witnesses(script.finish(false), "safety.restart_budget"), HasSubstr("restart 2"));
}

TEST(RestartBudget, what_a_store_has_lost_is_counted_while_the_agent_that_told_it_lives) {
  for (const bool ends : {true, false}) {
    Script script = at_work_beside_a_store({"a", "b"}, budget_of(1));
    const auto start_again = [&script](const std::string& node, std::int64_t rank) {
      script.emit(node, script.agent_pid(node), ev::worker_restarting,
                  {script.worker_pid(node, 0), 0, rank, 0});
    };
    script.at(10s);
    start_again("a", 0);
    if (ends) script.at(15s).kill_agent("a");
    script.at(20s).fault(0, "etcd_expiry").at(40s);
    start_again("b", 1);
    EXPECT_EQ(witnesses(script.finish(false), "safety.restart_budget").empty(), ends);
  }
}

TEST(RestartBudget, no_agent_counts_a_restart_of_a_node_that_went_before_its_store_could_be_heard) {
  for (const sim::Duration goes : {16s, 21s}) {
    Script script(budget_of(1));
    script.agent_starts("a").agent_starts("b").form(0, {"a", "b"});
    script.at(5s).fault(0, "service_error", 10s, "store");
    script.at(10s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure").joining("a");
    script.at(15s).fault_over(0, "service_error").at(goes).finishes("a", "error", 1);
    script.at(25s).restarts("b", "rendezvous_lost").form(1, {"b"});
    script.at(30s).worker_ends("b", 0, 1).reaps("b").restarts("b", "worker_failure").joining("b");
    script.at(40s).form(2, {"b"});
    const auto broken = witnesses(script.finish(false), "safety.restart_budget");
    EXPECT_EQ(broken.find("round 2 at 40.000 s is restart 2") != std::string::npos, goes > 20s)
        << broken;
  }
}

TEST(RestartBudget, no_agent_counts_a_restart_of_a_node_that_takes_its_store_along) {
  const auto is_counted = [](sim::Duration goes, sim::Duration monitor) {
    AgentSettings settings = budget_of(1);
    settings.monitor = monitor;
    Script script(settings);
    script.agent_starts("a").serves_store("a", 29400).agent_starts("b").form(0, {"a", "b"});
    script.at(10s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure");
    script.at(goes).kill_agent("a").at(20s).agent_starts("a").serves_store("a", 29400);
    script.at(25s).restarts("b", "membership_change").form(1, {"a", "b"});
    script.at(30s).worker_ends("b", 0, 1).reaps("b").restarts("b", "worker_failure").joining("b");
    script.at(40s).restarts("a", "membership_change").form(2, {"a", "b"});
    const auto broken = witnesses(script.finish(false), "safety.restart_budget");
    return broken.find("round 2 at 40.000 s is restart 2") != std::string::npos;
  };
  EXPECT_FALSE(is_counted(10s, 100ms));
  EXPECT_TRUE(is_counted(13s, 100ms)) << "the others have looked meanwhile";
  EXPECT_FALSE(is_counted(13s, 5s)) << "they look every five seconds";
  EXPECT_TRUE(is_counted(18s, 5s));
}

TEST(RestartBudget, a_job_is_started_anew_beside_an_agent_that_its_new_store_cannot_hear) {
  const auto is_counted = [](sim::Duration cut_off, bool heals) {
    AgentSettings settings = budget_of(1);
    settings.read_timeout = 2s;
    Script script(settings);
    script.agent_starts("a").serves_store("a", 29400).agent_starts("b").form(0, {"a", "b"});
    script.at(5s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure");
    script.restarts("b", "membership_change").at(10s).form(1, {"a", "b"});
    if (cut_off < 20s) script.at(cut_off).fault(0, "net_partition", {}, "b <-> a");
    script.at(20s).kill_agent("a").at(21s).agent_starts("a").serves_store("a", 29400);
    if (cut_off > 20s) script.at(cut_off).fault(0, "net_partition", {}, "b <-> a");
    if (heals) script.at(35s).fault_over(0, "net_partition");
    script.at(50s).agent_starts("c").form(0, {"a", "c"}).at(60s).restarts("a", "membership_change");
    script.restarts("c", "membership_change").form(1, {"a", "c"});
    script.at(70s).worker_ends("c", 0, 1).reaps("c").restarts("c", "worker_failure");
    script.restarts("a", "membership_change").form(2, {"a", "c"});
    const auto broken = witnesses(script.finish(false), "safety.restart_budget");
    return broken.find("round 2 at 70.000 s is restart 2") != std::string::npos;
  };
  EXPECT_FALSE(is_counted(15s, false));
  EXPECT_TRUE(is_counted(30s, false)) << "it could tell the new store";
  EXPECT_TRUE(is_counted(15s, true)) << "it could tell the new store before the others went on";
}

TEST(RestartBudget, a_loss_counts_and_growth_and_polite_departure_do_not) {
  Script death = two_nodes_at_work(budget_of(0));
  death.at(20s).crash("b").at(30s).restarts("a", "member_lost").at(61s).form(1, {"a"});
  EXPECT_THAT(witnesses(death.finish(false), "safety.restart_budget"),
              HasSubstr("the agent on node a had lost another"));
  Script peaceful = two_nodes_at_work(budget_of(0));
  peaceful.at(20s)
      .signal_agent("b", sim::Signal::term)
      .stops_workers("b")
      .finishes("b", "signalled", 1);
  peaceful.agent_starts("c")
      .joining("c")
      .added("c", "wait_list", 0)
      .restarts("a", "membership_change");
  peaceful.at(51s).form(1, {"a", "c"});
  EXPECT_THAT(witnesses(peaceful.finish(false), "safety.restart_budget"), IsEmpty());
}

TEST(RestartBudget, an_agent_that_fails_in_a_round_that_the_others_have_left_is_a_newcomer) {
  AgentSettings settings;
  settings.max_restarts = 1;
  Script script(settings);
  script.agent_starts("a").agent_starts("b").agent_starts("c").form(0, {"a", "b", "c"});
  script.at(10s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure");
  script.restarts("b", "membership_change").at(11s).form(1, {"a", "b"});
  script.at(20s).worker_ends("c", 0, 1).reaps("c").restarts("c", "worker_failure");
  script.restarts("a", "membership_change").restarts("b", "membership_change");
  script.at(21s).form(2, {"a", "b", "c"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.restart_budget"), IsEmpty());
}

}  // namespace
}  // namespace hooke::properties::test
