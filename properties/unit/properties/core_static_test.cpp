// A healed core of a static job, whose agents are told of nothing that the others do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core_scripts.h"

namespace hooke::properties::test {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Core, a_static_rendezvous_has_no_word_for_a_restart_so_that_peers_may_wait_for_ever) {
  const auto with = [](std::int64_t round) {
    Script script(a_backend_of(round));
    script.agent_starts("a").agent_starts("b").form(round, {"a", "b"});
    script.at(10s).worker_ends("b", 0, 1).reaps("b").restarts("b", "worker_failure");
    script.at(20s).workers_start("b").at(100s).core_healed("a,b", 20s, -1s).at(5000s);
    return late_in_core(script);
  };
  EXPECT_THAT(with(-1), IsEmpty());
  EXPECT_THAT(with(0), Not(IsEmpty()));
}

TEST(Core, a_static_rendezvous_has_no_word_for_a_member_that_starts_no_workers_any_more) {
  const auto with = [](const char* kind, sim::Duration peers) {
    Script script(a_backend_of(-1));
    script.agent_starts("a").serves_store("a", 29400).agent_starts("b").form(-1, {"a", "b"});
    script.at(5s).fault(1, kind, {}, "a");
    script.at(10s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure");
    script.joined("a", -1, 0, 2, "a.sim:29500");
    return late_in_core(script.at(100s).core_healed("a,b", 20s, peers).at(5000s));
  };
  EXPECT_THAT(with("disk_full", -1s), IsEmpty());
  EXPECT_THAT(with("disk_full", 60s), HasSubstr("node b")) << "workers give the peer up";
  EXPECT_THAT(with("clock_skew", -1s), HasSubstr("node a")) << "it could have started workers";
}

TEST(Core, a_static_rendezvous_has_no_word_for_a_member_that_ends_before_it_starts_workers) {
  const auto with = [](std::int64_t round, sim::Duration peers) {
    Script script(a_backend_of(round));
    script.agent_starts("a").agent_starts("b").joined("b", round, 1, 2, "a.sim:29500");
    script.joined("a", round, 0, 2, "a.sim:29500").workers_start("a").at(10s);
    script.finishes("b", "error", 1);
    return late_in_core(script.at(100s).core_healed("a,b", 20s, peers).at(5000s));
  };
  EXPECT_THAT(with(-1, -1s), IsEmpty());
  EXPECT_THAT(with(-1, 60s), HasSubstr("node a")) << "workers give the peer up";
  EXPECT_THAT(with(0, -1s), HasSubstr("node a")) << "the others see that it has gone";
}

TEST(Core, a_static_rendezvous_has_no_word_for_a_member_that_never_came) {
  const auto with = [](std::int64_t round, sim::Duration peers) {
    Script script(a_backend_of(round));
    script.agent_starts("a").agent_starts("b").joining("a").added("a", "participants", round);
    script.completed("a", round, 2).joined("a", round, 0, 2, "a.sim:29500").workers_start("a");
    script.at(10s).finishes("b", "error", 1);
    return late_in_core(script.at(100s).core_healed("a,b", 20s, peers).at(5000s));
  };
  EXPECT_THAT(with(-1, -1s), IsEmpty());
  EXPECT_THAT(with(-1, 60s), Not(IsEmpty())) << "workers give the peer up, and their agent ends";
  EXPECT_THAT(with(0, -1s), Not(IsEmpty())) << "the others see who has come";
}

TEST(Core, a_static_rendezvous_has_no_word_for_a_host_that_starts_no_workers_and_serves_on) {
  const auto with = [](bool lingers, sim::Duration peers) {
    Script script(a_backend_of(-1));
    script.agent_starts("a").serves_store("a", 29400).agent_starts("b");
    script.joined("b", -1, 1, 2, "a.sim:29500").workers_start("b");
    script.joined("a", -1, 0, 2, "a.sim:29500");
    if (lingers) script.emit("a", script.agent_pid("a"), ev::coverage_point, {"store_lingers"});
    return late_in_core(script.at(100s).core_healed("a,b", 20s, peers).at(5000s));
  };
  EXPECT_THAT(with(true, -1s), IsEmpty());
  EXPECT_THAT(with(true, 60s), HasSubstr("node b")) << "workers give the peer up";
  EXPECT_THAT(with(false, -1s), HasSubstr("node b")) << "it could still start workers";
}

TEST(Core, a_static_rank_that_runs_without_end_is_waited_for_as_long_as_an_agent_may_join) {
  const auto until = [](sim::Duration end, std::int64_t round, const std::string& endless) {
    Script script(a_backend_of(round));
    script.agent_starts("a").agent_starts("b").form(round, {"a", "b"});
    script.at(10s).worker_ends("a", 0, 1).reaps("a").restarts("a", "worker_failure");
    return late_in_core(script.at(100s).core_healed("a", 20s, 60s, endless).at(end));
  };
  const sim::Duration due = 100s + kCoreBound + 840s;  // it waits for ranks for 900 s
  EXPECT_THAT(until(due + 1s, -1, "b"), IsEmpty());
  EXPECT_THAT(until(due + 900s, -1, "b"), IsEmpty());
  EXPECT_THAT(until(due + 901s, -1, "b"), HasSubstr("it restarts"));
  EXPECT_THAT(until(due + 1s, -1, ""), HasSubstr("it restarts")) << "b comes in time";
  EXPECT_THAT(until(due + 1s, 0, "b"), HasSubstr("it restarts")) << "b is told of it";
}

TEST(Core, a_static_rank_whose_workers_wait_for_ever_is_waited_for_likewise) {
  const auto until = [](sim::Duration end, std::int64_t round, sim::Duration peers) {
    Script script(a_backend_of(round));
    script.agent_starts("a").agent_starts("b").form(round, {"a", "b"});
    script.at(10s).crash("a").at(20s).agent_starts("a");
    return late_in_core(script.at(100s).core_healed("a,b", 20s, peers).at(end));
  };
  const sim::Duration due = 100s + kCoreBound + 840s;  // with 60 s for a lost peer
  EXPECT_THAT(until(due - 60s + 900s, -1, -1s), IsEmpty());
  EXPECT_THAT(until(due - 60s + 901s, -1, -1s), HasSubstr("node a"));
  EXPECT_THAT(until(due + 1s, 0, -1s), HasSubstr("node a")) << "b is told of it";
  EXPECT_THAT(until(due + 1s, -1, 60s), HasSubstr("node a")) << "workers give the peer up";
}

}  // namespace
}  // namespace hooke::properties::test
