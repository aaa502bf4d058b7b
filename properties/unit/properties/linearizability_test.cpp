// What agents tell of the rendezvous store, and what the judge of their order makes of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr const char* kLinearizable = "safety.store_linearizable";

/// Agents a, b and c over an outside store, and what they say of it.
class Talk {
 public:
  Talk() {
    script.emit("s", 50, ev::store_serving, {29400, "rendezvous"});
    for (const char* node : {"a", "b", "c"}) script.agent_starts(node).joining(node);
  }
  Talk& reads(const std::string& node, std::int64_t value, sim::Duration took = 2ms,
              sim::Duration ago = {}) {
    return tell(node, "read", 0, value, took + ago, ago);
  }
  Talk& writes(const std::string& node, std::int64_t expected, std::int64_t value,
               sim::Duration took = 2ms) {
    return tell(node, "write", expected, value, took, {});
  }
  Talk& attempts(const std::string& node, std::int64_t expected, std::int64_t value,
                 sim::Duration took = 2ms) {
    return tell(node, "attempt", expected, value, took, {});
  }
  Talk& kills(const std::string& node) {
    script.kill_agent(node);
    killed_ = node;
    return *this;
  }
  Talk& at(sim::Duration time) {
    script.at(time);
    return *this;
  }
  /// All agents that still live have succeeded.
  std::vector<Violation> end() {
    for (const char* node : {"a", "b", "c"}) {
      if (node != killed_) script.finishes(node, "succeeded", 0);
    }
    auto all = script.finish(false);
    std::erase_if(all, [](const Violation& each) { return each.invariant != kLinearizable; });
    return all;
  }
  Script script;

 private:
  std::string killed_;
  Talk& tell(const std::string& node, const char* kind, std::int64_t expected, std::int64_t value,
             sim::Duration began, sim::Duration ended) {
    script.emit(node, script.agent_pid(node), ev::rendezvous_exchanged,
                {"job", kind, expected, value, began, ended});
    return *this;
  }
};

/// All know of state 1.
Talk of_one_mind() {
  Talk talk;
  talk.at(1s).reads("a", 0).at(2s).writes("a", 0, 1).at(3s).reads("b", 1).reads("c", 1);
  return talk;
}

TEST(StoreLinearizable, agents_that_hear_of_each_others_writes_keep_it) {
  Talk talk = of_one_mind();
  talk.at(4s).writes("b", 1, 2).at(5s).reads("a", 2).reads("c", 2).at(6s).writes("c", 2, 3);
  EXPECT_THAT(talk.end(), IsEmpty());
}

TEST(StoreLinearizable,
     a_stale_read_breaks_it_and_names_the_writer_that_had_replaced_what_was_read) {
  Talk talk = of_one_mind();
  talk.at(4s).writes("b", 1, 2).at(6s).reads("c", 1).at(7s).reads("c", 2);
  const auto broken = talk.end();
  EXPECT_THAT(witnesses(broken, kLinearizable),
              AllOf(HasSubstr("the agent on node c (pid 100) found state \"00000001\" (5.998 s "
                              "to 6.000 s), which the agent on node b (pid 100) had "
                              "replaced (3.998 s to 4.000 s)"),
                    HasSubstr("no process had put back")));
  EXPECT_THAT(limits(broken, kLinearizable), ElementsAre(""));
}

TEST(StoreLinearizable, the_last_look_at_a_state_counts_though_it_is_told_with_the_next) {
  Talk talk = of_one_mind();
  talk.at(4s).writes("b", 1, 2).at(60s).reads("c", 1, 2ms, 20s).reads("c", 2);
  EXPECT_THAT(witnesses(talk.end(), kLinearizable), HasSubstr("node c (pid 100) found state"));
  Talk in_time = of_one_mind();
  in_time.at(30s).writes("b", 1, 2).at(60s).reads("c", 1, 2ms, 40s).reads("c", 2);
  EXPECT_THAT(in_time.end(), IsEmpty());
}

TEST(StoreLinearizable, two_writes_over_one_state_lose_one_of_them) {
  Talk talk = of_one_mind();
  talk.at(4s).writes("b", 1, 2).at(5s).writes("c", 1, 3);
  EXPECT_THAT(witnesses(talk.end(), kLinearizable),
              HasSubstr("the agent on node c (pid 100) replaced state \"00000001\" (4.998 s to "
                        "5.000 s), and so had the agent on node b (pid 100) (3.998 s to 4.000 s): "
                        "one of the two writes was lost"));
}

TEST(StoreLinearizable, a_state_that_comes_back_may_be_read_again) {
  Talk talk = of_one_mind();
  talk.at(4s).writes("b", 1, 2).at(5s).writes("b", 2, 1).at(6s).writes("c", 1, 3);
  EXPECT_THAT(talk.end(), IsEmpty());
}

TEST(StoreLinearizable, a_write_without_an_answer_may_come_to_be_at_any_time_or_never) {
  Talk late = of_one_mind();
  late.at(4s).attempts("b", 1, 2).at(90s).reads("a", 2);
  EXPECT_THAT(late.end(), IsEmpty());
  Talk never = of_one_mind();
  never.at(4s).attempts("b", 1, 2).at(90s).writes("a", 1, 3).at(91s).reads("b", 3);
  EXPECT_THAT(never.end(), IsEmpty());
  Talk both = of_one_mind();
  both.at(4s).attempts("b", 1, 2).at(90s).writes("a", 1, 3).at(91s).reads("b", 2);
  EXPECT_THAT(witnesses(both.end(), kLinearizable), HasSubstr("node b (pid 100) found state"));
}

TEST(StoreLinearizable, an_agent_that_is_killed_in_a_write_may_have_made_it) {
  Talk talk = of_one_mind();
  talk.at(4s).kills("b").at(5s).reads("a", 7).reads("c", 7);
  EXPECT_THAT(talk.end(), IsEmpty());
  Talk not_over_another = of_one_mind();
  not_over_another.at(4s).writes("b", 1, 2).at(5s).kills("b");
  not_over_another.at(6s).writes("a", 2, 3).at(7s).reads("c", 9);
  EXPECT_THAT(witnesses(not_over_another.end(), kLinearizable),
              HasSubstr("node c (pid 100) found state"))
      << "b knew of state 2 last, which was replaced";
}

TEST(StoreLinearizable, a_store_that_comes_up_empty_begins_anew) {
  Talk talk = of_one_mind();
  talk.at(4s).script.process_ends("s", 50, -9);
  talk.at(9s).script.emit("s", 51, ev::store_serving, {29400, "rendezvous"});
  talk.at(10s).reads("b", 0).at(11s).writes("b", 0, 5).at(12s).reads("a", 5);
  EXPECT_THAT(talk.end(), IsEmpty());
  Talk without = of_one_mind();
  without.at(10s).reads("b", 0).at(11s).reads("b", 1);
  EXPECT_THAT(witnesses(without.end(), kLinearizable), HasSubstr("found no state"));
}

TEST(StoreLinearizable, what_goes_on_while_stores_change_is_certain_of_neither) {
  Talk talk = of_one_mind();
  talk.at(4s).script.process_ends("s", 50, -9);
  talk.script.emit("s", 51, ev::store_serving, {29400, "rendezvous"});
  talk.at(5s).writes("b", 1, 2, 2s).reads("c", 1, 2s).at(6s).reads("a", 0).at(7s).reads("a", 2);
  EXPECT_THAT(talk.end(), IsEmpty());
}

TEST(StoreLinearizable, while_two_stores_serve_it_is_unknown_which_agent_uses_which) {
  Talk talk = of_one_mind();
  talk.at(4s).script.serves_store("a", 29500);
  talk.at(5s).writes("a", 0, 8).reads("b", 1).at(6s).reads("a", 8).at(7s).reads("b", 1);
  EXPECT_THAT(talk.end(), IsEmpty());
}

TEST(StoreLinearizable, a_store_of_another_job_is_none_of_this_one) {
  Talk talk = of_one_mind();
  talk.script.settings.run_id = "other";
  talk.script.agent_starts("d").serves_store("d", 29500);
  talk.at(4s).reads("a", 1).at(5s).writes("b", 1, 2).at(6s).reads("c", 1).at(7s).reads("c", 2);
  EXPECT_THAT(witnesses(talk.end(), kLinearizable), HasSubstr("node c (pid 100) found state"));
}

/// A wrong name has led one of two agents to serve a store beside that of another job, which both
/// should have used.
TEST(StoreLinearizable, an_agent_that_a_name_led_astray_may_not_use_the_store_of_the_others) {
  const auto told = [](bool by_a_name) {
    Talk talk;
    talk.script.process_ends("s", 50, -9).settings.run_id = "other";
    talk.script.agent_starts("d").serves_store("d", 29400).settings.run_id = "job";
    if (by_a_name)
      talk.at(4s).script.fault(0, "dns_alias", 0s, "a").fault_took_effect(0, "dns_alias");
    talk.at(4s).script.serves_store("a", 29400);
    talk.at(5s).writes("a", 0, 8).at(6s).reads("b", 0).at(7s).reads("a", 8);
    return witnesses(talk.end(), kLinearizable);
  };
  EXPECT_THAT(told(true), IsEmpty());
  EXPECT_THAT(told(false), HasSubstr("node b (pid 100) found no state"));
}

/// A wrong name has an agent of another job serve a store where this job's agents meet, and leads one
/// of them there.
TEST(StoreLinearizable, an_agent_that_a_name_led_to_the_store_of_another_job_reads_there) {
  const auto told = [](bool by_a_name, std::int64_t port) {
    Talk talk;
    talk.script.process_ends("s", 50, -9).serves_store("a", 29400);
    talk.at(1s).writes("a", 0, 1).at(2s).reads("b", 1);
    if (by_a_name)
      talk.at(4s).script.fault(0, "dns_alias", 0s, "a").fault_took_effect(0, "dns_alias");
    talk.script.settings.run_id = "other";
    talk.at(5s).script.agent_starts("d").serves_store("d", port).settings.run_id = "job";
    talk.at(6s).writes("b", 1, 2).script.agent_starts("e").joining("e");
    talk.at(7s).reads("e", 0).at(8s).reads("b", 2);
    return witnesses(talk.end(), kLinearizable);
  };
  EXPECT_THAT(told(true, 29400), IsEmpty());
  EXPECT_THAT(told(true, 29500), HasSubstr("node e (pid 100) found no state")) << "not met there";
  EXPECT_THAT(told(false, 29400), HasSubstr("node e (pid 100) found no state"));
}

TEST(StoreLinearizable, keys_that_ended_too_soon_are_gone) {
  Talk talk = of_one_mind();
  talk.at(4s).script.emit("s", 50, ev::etcd_misbehaved, {"expiry"});
  talk.at(5s).reads("b", 0).at(6s).writes("b", 0, 4).at(7s).reads("c", 4);
  EXPECT_THAT(talk.end(), IsEmpty());
}

TEST(StoreLinearizable, a_state_that_no_agent_wrote_for_hours_may_be_over) {
  Talk talk = of_one_mind();
  talk.at(3h).reads("b", 0).at(3h + 1s).writes("b", 0, 4);
  EXPECT_THAT(talk.end(), IsEmpty());
}

TEST(StoreLinearizable, no_agent_can_keep_what_etcd_was_told_to_break) {
  const auto limits_with = [](const std::string& kind, bool misbehaves) {
    Talk talk = of_one_mind();
    talk.at(4s).writes("b", 1, 2).script.fault(0, kind, 0s, "s");
    if (misbehaves) talk.script.emit("s", 50, ev::etcd_misbehaved, {"stale_read"});
    talk.at(6s).reads("c", 1).at(7s).reads("c", 2);
    return limits(talk.end(), kLinearizable);
  };
  EXPECT_THAT(limits_with("etcd_stale_read", true),
              ElementsAre("the store's contents (etcd_stale_read)"));
  EXPECT_THAT(limits_with("etcd_stale_read", false), ElementsAre("")) << "it has not done so yet";
  EXPECT_THAT(limits_with("net_partition", true), ElementsAre("")) << "no network does that";
}

TEST(StoreLinearizable, spans_by_a_wrong_clock_are_taken_for_longer_than_they_say) {
  Talk slow = of_one_mind();  // ten seconds by a clock that loses a tenth are eleven
  slow.at(30s).writes("b", 1, 2).at(41s).reads("c", 1, 10s);
  EXPECT_THAT(slow.end(), IsEmpty());
  Talk frozen = of_one_mind();
  frozen.at(29s).script.fault(1, "clock_freeze", 10s);
  frozen.at(30s).writes("b", 1, 2).at(40s).reads("c", 1, 2ms);
  EXPECT_THAT(frozen.end(), IsEmpty());
}

TEST(StoreLinearizable, of_many_reads_the_first_and_the_last_are_enough) {
  Talk talk = of_one_mind();
  for (int i = 0; i < 100; ++i) talk.at(4s + i * 1ms).reads(i % 2 == 0 ? "a" : "c", 1);
  talk.at(5s).writes("b", 1, 2);
  talk.at(6s).reads("a", 2).at(7s).reads("c", 1).at(8s).reads("a", 2);
  const auto broken = talk.end();
  ASSERT_EQ(broken.size(), 1U);
  EXPECT_EQ(broken.front().at, sim::WorldTime(7s));
}

}  // namespace
}  // namespace hooke::properties::test
