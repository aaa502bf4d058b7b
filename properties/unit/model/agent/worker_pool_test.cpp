// Workers that are leased from a pool.
#include "model/worker/worker_pool.h"

#include <gtest/gtest.h>

#include "model/worker/pool_wire.h"
#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

/// A job on one machine, whose workers come from a pool.
class PoolJob : public TestJob {
 public:
  explicit PoolJob(std::int64_t slots) {
    world->register_program("pool", [slots](Ports& ports) {
      WorkerPool served(ports, sim::PortNumber{kWorkerPoolPort}, slots);
      static_cast<void>(ports.processes.catch_signal(Signal::term));
      served.run();
      return 0;
    });
    (*this)[0].config.process_launcher = {"pool", {}};
    start_pool();
  }
  void start_pool() {
    const auto pid = world->start((*this)[0].node, {{"pool"}, {}, true, {}, {}});
    EXPECT_TRUE(pid.ok());
    pool = pid.value();
  }
  sim::Pid pool;
};

TEST(WorkerPool, workers_of_a_pool_are_restarted_and_succeed_like_an_agents_own) {
  PoolJob job(2);
  job[0].config.nproc_per_node = 2;
  job[0].config.max_restarts = 1;
  job.worker = [](Ports& ports) {
    world::sleep(ports, 2s);
    const bool fails =
        number_of(ports, "LOCAL_RANK") == 1 && number_of(ports, "TORCHELASTIC_RESTART_COUNT") == 0;
    return fails ? 7 : 0;
  };
  job.start_and_run();
  EXPECT_EQ(job.status(), 0);
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "FAILED", "STOPPED", "HEALTHY", "SUCCEEDED"}));
  EXPECT_EQ(job.texts("pool.leased", "free"), (Texts{"0", "0"}));
  EXPECT_EQ(job.texts("pool.reclaimed", "killed"), (Texts{"0", "0"}));
  EXPECT_EQ(job.variable("RANK"), (Texts{"0", "1", "0", "1"}));
  EXPECT_EQ(job.living(), 1U);  // the pool
}

TEST(WorkerPool, the_end_of_a_worker_is_told_as_it_was) {
  PoolJob job(1);
  job.worker = [](Ports& ports) {
    static_cast<void>(ports.processes.signal(ports.processes.self(), Signal::quit));
    world::park_for_ever(ports);
    return 0;
  };
  job.start_and_run();
  EXPECT_EQ(job.texts("failure.reported", "status"), (Texts{"-3"}));
}

TEST(WorkerPool, workers_end_with_their_agent_whatever_ends_it) {
  PoolJob job(4);
  job[0].config.nproc_per_node = 4;
  job.worker = ignores_sigterm;
  job.signal_at(5s, Signal::kill);
  job.start();
  job.inject_at(8s, world::FaultKind::process_signal, [&](world::Fault& fault) {
    EXPECT_EQ(job.living(), 1U);
    fault.node = job[0].node;
    fault.pid = job.pool;
    fault.signal = Signal::term;
  });
  job.run();
  EXPECT_EQ(job.texts("pool.reclaimed", "killed"), (Texts{"4"}));
  EXPECT_EQ(job.living(), 0U);
}

TEST(WorkerPool, an_agent_waits_for_slots_and_can_be_told_to_end_meanwhile) {
  PoolJob job(3);
  job[0].config.nproc_per_node = 2;
  job.worker = exits(10s, 0);
  job.start_agent(0);
  const sim::Pid first = job[0].pid;
  job.start_agent(0);
  job.run();
  EXPECT_EQ(job.texts("pool.leased", "lease").size(), 2U);
  const auto leased = job.events_named("pool.leased");
  EXPECT_GE(leased.at(1).at - leased.at(0).at, 10s);
  EXPECT_EQ(job.exit_code(job[0].node, first), 0);
  EXPECT_EQ(job.status(), 0);
}

TEST(WorkerPool, a_signal_ends_the_wait_for_slots) {
  PoolJob job(3);
  job[0].config.nproc_per_node = 2;
  job.worker = exits(100s, 0);
  job.start_agent(0);
  job.start_agent(0);
  job.signal_at(20s, Signal::int_);
  job.run();
  EXPECT_EQ(job.texts("agent.finished", "outcome"), (Texts{"signalled", "succeeded"}));
  EXPECT_LT(job.events_named("agent.finished").at(0).at, 21s);
}

TEST(WorkerPool, more_workers_than_there_are_slots_are_refused) {
  PoolJob job(3);
  job[0].config.nproc_per_node = 4;
  job.start_and_run();
  EXPECT_EQ(job.ending(),
            "error 1 RuntimeError: the worker pool refuses 4 workers: it has 3 slots");
}

TEST(WorkerPool, without_a_pool_the_agent_says_so) {
  TestJob job;
  job[0].config.process_launcher = PluginChoice::parse("pool:port=1234");
  job.start_and_run();
  EXPECT_EQ(job.ending(),
            "error 1 RuntimeError: there is no worker pool at localhost:1234: connection refused");
}

TEST(WorkerPool, a_pool_that_dies_takes_the_agent_along) {
  PoolJob job(1);
  job.inject_at(5s, world::FaultKind::process_signal, [&](world::Fault& fault) {
    fault.node = job[0].node;
    fault.pid = job.pool;
    fault.signal = Signal::kill;
  });
  job.start_and_run();
  EXPECT_EQ(job.ending(),
            "error 1 RuntimeError: the worker pool has gone, and the workers are its own");
}

TEST(WorkerPool, a_peer_that_speaks_another_language_is_cut_off_and_harms_no_other) {
  PoolJob job(1);
  job.worker = exits(10s, 0);
  job.world->register_program("stranger", [](Ports& ports) {
    for (const std::string& bytes :
         {std::string("GET / HTTP/1.1\r\n\r\n"), encode_pool_message({"lease", "x"}),
          encode_pool_message({"dance"}), encode_pool_message({"start", "1", "", "", "9", "a"}),
          encode_pool_message({"start", "1", "", "", "1", "worker"})}) {
      auto stream =
          ports.network.connect({"localhost", sim::PortNumber{kWorkerPoolPort}}, std::nullopt);
      EXPECT_TRUE(stream.ok());
      static_cast<void>((*stream)->write(sim::Buffer(bytes)));
      const auto answer = (*stream)->read(ports.clock.monotonic_now() + 5s);
      EXPECT_TRUE(!answer.ok() ? answer.failure().fault != sim::Fault::timed_out
                               : answer.value().empty());
    }
    return 0;
  });
  job.start();
  EXPECT_TRUE(job.world->start(job[0].node, {{"stranger"}, {}, true, {}, {}}).ok());
  job.run();
  EXPECT_EQ(job.status(), 0);
  EXPECT_EQ(job.environments.size(), 1U);
}

TEST(WorkerPool, a_peer_that_asks_for_a_second_lease_while_it_waits_is_cut_off) {
  PoolJob job(2);
  job[0].config.nproc_per_node = 2;
  job.worker = exits(10s, 0);
  job.world->register_program("greedy", [](Ports& ports) {
    ports.executor.sleep_until(ports.clock.monotonic_now() + 2s);  // all slots are leased
    auto stream =
        ports.network.connect({"localhost", sim::PortNumber{kWorkerPoolPort}}, std::nullopt);
    EXPECT_TRUE(stream.ok());
    const std::string lease = encode_pool_message({"lease", "1"});
    static_cast<void>((*stream)->write(sim::Buffer(lease + lease)));
    const auto answer = (*stream)->read(ports.clock.monotonic_now() + 60s);
    EXPECT_TRUE(!answer.ok() ? answer.failure().fault != sim::Fault::timed_out
                             : answer.value().empty());
    return 0;
  });
  job.start();
  EXPECT_TRUE(job.world->start(job[0].node, {{"greedy"}, {}, true, {}, {}}).ok());
  job.run();
  EXPECT_EQ(job.status(), 0);
  EXPECT_EQ(job.texts("pool.leased", "free"), (Texts{"0"}));
}

}  // namespace
}  // namespace hooke::model
