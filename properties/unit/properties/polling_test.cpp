// How often agents may ask their store: by settings, by stage, and under faults.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "event_builder.h"
#include "model/observe/restart_events.h"

namespace hooke::properties::test {
namespace {

namespace ev = model::events;
namespace wev = world::events;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

/// What the world says at this moment of the requests of a node's agent.
void asked(Script& script, const std::string& node, sim::Duration since, std::int64_t messages,
           std::int64_t connects = 0) {
  script.emit(node, script.agent_pid(node), wev::process_asked, {since, connects, messages});
}

std::string broken(Script& script) {
  return witnesses(script.finish(false), "safety.polling");
}

/// Ten seconds at work with PyTorch's settings: 10 looks of 2 messages and another one, and 3
/// heartbeats of 3, three times over.
constexpr std::int64_t kAtWork = 93;

TEST(Polling, an_agent_at_work_looks_once_a_second_and_gives_its_heartbeats) {
  Script script = two_nodes_at_work();
  script.at(30s);
  asked(script, "a", 20s, kAtWork);
  asked(script, "b", 20s, kAtWork - 1, 1);
  EXPECT_THAT(broken(script), IsEmpty());
  EXPECT_EQ(script.accounts().at("safety.polling").kept, 2);
}

TEST(Polling, one_request_more_is_too_many) {
  Script script = two_nodes_at_work();
  script.at(30s);
  asked(script, "a", 20s, kAtWork, 1);
  EXPECT_THAT(broken(script),
              HasSubstr("the agent on node a (pid 100) sent 94 requests from 20.000 s to 30.000 s; "
                        "its settings and what it did explain 93 at most"));
}

TEST(Polling, a_worker_that_is_started_again_alone_costs_what_a_change_of_stage_does) {
  for (const bool restarts : {true, false}) {
    Script script = two_nodes_at_work();
    script.at(25s);
    const std::int64_t worker = script.worker_pid("a", 0);
    if (restarts) {
      script.emit("a", script.agent_pid("a"), ev::worker_restarting, {worker, 0, 0, 2});
    }
    script.at(30s);
    asked(script, "a", 20s, kAtWork + 3 * 5);
    EXPECT_EQ(broken(script).empty(), restarts);
  }
}

TEST(Polling, a_slow_monitor_and_rare_heartbeats_explain_fewer) {
  Script script = two_nodes_at_work({.keep_alive = 90s, .monitor = 5s});
  constexpr std::int64_t kSlow = 3 * (2 + 2 * 2 + 3);
  script.at(30s);
  asked(script, "a", 20s, kSlow);
  asked(script, "b", 20s, kSlow + 1);
  EXPECT_THAT(broken(script), HasSubstr("the agent on node b (pid 100) sent 28 requests"));
  EXPECT_EQ(script.accounts().at("safety.polling").kept, 1);
}

TEST(Polling, the_last_window_of_a_process_is_as_long_as_it_lived) {
  Script script = two_nodes_at_work();
  script.at(31s);
  asked(script, "a", 30s, 3 * (2 + 2 + 3));
  asked(script, "b", 30s, 3 * (2 + 2 + 3) + 1);
  EXPECT_THAT(broken(script), HasSubstr("the agent on node b (pid 100) sent 22 requests from "
                                        "30.000 s to 31.000 s"));
}

TEST(Polling, an_agent_that_meets_its_store_late_connects_once) {
  for (const std::int64_t more : {0, 1}) {
    Script script;
    script.agent_starts("a").at(13s);
    asked(script, "a", 3s, 0, 20);
    script.at(13s + 2ms);
    asked(script, "a", 13s, 3 * (2 + 3 + 6) + more);
    asked(script, "a", 13s, 3 * (2 + 3));
    EXPECT_EQ(broken(script).empty(), more == 0);
  }
}

TEST(Polling, what_came_after_the_ten_seconds_explains_nothing) {
  Script script = two_nodes_at_work();
  script.at(40s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(100s);
  asked(script, "a", 20s, kAtWork + 1);
  EXPECT_THAT(broken(script), HasSubstr("from 20.000 s to 30.000 s"));
}

TEST(Polling, a_round_that_falls_apart_explains_a_step_of_each_that_waits) {
  for (const bool waits : {true, false}) {
    Script script = two_nodes_at_work();
    if (waits) script.at(5s).stops_workers("a").restarts("a", "membership_change").joining("a");
    const std::int64_t before = waits ? 3 * (2 + 3 * 3 + 10 * 2) : kAtWork;
    script.at(25s).emit("b", script.agent_pid("b"), ev::rendezvous_evicted,
                        {"job", std::int64_t{0}, "c_1_0", sim::Duration(15s), true});
    constexpr std::int64_t kStep = 3 * (6 + 2);
    script.at(30s);
    asked(script, "a", 20s, before + (waits ? kStep : 1));
    EXPECT_EQ(broken(script).empty(), waits) << broken(script);
  }
}

/// Of the members of a round that never forms none may be told to be dead: what it was is gone when
/// one that waited for it enters the next.
TEST(Polling, the_next_round_of_one_that_waits_in_vain_explains_a_step) {
  for (const std::int64_t next : {1, 2}) {
    Script script;
    script.agent_starts("a").joining("a").at(5s).added("a", "participants", 1);
    script.at(25s).added("a", "participants", next).at(30s);
    constexpr std::int64_t kStep = 3 * (6 + 1);
    asked(script, "a", 20s, 3 * (2 + 3 * 3 + 10 * 2) + (next == 1 ? 1 : kStep));
    EXPECT_EQ(broken(script).empty(), next == 2) << broken(script);
  }
}

TEST(Polling, a_round_that_is_complete_explains_a_step_of_one_that_ends_before_it_tells_of_it) {
  const auto is_explained = [](bool complete, std::int64_t requests, sim::Duration after = {}) {
    Script script;
    script.agent_starts("a").agent_starts("b").joining("a").joining("b").at(30s);
    if (complete && after == 0s) script.completed("a", 0, 2);
    asked(script, "b", 29'900ms, requests);
    script.kill_agent("b").at(30s + after);
    if (complete && after > 0s) script.completed("a", 0, 2);
    return broken(script).empty();
  };
  constexpr std::int64_t kWithout = 3 * (2 + 3), kWith = kWithout + 3 * (6 + 2);
  EXPECT_TRUE(is_explained(false, kWithout));
  EXPECT_FALSE(is_explained(false, kWithout + 1));
  EXPECT_TRUE(is_explained(true, kWith));
  EXPECT_FALSE(is_explained(true, kWith + 1));
  EXPECT_TRUE(is_explained(true, kWith, 1s)) << "others tell of it after its end";
  EXPECT_FALSE(is_explained(true, kWith + 1, 1s));
  EXPECT_FALSE(is_explained(true, kWithout + 1, 2s));
}

TEST(Polling, each_stage_explains_its_own_part_of_the_window) {
  Script script = two_nodes_at_work();
  for (const char* const node : {"a", "b"}) {
    script.at(25s).worker_ends(node, 0, 0).reaps(node).group(node, "SUCCEEDED");
    script.enters_barrier(node);
  }
  constexpr std::int64_t kFixed = (2 + 2) + 3 * 3;
  constexpr std::int64_t kSteps = 2 * (6 + 2);  // it stops, and waits; so do two agents
  constexpr std::int64_t kHalf = 3 * (kFixed + 50 * (2 + 2) + kSteps + 5 * 12);
  script.at(31s);
  asked(script, "a", 20s, kHalf);
  asked(script, "b", 20s, kHalf + 1);
  EXPECT_THAT(broken(script), HasSubstr("the agent on node b (pid 100) sent 868 requests"));
  EXPECT_EQ(script.accounts().at("safety.polling").kept, 1);
}

TEST(Polling, once_a_member_is_done_each_look_asks_for_each_of_the_others) {
  Script script = two_nodes_at_work();
  script.at(15s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  constexpr std::int64_t kLooks = 3 * (3 * 3 + 101 * (2 + 2));
  script.at(30s);
  asked(script, "b", 20s, kLooks);
  script.at(40s);
  asked(script, "b", 30s, kLooks + 1);
  EXPECT_THAT(broken(script), HasSubstr("sent 1240 requests from 30.000 s to 40.000 s"));
  EXPECT_EQ(script.accounts().at("safety.polling").kept, 1);
}

TEST(Polling, one_look_is_explained_in_a_window_that_is_shorter_than_the_pause_between_two) {
  Script script = two_nodes_at_work();
  script.at(15s).worker_ends("a", 0, 0).reaps("a").group("a", "SUCCEEDED").enters_barrier("a");
  script.at(30s + 9ms);
  asked(script, "b", 30s, 3 * (2 + 2 + 3));
  EXPECT_THAT(broken(script), IsEmpty());
}

TEST(Polling, a_step_is_counted_up_to_a_second_beside_the_window) {
  constexpr std::int64_t kSteps = 2 * (6 + 2);
  for (const auto& [at, counts] : {std::pair(18'999ms, false), std::pair(19'000ms, true),
                                   std::pair(31'000ms, true), std::pair(31'001ms, false)}) {
    Script script = two_nodes_at_work();
    script.at(at).group("a", "SUCCEEDED").group("a", "HEALTHY").at(40s);
    asked(script, "a", 20s, kAtWork + 3 * kSteps);
    EXPECT_EQ(broken(script).empty(), counts) << at.count();
  }
}

TEST(Polling, a_spell_of_joining_that_began_before_the_window_counts_at_its_own_rate) {
  Script script;
  script.agent_starts("a").at(1s).joining("a").at(20s);
  asked(script, "a", 5s, 10);
  script.at(30s);
  asked(script, "a", 20s, 3 * (2 + 3 * 3 + 10 * 2));
  script.at(40s);
  asked(script, "a", 30s, 3 * (2 + 3 * 3 + 10 * 2) + 1);
  EXPECT_THAT(broken(script), HasSubstr("sent 94 requests from 30.000 s to 40.000 s"));
  EXPECT_EQ(script.accounts().at("safety.polling").kept, 2);
}

/// The agent of node b, of a static job of two, restarts for a failure at 20 s and has stopped its
/// workers at 25 s; rank 0 has not come back.
Script static_agent_meets_again() {
  Script script;
  for (const char* const node : {"a", "b"}) {
    const std::int64_t pid = script.next_pid(node), rank = node[0] - 'a';
    script.emit(node, pid, wev::process_started, {0, "agent", pid});
    script.emit(node, pid, ev::agent_started, {"job", "static", 2, 2, 1, 3, sim::Duration(30s)});
    script.emit(node, pid, ev::ranks_assigned, {"job", -1, rank, 2, rank, 2});
    script.emit(node, pid, ev::group_state, {"HEALTHY", 0});
  }
  script.at(20s).emit("b", 100, ev::group_restarting, {"worker_failure", 2, -1});
  script.at(25s).emit("b", 100, ev::group_state, {"STOPPED", 1});
  return script;
}

TEST(Polling, each_step_of_the_others_wakes_one_that_waits_in_the_legacy_rendezvous) {
  for (const char* const backend : {"etcd", "c10d"}) {
    const auto most = [&](bool others_step) {
      AgentSettings settings;
      settings.backend = backend;
      Script script = at_work_beside_a_store({"a", "b"}, settings);
      script.agent_starts("c").at(5s).joining("c").at(20s);
      for (const char* const node : {"a", "b"}) {
        if (others_step) script.restarts(node, "membership_change").joining(node);
      }
      script.at(30s);
      asked(script, "c", 18s, 100000);
      const std::string told = broken(script);
      return std::stoll(told.substr(told.find("explain ") + 8));
    };
    const bool is_woken = backend == std::string("etcd");
    EXPECT_EQ(most(true) - most(false), is_woken ? 3 * 2 * 4 : 0) << backend;
  }
}

TEST(Polling, so_does_a_step_of_which_they_have_told_up_to_a_second_before) {
  for (const auto& [at, counts] : {std::pair(18'999ms, false), std::pair(19'000ms, true)}) {
    AgentSettings settings;
    settings.backend = "etcd";
    Script script = at_work_beside_a_store({"a", "b"}, settings);
    script.agent_starts("c").at(5s).joining("c").at(at);
    for (const char* const node : {"a", "b"}) script.restarts(node, "membership_change");
    script.at(20s + 76ms);
    asked(script, "c", 20s, 10);  // two wake-ups, which are a connection and four messages each
    EXPECT_EQ(broken(script).empty(), counts) << at.count();
  }
}

/// The one at work on node a, and the one on node b that meets the others again.
TEST(Polling, static_agents_ask_their_store_twice_a_second) {
  for (const char* const node : {"a", "b"}) {
    for (const std::int64_t more : {0, 1}) {
      Script script = static_agent_meets_again();
      script.at(40s);
      script.emit(node, 100, wev::process_asked, {sim::Duration(30s), 0, 3 * (2 + 10 * 2) + more});
      EXPECT_EQ(broken(script).empty(), more == 0) << node;
      EXPECT_EQ(script.accounts().at("safety.polling").judged(), 1);
    }
  }
}

TEST(Polling, an_agent_that_stops_its_workers_asks_nothing_meanwhile) {
  for (const std::int64_t more : {0, 1}) {
    Script script = static_agent_meets_again();
    script.emit("b", 100, ev::ranks_assigned, {"job", -1, 1, 2, 1, 2});
    script.emit("b", 100, ev::group_state, {"HEALTHY", 1});
    script.at(30s).emit("b", 100, ev::group_restarting, {"worker_failure", 1, -1});
    script.at(42s).emit("b", 100, wev::process_asked, {sim::Duration(32s), 0, 3 * 2 + more});
    EXPECT_EQ(broken(script).empty(), more == 0) << "it has met them once already";
  }
}

TEST(Polling, a_store_that_does_not_answer_explains_retries_but_none_without_a_pause) {
  constexpr std::int64_t kRetries = 10 * 20 + 20 * 2;
  for (const std::int64_t more : {0, 1}) {
    Script script = two_nodes_at_work();
    script.at(25s).fault(1, "service_stop").at(30s);
    asked(script, "b", 20s, kAtWork + 3 * kRetries + more);
    EXPECT_EQ(broken(script).empty(), more == 0);
    const Account account = script.accounts().at("safety.polling");
    EXPECT_EQ(account.excused, 0) << "no fault makes an agent ask without a pause";
    EXPECT_EQ(account.judged(), 1);
  }
}

TEST(Polling, each_reply_that_is_lost_explains_retries_where_it_is) {
  for (const sim::Duration second : {26s, 12s}) {
    Script script = two_nodes_at_work({.read_timeout = 5s});
    script.at(10s).fault(1, "service_reply_lost").fault_took_effect(1, "service_reply_lost");
    script.at(second).fault_took_effect(1, "service_reply_lost").at(30s);
    asked(script, "b", 20s, kAtWork + 1);
    EXPECT_EQ(broken(script).empty(), second == 26s);
  }
}

TEST(Polling, what_an_ended_fault_had_caught_explains_nothing_later) {
  Script script = two_nodes_at_work({.read_timeout = 5s});
  script.at(5s).fault(1, "service_stop").at(10s).fault_over(1, "service_stop").at(40s);
  asked(script, "b", 20s, kAtWork + 1);
  EXPECT_THAT(broken(script), HasSubstr("sent 94 requests"));
}

TEST(Polling, the_successor_of_a_killed_agent_begins_anew) {
  Script script = two_nodes_at_work();
  script.at(20s).kill_agent("b").agent_starts("b").at(21s).joining("b").at(30s);
  asked(script, "b", 20s, 3 * (2 + 3 * 3 + 2 * (6 + 2) + 4 + 9 * 2));
  EXPECT_THAT(broken(script), IsEmpty());
  EXPECT_EQ(script.accounts().at("safety.polling").kept, 1);
}

TEST(Polling, an_agent_of_an_unknown_backend_is_not_judged) {
  Script script;
  script.emit("a", 100, ev::agent_started, {"job", "our own", 1, 4, 1, 3, sim::Duration(30s)})
      .at(10s);
  script.emit("a", 100, wev::process_asked, {0, 0, 1'000'000});
  EXPECT_THAT(broken(script), IsEmpty());
  EXPECT_EQ(script.accounts().at("safety.polling").judged(), 0);
}

TEST(Polling, what_a_process_that_is_no_agent_asks_is_not_judged) {
  Script script = two_nodes_at_work();
  script.emit("a", script.next_pid("a"), wev::process_asked, {0, 0, 1'000'000}).at(30s);
  EXPECT_THAT(broken(script), IsEmpty());
  EXPECT_EQ(script.accounts().at("safety.polling").judged(), 0);
}

}  // namespace
}  // namespace hooke::properties::test
