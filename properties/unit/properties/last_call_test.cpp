// A round with seats left is formed when its last call is over, and not before.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::AllOf;
using ::testing::HasSubstr;

constexpr const char* kLastCall = "safety.last_call";

Script& takes_part(Script& script, const std::string& node, std::int64_t size) {
  return script.emit(node, script.agent_pid(node), ev::rendezvous_added,
                     {"job", 0, "participants", size});
}

/// Two of four seats are enough, and are taken from 10 s on; the last call lasts 30 s.
Script two_of_four() {
  AgentSettings settings;
  settings.min_nodes = 2;
  Script script(settings);
  script.store_starts().agent_starts("a").agent_starts("b").agent_starts("c");
  takes_part(script.at(5s), "a", 1);
  takes_part(script.at(10s), "b", 2);
  return script;
}

// The bound: 30 s, less a tenth, less 2 s.

TEST(LastCall, a_round_that_is_formed_when_it_is_over_keeps_it) {
  Script script = two_of_four();
  script.at(35s).completed("a", 0, 2);
  EXPECT_EQ(verdict(script, kLastCall), "kept");
}

TEST(LastCall, a_round_that_is_formed_before_breaks_it) {
  Script script = two_of_four();
  script.at(34s).completed("a", 0, 2);
  EXPECT_THAT(witnesses(script.finish(), kLastCall),
              AllOf(HasSubstr("forms round 0 at 34.000 s with 2 of 4 seats taken"),
                    HasSubstr("enough since 10.000 s, and the last call lasts 30.000 s")));
}

TEST(LastCall, one_that_has_all_its_seats_needs_none) {
  Script script = two_of_four();
  script.at(11s).completed("a", 0, 4);
  EXPECT_EQ(verdict(script, kLastCall), "nothing owed");
}

TEST(LastCall, it_begins_anew_when_too_few_are_left) {
  const auto after = [](bool leaves) {
    Script script = two_of_four();
    script.at(20s);
    if (leaves) {
      script.emit("b", 100, ev::rendezvous_left, {"job", 0, 1});
    } else {
      script.emit("a", 100, ev::rendezvous_evicted, {"job", 0, "b.sim_100_0", 15, 1});
    }
    takes_part(script.at(21s), "c", 2);
    script.at(40s).completed("a", 0, 2);
    return verdict(script, kLastCall);
  };
  EXPECT_EQ(after(true), "broken");
  EXPECT_EQ(after(false), "broken");
}

TEST(LastCall, one_write_tells_of_its_participants_with_its_evictions_in_their_number) {
  const auto formed_at = [](sim::Duration at) {
    Script script = two_of_four();
    // One that had died in the round before, which this write ends.
    script.emit("b", 100, ev::rendezvous_evicted, {"job", 0, "d.sim_100_0", 15, 1});
    takes_part(script.at(20s), "c", 3);
    script.at(at).completed("a", 0, 3);
    return verdict(script, kLastCall);
  };
  EXPECT_EQ(formed_at(35s), "kept");
  EXPECT_EQ(formed_at(34s), "broken");
}

TEST(LastCall, may_be_short_where_its_members_have_been_called_for_a_round_that_was_never_formed) {
  const auto formed_after = [](bool full, sim::Duration lasted, sim::Duration again) {
    Script script = two_of_four();
    const auto joins = [&](const std::string& node, std::int64_t round, std::int64_t size) {
      script.emit(node, script.agent_pid(node), ev::rendezvous_added,
                  {"job", round, "participants", size});
    };
    if (full) joins("c", 0, 4);
    script.at(10s + lasted);
    joins("a", 1, 1);
    joins("b", 1, 2);
    script.at(10s + lasted + again).completed("a", 1, 2);
    return verdict(script, kLastCall);
  };
  EXPECT_EQ(formed_after(false, 31s, 5s), "kept");
  EXPECT_EQ(formed_after(false, 31s, 2s), "broken");
  EXPECT_EQ(formed_after(true, 11s, 5s), "kept");
  EXPECT_EQ(formed_after(false, 11s, 5s), "broken");
}

TEST(LastCall, may_be_short_where_one_that_had_been_called_takes_the_round_with_it) {
  const auto formed_after = [](bool full, sim::Duration lasted, sim::Duration again) {
    Script script = two_of_four();
    if (full) takes_part(script, "c", 4);
    script.at(10s + lasted).emit("c", 100, ev::rendezvous_left, {"job", 0, 0});
    for (const auto& [node, size] : {std::pair("a", 1), std::pair("b", 2)})
      script.emit(node, 100, ev::rendezvous_added, {"job", 1, "participants", size});
    script.at(10s + lasted + again).completed("a", 1, 2);
    return verdict(script, kLastCall);
  };
  EXPECT_EQ(formed_after(true, 11s, 5s), "kept");
  EXPECT_EQ(formed_after(true, 11s, 2s), "broken");
  EXPECT_EQ(formed_after(false, 31s, 5s), "kept");
  EXPECT_EQ(formed_after(false, 11s, 24s), "broken") << "it had not been over";
}

TEST(LastCall, begins_when_they_were_enough_in_whichever_order_they_are_told) {
  const auto formed_at = [](sim::Duration at, const char* late, sim::Duration told) {
    Script script = two_of_four();
    takes_part(script.at(10s + told), late, 1);
    takes_part(script.at(20s), "c", 3);
    script.at(at).completed("a", 0, 3);
    return verdict(script, kLastCall);
  };
  EXPECT_EQ(formed_at(35s, "a", 2ms), "kept");
  EXPECT_EQ(formed_at(34s, "a", 2ms), "broken");
  EXPECT_EQ(formed_at(35s, "b", 2ms), "broken") << "it takes part anew, alone";
  EXPECT_EQ(formed_at(35s, "a", 3s), "broken") << "no answer takes so long";
}

TEST(LastCall, begins_when_they_were_enough_though_one_is_held_up_before_it_tells_that_it_came) {
  const auto formed_at = [](sim::Duration at, sim::Duration held_up) {
    Script script = two_of_four();
    script.held_up("a", held_up);
    takes_part(script.at(14s), "a", 1);
    takes_part(script.at(20s), "c", 3);
    script.at(at).completed("a", 0, 3);
    return verdict(script, kLastCall);
  };
  EXPECT_EQ(formed_at(35s, 3s), "kept");
  EXPECT_EQ(formed_at(34s, 3s), "excused by the agent's process (hold_up)");
  EXPECT_EQ(formed_at(35s, 1s), "broken") << "it runs again for long";
}

TEST(LastCall, goes_on_in_the_round_that_its_participants_bring_to_a_store_that_has_lost_it) {
  const auto formed_at = [](sim::Duration at, bool lost, std::int64_t size) {
    Script script = two_of_four();
    if (lost) script.fault(0, "etcd_expiry");
    script.at(25s).emit("c", 100, ev::rendezvous_added, {"job", 1, "participants", size});
    script.at(at).completed("a", 1, 3);
    return verdict(script, kLastCall);
  };
  EXPECT_EQ(formed_at(35s, true, 3), "kept");
  EXPECT_EQ(formed_at(34s, true, 3), "broken");
  EXPECT_EQ(formed_at(35s, false, 3), "broken") << "nothing was lost";
  EXPECT_EQ(formed_at(35s, true, 2), "broken") << "not all of them have brought it";
}

TEST(LastCall, has_been_where_the_store_loses_a_round_before_all_have_heard_that_it_is_formed) {
  const auto lost_at = [](sim::Duration at, std::int64_t brought) {
    Script script = two_of_four();
    takes_part(script.at(12s), "c", 3);
    script.at(35s).completed("a", 0, 3).joined("a", 0, 0, 3, "a:1");
    if (at > 0s) script.at(at).fault(-1, "etcd_expiry", 0s, "s");
    script.at(40s).joining("a");
    script.emit("a", 100, ev::rendezvous_left, {"job", 1, brought - 1});
    script.emit("a", 100, ev::rendezvous_added, {"job", 1, "participants", brought});
    script.at(42s).completed("b", 1, brought);
    return verdict(script, kLastCall);
  };
  EXPECT_EQ(lost_at(36s, 3), "kept");
  EXPECT_EQ(lost_at(38s, 3), "broken") << "all have heard of it";
  EXPECT_EQ(lost_at(0s, 3), "broken") << "nothing was lost";
  EXPECT_EQ(lost_at(36s, 2), "broken") << "not all of them have brought it";
}

TEST(LastCall, goes_on_when_one_leaves_and_enough_are_left) {
  Script script = two_of_four();
  takes_part(script.at(20s), "c", 3);
  script.at(30s).emit("b", 100, ev::rendezvous_left, {"job", 0, 2});
  script.at(35s).completed("a", 0, 2);
  EXPECT_EQ(verdict(script, kLastCall), "kept");
}

TEST(LastCall, what_kept_an_agent_of_the_job_from_its_store_excuses) {
  const auto with_fault_at = [](const char* target) {
    Script script = two_of_four();
    script.at(12s).fault(0, "net_partition", 5s, target);
    script.at(30s).completed("a", 0, 2);
    return verdict(script, kLastCall);
  };
  EXPECT_EQ(with_fault_at("b"), "excused by the path to the store (net_partition)");
  EXPECT_EQ(with_fault_at("b -> c"), "broken") << "the store is elsewhere";
}

TEST(LastCall, a_clock_that_jumps_is_no_excuse) {
  Script script = two_of_four();
  script.at(12s).fault(0, "clock_jump", 0s, "a");
  script.at(30s).completed("a", 0, 2);
  EXPECT_EQ(verdict(script, kLastCall), "broken");
}

}  // namespace
}  // namespace hooke::properties::test
