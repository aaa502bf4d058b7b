// What one agent may do to the others: give a member up as dead, close the rendezvous.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"
#include "model/observe/restart_events.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// ---- eviction

constexpr const char* kEviction = "safety.eviction";

/// The agent on a gives that on b up as dead.
void evicts_b(Script& script) {
  script.emit("a", script.agent_pid("a"), ev::rendezvous_evicted,
              {"job", 0, "b.sim_100_0", sim::Duration(16s), 1});
}

TEST(Eviction, a_member_that_lives_and_works_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(60s).emit("a", 100, ev::rendezvous_evicted,
                      {"job", 0, "b.sim_100_0", sim::Duration(16s), 1});
  EXPECT_THAT(
      witnesses(script.finish(false), kEviction),
      AllOf(HasSubstr("the agent on node b (pid 100) was given up as dead at 60.000 s by "
                      "node a, to which its last heartbeat was 16.000 s old"),
            HasSubstr("although it lived and no fault had hindered it in the 30.000 s before")));
}

TEST(Eviction, the_dead_and_an_agent_that_has_done_its_work_may_go) {
  Script dead = two_nodes_at_work();
  dead.at(40s).crash("b").at(60s);
  evicts_b(dead);
  EXPECT_EQ(verdict(dead, kEviction), "kept");
  Script done = two_nodes_at_work();
  done.worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b").at(60s);
  evicts_b(done);
  EXPECT_EQ(verdict(done, kEviction), "kept");
}

TEST(Eviction, the_dead_are_given_up_when_their_threshold_is_over_and_no_sooner) {
  const auto verdict_at = [](sim::Duration at, const char* last_write) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(40s).emit("b", 100, ev::rendezvous_write, {"job", "KEEP_ALIVE", 0, 100});
    script.at(41s).emit("b", 100, ev::rendezvous_write, {"job", last_write, 0, 100});
    script.kill_agent("b").at(at);
    evicts_b(script);
    return verdict(script, kEviction);
  };
  EXPECT_EQ(verdict_at(50s, "MARK_RENDEZVOUS_CLOSED"), "broken");
  EXPECT_EQ(verdict_at(52s, "MARK_RENDEZVOUS_CLOSED"), "kept") << "15 s, less a tenth and 2 s";
  EXPECT_EQ(verdict_at(52s, "KEEP_ALIVE"), "broken");
  EXPECT_EQ(verdict_at(53s, "KEEP_ALIVE"), "kept");
}

/// a gives b up at 60 s, with a fault from `at` on.
std::string verdict_of_an_eviction(sim::Duration at, const std::string& kind,
                                   const std::string& target, sim::Duration lasts) {
  AgentSettings settings;
  settings.read_timeout = 5s;
  Script script = at_work_beside_a_store({"a", "b"}, settings);
  script.agent_starts("c").at(at).fault(0, kind, lasts, target).at(60s);
  evicts_b(script);
  return verdict(script, kEviction);
}

TEST(Eviction, what_hinders_the_evicted_or_the_evicting_agent_excuses) {
  const std::string path = "excused by the path to the store (net_partition)";
  EXPECT_EQ(verdict_of_an_eviction(35s, "net_partition", "b", 10s), path);
  EXPECT_EQ(verdict_of_an_eviction(35s, "net_partition", "a -> s", 10s), path);
  EXPECT_EQ(verdict_of_an_eviction(35s, "process_pause", "b pid 100", 10s),
            "excused by the agent's process (process_pause)");
  EXPECT_EQ(verdict_of_an_eviction(35s, "clock_jump", "a", 0s),
            "excused by the agent's clock (clock_jump)");
  EXPECT_EQ(verdict_of_an_eviction(35s, "service_slow", "s", 1s),
            "excused by the store (service_slow)");
}

TEST(Eviction, what_hinders_a_third_agent_or_was_over_long_ago_does_not) {
  for (const char* const target : {"c", "a <-> b", "c -> s"})
    EXPECT_EQ(verdict_of_an_eviction(35s, "net_partition", target, 0s), "broken") << target;
  EXPECT_EQ(verdict_of_an_eviction(35s, "process_pause", "c pid 100", 0s), "broken");
  EXPECT_EQ(verdict_of_an_eviction(35s, "process_pause", "b pid 101", 0s), "broken");
  EXPECT_EQ(verdict_of_an_eviction(35s, "clock_jump", "c", 0s), "broken");
  EXPECT_EQ(verdict_of_an_eviction(5s, "clock_jump", "b", 0s), "broken");
  EXPECT_EQ(verdict_of_an_eviction(5s, "net_partition", "b", 19s), "broken")
      << "24 s, and a caught request 5 s";
  EXPECT_NE(verdict_of_an_eviction(5s, "net_partition", "b", 20s), "broken");
}

TEST(Eviction, an_agent_that_was_held_up_or_had_no_store_or_met_what_lingers_is_excused) {
  Script held_up = two_nodes_at_work();
  held_up.at(40s).held_up("b", 5s).at(60s);
  evicts_b(held_up);
  EXPECT_EQ(verdict(held_up, kEviction), "excused by the agent's process (hold_up)");
  Script other = two_nodes_at_work();
  other.agent_starts("c").at(40s).held_up("c", 5s).at(60s);
  evicts_b(other);
  EXPECT_EQ(verdict(other, kEviction), "broken");
  Script without_store = two_nodes_at_work();
  without_store.at(20s).crash("a").at(45s).agent_starts("a").serves_store("a", 29'400).at(60s);
  evicts_b(without_store);
  EXPECT_THAT(verdict(without_store, kEviction), HasSubstr("excused by the store (store_"));
  Script lingering = two_nodes_at_work();
  lingering.at(10s).fault(0, "service_slow", 1s).at(11s).fault_over(0, "service_slow", 40s);
  evicts_b(lingering.at(60s));
  EXPECT_EQ(verdict(lingering, kEviction), "excused by the store (service_slow)");
}

TEST(Eviction, an_agent_that_gives_itself_up_proves_that_it_lives) {
  for (const char* const kind : {"", "process_pause", "clock_jump"}) {
    Script script = two_nodes_at_work();
    if (*kind != '\0') script.at(35s).fault(0, kind, 10s, "b pid 100");
    script.at(60s).emit("b", 100, ev::rendezvous_evicted,
                        {"job", 0, "b.sim_100_0", sim::Duration(16s), 1});
    EXPECT_THAT(witnesses(script.finish(false), kEviction),
                HasSubstr("the agent on node b (pid 100) gave itself up as dead at 60.000 s: its "
                          "last heartbeat was 16.000 s old"))
        << kind;
  }
}

TEST(Eviction, a_process_that_runs_its_job_again_may_give_up_the_seat_that_it_had_before) {
  for (const std::string seat : {"b.sim_100_0", "b.sim_100_7"}) {
    Script script = two_nodes_at_work();
    const auto& with = script.settings;
    script.at(40s).emit("b", 100, ev::agent_started,
                        {with.run_id, with.backend, with.min_nodes, with.max_nodes,
                         with.local_world_size, with.max_restarts, with.shutdown});
    script.emit("b", 100, ev::rendezvous_joining, {with.run_id, "b.sim_100_7", 0});
    script.at(60s).emit("b", 100, ev::rendezvous_evicted, {"job", 0, seat, sim::Duration(16s), 1});
    EXPECT_EQ(verdict(script, kEviction), seat == "b.sim_100_0" ? "kept" : "broken") << seat;
  }
}

TEST(Eviction, of_the_legacy_rendezvous_the_key_names_the_member) {
  const auto verdict_of = [](const std::string& rank, auto first) {
    Script script = two_nodes_at_work();
    script.agent_starts("c").at(40s);
    first(script);
    script.at(60s).emit("c", 100, ev::rendezvous_evicted,
                        {"job", 0, "/rdzv/job/rdzv/v_0/rank_" + rank, sim::Duration(0), 1});
    return verdict(script, kEviction);
  };
  const auto nothing = [](Script&) {};
  EXPECT_EQ(verdict_of("1", nothing), "broken");
  EXPECT_EQ(verdict_of("11", nothing), "kept") << "that key is of another";
  EXPECT_EQ(verdict_of("1", [](Script& script) { script.crash("b"); }), "kept");
  EXPECT_EQ(verdict_of("1", [](Script& script) { script.restarts("b", "membership_change"); }),
            "kept")
      << "it leaves the version";
  EXPECT_EQ(verdict_of("1", [](Script& script) { script.fault(0, "net_partition", 5s, "b"); }),
            "excused by the path to the store (net_partition)");
}

// ---- close_authority

constexpr const char* kCloseAuthority = "safety.close_authority";

TEST(CloseAuthority, an_agent_that_was_told_to_go_must_not_close) {
  Script script = two_nodes_at_work();
  script.at(10s).signal_agent("b", sim::Signal::term).at(11s).stops_workers("b").closes("b");
  EXPECT_THAT(witnesses(script.finish(false), kCloseAuthority),
              AllOf(HasSubstr("the agent on node b (pid 100) closed the rendezvous of job \"job\" "
                              "at 11.000 s because it "
                              "had been told to end at 10.000 s"),
                    HasSubstr("the agent on node a (pid 100) was a healthy member of round 0")));
}

TEST(CloseAuthority, an_agent_that_gave_up_in_the_exit_barrier_must_not_close) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(310s).leaves_barrier("a", "timed_out").closes("a");
  EXPECT_THAT(witnesses(script.finish(false), kCloseAuthority),
              HasSubstr("after it had left the exit barrier"));
}

TEST(CloseAuthority, an_error_of_ones_own_is_not_the_jobs_outcome) {
  Script script = two_nodes_at_work();
  script.restarts("b", "membership_change").joining("b").at(20s).closes("b");
  EXPECT_THAT(witnesses(script.finish(false), kCloseAuthority),
              HasSubstr("because of an error of its own"));
}

TEST(CloseAuthority, a_barrier_from_which_one_has_gone_back_is_not_full) {
  const auto with = [](const char* result) {
    Script script = two_nodes_at_work();
    script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
    script.at(11s).leaves_barrier("a", result).restarts("a", "membership_change").joining("a");
    script.at(12s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
    script.leaves_barrier("b", "passed").closes("b");
    return witnesses(script.finish(false), kCloseAuthority);
  };
  EXPECT_THAT(with("others_return"), HasSubstr("the agent on node b (pid 100) closed"));
  EXPECT_THAT(with("timed_out"), IsEmpty()) << "it was done, whatever it does since";
}

TEST(CloseAuthority, in_a_new_store_the_group_that_forms_there_fills_its_own_barrier) {
  Script script;
  script.agent_starts("a").serves_store("a", 29400).agent_starts("b").form(0, {"a", "b"});
  script.at(10s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
  script.at(20s).crash("a").at(30s).agent_starts("a").serves_store("a", 29400);
  script.agent_starts("c").joining("c").form(0, {"a"});
  script.at(40s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.leaves_barrier("a", "passed").closes("a");
  EXPECT_THAT(witnesses(script.finish(false), kCloseAuthority), IsEmpty());
}

TEST(CloseAuthority, in_a_new_store_a_rank_that_waited_in_the_old_barrier_comes_anew) {
  Script script;
  script.agent_starts("a").agent_starts("b").serves_store("b", 29400).form(0, {"a", "b"});
  script.at(10s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(20s).crash("b").at(30s).agent_starts("b").serves_store("b", 29400);
  script.leaves_barrier("a", "others_return").restarts("a", "rendezvous_lost").joining("a");
  script.form(0, {"b"}).at(40s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED");
  script.enters_barrier("b").leaves_barrier("b", "passed").closes("b");
  EXPECT_THAT(witnesses(script.finish(false), kCloseAuthority), IsEmpty());
}

TEST(CloseAuthority,
     one_that_was_there_when_all_had_come_may_say_so_to_a_store_that_has_forgotten_it) {
  const auto closed_after = [](bool all_came) {
    Script script;
    script.agent_starts("a").serves_store("a", 29400).agent_starts("b").form(0, {"a", "b"});
    script.at(10s).worker_ends("b", 0, 0).reaps("b").group("b", "SUCCEEDED").enters_barrier("b");
    if (all_came) script.worker_ends("a", 0, 0).reaps("a").enters_barrier("a");
    script.leaves_barrier("b", "passed").at(11s).crash("a").at(12s).agent_starts("a");
    script.serves_store("a", 29400).form(0, {"a"}).at(13s).closes("b");
    return witnesses(script.finish(false), kCloseAuthority);
  };
  EXPECT_THAT(closed_after(true), IsEmpty());
  EXPECT_THAT(closed_after(false), HasSubstr("after it had left the exit barrier without"));
}

TEST(CloseAuthority, an_agent_that_takes_the_seat_of_one_that_gave_the_job_up_brings_its_end) {
  const auto closed_after = [](bool given_up) {
    Script script = two_nodes_at_work();
    script.at(10s).agent_starts("c").joining("c");
    if (given_up) script.emit("b", 100, ev::job_given_up, {0});
    script.at(20s).agent_starts("d").joining("d").completed("d", 1, 2).at(21s).closes("c");
    return witnesses(script.finish(false), kCloseAuthority);
  };
  EXPECT_THAT(closed_after(true), IsEmpty());
  EXPECT_THAT(closed_after(false), HasSubstr("because of an error of its own"));
}

TEST(CloseAuthority, agents_that_are_started_anew_may_find_their_job_given_up) {
  const auto closed_after = [](bool given_up) {
    Script script;
    script.store_starts().agent_starts("a").agent_starts("b").form(0, {"a", "b"}).at(10s);
    if (given_up) script.emit("b", 100, ev::job_given_up, {0});
    script.kill_agent("a").kill_agent("b").at(20s);
    for (const char* const node : {"a", "b"}) script.agent_starts(node).joining(node);
    return witnesses(script.at(40s).closes("a").finish(false), kCloseAuthority);
  };
  EXPECT_THAT(closed_after(true), IsEmpty());
  EXPECT_THAT(closed_after(false), HasSubstr("because of an error of its own"));
}

TEST(CloseAuthority, others_may_go_on_while_an_agent_closes_what_it_has_given_up) {
  const auto closed_after = [](sim::Duration later) {
    Script script;
    script.store_starts().agent_starts("a").agent_starts("b").form(0, {"a", "b"}).at(10s);
    script.kill_agent("a").agent_starts("a").at(20s).emit("b", 100, ev::job_given_up, {0});
    script.at(21s).form(1, {"a"}).at(20s + later).closes("b");
    return witnesses(script.finish(false), kCloseAuthority);
  };
  EXPECT_THAT(closed_after(30s), IsEmpty()) << "its close time-out";
  EXPECT_THAT(closed_after(31s), HasSubstr("was a healthy member of round 1"));
}

TEST(CloseAuthority, the_last_agent_at_work_may_close) {
  Script script = two_nodes_at_work();
  script.at(10s)
      .signal_agent("a", sim::Signal::int_)
      .signal_agent("b", sim::Signal::int_)
      .closes("b");
  EXPECT_THAT(witnesses(script.finish(false), kCloseAuthority), IsEmpty());
}

TEST(CloseAuthority, the_jobs_outcome_closes) {
  Script script = two_nodes_at_work();
  script.at(60s).succeed({"a", "b"});
  EXPECT_EQ(verdict(script, kCloseAuthority), "kept");
}

TEST(CloseAuthority, what_hinders_the_closing_agent_is_told_with_it_and_nothing_else) {
  const auto limit = [](const std::string& kind, const std::string& target, bool felt) {
    Script script = two_nodes_at_work();
    script.fault(0, kind, 0s, target);
    if (felt) script.fault_took_effect(0, kind);
    script.restarts("b", "membership_change").joining("b").at(20s).closes("b");
    const auto found = limits(script.finish(false), kCloseAuthority);
    return found.size() == 1 ? found.front() : "not told once";
  };
  EXPECT_EQ(limit("dns_alias", "a", true), "name resolution (dns_alias)")
      << "it may close another's store";
  EXPECT_EQ(limit("dns_alias", "a", false), "") << "it has led no agent astray";
  EXPECT_EQ(limit("clock_freeze", "b", false), "the agent's clock (clock_freeze)");
  EXPECT_EQ(limit("clock_freeze", "a", false), "") << "the clock of another";
  EXPECT_EQ(limit("net_partition", "b", false), "") << "being cut off is no reason to close";
  EXPECT_EQ(limit("service_slow", "a", false), "");
}

}  // namespace
}  // namespace hooke::properties::test
