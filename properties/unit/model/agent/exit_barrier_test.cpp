// The barrier at the end of a successful job, in both generations, and its weaknesses.
#include "model/store/store_helpers.h"
#include "properties/unit/model/agent/exit_barrier_jobs.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

TEST(ExitBarrier, everybody_leaves_when_the_last_one_comes) {
  TestJob job(3);
  run_spans(job, {1s, 20s, 10s});
  for (std::size_t i = 0; i < 3; ++i) {
    const auto left = job.events_named("exit_barrier.left", i);
    ASSERT_EQ(left.size(), 1U);
    EXPECT_EQ(left[0]["result"], "passed");
    EXPECT_EQ(left[0].at, 20s);
    EXPECT_EQ(job.status(i), 0);
  }
  EXPECT_EQ(job.texts("exit_barrier.left", "elapsed", 2), (Texts{"10000000000"}));
}

TEST(ExitBarrier, costs_each_agent_one_count_and_one_wait_and_the_last_one_a_sign) {
  TestJob job(3);
  run_spans(job, {1s, 3s, 2s});
  EXPECT_EQ(barrier_calls(job),
            (Texts{"add /num_members", "wait /last_member", "add /num_members", "wait /last_member",
                   "add /num_members", "set /last_member", "wait /last_member"}));
  EXPECT_EQ(job.store(1)->text(std::string(kPrefix) + "/last_member"), "<val_ignored>");
}

TEST(ExitBarrier, a_peer_that_never_comes_costs_the_whole_timeout_and_nothing_else) {
  TestJob job(2);
  job[0].config.exit_barrier_timeout = 60s;
  job.worker = [](Ports& ports) {
    world::sleep(ports, 1s);
    return ports.network.host_name() == "a" ? 0 : 1;
  };
  job.start_and_run();
  const auto left = job.events_named("exit_barrier.left");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0]["result"], "timed_out");
  EXPECT_EQ(left[0]["elapsed"], "60000000000");
  EXPECT_EQ(job.status(0), 0);
  EXPECT_EQ(job.status(1), 1);
  EXPECT_TRUE(job.events_named("exit_barrier.entered", 1).empty());
}

TEST(ExitBarrier, an_agent_still_succeeds_when_the_store_is_lost_meanwhile) {
  TestJob job(2);
  job.at(5s, [&] { job.store(1)->lose(); });
  run_spans(job, {1s, 10s});
  EXPECT_EQ(job.texts("exit_barrier.left", "result", 0), (Texts{"failed"}));
  EXPECT_EQ(job.texts("exit_barrier.left", "result", 1), (Texts{"failed"}));
  EXPECT_EQ(job.status(0), 0);
  EXPECT_EQ(job.status(1), 0);
}

TEST(ExitBarrier, counts_arrivals_and_not_identities) {
  TestJob job(2);
  job.store(1)->values[std::string(kPrefix) + "/num_members"] = Value(std::string("1"));
  run_spans(job, {1s, 20s});
  EXPECT_EQ(job.events_named("exit_barrier.left", 0).at(0).at, 1s);
  // The count has gone beyond the number that would give the sign, which is there already.
  EXPECT_EQ(job.events_named("exit_barrier.left", 1).at(0).at, 20s);
}

TEST(ExitBarrier, torch_1_13_waits_for_every_rank_and_rank_0_for_their_leave) {
  TestJob job(2);
  job[0].config.variant = job[1].config.variant = Variant::torch_1_13;
  run_spans(job, {1s, 5s});
  EXPECT_EQ(barrier_calls(job), (Texts{"set 0", "get 0", "get 1", "set 1", "get 0", "get 1",
                                       "set 1.FIN", "set 0.FIN", "get 0.FIN", "get 1.FIN"}));
  EXPECT_EQ(job.status(0), 0);
  EXPECT_EQ(job.events_named("exit_barrier.left", 0).at(0).at, 5s);
}

/// Runs one of the helpers in a process; says how it ended, and the store's timeout afterwards.
std::string after_barrier(std::int64_t world_size,
                          const std::function<void(Store&, std::int64_t)>& barrier_of) {
  TestJob job;
  std::string outcome;
  job.world->register_program("client", [&](Ports& ports) {
    MemoryStore store(ports, job.store(1));
    store.set_timeout(7s);
    try {
      barrier_of(store, world_size);
      outcome = "passed, ";
    } catch (const StoreTimeoutError&) {
      outcome = "timed out, ";
    }
    outcome += std::to_string(store.timeout() / 1s);
    return 0;
  });
  job.start_again(job[0].node, "client");
  job.run();
  return outcome;
}

TEST(ExitBarrier, the_timeout_of_the_store_is_restored_only_after_success) {
  const auto newer = [](Store& store, std::int64_t world_size) {
    barrier(store, world_size, kPrefix, 60s);
  };
  EXPECT_EQ(after_barrier(1, newer), "passed, 7");
  EXPECT_EQ(after_barrier(2, newer), "timed out, 60");
}

TEST(ExitBarrier, torch_1_13_never_restores_the_timeout_of_the_store) {
  const auto older = [](Store& store, std::int64_t world_size) {
    barrier_1_13(store, 0, world_size, kPrefix, 60s);
  };
  EXPECT_EQ(after_barrier(1, older), "passed, 60");
  EXPECT_EQ(after_barrier(2, older), "timed out, 60");
}

}  // namespace
}  // namespace hooke::model
