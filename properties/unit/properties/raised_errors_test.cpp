// An error that a fault has put into an agent: what it excuses, and of which agents.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "properties/unit/properties/event_builder.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// A fault puts an error into the agent of that node.
Script& raise_in(Script& script, const std::string& node, std::int64_t fault = 0) {
  return script.fault(fault, "process_raise", 0s, node + " pid 100")
      .fault_took_effect(fault, "process_raise");
}
Script& leaves(Script& script, const std::string& node) {
  return script.emit(node, script.agent_pid(node), ev::rendezvous_left, {"job", 0, 1});
}

TEST(ClaimsAreTrue, an_agent_claims_nothing_by_an_error_that_a_fault_has_put_into_it) {
  const auto finds_it_closed_after = [](const std::string& target, bool raised) {
    Script script = two_nodes_at_work();
    script.at(5s).fault(0, "process_raise", 0s, target);
    if (raised) script.fault_took_effect(0, "process_raise");
    script.at(15s).finishes("b", "error", 1, "RendezvousClosedError: the rendezvous is closed");
    return witnesses(script.finish(false), "safety.claims_are_true");
  };
  EXPECT_THAT(finds_it_closed_after("b pid 100", true), IsEmpty());
  EXPECT_THAT(finds_it_closed_after("b pid 100", false), HasSubstr("no agent has closed it"));
  EXPECT_THAT(finds_it_closed_after("a pid 100", true), HasSubstr("no agent has closed it"));
}

/// The agent of a, with an error or without, leaves as it restarts, and serves the store on.
TEST(RestartStops, an_agent_that_leaves_with_an_error_goes_without_a_word_of_its_workers) {
  const auto with = [](bool raised, bool stopped) {
    Script script = two_nodes_at_work();
    script.at(10s).emit("a", 100, ev::group_restarting, {"membership_change", 3, 0});
    if (raised) raise_in(script, "a");
    if (stopped) script.stops_workers("a");
    leaves(script.at(12s), "a").at(400s).finishes("a", "error", 1, "RuntimeError: raised");
    return verdict(script, "liveness.restart_stops");
  };
  EXPECT_EQ(with(true, true), "kept");
  EXPECT_EQ(with(false, true), "broken") << "nothing kept it from the rendezvous";
  EXPECT_EQ(with(true, false), "broken") << "its workers are there";
}

TEST(JoinTimeout, an_agent_that_leaves_with_an_error_tries_no_longer) {
  const auto with = [](bool raised) {
    Script script;
    script.agent_starts("a").serves_store("a", 29400).joining("a").added("a", "participants", 0);
    if (raised) raise_in(script.at(5s), "a");
    leaves(script.at(5s), "a").at(900s).finishes("a", "error", 1, "RuntimeError: raised");
    return verdict(script, "liveness.join_timeout");
  };
  EXPECT_EQ(with(true), "kept");
  EXPECT_EQ(with(false), "broken");
}

TEST(Formation, an_agent_that_leaves_with_an_error_is_not_one_of_those_that_are_enough) {
  const auto with = [](bool raised) {
    AgentSettings settings;
    settings.min_nodes = 2;
    Script script(settings);
    script.store_starts().agent_starts("a").agent_starts("b").joining("a").joining("b");
    if (raised) raise_in(script.at(5s), "a");
    leaves(script.at(5s), "a").at(100s);
    return verdict(script, "liveness.formation");
  };
  EXPECT_EQ(with(true), "nothing owed");
  EXPECT_EQ(with(false), "broken");
}

TEST(ExitCodeTruth, a_spare_into_which_a_fault_has_put_an_error_need_not_end_with_0) {
  const auto with = [](bool raised, bool serves, sim::Duration end) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.agent_starts("c").joining("c").added("c", "redundancy_list", 0);
    if (serves) script.serves_store("c", 29400);
    script.at(50s);
    if (raised) raise_in(script, "c");
    script.at(59s).succeed({"a", "b"}).at(end).finishes("c", "error", 1, "RuntimeError: raised");
    return witnesses(script.finish(false), "safety.exit_code_truth");
  };
  EXPECT_THAT(with(true, false, 60s), IsEmpty());
  EXPECT_THAT(with(false, false, 60s), HasSubstr("was a spare when the members of its job"));
  EXPECT_THAT(with(true, false, 90s), HasSubstr("was a spare")) << "it had its time to end";
  EXPECT_THAT(with(true, true, 90s), IsEmpty()) << "it serves others on";
}

TEST(StoreLifetime, a_second_error_cuts_short_what_an_agent_does_for_others_as_it_ends) {
  const auto with = [](std::int64_t errors) {
    Script script = two_nodes_at_work();
    script.at(10s);
    for (std::int64_t fault = 0; fault < errors; ++fault) raise_in(script, "a", fault);
    script.stops_workers("a").finishes("a", "error", 1, "RuntimeError: raised");
    return limits(script.finish(false), "safety.store_lifetime");
  };
  EXPECT_THAT(with(2), ElementsAre("an error put into the agent (process_raise)"));
  EXPECT_THAT(with(1), ElementsAre("")) << "it serves the others on";
  EXPECT_THAT(with(0), ElementsAre(""));
}

TEST(FirstCause, an_agent_into_which_a_fault_has_put_an_error_reports_none) {
  const auto with = [](const std::string& raised) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.at(10s).worker_ends("a", 0, 3).reaps("a").at(11s).worker_ends("b", 0, 1).reaps("b");
    if (!raised.empty()) raise_in(script, raised);
    script.emit("b", 100, ev::failure_reported, {1, script.worker_pid("b", 0), 1});
    script.finishes("a", "error", 1, "RuntimeError: raised").finishes("b", "failed", 1);
    return limits(script.finish(false), "safety.first_cause");
  };
  EXPECT_THAT(with("a"), ElementsAre("an error put into the agent (process_raise)"));
  EXPECT_THAT(with(""), ElementsAre(""));
  EXPECT_THAT(with("b"), ElementsAre(""));
}

TEST(CloseAuthority, an_agent_that_an_error_told_so_may_close_what_it_takes_for_closed) {
  const auto with = [](const char* error, bool raised) {
    Script script = two_nodes_at_work();
    script.restarts("b", "membership_change").joining("b").at(20s);
    if (raised) raise_in(script, "b");
    script.emit("b", 100, ev::rendezvous_failed, {"job", error, "raised"}).closes("b");
    return verdict(script, "safety.close_authority");
  };
  EXPECT_EQ(with("RendezvousClosedError", true),
            "excused by an error put into the agent (process_raise)");
  EXPECT_EQ(with("RendezvousClosedError", false), "broken");
  EXPECT_EQ(with("RendezvousStateError", true), "broken") << "that says nothing of the others";
}

TEST(Eviction, an_agent_that_a_second_error_kept_from_leaving_is_given_up_as_dead) {
  const auto with = [](std::int64_t errors) {
    Script script = two_nodes_at_work();
    script.at(40s);
    for (std::int64_t fault = 0; fault < errors; ++fault) raise_in(script, "a", fault);
    script.at(60s).emit("b", 100, ev::rendezvous_evicted,
                        {"job", 0, "a.sim_100_0", sim::Duration(16s), 1});
    return verdict(script, "safety.eviction");
  };
  EXPECT_EQ(with(2), "excused by an error put into the agent (process_raise)");
  EXPECT_EQ(with(1), "broken") << "it leaves for the first one";
}

TEST(Admission, an_agent_that_serves_on_with_an_error_waits_no_longer) {
  const auto with = [](bool raised) {
    Script script = at_work_beside_a_store({"a", "b"});
    script.agent_starts("c").serves_store("c", 29400).joining("c").added("c", "wait_list", 0);
    if (raised) raise_in(script.at(5s), "c");
    script.at(5s).emit("c", 100, ev::coverage_point, {"store_lingers"}).at(400s);
    return verdict(script, "liveness.admission");
  };
  EXPECT_EQ(with(true), "kept");
  EXPECT_EQ(with(false), "broken");
}

TEST(PoliteDeparture, is_none_of_an_agent_that_met_an_error_before_it_could_go) {
  const auto with = [](bool raised) {
    Script script = two_nodes_at_work();
    script.at(5s).signal_agent("b", sim::Signal::term);
    if (raised) raise_in(script, "b");
    script.stops_workers("b").finishes("b", "signalled", 143).at(20s);
    script.restarts("a", "member_lost");
    return witnesses(script.finish(false), "safety.polite_departure");
  };
  EXPECT_THAT(with(true), IsEmpty());
  EXPECT_THAT(with(false), HasSubstr("restarts as for a loss"));
}

TEST(ClaimsAreTrue, what_an_agent_has_begun_since_an_error_was_put_into_it_is_its_own) {
  const auto with = [](bool begins) {
    Script script = two_nodes_at_work();
    raise_in(script.at(5s), "b");
    if (begins) script.restarts("b", "membership_change").stops_workers("b").joining("b");
    script.at(15s).finishes("b", "error", 1, "RendezvousClosedError: the rendezvous is closed");
    return witnesses(script.finish(false), "safety.claims_are_true");
  };
  EXPECT_THAT(with(false), IsEmpty());
  EXPECT_THAT(with(true), HasSubstr("no agent has closed it"));
}

}  // namespace
}  // namespace hooke::properties::test
