// Enough nodes form a round: late, never, in time, hindered, or hindered elsewhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kFormation = "liveness.formation";

// ---- the bound: 15 s + 30 s + twice 5 s

/// Two are enough, from 10 s on; the store is on a machine of its own.
Script two_that_never_form(AgentSettings settings = {}) {
  settings.min_nodes = 2;
  Script script(settings);
  script.store_starts().agent_starts("a").agent_starts("b");
  script.at(5s).joining("a").at(10s).joining("b");
  return script;
}

TEST(Formation, enough_nodes_that_never_form_a_round_break_it) {
  Script script = two_that_never_form();
  script.at(66s);
  EXPECT_THAT(
      witnesses(script.finish(false), kFormation),
      AllOf(HasSubstr(
                "at least 2 agents, which are enough, wanted to join job \"job\" from 10.000 s on"),
            HasSubstr("should have completed by 65.000 s"),
            HasSubstr("had not when the run ended")));
}

TEST(Formation, a_round_that_completes_late_breaks_it) {
  Script script = two_that_never_form();
  script.at(70s).completed("a", 0, 2);
  EXPECT_THAT(witnesses(script.finish(false), kFormation), HasSubstr("did so only at 70.000 s"));
}

TEST(Formation, a_last_call_that_begins_anew_with_each_node_breaks_it) {
  Script script = two_that_never_form();
  script.agent_starts("c").at(30s).joining("c").at(60s).completed("a", 0, 3).at(900s);
  EXPECT_EQ(verdict(script, kFormation), "kept");
  Script later = two_that_never_form();
  later.agent_starts("c").at(38s).joining("c").at(68s).completed("a", 0, 3);
  EXPECT_EQ(verdict(later, kFormation), "broken");
}

TEST(Formation, a_round_in_time_keeps_it) {
  Script script = two_that_never_form();
  script.at(64s).completed("a", 0, 2).at(900s);
  EXPECT_EQ(verdict(script, kFormation), "kept");
}

TEST(Formation, where_keys_must_end_first_the_clock_of_the_store_has_to_go) {
  for (const char* const backend : {"etcd", "c10d"}) {
    for (const char* const target : {"s", "a"}) {
      AgentSettings settings;
      settings.min_nodes = 2;
      settings.backend = backend;
      Script script(settings);
      script.store_starts().agent_starts("a").agent_starts("b").at(4s);
      script.fault(1, "clock_freeze", {}, target);
      script.at(5s).joining("a").at(10s).joining("b").at(590s);
      const std::string why = target == std::string("a")
                                  ? "the agent's clock (clock_freeze)"
                                  : "the end of keys in the store (leases_stopped)";
      const bool excused = target == std::string("a") || backend == std::string("etcd");
      EXPECT_EQ(verdict(script, kFormation), excused ? "excused by " + why : "broken")
          << backend << " " << target;
    }
  }
}

TEST(Formation, a_clock_of_the_store_that_stood_still_before_the_first_agent_came_keeps_keys_too) {
  for (const char* const backend : {"etcd", "c10d"}) {
    for (const bool ends : {true, false}) {
      AgentSettings settings;
      settings.min_nodes = 2;
      settings.backend = backend;
      Script script(settings);
      script.store_starts().fault(1, "clock_freeze", ends ? 3s : 0s, "s").at(4s);
      script.agent_starts("a").agent_starts("b");
      script.at(5s).joining("a").at(10s).joining("b").at(590s);
      const bool excused = backend == std::string("etcd") && !ends;
      EXPECT_EQ(verdict(script, kFormation),
                excused ? "excused by the end of keys in the store (leases_stopped)" : "broken")
          << backend << " " << ends;
    }
  }
}

TEST(Formation, too_few_nodes_or_a_run_that_is_cut_owe_nothing) {
  AgentSettings settings;
  settings.min_nodes = 2;
  Script alone(settings);
  alone.agent_starts("a").joining("a").at(590s);
  EXPECT_EQ(verdict(alone, kFormation), "nothing owed");
  Script cut = two_that_never_form();
  cut.at(64s);
  EXPECT_EQ(verdict(cut, kFormation), "open");
}

TEST(Formation, a_node_that_comes_for_one_that_stands_still_has_its_time_from_then_on) {
  const auto completed_at = [](sim::Duration time) {
    Script script = two_that_never_form();
    script.at(11s).fault(0, "process_pause", 0s, "b pid 100");
    script.at(100s).agent_starts("c").joining("c").at(time).completed("a", 0, 2);
    return verdict(script, kFormation);
  };
  EXPECT_EQ(completed_at(154s), "kept");
  EXPECT_EQ(completed_at(156s), "broken");
}

TEST(Formation, an_attempt_that_loses_a_node_begins_again_with_the_next) {
  Script script = two_that_never_form();
  script.at(60s).crash("b").at(80s).agent_starts("b").joining("b").at(134s).completed("a", 0, 2);
  EXPECT_EQ(verdict(script, kFormation), "kept");
}

/// Nodes a, b and c enter a round at 10 s, which is formed no more at `undone`, and a and b one that
/// completes at `complete`.
std::string verdict_on_a_second_attempt(bool hindered, sim::Duration complete,
                                        sim::Duration undone = 40s) {
  Script script = two_that_never_form();
  script.agent_starts("c").joining("c");
  for (const char* const node : {"a", "b", "c"}) script.added(node, "participants", 1);
  if (hindered)
    script.at(20s).fault(1, "clock_freeze", 100s, "c").fault_took_effect(1, "clock_freeze");
  script.at(undone).added("a", "participants", 2).added("b", "participants", 2);
  script.at(complete).completed("a", 2, 2);
  return verdict(script, kFormation);
}

TEST(Formation, an_attempt_that_a_fault_makes_fall_apart_begins_again) {
  EXPECT_EQ(verdict_on_a_second_attempt(true, 95s), "kept");
  EXPECT_EQ(verdict_on_a_second_attempt(true, 96s), "broken");
  EXPECT_EQ(verdict_on_a_second_attempt(false, 66s), "broken");
}

TEST(Formation, an_attempt_that_a_fault_spoils_may_take_until_those_beside_it_can_know_that) {
  EXPECT_EQ(verdict_on_a_second_attempt(true, 130s, 75s), "kept") << "20 s and 55 s";
  EXPECT_EQ(verdict_on_a_second_attempt(true, 130s, 76s), "broken");
  EXPECT_EQ(verdict_on_a_second_attempt(false, 75s, 66s), "broken");
}

/// As before, but c does not hear that it has entered the first round, in a version of `backend`.
std::string verdict_with_one_that_did_not_hear(const std::string& backend, bool hindered) {
  AgentSettings settings;
  settings.backend = backend;
  Script script = two_that_never_form(settings);
  script.agent_starts("c").joining("c");
  if (hindered) script.fault(1, "net_loss", 0s, "c -> s").fault_took_effect(1, "net_loss");
  for (const char* const node : {"a", "b"}) script.added(node, "participants", 1);
  script.at(40s).added("a", "participants", 2).added("b", "participants", 2);
  script.at(95s).completed("a", 2, 2);
  return verdict(script, kFormation);
}

TEST(Formation, one_that_could_not_hear_that_it_is_in_a_version_of_legacy_etcd_may_spoil_it) {
  EXPECT_EQ(verdict_with_one_that_did_not_hear("etcd", true), "kept");
  EXPECT_EQ(verdict_with_one_that_did_not_hear("etcd", false), "broken");
  EXPECT_EQ(verdict_with_one_that_did_not_hear("c10d", true), "broken")
      << "there a round is complete without a word from those in it";
}

TEST(Formation, spares_of_a_running_job_wait_for_no_round) {
  Script script = two_nodes_at_work();
  script.agent_starts("c").joining("c").added("c", "redundancy_list", 0).at(900s);
  EXPECT_EQ(verdict(script, kFormation), "kept") << "what is owed is round 0";
}

TEST(Formation, spares_that_take_no_free_seat_break_it) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.agent_starts("c").joining("c").added("c", "redundancy_list", 0);
  script.at(100s).crash("a").crash("b").at(156s);
  EXPECT_THAT(witnesses(script.finish(false), kFormation),
              HasSubstr("wanted to join job \"job\" from 100.000 s on"));
}

TEST(Formation, a_store_that_went_with_the_members_excuses_their_spares) {
  Script script = two_nodes_at_work();
  script.agent_starts("c").joining("c").added("c", "redundancy_list", 0);
  script.at(100s).crash("a").crash("b").at(900s);
  EXPECT_EQ(verdict(script, kFormation), "excused by the store (store_gone)");
}

// ---- hindrances: a round needs min agents that nothing hinders

TEST(Formation, what_hinders_an_agent_that_is_needed_puts_it_off) {
  const auto completed_at = [](sim::Duration at) {
    Script script = two_that_never_form();
    script.at(20s).fault(0, "net_partition", 0s, "b").at(200s).fault_over(0, "net_partition");
    script.at(at).completed("a", 0, 2);
    return verdict(script, kFormation);
  };
  EXPECT_EQ(completed_at(315s), "kept") << "200 s, a caught request 60 s, and 55 s";
  EXPECT_EQ(completed_at(316s), "broken");
  Script for_good = two_that_never_form();
  for_good.at(20s).fault(0, "net_partition", 0s, "b").at(900s);
  EXPECT_EQ(verdict(for_good, kFormation), "excused by the path to the store (net_partition)");
}

TEST(Formation, an_agent_that_comes_in_place_of_a_hindered_one_is_owed_from_when_it_came) {
  const auto completed_by_c = [](sim::Duration comes, sim::Duration completes) {
    Script script = two_that_never_form();
    script.at(20s).fault(0, "net_partition", 0s, "b");
    script.at(comes).agent_starts("c").joining("c").at(completes).completed("c", 0, 2);
    return verdict(script, kFormation);
  };
  EXPECT_EQ(completed_by_c(100s, 101s), "kept");
  EXPECT_EQ(completed_by_c(100s, 156s), "broken");
}

TEST(Formation, one_that_comes_in_place_of_a_hindered_one_and_goes_owed_nothing_before_it_came) {
  const auto fails_at = [](sim::Duration fails) {
    Script script = two_that_never_form();
    script.at(20s).fault(0, "net_partition", 0s, "b").at(100s).agent_starts("c").joining("c");
    script.at(fails).emit("c", 100, ev::rendezvous_failed, {"job", "RendezvousClosedError", ""});
    return verdict(script, kFormation);
  };
  EXPECT_EQ(fails_at(101s), "open");
  EXPECT_EQ(fails_at(156s), "broken");
}

TEST(Formation, what_hinders_an_agent_that_is_not_needed_excuses_no_other) {
  for (const char* const hindered : {"c", "a <-> b"}) {
    Script script = two_that_never_form();
    script.agent_starts("c").joining("c").at(20s).fault(0, "net_partition", 0s, hindered).at(66s);
    EXPECT_EQ(verdict(script, kFormation), "broken") << hindered;
  }
}

/// b serves a store of its own from 11 s on, by a name that is wrong until 20 s.
std::string verdict_beside_a_store_of_its_own(bool led_astray, bool until_it_goes) {
  AgentSettings settings;
  settings.min_nodes = 2;
  Script script(settings);
  script.agent_starts("a").serves_store("a", 29400).joining("a");
  if (led_astray) script.at(10s).fault(0, "dns_alias", 0s, "a");
  script.at(11s).agent_starts("b");
  if (led_astray) script.fault_took_effect(0, "dns_alias");
  script.serves_store("b", 29400).joining("b");
  if (led_astray) script.at(20s).fault_over(0, "dns_alias");
  if (!until_it_goes) return verdict(script.at(600s), kFormation);
  script.at(600s).finishes("b", "error", 1).agent_starts("b").joining("b").at(700s);
  return verdict(script, kFormation);
}

TEST(Formation, an_agent_that_was_led_to_serve_a_store_of_its_own_meets_no_other) {
  EXPECT_EQ(verdict_beside_a_store_of_its_own(true, false),
            "excused by name resolution (store_of_its_own)");
  EXPECT_EQ(verdict_beside_a_store_of_its_own(true, true), "broken") << "it can when that is gone";
  EXPECT_EQ(verdict_beside_a_store_of_its_own(false, false), "broken") << "no name was wrong";
}

/// a and d join at the store of a; b serves one of its own, by a name that is wrong from 10 s to
/// 20 s, and c comes at `comes`.
std::string verdict_with_one_that_asks_it(sim::Duration comes, std::int64_t min_nodes) {
  AgentSettings settings;
  settings.min_nodes = min_nodes;
  Script script(settings);
  script.agent_starts("a").serves_store("a", 29400).joining("a").agent_starts("d").joining("d");
  script.at(10s).fault(0, "dns_alias", 0s, "b").agent_starts("b").fault_took_effect(0, "dns_alias");
  script.serves_store("b", 29400).joining("b");
  if (comes < 20s) script.at(comes).agent_starts("c").joining("c");
  script.at(20s).fault_over(0, "dns_alias");
  if (comes > 20s) script.at(comes).agent_starts("c").joining("c");
  return verdict(script.at(600s), kFormation);
}

TEST(Formation, an_agent_that_was_led_to_such_a_store_meets_those_there) {
  EXPECT_EQ(verdict_with_one_that_asks_it(15s, 3), "excused by name resolution (store_of_its_own)");
  EXPECT_EQ(verdict_with_one_that_asks_it(15s, 2), "broken") << "a and d are enough";
  EXPECT_EQ(verdict_with_one_that_asks_it(21s, 3), "broken") << "names were right again";
}

TEST(Formation, one_that_goes_because_the_others_are_cut_off_could_form_no_round) {
  for (const char* const hindered : {"a", "c"}) {
    Script script = two_that_never_form();
    script.agent_starts("c").at(20s).fault(0, "net_partition", 0s, hindered).at(70s);
    script.emit("b", 100, ev::rendezvous_failed, {"job", "RendezvousTimeoutError", ""});
    EXPECT_EQ(verdict(script, kFormation),
              *hindered == 'a' ? "excused by the path to the store (net_partition)" : "broken");
  }
}

TEST(Formation, the_agent_that_first_hears_that_the_round_is_complete_helped_to_form_it) {
  for (const char* const hindered : {"a", "c"}) {
    Script script = two_that_never_form();
    script.agent_starts("c").at(20s).fault(0, "net_delay", 0s, hindered);
    script.at(70s).joined("b", 0, 1, 2, "a:1").completed("a", 0, 2);
    EXPECT_EQ(verdict(script, kFormation),
              *hindered == 'a' ? "excused by the path to the store (net_delay)" : "broken");
  }
}

TEST(Formation, of_three_agents_of_which_two_are_needed_two_must_be_hindered) {
  for (const bool second : {false, true}) {
    Script script = two_that_never_form();
    script.agent_starts("c").joining("c").at(20s).fault(0, "process_pause", 0s, "a pid 100");
    if (second) script.fault(1, "clock_freeze", 0s, "b");
    script.at(66s);
    EXPECT_EQ(verdict(script, kFormation),
              second ? "excused by the agent's process (process_pause)" : "broken");
  }
}

}  // namespace
}  // namespace hooke::properties::test
