// Invariants about stores and what workers are told, each broken once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- store_lifetime

TEST(StoreLifetime, the_death_of_the_store_host_takes_the_store_from_its_clients) {
  Script script = two_nodes_at_work();
  script.at(60s).crash("a");
  EXPECT_THAT(witnesses(script.finish(false), "safety.store_lifetime"),
              HasSubstr("the rendezvous store on node a (pid 100, port 29400) went at 60.000 s "
                        "while the agent on node b "
                        "(pid 100) still needed it: it is a member of round 0"));
}

TEST(StoreLifetime, a_host_that_gives_up_in_the_exit_barrier_takes_the_store_along) {
  Script script = two_nodes_at_work();
  script.at(60s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(360s).leaves_barrier("a", "timed_out").emit("a", 100, ev::store_stopped, {29400});
  script.finishes("a", "succeeded", 0);
  const std::string witness = witnesses(script.finish(false), "safety.store_lifetime");
  EXPECT_THAT(witness, HasSubstr("went at 360.000 s"));
  EXPECT_EQ(std::count(witness.begin(), witness.end(), '\n'), 1)
      << "the store's end is told once: " << witness;
}

TEST(StoreLifetime, an_agent_that_waits_in_a_barrier_that_is_not_full_needs_the_store) {
  Script script = two_nodes_at_work();
  script.at(60s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  script.at(70s).crash("a");
  EXPECT_THAT(witnesses(script.finish(false), "safety.store_lifetime"),
              HasSubstr("it waits in the exit barrier"));
}

TEST(StoreLifetime, agents_that_were_told_to_end_need_no_store) {
  Script script = two_nodes_at_work();
  script.at(60s).signal_agent("a", sim::Signal::term).signal_agent("b", sim::Signal::term);
  script.at(61s).stops_workers("a").finishes("a", "signalled", 1);
  EXPECT_THAT(witnesses(script.finish(false), "safety.store_lifetime"), IsEmpty());
}

TEST(StoreLifetime, the_store_of_workers_is_not_meant) {
  Script script = two_nodes_at_work();
  script.emit("b", 100, ev::store_serving, {40000, "workers"}).at(60s).crash("b");
  EXPECT_THAT(witnesses(script.finish(false), "safety.store_lifetime"), IsEmpty());
}

TEST(StoreLifetime, a_job_without_a_store_of_its_own_uses_the_others) {
  Script script = two_nodes_at_work();
  script.settings.run_id = "second";
  script.agent_starts("c").form(0, {"c"});
  script.at(60s).crash("b").at(61s).succeed({"a"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.store_lifetime"),
              HasSubstr("while the agent on node c"));
}

TEST(StoreLifetime, an_outside_store_serves_every_job) {
  Script script;
  script.emit("s", 50, ev::store_serving, {29400, "rendezvous"});
  script.agent_starts("a").form(0, {"a"}).at(9s).process_ends("s", 50, -9);
  EXPECT_THAT(witnesses(script.finish(false), "safety.store_lifetime"),
              HasSubstr("while the agent on node a"));
}

TEST(StoreLifetime, no_agent_stays_for_one_that_has_not_come_to_the_store_that_replaced_its_own) {
  for (const bool has_come : {false, true}) {
    Script script = two_nodes_at_work();
    script.at(60s).crash("a").agent_starts("a").serves_store("a", 29400).at(61s);
    if (has_come) script.emit("b", 100, ev::rendezvous_exchanged, {"job", "read", 0, 5, 0, 0});
    script.at(121s).finishes("a", "error", 1);
    const auto found = limits(script.finish(false), "safety.store_lifetime");
    const std::string killed = "the store (store_taken)";
    if (has_come) {
      EXPECT_THAT(found, ElementsAre(killed, ""));
    } else {
      EXPECT_THAT(found, ElementsAre(killed));
    }
  }
}

TEST(StoreLifetime, the_members_of_a_round_stay_with_the_store_in_which_it_was_formed) {
  for (const bool older_serves : {true, false}) {
    Script script = two_nodes_at_work();
    script.at(60s).agent_starts("c").serves_store("c", 29400).at(61s);
    if (!older_serves) script.emit("a", 100, ev::store_stopped, {29400});
    script.emit("b", 100, ev::rendezvous_exchanged, {"job", "read", 0, 5, 0, 0});
    script.at(121s).finishes("c", "error", 1);
    const auto found = limits(script.finish(false), "safety.store_lifetime");
    EXPECT_EQ(std::ranges::count(found, ""), older_serves ? 0 : 1);
  }
}

/// a, which serves the store, ends of an error of its own at 60 s, with a fault from 50 s on.
std::string limit_of_a_lost_store(const std::string& kind, const std::string& target) {
  Script script = two_nodes_at_work();
  script.agent_starts("c").at(50s).fault(0, kind, 0s, target);
  script.at(60s).stops_workers("a").finishes("a", "error", 1);
  const auto found = limits(script.finish(false), "safety.store_lifetime");
  return found.size() == 1 ? found.front() : "not told once";
}

TEST(StoreLifetime, what_hinders_the_server_or_the_agent_that_needs_it_is_told_with_it) {
  EXPECT_EQ(limit_of_a_lost_store("net_partition", "b"), "the path to the store (net_partition)");
  EXPECT_EQ(limit_of_a_lost_store("clock_freeze", "a"), "the agent's clock (clock_freeze)");
  EXPECT_EQ(limit_of_a_lost_store("service_stop", "a"), "the store (service_stop)");
}

TEST(StoreLifetime, what_hinders_another_agent_is_no_excuse) {
  EXPECT_EQ(limit_of_a_lost_store("net_partition", "c"), "");
  EXPECT_EQ(limit_of_a_lost_store("net_partition", "b <-> c"), "");
  EXPECT_EQ(limit_of_a_lost_store("clock_freeze", "c"), "");
  EXPECT_EQ(limit_of_a_lost_store("disk_full", "a"), "");
}

TEST(StoreLifetime, of_two_agents_that_need_it_the_one_that_nothing_hinders_is_told_of) {
  Script script = two_nodes_at_work();
  script.agent_starts("c").joining("c").at(50s).fault(0, "net_partition", 0s, "b");
  script.at(60s).stops_workers("a").finishes("a", "error", 1);
  const auto broken = script.finish(false);
  EXPECT_THAT(witnesses(broken, "safety.store_lifetime"), HasSubstr("while the agent on node c"));
  EXPECT_THAT(limits(broken, "safety.store_lifetime"), ElementsAre(""));
}

TEST(StoreLifetime, a_store_that_is_killed_or_told_to_go_is_kept_by_no_agent) {
  Script killed = two_nodes_at_work();
  killed.at(60s).kill_agent("a");
  EXPECT_THAT(limits(killed.finish(false), "safety.store_lifetime"),
              ElementsAre("the store (store_taken)"));
  Script told = two_nodes_at_work();
  told.at(60s)
      .signal_agent("a", sim::Signal::term)
      .stops_workers("a")
      .finishes("a", "signalled", 1);
  EXPECT_THAT(limits(told.finish(false), "safety.store_lifetime"),
              ElementsAre("the store (store_taken)"));
  Script other_killed = two_nodes_at_work();
  other_killed.agent_starts("c").joining("c").at(59s).kill_agent("b").at(60s);
  other_killed.stops_workers("a").finishes("a", "error", 1);
  EXPECT_THAT(limits(other_killed.finish(false), "safety.store_lifetime"), ElementsAre(""));
}

TEST(StoreLifetime, what_is_handed_on_is_the_store_of_the_next_run) {
  Script script = two_nodes_at_work();
  script.emit("s", 50, ev::store_serving, {29401, "rendezvous"});
  const auto& with = script.settings;
  for (const char* const node : {"a", "b"}) {
    script.emit(node, script.agent_pid(node), ev::agent_started,
                {"job.run2", with.backend, with.min_nodes, with.max_nodes, with.local_world_size,
                 with.max_restarts, with.shutdown});
  }
  script.settings.run_id = "job.run2";
  script.joining("b").at(60s).emit("a", 100, ev::store_stopped, {29400});
  EXPECT_THAT(witnesses(script.finish(false), "safety.store_lifetime"),
              HasSubstr("while the agent on node b (pid 100) still needed it: it is joining"));
}

// ---- bootstrap

TEST(Bootstrap, workers_that_are_sent_to_an_earlier_rank_0_break_it) {
  Script script = two_nodes_at_work();
  script.at(10s)
      .restarts("a", "membership_change")
      .restarts("b", "membership_change")
      .joining("a")
      .joining("b");
  script.completed("a", 1, 2)
      .joined("b", 1, 0, 2, "b.sim:29500")
      .joined("a", 1, 1, 2, "a.sim:29500");
  script.workers_start("b").workers_start("a");
  EXPECT_THAT(witnesses(script.finish(false), "safety.bootstrap"),
              HasSubstr("worker pid 102 on node a of round 1 is sent to a.sim:29500 (node a), but "
                        "rank 0 of that round "
                        "is the agent on node b (pid 100)"));
}

TEST(Bootstrap, the_local_host_is_another_one_on_each_machine) {
  const auto told = [](const std::vector<std::string>& order, bool rank_zero_is_known) {
    Script script;
    script.agent_starts("a").agent_starts("b").joining("a").joining("b").completed("a", 0, 2);
    if (rank_zero_is_known) script.joined("a", 0, 0, 2, "localhost:29500");
    script.joined("b", 0, 1, 2, "localhost:29500");
    for (const std::string& node : order) script.workers_start(node);
    if (!rank_zero_is_known) script.joined("a", 0, 0, 2, "localhost:29500");
    return witnesses(script.finish(false), "safety.bootstrap");
  };
  const auto b_is_led_astray = HasSubstr(
      "worker pid 101 on node b of round 0 is sent to localhost:29500 (node b), but rank "
      "0 of that round is the agent on node a (pid 100)");
  EXPECT_THAT(told({"a", "b"}, true), b_is_led_astray);
  EXPECT_THAT(told({"b", "a"}, true), b_is_led_astray);
  EXPECT_THAT(told({"b"}, false), b_is_led_astray);
  EXPECT_THAT(told({"a"}, true), IsEmpty());
}

TEST(Bootstrap, an_agent_that_a_name_led_astray_may_have_found_another_store) {
  for (const std::string kind : {"dns_alias", "net_partition", "not felt"}) {
    Script script;
    script.agent_starts("a").agent_starts("b").agent_starts("c");
    script.fault(0, kind == "net_partition" ? kind : "dns_alias", {}, "a");
    if (kind == "dns_alias") script.fault_took_effect(0, kind);
    script.joined("a", 0, 0, 2, "a.sim:29500").joined("b", 0, 1, 2, "a.sim:29500");
    script.joined("c", 0, 1, 2, "b.sim:29500").workers_start("c");
    EXPECT_THAT(limits(script.finish(false), "safety.bootstrap"),
                ElementsAre(kind == "dns_alias" ? "name resolution (dns_alias)" : ""))
        << kind;
  }
}

TEST(Bootstrap, a_worker_that_starts_before_rank_0_is_known_is_judged_then) {
  Script script;
  script.agent_starts("a").agent_starts("b").joining("a").joining("b").completed("a", 0, 2);
  script.joined("b", 0, 1, 2, "b.sim:29500").workers_start("b");
  script.joined("a", 0, 0, 2, "a.sim:29500");
  EXPECT_THAT(witnesses(script.finish(false), "safety.bootstrap"),
              HasSubstr("is sent to b.sim:29500"));
}

TEST(Bootstrap, an_endpoint_that_was_gone_before_the_round_was_complete_breaks_it) {
  Script script;
  script.agent_starts("a").agent_starts("b").emit("a", 100, wev::listener_opened, {29500});
  script.at(5s).process_ends("a", 100, -9).at(20s).agent_starts("a").form(3, {"a", "b"});
  EXPECT_THAT(witnesses(script.finish(false), "safety.bootstrap"),
              HasSubstr("is sent to a.sim:29500, where nothing has listened since 5.000 s"));
}

TEST(Bootstrap, a_rank_0_that_dies_just_after_the_completion_is_a_loss_and_no_lie) {
  Script script;
  script.agent_starts("a")
      .agent_starts("b")
      .emit("a", 100, wev::listener_opened, {29500})
      .at(5s)
      .joining("a");
  script.joining("b")
      .completed("b", 0, 2)
      .joined("a", 0, 0, 2, "a.sim:29500")
      .joined("b", 0, 1, 2, "a.sim:29500");
  script.at(6s).crash("a").at(6s + 1ms).workers_start("b");
  EXPECT_THAT(witnesses(script.finish(false), "safety.bootstrap"), IsEmpty());
}

TEST(Bootstrap, a_port_that_is_reopened_and_one_that_a_worker_will_open_are_fine) {
  Script script;
  script.agent_starts("a")
      .emit("a", 100, wev::listener_opened, {29500})
      .emit("a", 100, wev::listener_closed, {29500});
  script.at(10s).emit("a", 100, wev::listener_opened, {29500}).form(0, {"a"});
  script.agent_starts("b").joining("b").joined("b", 1, 0, 1, "b.sim:4711").workers_start("b");
  EXPECT_THAT(witnesses(script.finish(false), "safety.bootstrap"), IsEmpty());
}

// ---- env_contract

void worker_started(Script& script, const std::string& node, std::int64_t pid,
                    std::int64_t local_rank, std::int64_t rank, std::int64_t size,
                    std::int64_t restarts) {
  script.emit(node, script.agent_pid(node), ev::worker_started,
              {"job", 0, pid, local_rank, rank, size, restarts, "a.sim:29500"});
}

TEST(EnvContract, one_rank_for_two_workers_breaks_it) {
  Script script;
  script.agent_starts("a").agent_starts("b");
  worker_started(script, "a", 500, 0, 0, 2, 0);
  worker_started(script, "b", 600, 0, 0, 2, 0);
  EXPECT_THAT(
      witnesses(script.finish(false), "safety.env_contract"),
      HasSubstr("rank 0 of round 0 is given to pid 500 on node a and to pid 600 on node b"));
}

TEST(EnvContract, agents_that_a_name_led_apart_know_nothing_of_each_others_ranks) {
  const auto told = [](sim::Duration over, std::int64_t size) {
    Script script;
    script.agent_starts("a").at(1s).fault(0, "dns_alias", {}, "c");
    script.fault_took_effect(0, "dns_alias");
    if (over < 80s) script.at(over).fault_over(0, "dns_alias");
    script.at(80s).agent_starts("b");
    if (over > 80s) script.at(over).fault_over(0, "dns_alias");
    worker_started(script.at(99s), "a", 500, 0, 0, 2, 0);
    worker_started(script, "b", 600, 0, size == 2 ? 0 : 1, size, 0);
    return verdict(script, "safety.env_contract");
  };
  EXPECT_EQ(told(90s, 2), "excused by name resolution (dns_alias)");
  EXPECT_EQ(told(90s, 3), "excused by name resolution (dns_alias)");
  EXPECT_EQ(told(4s, 2), "broken") << "it was over when the second one started";
}

TEST(EnvContract, an_agent_cannot_know_of_an_unkillable_worker_that_its_predecessor_left) {
  const auto told = [](bool agent_ends, const std::string& target, sim::Duration over) {
    Script script;
    script.agent_starts("a").agent_starts("b").joining("a").joining("b").at(1s);
    worker_started(script, "a", 500, 0, 0, 2, 0);
    script.at(2s).fault(0, "process_unkillable", {}, target);
    if (over < 20s) script.at(over).fault_over(0, "process_unkillable");
    if (agent_ends) script.at(10s).kill_agent("a");
    script.at(20s);
    if (agent_ends) script.agent_starts("a");
    worker_started(script, "a", 700, 0, 0, 2, 0);
    return verdict(script, "safety.env_contract");
  };
  const std::string excused = "excused by a worker that cannot be killed (process_unkillable)";
  EXPECT_EQ(told(true, "a pid 500", 60s), excused);
  EXPECT_EQ(told(false, "a pid 500", 60s), "broken") << "it is the agent's own";
  EXPECT_EQ(told(true, "b pid 500", 60s), "broken");
  EXPECT_EQ(told(true, "a pid 500", 4s), "broken") << "it was over when the agent ended";
}

TEST(EnvContract, ranks_out_of_range_and_disputed_sizes_break_it) {
  Script script;
  script.agent_starts("a").agent_starts("b");
  worker_started(script, "a", 500, 0, 2, 2, 0);
  worker_started(script, "a", 501, 1, 0, 2, 0);
  worker_started(script, "b", 600, 0, 1, 3, 0);
  EXPECT_THAT(
      witnesses(script.finish(false), "safety.env_contract"),
      AllOf(HasSubstr("worker pid 500 of the agent on node a (pid 100) is started in round 0 with "
                      "rank 2 of 2"),
            HasSubstr("with local rank 1 of 1"),
            HasSubstr("pid 501 on node a is told a world of 2, pid 600 on node b one of 3")));
}

TEST(EnvContract, ranks_must_be_those_that_the_agents_agreed_on) {
  Script script;
  script.agent_starts("a").joining("a").joined("a", 0, 1, 2, "a.sim:29500");
  worker_started(script, "a", 500, 0, 0, 2, 0);
  EXPECT_THAT(witnesses(script.finish(false), "safety.env_contract"),
              HasSubstr("rank 0 of 2, but the agents had agreed on 1 of 2"));
}

TEST(EnvContract, the_restart_count_is_the_number_of_restarts_for_failures) {
  Script script;
  script.agent_starts("a");
  worker_started(script, "a", 500, 0, 0, 1, 2);
  EXPECT_THAT(witnesses(script.finish(false), "safety.env_contract"),
              HasSubstr("restart count 2, after 0 restart(s) for failures of 3 allowed"));
}

TEST(EnvContract, a_worker_must_join_its_group_as_what_it_was_started_as) {
  Script script = two_nodes_at_work();
  script.emit("a", 101, ev::worker_initialized, {"job", 0, 2, "a.sim:29500", 0});
  script.emit("b", 101, ev::worker_initialized, {"job", 0, 2, "a.sim:29500", 0});
  EXPECT_THAT(witnesses(script.finish(false), "safety.env_contract"),
              HasSubstr("worker pid 101 on node b joined its process group as rank 0 of 2, but was "
                        "started as rank 1 of "
                        "2"));
}

}  // namespace
}  // namespace hooke::properties::test
