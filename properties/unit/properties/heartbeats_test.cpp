// Invariants about heartbeats, each broken and kept by hand.
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

/// An agent that has told its policy and heard the first beat of its worker at 2 s; deadline 5 s.
struct Watched : Script {
  explicit Watched(const std::string& policy = "mark") {
    agent_starts("a").serves_store("a", 29400).at(1s).form(0, {"a"});
    tell(ev::heartbeat_expected, {"w", worker_pid("a", 0), 0, sim::Duration(5s), -1, policy});
    at(2s);
    beat();
  }
  Watched& tell(const sim::EventType& type, std::initializer_list<sim::FieldValue> fields) {
    emit("a", agent_pid("a"), type, fields);
    return *this;
  }
  Watched& beat(bool last = false) { return tell(ev::heartbeat_received, {"w", ++count_, last}); }
  Watched& lost(sim::Duration silent) { return tell(ev::heartbeat_lost, {"w", silent}); }
  /// Beats each second until then.
  Watched& beats_until(sim::Duration end) {
    for (sim::Duration now = 3s; now <= end; now += 1s) {
      at(now);
      beat();
    }
    return *this;
  }

 private:
  std::int64_t count_ = 0;
};

constexpr const char* kSafety = "safety.heartbeat_safety";
constexpr const char* kSeen = "liveness.heartbeat_loss_seen";

TEST(HeartbeatLossSeen, silence_that_is_never_noticed_breaks_it) {
  Watched script;
  script.at(30s);
  EXPECT_THAT(witnesses(script.finish(false), kSeen),
              AllOf(HasSubstr("last heard of its worker w at 2.000 s and should have declared it "
                              "lost"),
                    HasSubstr("had not when the run ended at 30.000 s")));
}

TEST(HeartbeatLossSeen, silence_that_is_noticed_late_breaks_it) {
  Watched script;
  script.at(9s);
  script.lost(7s);
  EXPECT_THAT(witnesses(script.finish(false), kSeen), HasSubstr("at 9.000 s"));
}

TEST(HeartbeatLossSeen, beats_a_timely_loss_and_an_orderly_end_keep_it) {
  Watched beating;
  beating.beats_until(30s);
  EXPECT_THAT(witnesses(beating.finish(false), kSeen), IsEmpty());
  Watched noticed;
  noticed.at(8s);
  noticed.lost(6s).at(60s);
  EXPECT_THAT(witnesses(noticed.finish(false), kSeen), IsEmpty());
  Watched ended;
  ended.beats_until(4s).beat(true).at(60s);
  EXPECT_THAT(witnesses(ended.finish(false), kSeen), IsEmpty());
  Watched over;
  over.worker_ends("a", 0, 0).reaps("a").at(60s);
  EXPECT_THAT(witnesses(over.finish(false), kSeen), IsEmpty());
}

TEST(HeartbeatLossSeen, an_agent_that_waits_for_a_disturbed_store_may_be_late) {
  const auto verdict_with = [](const std::string& kind, const std::string& target) {
    Watched script;
    static_cast<void>(script.next_pid("b"));
    script.fault(1, kind, 30s, target);
    script.at(20s);
    script.lost(18s);
    return verdict(script, kSeen);
  };
  EXPECT_EQ(verdict_with("service_stop", "a"), "kept");
  EXPECT_EQ(verdict_with("process_pause", "a pid 100"), "kept");
  EXPECT_EQ(verdict_with("process_pause", "b pid 100"), "broken");
  EXPECT_EQ(verdict_with("process_pause", "a pid 101"), "broken") << "that is its worker";
  EXPECT_EQ(verdict_with("net_partition", "a"), "broken") << "its store is on its own machine";
  EXPECT_EQ(verdict_with("net_partition", "b"), "broken");
}

TEST(HeartbeatLossSeen, so_may_one_whose_question_was_not_answered_for_as_long_as_it_waits_for_it) {
  const auto seen_at = [](sim::Duration loss) {
    Watched script;
    script.fault(1, "service_reply_lost").at(3s).fault_took_effect(1, "service_reply_lost");
    script.at(loss);
    script.lost(loss - 2s);
    return witnesses(script.finish(false), kSeen);
  };
  EXPECT_THAT(seen_at(60s), IsEmpty());
  EXPECT_THAT(seen_at(80s), HasSubstr("at 80.000 s"));
}

TEST(HeartbeatLossSeen, so_may_one_whose_requests_are_held_up_twice) {
  for (const sim::Duration seen : {120s, 140s}) {
    Watched script;
    script.tell(world::events::request_arrived, {"s", 29400, 1, ""}).beat().at(seen);
    script.lost(seen - 2s);
    EXPECT_EQ(witnesses(script.finish(false), kSeen).empty(), seen == 120s);
  }
}

TEST(HeartbeatSafety, a_clock_that_drifts_may_make_the_wait_a_little_shorter) {
  for (const sim::Duration silent : {4600ms, 4400ms}) {
    Watched script;
    script.fault(1, "clock_drift").at(2s + silent);
    script.lost(silent);
    EXPECT_EQ(witnesses(script.finish(false), kSafety).empty(), silent == 4600ms);
  }
}

TEST(HeartbeatSafety, a_worker_that_has_just_beaten_is_not_lost) {
  Watched script;
  script.beats_until(8s).at(9s);
  script.lost(7s);
  EXPECT_THAT(witnesses(script.finish(false), kSafety),
              HasSubstr("gave rank 0 up at 9.000 s, although its last beat had come only 1.000 s "
                        "ago"));
}

TEST(HeartbeatSafety, a_loss_is_told_once) {
  Watched script;
  script.at(8s);
  script.lost(6s).at(9s);
  script.lost(7s);
  EXPECT_THAT(witnesses(script.finish(false), kSafety),
              HasSubstr("up at 9.000 s, although it had done so already"));
}

TEST(HeartbeatSafety, a_worker_that_beats_again_is_told_to_be_back) {
  Watched unsaid;
  unsaid.at(8s);
  unsaid.lost(6s).at(9s);
  unsaid.beat();
  EXPECT_THAT(witnesses(unsaid.finish(false), kSafety),
              HasSubstr("the agent on node a has heard from rank 0 again at 9.000 s, which it had "
                        "given up, and does not say so"));
  Watched said;
  said.at(8s);
  said.lost(6s).at(9s);
  said.tell(ev::heartbeat_returned, {"w", sim::Duration(7s)}).beat();
  EXPECT_THAT(witnesses(said.finish(false), kSafety), IsEmpty());
  Watched again;
  again.at(8s);
  again.lost(6s).at(9s);
  again.tell(ev::heartbeat_returned, {"w", sim::Duration(7s)}).beat().at(10s);
  again.tell(ev::heartbeat_returned, {"w", sim::Duration(1s)}).beat();
  EXPECT_THAT(witnesses(again.finish(false), kSafety),
              HasSubstr("the agent on node a (pid 100) says at 10.000 s that its worker w is back, "
                        "which was not lost"));
}

TEST(HeartbeatSafety, a_lost_worker_may_come_back_until_the_next_ones_start) {
  for (const bool anew : {false, true}) {
    Watched script("restart");
    script.at(8s);
    script.lost(6s).tell(ev::group_restarting, {"heartbeat_loss", 2, 0});
    if (anew) script.stops_workers("a").workers_start("a");
    script.tell(ev::heartbeat_returned, {"w", sim::Duration(7s)});
    EXPECT_EQ(witnesses(script.finish(false), kSafety).empty(), !anew);
  }
}

TEST(HeartbeatSafety, a_worker_whose_end_was_told_is_not_lost) {
  Watched script;
  script.at(3s).worker_ends("a", 0, 0).reaps("a").at(9s);
  script.lost(7s);
  EXPECT_THAT(witnesses(script.finish(false), kSafety),
              HasSubstr("up at 9.000 s, although it had learnt of its end"));
}

TEST(HeartbeatSafety, a_worker_that_may_take_any_time_to_begin_is_not_lost) {
  Script script;
  script.agent_starts("a").serves_store("a", 29400).at(1s).form(0, {"a"});
  const std::int64_t agent = script.agent_pid("a");
  script.emit("a", agent, ev::heartbeat_expected,
              {"w", script.worker_pid("a", 0), 0, sim::Duration(5s), -1, "mark"});
  script.at(60s).emit("a", agent, ev::heartbeat_lost, {"w", sim::Duration(59s)});
  EXPECT_THAT(witnesses(script.finish(false), kSafety), HasSubstr("gave rank 0 up at 60.000 s"));
}

TEST(HeartbeatSafety, a_restart_for_a_loss_that_is_only_to_be_marked_breaks_it) {
  for (const std::string policy : {"mark", "stop", "restart"}) {
    Watched script(policy);
    script.at(8s);
    script.lost(6s).restarts("a", "heartbeat_loss");
    const std::string witness = witnesses(script.finish(false), kSafety);
    EXPECT_EQ(witness.empty(), policy == "restart") << policy << ": " << witness;
  }
}

TEST(HeartbeatSafety, a_lost_worker_that_is_signalled_without_another_reason_breaks_it) {
  Watched killed;
  killed.at(8s);
  killed.lost(6s).stops_workers("a").finishes("a", "failed", 1);
  EXPECT_THAT(witnesses(killed.finish(), kSafety),
              HasSubstr("while all it had against its workers was a lost heartbeat"));
  Watched error;
  error.at(8s);
  error.lost(6s).stops_workers("a").finishes("a", "error", 1, "DistNetworkError: gone");
  EXPECT_THAT(witnesses(error.finish(), kSafety), IsEmpty());
  Watched membership;
  membership.at(8s);
  membership.lost(6s).restarts("a", "membership_change").stops_workers("a");
  EXPECT_THAT(witnesses(membership.finish(false), kSafety), IsEmpty());
}

TEST(HeartbeatSafety, the_end_of_the_job_is_a_reason_to_stop_its_workers) {
  for (const bool is_over : {true, false}) {
    Watched script;
    script.agent_starts("b").joined("b", 0, 1, 2, "a:29500").workers_start("b").at(8s);
    script.lost(6s);
    if (is_over) script.worker_ends("b", 0, 1).reaps("b").emit("b", 100, ev::job_given_up, {0});
    script.stops_workers("a").at(20s).crash("a");
    EXPECT_EQ(witnesses(script.finish(), kSafety).empty(), is_over);
  }
}

TEST(HeartbeatSafety, an_agent_that_is_killed_while_it_stops_its_workers_can_give_no_reason) {
  Watched meanwhile;
  meanwhile.at(8s);
  meanwhile.lost(6s).tell(ev::worker_signalled, {meanwhile.worker_pid("a", 0), 15, "stop"});
  meanwhile.at(20s).crash("a");
  EXPECT_THAT(witnesses(meanwhile.finish(), kSafety), IsEmpty());
  Watched alive;
  alive.at(8s);
  alive.lost(6s).tell(ev::worker_signalled, {alive.worker_pid("a", 0), 15, "stop"});
  alive.at(20s);
  EXPECT_THAT(witnesses(alive.finish(false), kSafety), HasSubstr("signalled pid 101 at 8.000 s"));
  Watched afterwards;
  afterwards.at(8s);
  afterwards.lost(6s).stops_workers("a").at(20s).crash("a");
  EXPECT_THAT(witnesses(afterwards.finish(), kSafety), HasSubstr("signalled pid 101 at 8.000 s"));
}

/// Beats that come `apart`, of a worker that is lost after 5 s.
TEST(HeartbeatSafety, a_worker_beats_more_often_than_it_must_not_to_be_lost) {
  const auto beats = [](sim::Duration apart, const char* fault) {
    Watched script;
    script.at(2500ms);
    if (*fault != 0) script.fault(0, fault, 20s, "a <-> a");
    for (int i = 1; i <= 3; ++i) {
      script.at(2s + i * apart);
      script.beat();
    }
    return verdict(script, kSafety);
  };
  EXPECT_EQ(beats(4900ms, ""), "broken");
  EXPECT_EQ(beats(4s, ""), "kept");
  EXPECT_EQ(beats(4900ms, "net_delay"), "excused by the path to the store (net_delay)");
}

}  // namespace
}  // namespace hooke::properties::test
