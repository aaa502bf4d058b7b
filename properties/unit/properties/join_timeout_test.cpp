// An agent that gets into no round gives up when its join time-out is over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kJoinTimeout = "liveness.join_timeout";

// ---- the bound: 600 s + 60 s + 5 s

AgentSettings two_needed() {
  AgentSettings settings;
  settings.min_nodes = 2;
  return settings;
}

TEST(JoinTimeout, a_node_that_tries_for_ever_breaks_it) {
  Script script(two_needed());
  script.agent_starts("a").at(5s).joining("a").added("a", "participants", 0).at(671s);
  EXPECT_THAT(
      witnesses(script.finish(false), kJoinTimeout),
      AllOf(HasSubstr("the agent on node a (pid 100) has tried to join since 5.000 s"),
            HasSubstr("gone by 670.000 s"), HasSubstr("had not when the run ended at 671.000 s")));
}

TEST(JoinTimeout, an_agent_that_joins_again_after_a_group_that_came_apart_has_its_time_anew) {
  Script script(two_needed());
  script.agent_starts("a").at(5s).joining("a").added("a", "participants", 0);
  script.at(600s).joining("a").at(1200s).emit("a", 100, ev::rendezvous_failed,
                                              {"job", "RendezvousTimeoutError", ""});
  EXPECT_EQ(verdict(script, kJoinTimeout), "kept");
  Script late(two_needed());
  late.agent_starts("a").at(5s).joining("a").at(700s).joining("a");
  EXPECT_THAT(witnesses(late.finish(false), kJoinTimeout), HasSubstr("did so only at 700.000 s"));
}

TEST(JoinTimeout, a_participant_may_see_a_last_call_that_runs_to_its_end) {
  const auto gives_up_at = [](sim::Duration time, bool enough) {
    Script script(two_needed());
    script.agent_starts("a").agent_starts("b").at(5s).joining("a").added("a", "participants", 0);
    if (enough) {
      script.joining("b").emit("b", 100, ev::rendezvous_added, {"job", 0, "participants", 2});
    }
    script.at(time).emit("a", 100, ev::rendezvous_failed, {"job", "RendezvousTimeoutError", ""});
    return witnesses(script.finish(false), kJoinTimeout);
  };
  EXPECT_THAT(gives_up_at(699s, true), IsEmpty());
  EXPECT_THAT(gives_up_at(701s, true), HasSubstr("did so only at 701.000 s"));
  EXPECT_THAT(gives_up_at(699s, false), HasSubstr("did so only at 699.000 s"));
}

TEST(JoinTimeout, an_agent_that_hears_late_that_it_is_in_may_see_the_last_call_too) {
  Script script(two_needed());
  script.agent_starts("a").agent_starts("b").at(5s).joining("a").joining("b");
  script.emit("b", 100, ev::rendezvous_added, {"job", 0, "participants", 2});
  script.at(6s).added("a", "participants", 0);
  script.at(699s).emit("a", 100, ev::rendezvous_failed, {"job", "RendezvousTimeoutError", ""});
  EXPECT_THAT(witnesses(script.finish(false), kJoinTimeout), IsEmpty());
}

TEST(JoinTimeout, a_participant_of_a_round_that_the_store_has_lost_sees_the_last_call_of_the_next) {
  for (const bool lost : {true, false}) {
    Script script(two_needed());
    script.store_starts().agent_starts("a").joining("a").added("a", "participants", 0);
    if (lost) script.at(8s).fault(-1, "etcd_expiry", 0s, "s");
    script.at(590s).agent_starts("b").joining("b");
    script.emit("b", 100, ev::rendezvous_added, {"job", 1, "participants", 2});
    script.at(694s).emit("a", 100, ev::rendezvous_failed, {"job", "RendezvousTimeoutError", ""});
    EXPECT_EQ(witnesses(script.finish(false), kJoinTimeout).empty(), lost);
  }
}

TEST(JoinTimeout, an_agent_that_gives_up_gets_in_or_becomes_a_spare_keeps_it) {
  Script script(two_needed());
  script.agent_starts("a").joining("a").agent_starts("b").joining("b").agent_starts("c");
  script.joining("c").at(600s);
  script.emit("a", 100, ev::rendezvous_failed, {"job", "RendezvousTimeoutError", ""});
  script.joined("b", 0, 0, 1, "b:1").added("c", "redundancy_list", 0).at(3600s);
  EXPECT_EQ(verdict(script, kJoinTimeout), "kept");
  Script let_in(two_needed());
  let_in.agent_starts("c").joining("c").added("c", "redundancy_list", 0).at(1000s);
  let_in.added("c", "wait_list", 0).at(1600s);
  EXPECT_EQ(verdict(let_in, kJoinTimeout), "kept");
}

// ---- hindrances

/// a tries to join from 5 s on, beside a store; what hinders begins at 100 s.
std::string verdict_of_one_that_tries_until(sim::Duration gone, const std::string& kind,
                                            const std::string& target, sim::Duration lasts = 0s) {
  Script script(two_needed());
  script.store_starts().agent_starts("a").agent_starts("b").at(5s).joining("a");
  script.at(100s).fault(0, kind, lasts, target);
  script.at(gone).emit("a", 100, ev::rendezvous_failed, {"job", "RendezvousTimeoutError", ""});
  return verdict(script, kJoinTimeout);
}

TEST(JoinTimeout, what_hinders_the_agent_itself_puts_it_off) {
  for (const auto& [kind, target] :
       {std::pair("process_pause", "a pid 100"), std::pair("clock_freeze", "a")}) {
    EXPECT_EQ(verdict_of_one_that_tries_until(815s, kind, target, 50s), "kept")
        << kind << ": 150 s and 665 s";
    EXPECT_EQ(verdict_of_one_that_tries_until(816s, kind, target, 50s), "broken") << kind;
  }
  EXPECT_EQ(verdict_of_one_that_tries_until(900s, "process_pause", "a pid 100"),
            "excused by the agent's process (process_pause)");
}

TEST(JoinTimeout, the_same_fault_elsewhere_does_not) {
  EXPECT_EQ(verdict_of_one_that_tries_until(671s, "process_pause", "b pid 100"), "broken");
  EXPECT_EQ(verdict_of_one_that_tries_until(671s, "clock_freeze", "b"), "broken");
}

TEST(JoinTimeout, an_agent_that_cannot_ask_gives_up_by_its_own_clock_after_it_has_asked_twice) {
  for (const auto& [kind, target] :
       {std::pair("net_partition", "a"), std::pair("service_stop", "s")}) {
    EXPECT_EQ(verdict_of_one_that_tries_until(730s, kind, target), "kept") << kind;
    EXPECT_EQ(verdict_of_one_that_tries_until(731s, kind, target), "broken") << kind;
    EXPECT_EQ(verdict_of_one_that_tries_until(671s, kind, target, 50s), "broken") << "long over";
  }
}

TEST(JoinTimeout, one_that_is_stopped_for_good_is_excused_and_the_one_beside_it_is_not) {
  Script script(two_needed());
  script.store_starts().agent_starts("a").agent_starts("b").at(5s).joining("a").joining("b");
  script.at(100s).fault(0, "process_pause", 0s, "a pid 100").at(900s);
  EXPECT_THAT(witnesses(script.finish(false), kJoinTimeout),
              AllOf(HasSubstr("the agent on node b (pid 100) has tried to join"),
                    Not(HasSubstr("the agent on node a (pid 100) has tried to join"))));
  EXPECT_EQ(script.accounts().at(kJoinTimeout).excused_by.at("the agent's process (process_pause)"),
            1);
}

}  // namespace
}  // namespace hooke::properties::test
