// safety.gives_up_early, safety.polite_departure and what agents claim of both: what an agent owes
// its job when workers fail and when members go.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "model/observe/restart_events.h"
#include "model/observe/trace_events.h"
#include "properties/unit/properties/event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Node b ends as failed after one failure, and says why it makes no restart.
std::string ends_without_restart(std::string_view reason) {
  Script script = two_nodes_at_work();
  script.at(5s).worker_ends("b", 0, 1).reaps("b");
  script.emit("b", script.agent_pid("b"), ev::restart_refused, {reason, 0});
  script.finishes("b", "failed", 1);
  return witnesses(script.finish(false), "safety.gives_up_early");
}

TEST(GivesUpEarly, that_the_restarts_are_spent_is_counted_not_believed) {
  EXPECT_THAT(ends_without_restart(ev::kRestartsSpent),
              HasSubstr("the agent on node b (pid 100) ended as failed at 5.000 s with 0 of 3 "
                        "restarts spent by itself and 0 by its job"));
}

TEST(GivesUpEarly, a_policy_may_forbid_a_restart) {
  EXPECT_THAT(ends_without_restart("worker 0 has used up its 3 attempts"), IsEmpty());
}

TEST(GivesUpEarly, a_lost_member_leaves_the_restarts_that_there_are) {
  Script script = two_nodes_at_work();
  script.at(5s).kill_agent("b").at(30s);
  script.emit("a", script.agent_pid("a"), ev::job_given_up, {0});
  EXPECT_THAT(witnesses(script.finish(false), "safety.gives_up_early"),
              HasSubstr("the agent on node a (pid 100) gave its job up at 30.000 s with 0 of 3 "
                        "restarts spent by itself and 0 by its job"));
}

/// The store is told of a worker that is started again alone before its agent says so.
TEST(GivesUpEarly, a_restart_may_be_taken_that_its_agent_has_not_told_of_yet) {
  const auto gives_up_early = [](sim::Duration told) {
    AgentSettings settings;
    settings.max_restarts = 1;
    Script script = two_nodes_at_work(settings);
    script.at(5s).worker_ends("a", 0, 1).worker_ends("b", 0, 1).reaps("a").reaps("b");
    script.emit("a", script.agent_pid("a"), ev::job_given_up, {0}).at(told);
    script.emit("b", script.agent_pid("b"), ev::worker_restarting,
                {script.worker_pid("b", 0), 0, 1, 0});
    return witnesses(script.finish(false), "safety.gives_up_early");
  };
  EXPECT_THAT(gives_up_early(6s), IsEmpty());
  EXPECT_THAT(gives_up_early(8s), HasSubstr("gave its job up at 5.000 s with 0 of 1 restarts"));
}

/// Node a restarts for `cause` and says that `left` of 3 restarts are left.
std::string says_left(const std::string& cause, std::int64_t left) {
  Script script = two_nodes_at_work();
  script.at(5s).agent_starts("c").joining("c").at(6s);
  script.emit("a", script.agent_pid("a"), ev::group_restarting, {cause, left, 0});
  return witnesses(script.finish(false), "safety.gives_up_early");
}

TEST(GivesUpEarly, the_restarts_that_are_said_to_be_left_are_counted) {
  EXPECT_THAT(says_left("membership_change", 3), IsEmpty());
  EXPECT_THAT(says_left("membership_change", 2),
              HasSubstr("the agent on node a (pid 100) says at 6.000 s that 2 of 3 restarts are "
                        "left, and 0 were made"));
  EXPECT_THAT(says_left("member_lost", 2), IsEmpty());
}

/// Node a restarts for a waiting node; node b goes on, or is `gone`.
std::string restarts_for_growth(bool newcomer, bool gone) {
  Script script = two_nodes_at_work();
  if (newcomer) script.at(4s).agent_starts("c").joining("c");
  script.at(5s);
  if (gone) script.kill_agent("b");
  script.at(20s).restarts("a", "membership_change");
  return witnesses(script.finish(false), "safety.claims_are_true");
}

TEST(ClaimsAreTrue, a_lost_member_is_no_node_that_waits) {
  EXPECT_THAT(restarts_for_growth(true, false), IsEmpty());
  EXPECT_THAT(restarts_for_growth(true, true), IsEmpty());
  EXPECT_THAT(restarts_for_growth(false, true),
              HasSubstr("the agent on node a (pid 100) restarts its workers at 20.000 s for "
                        "\"membership_change\", and there is none"));
}

TEST(ClaimsAreTrue, a_node_that_has_just_stopped_waiting_may_still_be_seen) {
  const auto restarts_after = [](sim::Duration span) {
    Script script = two_nodes_at_work();
    script.at(4s).agent_starts("c").joining("c").at(10s);
    script.emit("c", script.agent_pid("c"), ev::rendezvous_failed, {"job", "SignalException", ""});
    script.finishes("c", "signalled", 143).at(10s + span).restarts("a", "membership_change");
    return witnesses(script.finish(false), "safety.claims_are_true");
  };
  EXPECT_THAT(restarts_after(1s), IsEmpty());
  EXPECT_THAT(restarts_after(20s), HasSubstr("for \"membership_change\", and there is none"));
}

TEST(ClaimsAreTrue, an_agent_that_is_not_answered_hears_later_that_one_has_stopped_waiting) {
  const auto restarts_at_100_s = [](const char* kind, sim::Duration end) {
    Script script = two_nodes_at_work({.read_timeout = 5s});
    script.at(4s).worker_ends("b", 0, 1).reaps("b").restarts("b", "worker_failure").joining("b");
    script.at(8s).fault(0, kind, 0s, "a");
    script.at(10s).emit("b", script.agent_pid("b"), ev::rendezvous_failed,
                        {"job", "RendezvousConnectionError", ""});
    script.finishes("b", "error", 1).at(end).fault_over(0, kind);
    script.at(100s).restarts("a", "membership_change");
    return verdict(script, "safety.claims_are_true");
  };
  EXPECT_EQ(restarts_at_100_s("service_slow", 98s), "kept");
  EXPECT_EQ(restarts_at_100_s("service_slow", 80s), "broken") << "it was answered since";
  EXPECT_EQ(restarts_at_100_s("process_unkillable", 98s), "broken") << "it was answered";
}

TEST(ClaimsAreTrue, an_agent_that_stood_still_may_find_itself_lost) {
  const auto restarts_after_a_pause = [](sim::Duration end) {
    Script script = two_nodes_at_work();
    script.at(10s).fault(0, "process_pause", 0s, "b pid 100").at(end);
    script.fault_over(0, "process_pause").at(100s).restarts("b", "member_lost");
    return witnesses(script.finish(false), "safety.claims_are_true");
  };
  EXPECT_THAT(restarts_after_a_pause(99s), IsEmpty());
  EXPECT_THAT(restarts_after_a_pause(30s), HasSubstr("for \"member_lost\", and there is none"));
}

TEST(ClaimsAreTrue, a_member_of_a_legacy_rendezvous_that_is_unheard_may_find_itself_lost) {
  const auto restarts_unheard = [](const char* backend) {
    AgentSettings settings;
    settings.backend = backend;
    Script script = at_work_beside_a_store({"a", "b"}, settings);
    script.at(10s).fault(0, "net_delay", 60s, "b").at(40s).restarts("b", "member_lost");
    return verdict(script, "safety.claims_are_true");
  };
  EXPECT_EQ(restarts_unheard("etcd"), "excused by the path to the store (net_delay)");
  EXPECT_EQ(restarts_unheard("c10d"), "broken") << "the others take it out there";
}

/// Node b's worker, which has the rank 1, falls silent, and is reported as failed while it runs.
std::string reports_a_silent_worker_as(std::int64_t rank) {
  Script script = two_nodes_at_work();
  const std::int64_t agent = script.agent_pid("b"), worker = script.worker_pid("b", 0);
  script.at(5s).emit("b", agent, ev::heartbeat_lost, {"1-77", sim::Duration(6s)});
  script.emit("b", agent, ev::failure_reported, {rank, worker, 0});
  return witnesses(script.finish(false), "safety.claims_are_true");
}

TEST(ClaimsAreTrue, a_worker_that_is_silent_keeps_its_rank) {
  EXPECT_THAT(reports_a_silent_worker_as(1), IsEmpty());
  EXPECT_THAT(reports_a_silent_worker_as(0),
              HasSubstr("ended as rank 0 with status 0; it was rank 1"));
}

/// Node b finds the rendezvous closed; node a says after `later` that it has closed it.
std::string finds_it_closed(std::optional<sim::Duration> later) {
  Script script = two_nodes_at_work();
  script.at(5s).finishes("b", "error", 1, "RendezvousClosedError: the rendezvous is closed");
  if (later) script.at(5s + *later).closes("a");
  return witnesses(script.finish(false), "safety.claims_are_true");
}

TEST(ClaimsAreTrue, a_closing_is_told_last_by_the_agent_that_closes) {
  EXPECT_THAT(finds_it_closed(1ms), IsEmpty());
  EXPECT_THAT(finds_it_closed(120s), HasSubstr("no agent has closed it"));
  EXPECT_THAT(finds_it_closed(std::nullopt),
              HasSubstr("the agent on node b (pid 100) says at 5.000 s that the rendezvous is "
                        "closed; no agent has closed it"));
}

/// Both have come to the exit barrier, and b may have passed it; b is killed, and a finds it closed.
std::string finds_closed_what_the_killed_one(bool has_passed) {
  Script script;
  script.store_starts().agent_starts("a").agent_starts("b").form(0, {"a", "b"});
  script.at(5s).stops_workers("a").stops_workers("b").enters_barrier("a").enters_barrier("b");
  if (has_passed) script.leaves_barrier("b", "passed");
  script.at(6s).kill_agent("b").leaves_barrier("a", "passed");
  script.finishes("a", "error", 1, "RendezvousClosedError: the rendezvous is closed");
  return witnesses(script.finish(false), "safety.claims_are_true");
}

TEST(ClaimsAreTrue, an_agent_that_is_killed_after_the_exit_barrier_may_have_closed) {
  EXPECT_THAT(finds_closed_what_the_killed_one(true), IsEmpty());
  EXPECT_THAT(finds_closed_what_the_killed_one(false), HasSubstr("no agent has closed it"));
}

/// Node b goes, told to or not, and node a restarts for `cause`.
std::string restart_of_the_other(bool told_to_go, const std::string& cause) {
  Script script = two_nodes_at_work();
  script.at(5s);
  if (told_to_go) {
    script.signal_agent("b", sim::Signal::term).stops_workers("b").finishes("b", "signalled", 143);
  } else {
    script.kill_agent("b");
  }
  script.at(20s).restarts("a", cause);
  return witnesses(script.finish(false), "safety.polite_departure");
}

TEST(PoliteDeparture, is_not_charged_as_a_loss) {
  EXPECT_THAT(restart_of_the_other(true, "member_lost"),
              HasSubstr("the agent on node a (pid 100) restarts as for a loss at 20.000 s, and its "
                        "round has lost only the agent on node b (pid 100), which was told to go "
                        "at 5.000 s"));
  EXPECT_THAT(restart_of_the_other(true, "member_left"), IsEmpty());
}

TEST(PoliteDeparture, is_not_claimed_where_a_member_was_lost) {
  EXPECT_THAT(restart_of_the_other(false, "member_left"),
              HasSubstr("as for a member that was told to go, and none of its round was"));
  EXPECT_THAT(restart_of_the_other(false, "member_lost"), IsEmpty());
}

TEST(PoliteDeparture, is_none_of_an_agent_that_had_given_its_job_up) {
  Script script = two_nodes_at_work();
  script.at(5s).emit("b", script.agent_pid("b"), ev::job_given_up, {0});
  script.signal_agent("b", sim::Signal::term).at(6s);
  script.emit("a", script.agent_pid("a"), ev::job_given_up, {0});
  EXPECT_THAT(witnesses(script.finish(false), "safety.polite_departure"), IsEmpty());
}

TEST(PoliteDeparture, is_no_cause_where_an_agent_gives_up_for_workers_that_it_had_to_kill) {
  for (const bool silent : {false, true}) {
    Script script = two_nodes_at_work();
    script.at(5s).signal_agent("b", sim::Signal::term).stops_workers("b");
    script.finishes("b", "signalled", 143).at(20s);
    const std::int64_t self = script.agent_pid("a"), worker = script.worker_pid("a", 0);
    if (silent) {
      script.emit("a", self, ev::heartbeat_lost, {"0-1", sim::Duration(5s)});
    } else {
      script.emit("a", self, ev::timer_killed, {worker, "step", 19, 9, true});
    }
    script.stops_workers("a").emit("a", self, ev::job_given_up, {0});
    EXPECT_THAT(witnesses(script.finish(false), "safety.polite_departure"), IsEmpty()) << silent;
  }
}

TEST(PoliteDeparture, leaves_nothing_on_the_lists_that_must_be_given_up_as_dead) {
  Script script = two_nodes_at_work();
  script.at(5s).signal_agent("b", sim::Signal::term).stops_workers("b");
  script.finishes("b", "signalled", 143).at(20s);
  script.emit("a", script.agent_pid("a"), ev::rendezvous_evicted,
              {"job", 0, "b_100_0", sim::Duration(15s), true});
  script.restarts("a", "member_left");
  EXPECT_THAT(witnesses(script.finish(false), "safety.polite_departure"),
              HasSubstr("the agent on node a (pid 100) restarts only at 20.000 s for the departure "
                        "of the agent on node b (pid 100), which ended at 5.000 s and was on the "
                        "lists until it was given up as dead"));
}

/// An agent that stood still for long is given up, goes on, and is told to go.
TEST(PoliteDeparture, of_an_agent_that_had_been_given_up_leaves_no_ghost) {
  Script script = two_nodes_at_work();
  script.at(20s).emit("a", script.agent_pid("a"), ev::rendezvous_evicted,
                      {"job", 0, "b_100_0", sim::Duration(15s), true});
  script.at(21s).signal_agent("b", sim::Signal::term).stops_workers("b");
  script.finishes("b", "signalled", 143).at(22s).restarts("a", "member_left");
  EXPECT_THAT(witnesses(script.finish(false), "safety.polite_departure"), IsEmpty());
}

/// Node b is given up as dead in round 0 and has a seat in round 1, with node a; there it is told to
/// go, and a restarts for `cause`.
std::string restart_after_one_that_had_been_given_up(const std::string& cause) {
  Script script = two_nodes_at_work();
  script.at(5s).emit("a", script.agent_pid("a"), ev::rendezvous_evicted,
                     {"job", 0, "b_100_0", sim::Duration(15s), true});
  script.restarts("a", "member_lost").restarts("b", "rendezvous_lost").form(1, {"a", "b"});
  script.at(30s).signal_agent("b", sim::Signal::term).stops_workers("b");
  script.emit("b", script.agent_pid("b"), ev::rendezvous_left, {"job", 1, 1});
  script.finishes("b", "signalled", 143).at(33s).restarts("a", cause);
  return witnesses(script.finish(false), "safety.polite_departure");
}

TEST(PoliteDeparture, is_judged_by_the_round_that_was_left_and_no_earlier_one) {
  EXPECT_THAT(restart_after_one_that_had_been_given_up("member_left"), IsEmpty());
  EXPECT_THAT(restart_after_one_that_had_been_given_up("member_lost"),
              HasSubstr("restarts as for a loss at 33.000 s, and its round has lost only the agent "
                        "on node b (pid 100), which was told to go at 30.000 s"));
}

/// Node b gets a seat in round 0, is told to go before that is complete, and ends by itself or is
/// killed; node a gives it up as dead before it completes the round, or does not.
std::string seat_of_one_that_went(bool by_itself, bool given_up) {
  Script script({.min_nodes = 1, .max_nodes = 3});
  script.agent_starts("a").agent_starts("b").joining("a").joining("b");
  script.added("b", "participants", 0).added("a", "participants", 0);
  script.at(5s).signal_agent("b", sim::Signal::term);
  by_itself ? script.finishes("b", "signalled", 143) : script.kill_agent("b");
  script.at(20s);
  if (given_up) {
    script.emit("a", script.agent_pid("a"), ev::rendezvous_evicted,
                {"job", 0, "b_100_0", sim::Duration(15s), true});
  }
  script.at(30s).completed("a", 0, 1);
  return witnesses(script.finish(false), "safety.polite_departure");
}

TEST(PoliteDeparture, gives_up_a_seat_in_a_round_that_is_not_complete) {
  EXPECT_THAT(seat_of_one_that_went(true, false),
              HasSubstr("round 0 completes at 30.000 s with a seat for the agent on node b (pid "
                        "100), which was told to go at 5.000 s and ended at 5.000 s"));
  EXPECT_THAT(
      seat_of_one_that_went(true, true),
      HasSubstr("was a participant of round 0 until 20.000 s, when it was given up as dead"));
  EXPECT_THAT(seat_of_one_that_went(true, true), Not(HasSubstr("completes")));
}

/// Node c, on that list beside round 0, is told to go, or gives up; a gives it up as dead, unless it
/// has left.
std::string place_of_one_that_went(const std::string& list, bool told, bool leaves) {
  Script script = two_nodes_at_work();
  script.agent_starts("c").joining("c").added("c", list, 0).at(5s);
  if (told) script.signal_agent("c", sim::Signal::term);
  const std::int64_t pid = script.agent_pid("c");
  if (leaves) script.emit("c", pid, ev::rendezvous_left, {"job", 0, 2});
  script.finishes("c", told ? "signalled" : "error", told ? 143 : 1);
  script.at(20s).emit("a", script.agent_pid("a"), ev::rendezvous_evicted,
                      {"job", 0, "c_100_0", sim::Duration(15s), false});
  return witnesses(script.finish(false), "safety.polite_departure");
}

TEST(PoliteDeparture, leaves_no_ghost_on_any_list) {
  EXPECT_THAT(place_of_one_that_went("wait_list", true, false),
              HasSubstr("which was told to go at 5.000 s and ended at 5.000 s, was waiting beside "
                        "round 0 until 20.000 s, when it was given up as dead"));
  EXPECT_THAT(place_of_one_that_went("redundancy_list", false, false),
              HasSubstr("which gave up joining and ended at 5.000 s, was a spare of round 0"));
  EXPECT_THAT(place_of_one_that_went("wait_list", true, true), IsEmpty());
  EXPECT_THAT(place_of_one_that_went("redundancy_list", false, true), IsEmpty());
}

TEST(PoliteDeparture, is_none_of_an_agent_that_was_killed_before_it_could_go) {
  EXPECT_THAT(seat_of_one_that_went(false, false), IsEmpty());
  EXPECT_THAT(seat_of_one_that_went(false, true), IsEmpty());
}

}  // namespace
}  // namespace hooke::properties::test
