// A healed core ends its job: late, in time, put off, and excused by what the state proves.
#include "properties/invariants/core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core_scripts.h"
#include "model/observe/restart_events.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// a and b are at work in round 0 since 1 s, and a is the core from 100 s on.
Script a_is_healed(const std::string& endless = "", sim::Duration peers = 60s,
                   AgentSettings settings = {}) {
  Script script = two_nodes_at_work(std::move(settings));
  script.at(100s).core_healed("a", 20s, peers, endless);
  return script;
}

TEST(Core, the_bound_is_the_sum_of_what_lies_before_an_agent) {
  Timeouts with;
  with.join = 600s;
  with.last_call = 30s;
  with.close = 30s;
  with.keep_alive = 15s;
  with.read_timeout = 60s;
  with.monitor = 100ms;
  with.exit_barrier = 300s;
  with.shutdown = 30s;
  EXPECT_EQ(core_bound("c10d", with, 80s), kCoreBound);
  EXPECT_EQ(core_bound("etcd-v2", with, 80s), kCoreBound + 240s) << "etcd's store waits 300 s";
  EXPECT_EQ(core_bound("static", with, 80s), kCoreBound + 840s) << "torchrun's default is 900 s";
}

TEST(Core, an_agent_that_never_ends_breaks_it_and_nothing_is_due_before_a_core_is_healed) {
  Script script = a_is_healed();
  script.at(5000s);
  EXPECT_THAT(late_in_core(script),
              AllOf(HasSubstr("the agent on node a (pid 100) belongs to the core that was healed "
                              "at 100.000 s, and nothing has befallen it since 100.000 s; it "
                              "should have ended by 745.200 s, but at 5000.000 s it still lived: "
                              "it runs its workers of round 0 since 1.000 s"),
                    Not(HasSubstr("node b"))));
  Script never = two_nodes_at_work();
  never.at(5000s);
  EXPECT_THAT(late_in_core(never), IsEmpty());
}

TEST(Core, a_run_that_is_cut_before_and_an_end_in_time_keep_it) {
  Script cut = a_is_healed();
  cut.at(100s + kCoreBound);
  EXPECT_THAT(late_in_core(cut), IsEmpty());
  Script done = two_nodes_at_work();
  done.at(100s).core_healed("a,b", 20s).at(700s).succeed({"a", "b"}).at(5000s);
  EXPECT_THAT(late_in_core(done), IsEmpty());
}

TEST(Core, a_process_that_runs_its_failed_job_again_has_ended_as_an_agent_of_that) {
  Script script = a_is_healed();
  script.at(200s).emit("a", script.agent_pid("a"), ev::job_rerun, {"job", "job.run2", 2});
  script.settings.run_id = "job.run2";
  const auto& with = script.settings;
  script.emit("a", script.agent_pid("a"), ev::agent_started,
              {with.run_id, with.backend, with.min_nodes, with.max_nodes, with.local_world_size,
               with.max_restarts, with.shutdown});
  script.at(300s).finishes("a", "error", 1).at(5000s);
  EXPECT_THAT(late_in_core(script), IsEmpty());
}

TEST(Core, an_end_that_comes_late_breaks_it) {
  Script script = a_is_healed();
  script.at(900s).finishes("a", "error", 1);
  EXPECT_THAT(late_in_core(script),
              HasSubstr("but at 900.000 s it still lived: it runs its workers"));
}

TEST(Core, an_agent_that_starts_when_it_is_healed_is_asked_too) {
  Script script = two_nodes_at_work();
  script.at(50s).kill_agent("b").at(100s).core_healed("a,b", 20s).agent_starts("b").at(5000s);
  EXPECT_THAT(late_in_core(script), HasSubstr("the agent on node b (pid 102) belongs to the core"));
}

TEST(Core, failures_starts_ends_and_what_outsiders_do_begin_the_span_anew) {
  const auto with = [](const std::function<void(Script&)>& news) {
    Script script = two_nodes_at_work();
    script.at(100s).core_healed("a", 20s).at(600s);
    news(script);
    script.at(600s + kCoreBound);
    return late_in_core(script);
  };
  EXPECT_THAT(with([](Script&) {}), Not(IsEmpty()));
  EXPECT_THAT(with([](Script& s) { s.worker_ends("a", 0, 1); }), IsEmpty());
  EXPECT_THAT(with([](Script& s) { s.worker_ends("a", 0, 0); }), Not(IsEmpty())) << "as it should";
  EXPECT_THAT(with([](Script& s) { s.agent_starts("c"); }), IsEmpty());
  EXPECT_THAT(with([](Script& s) { s.kill_agent("b"); }), IsEmpty());
  EXPECT_THAT(with([](Script& s) { s.held_up("a", 1s); }), IsEmpty());
  EXPECT_THAT(with([](Script& s) { s.added("b", "wait_list", 0); }), IsEmpty());
  EXPECT_THAT(with([](Script& s) { s.restarts("a", "membership_change"); }), Not(IsEmpty()))
      << "a job that goes round in circles makes no progress";
}

/// a's worker beats until 600 s, where its agent restarts, and may be silent for 5 s.
std::string told_of_silence(sim::Duration silent, bool last, std::int64_t restarts = 1,
                            std::int64_t budget = 3) {
  AgentSettings settings;
  settings.max_restarts = budget;
  Script script = two_nodes_at_work(std::move(settings));
  const std::int64_t agent = script.agent_pid("a");
  const std::int64_t worker = script.worker_pid("a", 0);
  script.at(100s).core_healed("a", 20s);
  for (std::int64_t i = 0; i < restarts; ++i) {
    script.at(600s * (i + 1) - silent);
    script.emit("a", agent, ev::heartbeat_expected,
                {"w", worker, 0, sim::Duration(5s), -1, "restart"});
    script.emit("a", agent, ev::heartbeat_received, {"w", 1, last});
    script.at(600s * (i + 1)).restarts("a", "heartbeat_loss");
  }
  script.at(600s * restarts + kCoreBound);
  return late_in_core(script);
}

TEST(Core, a_restart_for_a_silent_worker_begins_the_span_anew_within_the_budget) {
  EXPECT_THAT(told_of_silence(5s, false), IsEmpty());
  EXPECT_THAT(told_of_silence(3s, false), Not(IsEmpty())) << "it was heard";
  EXPECT_THAT(told_of_silence(5s, true), Not(IsEmpty())) << "it had said goodbye";
  EXPECT_THAT(told_of_silence(5s, false, 3), IsEmpty());
  EXPECT_THAT(told_of_silence(5s, false, 4), Not(IsEmpty())) << "no restart was left";
}

TEST(Core, it_comes_to_a_round_once_and_not_again_and_again) {
  Script script = a_is_healed();
  script.at(600s).added("a", "wait_list", 0).at(1200s).added("a", "wait_list", 1);
  script.at(600s + kCoreBound + 1s);
  EXPECT_THAT(late_in_core(script), HasSubstr("since 600.000 s"));
}

// ---- excuses

TEST(Core, a_program_without_an_end_excuses_the_agent_that_runs_it_and_its_peers) {
  for (const std::string& endless : {std::string("*"), std::string("b"), std::string("b/0"),
                                     std::string("x,b/0/*"), std::string("a/*")}) {
    Script script = a_is_healed(endless);
    script.at(5000s);
    EXPECT_THAT(late_in_core(script), IsEmpty()) << endless;
  }
  Script of_another = a_is_healed("c,b/1/*");
  of_another.at(5000s);
  EXPECT_THAT(late_in_core(of_another), Not(IsEmpty()));
}

TEST(Core, a_worker_killed_at_its_start_has_not_run_a_program_without_an_end) {
  const auto told_when_killed_after = [](sim::Duration span) {
    Script script;
    script.agent_starts("a").form(0, {"a"}).at(span).kill_agent("a");
    script.process_ends("a", script.worker_pid("a", 0), -9);
    script.agent_starts("a").form(1, {"a"}).at(100s).core_healed("a", 20s, 60s, "a").at(5000s);
    return late_in_core(script);
  };
  EXPECT_THAT(told_when_killed_after(0s), IsEmpty());
  EXPECT_THAT(told_when_killed_after(1s), Not(IsEmpty())) << "the second one ends";
}

TEST(Core, a_worker_of_another_agent_in_its_place_does_not_end_a_program_without_an_end) {
  Script script = two_nodes_at_work();
  script.at(50s).emit("a", 200, ev::worker_started,
                      {"other", std::int64_t{0}, std::int64_t{201}, std::int64_t{0},
                       std::int64_t{0}, std::int64_t{1}, std::int64_t{0}, "a:1"});
  script.at(100s).core_healed("a,b", 20s, 60s, "a").at(5000s);
  EXPECT_THAT(late_in_core(script), IsEmpty());
}

TEST(Core, a_first_run_without_an_end_says_nothing_of_the_second) {
  Script script = two_nodes_at_work();
  script.at(50s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure");
  script.stops_workers("b").restarts("b", "membership_change").at(60s).form(1, {"a", "b"});
  script.at(100s).core_healed("a,b", 20s, 60s, "a").at(5000s);
  EXPECT_THAT(late_in_core(script), HasSubstr("it runs its workers of round 1"));
}

TEST(Core, a_program_without_an_end_does_not_excuse_an_agent_that_is_not_yet_in_a_round) {
  Script script = a_is_healed("*");
  script.at(150s).kill_agent("b").stops_workers("a").restarts("a", "membership_change");
  script.joining("a").at(5000s);
  EXPECT_THAT(late_in_core(script), HasSubstr("it wants to join"));
}

TEST(Core, a_worker_that_waits_for_ever_is_excused_once_a_peer_has_ended_well) {
  Script script = a_is_healed("", -1s);
  script.worker_ends("b", 0, 0).at(5000s);
  EXPECT_THAT(late_in_core(script), IsEmpty());
  Script gives_up = a_is_healed();
  gives_up.worker_ends("b", 0, 0).at(5000s);
  EXPECT_THAT(late_in_core(gives_up), Not(IsEmpty()));
  Script nobody_has = a_is_healed("", -1s);
  nobody_has.at(5000s);
  EXPECT_THAT(late_in_core(nobody_has), Not(IsEmpty()));
}

TEST(Core, a_peer_that_has_ended_well_is_remembered_when_other_processes_start) {
  const auto with = [](bool anew) {
    AgentSettings settings;
    settings.local_world_size = 2;
    Script script = a_is_healed("", -1s, settings);
    script.worker_ends("b", 0, 0).at(200s);
    script.emit("b", script.next_pid("b"), wev::process_started,
                {script.worker_pid("b", 1), "worker-child", script.worker_pid("b", 1)});
    if (anew) script.reaps("b").restarts("b", "worker_failure").workers_start("b");
    script.at(5000s);
    return late_in_core(script);
  };
  EXPECT_THAT(with(false), IsEmpty());
  EXPECT_THAT(with(true), Not(IsEmpty()));
}

TEST(Core, a_worker_outside_that_stands_still_for_good_excuses_its_peers) {
  for (const char* const kind : {"process_hang", "process_unkillable", "process_pause"}) {
    Script script = two_nodes_at_work();
    const std::string target = "b pid " + std::to_string(script.worker_pid("b", 0));
    script.at(50s).fault(1, kind, {}, target).at(100s).core_healed("a", 20s).at(5000s);
    EXPECT_THAT(late_in_core(script), IsEmpty()) << kind;
  }
}

/// b is a member outside of the core, and has a fault; the store is on a machine of its own.
std::string with_fault(const std::string& kind, const std::string& target, bool over = false) {
  Script script = two_nodes_at_work();
  script.emit("store", 7, ev::store_serving, {29400, "rendezvous"});
  script.at(50s).fault(1, kind, {}, target).at(100s).core_healed("a,store", 20s).at(101s);
  if (over) script.fault_over(1, kind);
  script.at(5000s);
  return late_in_core(script);
}

TEST(Core, a_member_that_is_broken_for_good_but_heard_excuses) {
  EXPECT_THAT(with_fault("net_delay", "b <-> a store"), IsEmpty());
  EXPECT_THAT(with_fault("net_partition", "b <-> d"), IsEmpty()) << "the store still hears it";
  EXPECT_THAT(with_fault("disk_full", "b"), Not(IsEmpty())) << "no disk keeps workers waiting";
}

TEST(Core, a_member_that_no_agent_hears_or_whose_fault_is_over_does_not) {
  EXPECT_THAT(with_fault("net_partition", "b <-> a store"), Not(IsEmpty()));
  EXPECT_THAT(with_fault("net_partition", "store -> b"), Not(IsEmpty()));
  EXPECT_THAT(with_fault("net_clog", "b"), Not(IsEmpty()));
  EXPECT_THAT(with_fault("clock_freeze", "b"), Not(IsEmpty()));
  EXPECT_THAT(with_fault("process_pause", "b pid 100"), Not(IsEmpty()));
  EXPECT_THAT(with_fault("net_delay", "b <-> a store", true), Not(IsEmpty()));
  EXPECT_THAT(with_fault("net_delay", "c <-> d"), Not(IsEmpty()));
}

TEST(Core, too_few_agents_may_wait_for_as_long_as_they_may_join) {
  AgentSettings two;
  two.min_nodes = 2;
  const auto until = [&](sim::Duration end) {
    Script script = two_nodes_at_work(two);
    script.at(50s).kill_agent("b").stops_workers("a").restarts("a", "membership_change");
    script.joining("a").at(100s).core_healed("a", 20s).at(end);
    return late_in_core(script);
  };
  EXPECT_THAT(until(100s + kCoreBound + 660s), IsEmpty());
  EXPECT_THAT(until(100s + kCoreBound + 661s), HasSubstr("it wants to join"));
}

TEST(Core, agents_that_a_name_divided_between_two_stores_are_too_few_at_either) {
  const auto with = [](bool led_astray) {
    AgentSettings settings;
    settings.min_nodes = 3;
    Script script(settings);
    script.agent_starts("a").serves_store("a", 29400).joining("a").agent_starts("b").joining("b");
    if (led_astray) script.at(10s).fault(0, "dns_alias", 0s, "c");
    script.agent_starts("c");
    if (led_astray) script.fault_took_effect(0, "dns_alias");
    script.serves_store("c", 29400).joining("c").agent_starts("d").joining("d");
    if (led_astray) script.at(20s).fault_over(0, "dns_alias");
    return late_in_core(script.at(100s).core_healed("a,b,c,d", 20s).at(100s + kCoreBound + 1s));
  };
  EXPECT_THAT(with(true), IsEmpty());
  EXPECT_THAT(with(false), HasSubstr("wants to join")) << "no name was wrong";
}

TEST(Core, an_agent_that_is_about_to_end_and_one_that_shares_a_rank_are_none_of_those_left) {
  AgentSettings two;
  two.min_nodes = 2;
  Script goes = two_nodes_at_work(two);
  goes.at(50s).stops_workers("a").restarts("a", "membership_change").joining("a");
  goes.stops_workers("b").finishes("b", "error", 1).at(100s).core_healed("a", 20s);
  EXPECT_THAT(late_in_core(goes.at(100s + kCoreBound + 660s)), IsEmpty());
  const auto two_on_one_node = [&](const std::string& backend) {
    two.backend = backend;
    Script script(two);
    script.agent_starts("a").agent_starts("a").at(100s).core_healed("a", 20s).at(1700s);
    return late_in_core(script);
  };
  EXPECT_THAT(two_on_one_node("static"), IsEmpty());
  EXPECT_THAT(two_on_one_node("c10d"), HasSubstr("it starts since"));
}

TEST(Core, an_agent_beside_a_round_of_an_outsider_that_does_no_work_may_wait_until_it_gives_up) {
  const auto until = [](sim::Duration end, bool broken) {
    Script script;
    script.agent_starts("a").agent_starts("b").form(0, {"b"});
    if (broken) script.fault(1, "net_delay", {}, "b <-> c");
    script.at(20s).joining("a").added("a", "wait_list", 0);
    script.at(100s).core_healed("a", 20s).at(end);
    return late_in_core(script);
  };
  EXPECT_THAT(until(100s + kCoreBound + 1s, false), HasSubstr("it wants to join"))
      << "a member that is sound lets it in";
  EXPECT_THAT(until(100s + kCoreBound + 660s, true), IsEmpty());
  EXPECT_THAT(until(100s + kCoreBound + 661s, true), HasSubstr("it wants to join"));
}

TEST(Core, a_spare_may_wait_while_all_seats_are_taken) {
  const auto with_seats = [](std::int64_t seats) {
    AgentSettings settings;
    settings.max_nodes = seats;
    Script script = two_nodes_at_work(settings);
    script.at(20s).agent_starts("c").joining("c").added("c", "redundancy_list", 0);
    script.at(100s).core_healed("c", 20s).at(5000s);
    return late_in_core(script);
  };
  EXPECT_THAT(with_seats(2), IsEmpty());
  EXPECT_THAT(with_seats(3), HasSubstr("the agent on node c"));
}

TEST(Core, the_store_may_be_served_while_another_agent_lives) {
  Script script = a_is_healed();
  script.worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").at(5000s);
  EXPECT_THAT(late_in_core(script), IsEmpty());
  Script alone = a_is_healed();
  alone.worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").at(200s).kill_agent("b");
  alone.at(5000s);
  EXPECT_THAT(late_in_core(alone), HasSubstr("it stops"));
  Script at_work = a_is_healed();
  at_work.at(5000s);
  EXPECT_THAT(late_in_core(at_work), HasSubstr("it runs its workers"));
  for (const bool static_job : {true, false}) {
    Script gives_up = a_is_healed("", -1s, a_backend_of(static_job ? -1 : 0));
    gives_up.worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure").at(200s);
    gives_up.emit("a", gives_up.agent_pid("a"), ev::coverage_point, {"store_lingers"}).at(5000s);
    const std::string late = late_in_core(gives_up);
    EXPECT_EQ(late.empty(), static_job) << late;
  }
}

}  // namespace
}  // namespace hooke::properties::test
