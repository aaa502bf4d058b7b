// Once the job is decided, or its own work is done, an agent ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"
#include "model/observe/shutdown_events.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char* kExit = "liveness.exit";

// ---- the bound: 300 s + twice 60 s + 30 s + 30 s + 5 s

/// Its workers are done.
void comes_to_the_barrier(Script& script, const std::string& node) {
  script.worker_ends(node, 0, 0).reaps(node).group(node, "SUCCEEDED").enters_barrier(node);
}

TEST(Exit, an_agent_that_outlives_a_failed_job_breaks_it) {
  Script script = two_nodes_at_work();
  script.at(10s).worker_ends("a", 0, 1).reaps("a").emit("a", 100, ev::group_state, {"FAILED", 3});
  script.closes("a").finishes("a", "failed", 1).at(3600s);
  EXPECT_THAT(witnesses(script.finish(false), kExit),
              AllOf(HasSubstr("job \"job\" was decided (the workers of node a had failed and no "
                              "restart was left) at "
                              "10.000 s"),
                    HasSubstr("the agent on node b (pid 100) should have ended by 495.000 s"),
                    HasSubstr("had not when the run ended at 3600.000 s")))
      << "the store that a took along is no reason to stay";
}

/// b is done at 10 s and stays in its exit barrier until `end`.
std::string verdict_of_one_that_stays(sim::Duration end) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(10s);
  comes_to_the_barrier(script, "b");
  script.at(end).leaves_barrier("b", "failed").finishes("b", "succeeded", 0);
  return verdict(script, kExit);
}

TEST(Exit, an_agent_that_stays_in_the_exit_barrier_breaks_it) {
  EXPECT_EQ(verdict_of_one_that_stays(495s), "kept");
  EXPECT_EQ(verdict_of_one_that_stays(496s), "broken");
  Script script = two_nodes_at_work();
  script.at(10s);
  comes_to_the_barrier(script, "b");
  script.at(500s).leaves_barrier("b", "failed").finishes("b", "succeeded", 0);
  EXPECT_THAT(witnesses(script.finish(false), kExit),
              AllOf(HasSubstr("the work of node b was done at 10.000 s"),
                    HasSubstr("(exit barrier + twice read + close + grace + slack: 485.000 s)"),
                    HasSubstr("did so only at 500.000 s")));
}

TEST(Exit, nothing_is_owed_by_an_agent_that_works_while_nothing_is_decided) {
  Script script = two_nodes_at_work();
  script.at(10s);
  comes_to_the_barrier(script, "a");
  script.at(310s).leaves_barrier("a", "timed_out").finishes("a", "succeeded", 0).at(3600s);
  EXPECT_EQ(verdict(script, kExit), "nothing owed") << "b works, and a serves the store";
}

TEST(Exit, what_becomes_of_a_round_that_others_have_gone_on_from_decides_nothing) {
  Script script = at_work_beside_a_store({"a"});
  script.at(10s).fault(0, "process_pause", 0s, "a pid 100").agent_starts("b").form(1, {"b"});
  script.at(30s).fault_over(0, "process_pause");
  comes_to_the_barrier(script, "a");
  script.leaves_barrier("a", "passed").finishes("a", "succeeded", 0).at(900s);
  EXPECT_NE(verdict(script, kExit), "broken") << "b works on";
}

TEST(Exit, an_agent_that_goes_back_to_work_from_the_exit_barrier_need_not_end) {
  Script script = two_nodes_at_work();
  script.at(10s);
  comes_to_the_barrier(script, "b");
  script.at(20s).leaves_barrier("b", "others_return");
  script.emit("b", 100, ev::group_restarting, {"membership_change", 3, 0}).joining("b");
  script.at(600s).finishes("b", "succeeded", 0);
  EXPECT_EQ(verdict(script, kExit), "nothing owed");
}

TEST(Exit, an_agent_that_serves_the_store_may_serve_the_others_until_they_are_gone) {
  for (const sim::Duration end : {5485s, 5486s}) {
    Script script = two_nodes_at_work();
    script.at(10s);
    comes_to_the_barrier(script, "a");
    script.at(310s).leaves_barrier("a", "timed_out");
    script.at(5000s).finishes("b", "signalled", 1);
    script.at(end).finishes("a", "succeeded", 0);
    EXPECT_EQ(verdict(script, kExit), end == 5485s ? "kept" : "broken");
  }
}

TEST(Exit, an_agent_that_serves_the_store_may_take_one_that_ended_unheard_for_a_silent_client) {
  AgentSettings settings;
  settings.exit_barrier = 10s;
  settings.read_timeout = settings.close = settings.shutdown = 5s;  // 35 s with the slack
  const auto with = [&](const std::string& how, sim::Duration end) {
    Script script = two_nodes_at_work(settings);
    script.at(10s);
    comes_to_the_barrier(script, "a");
    script.at(20s).leaves_barrier("a", "timed_out").at(100s);
    if (how == "cut off") script.fault(0, "net_partition", {}, "b");
    how == "crash" ? script.crash("b") : script.kill_agent("b");
    script.at(end).finishes("a", "succeeded", 0);
    return verdict(script, kExit);
  };
  EXPECT_EQ(with("killed", 135s), "kept");
  EXPECT_EQ(with("killed", 136s), "broken") << "its connections were closed";
  for (const char* const how : {"crash", "cut off"}) {
    EXPECT_EQ(with(how, 225s), "kept") << how;
    EXPECT_EQ(with(how, 226s), "broken") << how;
  }
}

TEST(Exit, an_agent_that_serves_the_store_hears_that_the_others_have_gone_when_its_store_serves) {
  for (const char* kind : {"service_slow", "disk_full"}) {
    Script script = two_nodes_at_work();
    script.at(10s);
    comes_to_the_barrier(script, "a");
    script.at(310s).leaves_barrier("a", "timed_out");
    script.at(4000s).fault(0, kind, {}, "a");
    script.at(5000s).finishes("b", "signalled", 1).at(9000s);
    EXPECT_EQ(verdict(script, kExit),
              kind == std::string("disk_full") ? "broken" : "excused by the store (service_slow)");
  }
}

TEST(Exit, an_agent_that_waits_for_the_others_before_it_closes_may_do_so_for_its_limit) {
  // 485 s, the limit, and three questions of 60 s.
  for (const sim::Duration end : {715s, 716s}) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.emit("b", 100, ev::shutdown_settings, {"graceful", sim::Duration(40s)});
    script.at(10s);
    comes_to_the_barrier(script, "b");
    script.at(end).leaves_barrier("b", "failed").finishes("b", "succeeded", 0);
    EXPECT_EQ(verdict(script, kExit), end == 715s ? "kept" : "broken");
  }
}

// ---- hindrances of the agent itself

/// As verdict_of_one_that_stays, with a fault from 100 s on.
std::string verdict_with(const std::string& kind, const std::string& target, sim::Duration lasts,
                         sim::Duration end) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(10s);
  comes_to_the_barrier(script, "b");
  script.at(100s).fault(0, kind, lasts, target);
  script.at(end).leaves_barrier("b", "failed").finishes("b", "succeeded", 0);
  return verdict(script, kExit);
}

TEST(Exit, what_hinders_the_agent_puts_it_off_and_the_same_fault_elsewhere_does_not) {
  EXPECT_EQ(verdict_with("process_pause", "b pid 100", 50s, 635s), "kept") << "150 s and 485 s";
  EXPECT_EQ(verdict_with("process_pause", "b pid 100", 50s, 636s), "broken");
  EXPECT_EQ(verdict_with("process_pause", "a pid 100", 50s, 496s), "broken");
  EXPECT_EQ(verdict_with("net_delay", "b", 50s, 695s), "kept") << "and a caught request, 60 s";
  EXPECT_EQ(verdict_with("net_delay", "b", 50s, 696s), "broken");
  EXPECT_EQ(verdict_with("net_delay", "a", 50s, 496s), "broken");
  EXPECT_EQ(verdict_with("process_pause", "b pid 100", 0s, 3600s),
            "excused by the agent's process (process_pause)");
  EXPECT_EQ(verdict_with("process_unkillable", "b", 0s, 555s), "kept") << "60 s to give it up";
  EXPECT_EQ(verdict_with("process_unkillable", "b", 0s, 556s), "broken");
  EXPECT_EQ(verdict_with("process_unkillable", "a", 0s, 496s), "broken");
}

TEST(Exit, a_disk_that_stalls_puts_an_agent_off_from_the_moment_when_a_process_there_waits_for_it) {
  const auto with = [](const std::string& target, bool felt, sim::Duration end) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(10s);
    comes_to_the_barrier(script, "b");
    script.at(100s).fault(0, "disk_stall", 50s, target);
    if (felt) script.at(120s).fault_took_effect(0, "disk_stall");
    script.at(end).leaves_barrier("b", "failed").finishes("b", "succeeded", 0);
    return verdict(script, kExit);
  };
  EXPECT_EQ(with("b", true, 635s), "kept") << "150 s and 485 s";
  EXPECT_EQ(with("b", true, 636s), "broken");
  EXPECT_EQ(with("b", false, 496s), "broken") << "no process there read or wrote";
  EXPECT_EQ(with("a", true, 496s), "broken");
}

TEST(Exit, a_store_that_is_silent_or_has_gone_is_no_reason_to_stay) {
  for (const char* const kind : {"service_slow", "service_stop", "service_error"}) {
    EXPECT_EQ(verdict_with(kind, "s", 0s, 495s), "kept") << kind;
    EXPECT_EQ(verdict_with(kind, "s", 0s, 496s), "broken") << kind;
  }
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(10s);
  comes_to_the_barrier(script, "b");
  script.at(20s).store_dies().at(496s);
  EXPECT_EQ(verdict(script, kExit), "broken");
}

// ---- hindrances of what it must hear

TEST(Exit, no_agent_hears_of_an_outcome_that_the_store_has_forgotten) {
  for (const bool forgotten : {false, true}) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.agent_starts("c").joining("c").at(10s).succeed({"a", "b"});
    if (forgotten) script.store_dies().at(11s).store_starts();
    script.at(900s);
    EXPECT_EQ(verdict(script, kExit), forgotten ? "excused by the store (store_gone)" : "broken")
        << "c may go on joining, for as long as it may";
  }
}

/// c joins in vain from 3 s on; a and b end their job at 10 s. `target`: of a partition at 5 s.
std::string verdict_of_a_joiner(const std::string& target, sim::Duration lasts,
                                sim::Duration gone) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(3s).agent_starts("c").joining("c");
  script.at(5s).fault(0, "net_partition", lasts, target).at(10s).succeed({"a", "b"});
  if (lasts > 0s) script.at(5s + lasts).fault_over(0, "net_partition");
  script.at(gone).finishes("c", "error", 1);
  return verdict(script, kExit);
}

TEST(Exit, an_agent_that_is_cut_off_from_the_store_cannot_hear_of_the_outcome) {
  const std::string cut_off = "excused by the path to the store (net_partition)";
  EXPECT_EQ(verdict_of_a_joiner("c", 0s, 603s), cut_off);
  EXPECT_EQ(verdict_of_a_joiner("s -> c", 0s, 603s), cut_off);
  EXPECT_EQ(verdict_of_a_joiner("c", 30s, 580s), "kept") << "35 s, a caught request 60 s, 485 s";
  EXPECT_EQ(verdict_of_a_joiner("c", 30s, 581s), "broken") << "it could hear again";
  EXPECT_EQ(verdict_of_a_joiner("a <-> c", 0s, 603s), "broken") << "no store is at the other end";
}

/// c joins in vain from 3 s on; a and b have all come to the barrier at 10 s, and go at 70 s. The
/// store is silent from 5 s to `until`.
std::string verdict_of_an_untold_joiner(sim::Duration until) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(3s).agent_starts("c").joining("c").at(5s).fault(0, "service_slow", until - 5s, "s");
  if (until < 10s) script.at(until).fault_over(0, "service_slow");
  script.at(10s);
  for (const char* const node : {"a", "b"}) comes_to_the_barrier(script, node);
  script.at(70s);
  for (const char* const node : {"a", "b"})
    script.leaves_barrier(node, "timed_out").finishes(node, "succeeded", 0);
  if (until > 70s) script.at(until).fault_over(0, "service_slow");
  script.at(603s).finishes("c", "error", 1);
  return verdict(script, kExit);
}

TEST(Exit, no_agent_hears_of_what_the_deciding_agent_could_not_tell_the_store) {
  EXPECT_EQ(verdict_of_an_untold_joiner(90s), "kept") << "c owes nothing";
  EXPECT_EQ(verdict_of_an_untold_joiner(7s), "broken") << "a and b went 60 s later";
}

TEST(Exit, what_hinders_the_deciding_agent_after_it_is_gone_excuses_none) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(10s).worker_ends("a", 0, 1).reaps("a").emit("a", 100, ev::group_state, {"FAILED", 3});
  script.at(11s).finishes("a", "failed", 1).at(12s).fault(0, "net_partition", 0s, "a").at(496s);
  EXPECT_EQ(verdict(script, kExit), "broken");
  Script alive = at_work_beside_a_store({"a", "b"});
  alive.at(5s).fault(0, "net_partition", 0s, "a").at(10s).worker_ends("a", 0, 1).reaps("a");
  alive.emit("a", 100, ev::group_state, {"FAILED", 3}).at(496s);
  EXPECT_EQ(verdict(alive, kExit), "excused by the path to the store (net_partition)");
}

/// a and b are done at 10 s, with a clog of `target` from 5 s on. a goes at 70 s; b goes back at 20
/// s, for c, and joins in vain until its time-out.
std::string verdict_of_one_that_went_back(const std::string& target) {
  Script script = at_work_beside_a_store({"a", "b"});
  script.at(5s).fault(0, "net_clog", 0s, target).at(10s);
  for (const char* const node : {"a", "b"}) comes_to_the_barrier(script, node);
  script.at(20s).leaves_barrier("b", "others_return").restarts("b", "membership_change");
  script.joining("b").at(70s).leaves_barrier("a", "failed").finishes("a", "succeeded", 0);
  script.at(620s).finishes("b", "succeeded", 0);
  return verdict(script, kExit);
}

TEST(Exit, no_agent_knows_that_all_have_come_when_one_could_not_say_so) {
  EXPECT_EQ(verdict_of_one_that_went_back("s <-> a"), "kept") << "b may go back to work";
  EXPECT_EQ(verdict_of_one_that_went_back("b <-> a"), "broken");
}

TEST(Exit, an_agent_that_finds_its_barrier_forgotten_may_go_back_to_work) {
  for (const bool forgotten : {false, true}) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(10s);
    for (const char* const node : {"a", "b"}) comes_to_the_barrier(script, node);
    if (forgotten) script.store_dies().at(18s).store_starts();
    script.at(20s).leaves_barrier("b", "others_return").restarts("b", "membership_change");
    script.joining("b").at(70s).leaves_barrier("a", "failed").finishes("a", "succeeded", 0);
    script.at(620s).finishes("b", "succeeded", 0);
    EXPECT_EQ(verdict(script, kExit), forgotten ? "kept" : "broken");
  }
}

TEST(Exit, an_agent_that_saw_its_barrier_open_knows_the_outcome_that_the_store_forgets) {
  for (const char* const result : {"passed", "others_return"}) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(10s);
    for (const char* const node : {"a", "b"}) comes_to_the_barrier(script, node);
    script.store_dies().at(18s).store_starts();
    script.at(20s).leaves_barrier("b", result).restarts("b", "membership_change").joining("b");
    script.at(70s).leaves_barrier("a", "failed").finishes("a", "succeeded", 0);
    script.at(620s).finishes("b", "succeeded", 0);
    EXPECT_EQ(verdict(script, kExit), std::string_view(result) == "passed" ? "broken" : "kept");
  }
}

// ---- static jobs, whose agents never introduce themselves

/// The workers of the last of the nodes fail for good at 10 s, and its agent goes at 70 s. a has
/// the store; d is a machine without an agent. `target`: of a clog at 5 s.
Script static_failure(const std::vector<std::string>& nodes, const std::string& target) {
  AgentSettings settings;
  settings.max_restarts = 0;
  Script script(settings);
  for (const std::string& node : nodes) script.agent_starts(node);
  static_cast<void>(script.next_pid("d"));
  script.serves_store("a", 29400).at(1s);
  std::int64_t rank = 0;
  for (const std::string& node : nodes) {
    script.emit(node, 100, ev::ranks_assigned,
                {"job", -1, rank, std::ssize(nodes), rank, std::ssize(nodes)});
    script.workers_start(node);
    ++rank;
  }
  script.at(5s).fault(0, "net_clog", 0s, target);
  script.at(10s).worker_ends(nodes.back(), 0, 1).reaps(nodes.back()).group(nodes.back(), "FAILED");
  script.at(70s).finishes(nodes.back(), "failed", 1);
  return script;
}

TEST(Exit, a_static_member_that_could_not_tell_of_its_failure_ends_no_other) {
  Script untold = static_failure({"a", "b"}, "b <-> a");
  EXPECT_EQ(verdict(untold.at(3600s), kExit), "kept") << "a never goes";
  Script told = static_failure({"a", "b"}, "d <-> a");
  EXPECT_EQ(verdict(told.at(3600s), kExit), "broken");
}

TEST(Exit, a_static_member_that_cannot_hear_of_a_failure_is_excused) {
  for (const char* const target : {"b <-> a", "b <-> d", "c <-> d"}) {
    Script script = static_failure({"a", "b", "c"}, target);
    script.at(600s).finishes("b", "error", 1);
    EXPECT_EQ(verdict(script, kExit), target == std::string("b <-> a")
                                          ? "excused by the path to the store (net_clog)"
                                          : "broken");
  }
}

/// a's machine crashes with the store, and a newcomer serves another one there; the workers of b
/// fail. Starts b anew in the new store before, if told so.
Script static_store_anew(bool b_too) {
  AgentSettings settings;
  settings.backend = "static";
  settings.max_restarts = b_too ? 1 : 0;
  Script script(settings);
  script.agent_starts("a").agent_starts("b").serves_store("a", 29400).at(1s);
  for (const char* const node : {"a", "b"}) {
    script.emit(node, 100, ev::ranks_assigned, {"job", -1, node[0] - 'a', 2, node[0] - 'a', 2});
    script.workers_start(node);
  }
  script.at(10s).crash("a").agent_starts("a").serves_store("a", 29400).at(100s);
  script.worker_ends("b", 0, 1).reaps("b");
  if (b_too) {
    script.restarts("b", "worker_failure").workers_start("b").at(110s).worker_ends("b", 0, 1);
    script.reaps("b");
  }
  script.group("b", "FAILED").at(160s).finishes("b", "failed", 1);
  return script;
}

TEST(Exit, an_agent_in_a_store_that_came_after_a_static_round_waits_as_long_as_for_ranks) {
  Script waits = static_store_anew(false);
  waits.at(1900s).finishes("a", "error", 1);
  EXPECT_EQ(verdict(waits, kExit), "kept");
  EXPECT_EQ(verdict(static_store_anew(false).at(4000s), kExit), "broken");
  Script hears = static_store_anew(true);
  hears.at(1900s).finishes("a", "error", 1);
  EXPECT_EQ(verdict(hears, kExit), "broken");
}

TEST(Exit, one_member_that_cannot_hear_is_no_excuse_for_another_that_can) {
  Script script = static_failure({"a", "b", "c", "e"}, "b <-> a");
  script.at(600s);
  EXPECT_THAT(witnesses(script.finish(false), kExit),
              AllOf(HasSubstr("the agent on node c (pid 100) should have ended"),
                    Not(HasSubstr("the agent on node b (pid 100) should have ended"))));
}

}  // namespace
}  // namespace hooke::properties::test
