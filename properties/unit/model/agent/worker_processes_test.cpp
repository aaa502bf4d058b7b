// Worker processes: start, looks, and the ladder from a polite signal to SIGKILL, with everything
// that can go wrong on it.
#include <gmock/gmock.h>

#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

int park(Ports& ports) {
  world::park_for_ever(ports);
  return 0;
}

/// The worker with local rank `failing` ends with 1 after a second; the others do `otherwise`.
std::function<int(Ports&)> one_fails(std::int64_t failing, std::function<int(Ports&)> otherwise) {
  return [failing, otherwise = std::move(otherwise)](Ports& ports) {
    if (number_of(ports, "LOCAL_RANK") != failing) return otherwise(ports);
    world::sleep(ports, 1s);
    return 1;
  };
}

TEST(WorkerProcesses, start_in_the_order_of_local_ranks_in_sessions_of_their_own) {
  TestJob job;
  job[0].config.nproc_per_node = 3;
  job.start_and_run();
  EXPECT_EQ(job.variable("LOCAL_RANK"), (Texts{"0", "1", "2"}));
  const auto processes = job.texts("process.started", "group");
  EXPECT_EQ(processes, (Texts{"100", "101", "102", "103"}));
  EXPECT_EQ(job.texts("worker.started", "rank"), (Texts{"0", "1", "2"}));
  EXPECT_EQ(job.texts("worker.started", "master"), (Texts{"a:29501", "a:29501", "a:29501"}));
}

TEST(WorkerProcesses, torch_1_13_starts_them_in_the_agents_own_group) {
  TestJob job;
  job[0].config.variant = Variant::torch_1_13;
  job[0].config.nproc_per_node = 2;
  job.start_and_run();
  EXPECT_EQ(job.texts("process.started", "group"), (Texts{"100", "100", "100"}));
}

TEST(WorkerProcesses, siblings_of_a_failed_worker_are_stopped_and_only_2_x_lists_them) {
  for (const Variant variant : {Variant::torch_2_x, Variant::torch_1_13}) {
    TestJob job;
    job[0].config.variant = variant;
    job[0].config.nproc_per_node = 3;
    job.worker = one_fails(1, park);
    job.start_and_run();
    EXPECT_EQ(job.texts("worker.ended", "status"), (Texts{"1", "-15", "-15"}));
    EXPECT_EQ(job.texts("worker.ended", "stopped"), (Texts{"0", "1", "1"}));
    EXPECT_EQ(job.texts("failure.reported", "rank"), (Texts{"1"}));
    EXPECT_EQ(job.status(), 1);
  }
}

TEST(WorkerProcesses, siblings_get_thirty_seconds_whatever_was_configured) {
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job[0].config.shutdown_timeout = 1s;
  job.worker = one_fails(0, ignores_sigterm);
  job.start_and_run();
  const auto signals = job.events_named("worker.signalled");
  ASSERT_EQ(signals.size(), 2U);
  EXPECT_EQ(signals[1]["signal"], "9");
  EXPECT_EQ(signals[1].at - signals[0].at, 30s);
}

TEST(WorkerProcesses, siblings_get_from_a_hardened_agent_what_was_configured) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].config.nproc_per_node = 2;
  job[0].config.shutdown_timeout = 1s;
  job.worker = one_fails(0, ignores_sigterm);
  job.start_and_run();
  const auto signals = job.events_named("worker.signalled");
  ASSERT_EQ(signals.size(), 2U);
  EXPECT_EQ(signals[1].at - signals[0].at, 1s);
}

TEST(WorkerProcesses, a_worker_that_ends_in_time_gets_no_second_signal) {
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job.worker = one_fails(0, [](Ports& ports) {
    static_cast<void>(ports.processes.catch_signal(Signal::term));
    static_cast<void>(ports.processes.wait_signal(std::nullopt));
    world::sleep(ports, 20s);
    return 0;
  });
  job.start_and_run();
  EXPECT_EQ(job.texts("worker.signalled", "signal"), (Texts{"15"}));
  EXPECT_EQ(job.texts("worker.ended", "status"), (Texts{"1", "0"}));
}

/// Each wait begins with short pauses anew; a worker that ends while one before it is waited for is
/// seen when its turn comes.
TEST(WorkerProcesses, are_waited_for_one_after_the_other) {
  TestJob job;
  job[0].config.nproc_per_node = 4;
  job.worker = one_fails(3, [](Ports& ports) {
    const std::int64_t rank = number_of(ports, "LOCAL_RANK");
    if (rank == 1) return park(ports);  // ends at once
    static_cast<void>(ports.processes.catch_signal(Signal::term));
    static_cast<void>(ports.processes.wait_signal(std::nullopt));
    world::sleep(ports, rank == 0 ? 6s : 6100ms);
    return 0;
  });
  job.start_and_run();
  const auto told = job.events_named("worker.signalled");
  const auto ended = job.events_named("worker.ended");
  ASSERT_EQ(told.size(), 3U);
  ASSERT_EQ(job.texts("worker.ended", "local_rank"), (Texts{"3", "0", "1", "2"}));
  // Pauses of 1, 2, 4, 8, 16 and 32 ms, then of 50 ms.
  EXPECT_EQ(ended[1].at - told[0].at, 63ms + 119 * 50ms);
  EXPECT_EQ(ended[2].at, ended[1].at);
  EXPECT_EQ(ended[3].at - ended[2].at, 63ms + 50ms);
}

/// One that heeds no SIGTERM takes all the time; that another has ended is seen when the first one
/// has been killed.
TEST(WorkerProcesses, behind_one_that_takes_all_the_time_are_looked_at_after_its_kill) {
  TestJob job;
  job[0].config.nproc_per_node = 3;
  job.worker = one_fails(2, [](Ports& ports) {
    if (number_of(ports, "LOCAL_RANK") == 1) return park(ports);  // ends at once
    static_cast<void>(ports.processes.catch_signal(Signal::term));
    return park(ports);
  });
  job.start_and_run();
  EXPECT_EQ(job.texts("worker.signalled", "signal"), (Texts{"15", "15", "9"}));
  EXPECT_EQ(job.texts("worker.ended", "local_rank"), (Texts{"2", "0", "1"}));
}

/// The releases up to 2.12 (pytorch/pytorch#185414).
constexpr char kWithoutLimit[] = "worker.killed_waited_for_without_limit";

TEST(WorkerProcesses, an_unkillable_worker_hangs_an_agent_before_2_13_without_limit) {
  for (const Variant variant : {Variant::torch_1_13, Variant::torch_2_x}) {
    TestJob job;
    job[0].config.variant = variant;
    if (variant == Variant::torch_2_x) job[0].config.defects = {kWithoutLimit};
    job[0].config.nproc_per_node = 2;
    job.worker = one_fails(0, park);
    make_unkillable(job, 1, Duration::zero());
    job.start();
    job.run_for(24h);
    EXPECT_EQ(job.status(), std::nullopt);
    EXPECT_EQ(job.texts("worker.signalled", "signal"), (Texts{"15", "9"}));
    EXPECT_TRUE(job.events_named("agent.finished").empty());
    const auto told = job.events_named("worker.uninterruptible");
    ASSERT_EQ(told.size(), 1U);
    EXPECT_EQ(told[0]["local_rank"], "1");
    EXPECT_EQ(told[0]["consequence"], "waited_for");
    EXPECT_EQ(told[0].at - job.events_named("worker.signalled").at(1).at, 30s);
  }
}

/// It is waited for once more for the grace of that stop: of the look that finds the failure and of
/// the end of the loop 30 s, of the end of the run what was configured.
TEST(WorkerProcesses, an_unkillable_worker_is_waited_for_once_more_and_then_left) {
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job[0].config.max_restarts = 0;
  job[0].config.shutdown_timeout = 2s;
  job.worker = one_fails(0, park);
  make_unkillable(job, 1, Duration::zero());
  job.start();
  job.run_for(24h);
  EXPECT_EQ(job.ending().substr(0, 8), "failed 1");
  EXPECT_EQ(job.texts("failure.reported", "rank"), (Texts{"0"})) << "the other one has not ended";
  const auto signals = job.events_named("worker.signalled");
  const auto told = job.events_named("worker.uninterruptible");
  ASSERT_EQ(signals.size(), 6U);
  ASSERT_EQ(told.size(), 3U);
  for (std::size_t stop = 0; stop < 3; ++stop) {
    const Duration grace = stop < 2 ? 30s : 2s;
    EXPECT_EQ(signals[2 * stop]["signal"], "15");
    EXPECT_EQ(signals[2 * stop + 1]["signal"], "9");
    EXPECT_EQ(signals[2 * stop + 1].at - signals[2 * stop].at, grace);
    EXPECT_EQ(told[stop].at - signals[2 * stop + 1].at, grace);
    EXPECT_EQ(told[stop]["consequence"], "abandoned");
  }
  EXPECT_EQ(job.living(), 1U);
}

TEST(WorkerProcesses, an_unkillable_worker_gets_a_successor_beside_it) {
  TestJob job;
  job[0].config.max_restarts = 0;
  job[0].rendezvous.waiting = [&](Ports&) { return job[0].rendezvous.looks == 11 ? 1 : 0; };
  job.worker = park;
  make_unkillable(job, 0, Duration::zero());
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job[0].rendezvous.joins, 2);
  EXPECT_EQ(job.events_named("worker.started").size(), 2U);
  EXPECT_EQ(job.living(), 3U) << "the agent and both workers";
}

TEST(WorkerProcesses, an_unkillable_worker_keeps_those_behind_it_alive) {
  for (const bool without_limit : {true, false}) {
    TestJob job;
    if (without_limit) job[0].config.defects = {kWithoutLimit};
    job[0].config.nproc_per_node = 3;
    job[0].config.max_restarts = 0;
    job.worker = one_fails(0, ignores_sigterm);
    make_unkillable(job, 1, 1000s);
    job.start();
    job.run_for(1h);
    const auto ended = job.events_named("worker.ended");
    ASSERT_GE(ended.size(), 2U);
    const std::size_t last = without_limit ? 2 : 1;
    ASSERT_GT(ended.size(), last);
    EXPECT_EQ(ended[last]["local_rank"], "2");
    if (without_limit) {
      EXPECT_EQ(ended[1]["local_rank"], "1");
      EXPECT_GE(ended[last].at, 1000s);
    } else {  // after the grace of its own and that of the one before
      EXPECT_GE(ended[last].at - ended[0].at, 60s);
      EXPECT_LT(ended[last].at - ended[0].at, 61s);
    }
    EXPECT_EQ(job.ending().substr(0, 8), "failed 1");
  }
}

TEST(WorkerProcesses, a_signal_still_reaches_an_agent_that_waits_for_an_unkillable_worker) {
  TestJob job;
  job[0].config.defects = {kWithoutLimit};
  job[0].config.nproc_per_node = 2;
  job.worker = one_fails(0, park);
  make_unkillable(job, 1, Duration::zero());
  for (const Duration when : {100s, 200s}) job.signal_at(when, Signal::term);
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job.status(), std::nullopt);  // and the wait begins again, twice
  EXPECT_EQ(job.texts("worker.signalled", "signal"), (Texts{"15", "9", "15", "9", "15", "9"}));
}

TEST(WorkerProcesses, a_worker_that_dies_late_for_another_reason_is_not_told) {
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job.worker = one_fails(0, ignores_sigterm);
  job.start_and_run();
  EXPECT_TRUE(job.events_named("worker.uninterruptible").empty());
}

TEST(WorkerProcesses, hardened_leaves_behind_what_cannot_be_ended_and_starts_nothing_beside_it) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].config.nproc_per_node = 3;
  job[0].config.max_restarts = 3;
  job.worker = one_fails(0, ignores_sigterm);
  make_unkillable(job, 1, Duration::zero());
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job.ending().substr(0, 8), "failed 1");
  EXPECT_EQ(job.texts("worker.uninterruptible", "consequence"), (Texts{"abandoned"}));
  EXPECT_EQ(job.texts("worker.ended", "local_rank"), (Texts{"0", "2"})) << "those behind it end";
  EXPECT_TRUE(job.events_named("group.restarting").empty());
  EXPECT_EQ(job.texts("failure.reported", "rank"), (Texts{"0"}));
  EXPECT_EQ(job.living(), 1U);
}

TEST(WorkerProcesses, hardened_ends_when_a_new_round_would_need_what_cannot_be_ended) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].rendezvous.waiting = [&](Ports&) { return job[0].rendezvous.looks > 10 ? 1 : 0; };
  job.worker = park;
  make_unkillable(job, 0, Duration::zero());
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job.ending(),
            "error 1 RuntimeError: a worker cannot be ended: it is asleep in the kernel (state D)");
  EXPECT_EQ(job[0].rendezvous.joins, 1);
}

TEST(WorkerProcesses, hardened_goes_on_when_what_it_had_left_behind_has_ended_after_all) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].config.nproc_per_node = 2;
  job[0].rendezvous.waiting = [&](Ports&) { return job[0].rendezvous.looks == 11 ? 1 : 0; };
  job.worker = park;
  // Both die while the second one is waited for, and the first one has been given up.
  for (const std::int32_t worker : {0, 1}) make_unkillable(job, worker, 80s);
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job.texts("worker.uninterruptible", "local_rank"), (Texts{"0"}));
  EXPECT_EQ(job.texts("worker.ended", "local_rank"), (Texts{"1", "0"}));
  EXPECT_EQ(job[0].rendezvous.joins, 2);
  EXPECT_EQ(job.living(), 3U) << "the agent and its new workers";
}

TEST(WorkerProcesses, those_started_before_one_that_cannot_be_started_are_left_behind) {
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job[0].config.max_restarts = 3;
  job[0].config.command = {"worker${local_rank}"};
  job.world->register_program("worker0", park);
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job.status(), 1);
  EXPECT_EQ(job.ending().substr(0, 55), "error 1 RuntimeError: worker 1 cannot be started: not f");
  EXPECT_EQ(job.living(), 1U);
  EXPECT_TRUE(job.events_named("worker.signalled").empty());
  EXPECT_TRUE(job.states().empty());
}

TEST(WorkerProcesses, a_hardened_agent_ends_those_before_one_that_cannot_be_started) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].config.nproc_per_node = 2;
  job[0].config.command = {"worker${local_rank}"};
  job.world->register_program("worker0", park);
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job.status(), 1);
  EXPECT_EQ(job.living(), 0U);
  EXPECT_EQ(job.texts("worker.signalled", "signal"), (Texts{"15"}));
  EXPECT_EQ(job[0].rendezvous.shutdowns, 0) << "an error of its own closes nothing";
}

/// Starts a child of its own, then does `then`.
std::function<int(Ports&)> with_child(std::function<int(Ports&)> then) {
  return [then = std::move(then)](Ports& ports) {
    sim::SpawnRequest request;
    request.argv = {"child"};
    request.new_session = false;
    static_cast<void>(ports.processes.spawn(request));
    return then(ports);
  };
}

TEST(WorkerProcesses, descendants_of_a_stopped_worker_go_with_it) {
  TestJob job;
  job.world->register_program("child", park);
  job.worker = with_child(park);
  job.signal_at(5s, Signal::term);
  job.start_and_run();
  EXPECT_EQ(job.living(), 0U);
}

TEST(WorkerProcesses, descendants_of_a_crashed_worker_survive) {
  TestJob job;
  job.world->register_program("child", park);
  job.worker = with_child(exits(1s, 1));
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job.status(), 1);
  EXPECT_EQ(job.living(), 1U);
}

TEST(WorkerProcesses, descendants_of_a_worker_end_with_it_under_a_hardened_agent) {
  for (const int code : {0, 1}) {
    TestJob job;
    job[0].config.variant = Variant::hardened;
    job.world->register_program("child", park);
    job.worker = with_child(exits(1s, code));
    job.start();
    job.run_for(1h);
    EXPECT_EQ(job.status(), code);
    EXPECT_EQ(job.living(), 0U);
  }
}

TEST(WorkerProcesses, torch_1_13_signals_the_process_alone) {
  TestJob job;
  job[0].config.variant = Variant::torch_1_13;
  job.world->register_program("child", park);
  job.worker = with_child(park);
  job.signal_at(5s, Signal::term);
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job.status(), 1);
  EXPECT_EQ(job.living(), 1U);
}

TEST(WorkerProcesses, bound_to_processors_are_started_by_numactl) {
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job[0].config.command = {"worker", "${local_rank}"};
  job[0].config.processors = {"0-3", "4,6"};
  Texts started;
  job.world->register_program("numactl", [&](Ports& ports) {
    for (const std::string& argument : ports.processes.arguments()) started.push_back(argument);
    return 0;
  });
  job.start_and_run();
  EXPECT_EQ(started, (Texts{"numactl", "--physcpubind=0-3", "worker", "0", "numactl",
                            "--physcpubind=4,6", "worker", "1"}));
}

}  // namespace
}  // namespace hooke::model
