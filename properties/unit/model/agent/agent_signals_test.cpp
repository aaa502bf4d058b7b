// Signals to the agent, in each phase of its life. A caught signal is noticed only where Python
// code runs; where PyTorch waits in native code the agent is deaf.
#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

/// A rendezvous that takes a minute and may be interrupted, as the dynamic one while it polls.
std::function<RendezvousInfo(Ports&, std::int64_t)> slow_join(TestJob& job) {
  return [&job](Ports& ports, std::int64_t call) {
    interruptible_sleep(ports, 60s);
    return job.round_of(ports, call + 1);
  };
}

TEST(AgentSignals, sigterm_before_the_first_worker_start_kills_without_any_cleanup) {
  for (const Signal signal : {Signal::term, Signal::hup, Signal::quit}) {
    TestJob job;
    job[0].rendezvous.join = slow_join(job);
    job.signal_at(5s, signal);
    job.start_and_run();
    EXPECT_EQ(job.status(), -static_cast<int>(signal));
    EXPECT_EQ(job.ending(), "<none>");
    EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
  }
}

TEST(AgentSignals, sigint_before_the_first_worker_start_closes_the_rendezvous) {
  TestJob job;
  job[0].rendezvous.join = slow_join(job);
  job.signal_at(5s, Signal::int_);
  job.start_and_run();
  EXPECT_EQ(job.status(), 130);
  EXPECT_EQ(job.ending().substr(0, 13), "signalled 130");
  EXPECT_EQ(job.texts("agent.signalled", "phase"), (Texts{"before workers"}));
  EXPECT_EQ(job[0].rendezvous.shutdowns, 1);
}

TEST(AgentSignals, sigint_before_there_is_a_rendezvous_is_told_too) {
  TestJob job;
  job.plugins.rendezvous.add("deaf", [](Ports& ports, const RendezvousParameters&) {
    ports.executor.sleep_until(ports.clock.monotonic_now() + 10s);
    check_signals(ports);
    return std::unique_ptr<RendezvousHandler>();
  });
  job[0].config.rdzv_backend = "deaf";
  job.signal_at(5s, Signal::int_);
  job.start_and_run();
  EXPECT_EQ(job.texts("agent.signalled", "signal"), (Texts{"2"}));
  EXPECT_EQ(job.texts("agent.signalled", "phase"), (Texts{"before workers"}));
  EXPECT_EQ(job.status(), 130);
}

TEST(AgentSignals, sigint_before_the_first_worker_start_only_takes_a_hardened_node_out) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].rendezvous.join = slow_join(job);
  job.signal_at(5s, Signal::int_);
  job.start_and_run();
  EXPECT_EQ(job.status(), 130);
  EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
  EXPECT_EQ(job[0].rendezvous.leaves, 1);
}

TEST(AgentSignals,
     any_signal_before_the_first_worker_start_only_takes_a_hardened_node_out) {
  for (const Signal signal : {Signal::term, Signal::hup, Signal::quit}) {
    TestJob job;
    job[0].config.variant = Variant::hardened;
    job[0].rendezvous.join = slow_join(job);
    job.signal_at(5s, signal);
    job.start_and_run();
    EXPECT_EQ(job.status(), 128 + static_cast<int>(signal));
    EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
    EXPECT_EQ(job[0].rendezvous.leaves, 1);
  }
}

TEST(AgentSignals, each_handled_signal_is_passed_on_and_leaves_the_rendezvous_open) {
  for (const Signal signal : {Signal::term, Signal::int_, Signal::hup, Signal::quit}) {
    const std::string number = std::to_string(static_cast<int>(signal));
    TestJob job;
    job[0].config.nproc_per_node = 2;
    job.signal_at(5s, signal);
    job.start_and_run();
    EXPECT_EQ(job.status(), 1);
    EXPECT_EQ(job.ending(), "signalled 1 Process 100 got signal: " + number);
    EXPECT_EQ(job.texts("worker.signalled", "signal"), (Texts{number, number}));
    EXPECT_EQ(job.texts("worker.ended", "status"), (Texts{"-" + number, "-" + number}));
    EXPECT_EQ(job.texts("agent.signalled", "signal"), (Texts{number}));
    EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
    EXPECT_EQ(job.events_named("worker.signalled").at(0).at, 5s);  // the sleep is interrupted
  }
}

TEST(AgentSignals, a_worker_that_ignores_the_signal_is_killed_after_the_configured_grace) {
  TestJob job;
  job[0].config.shutdown_timeout = 4s;
  job.worker = ignores_sigterm;
  job.signal_at(5s, Signal::term);
  job.start_and_run();
  const auto signals = job.events_named("worker.signalled");
  ASSERT_EQ(signals.size(), 2U);
  EXPECT_EQ(signals[1]["signal"], "9");
  EXPECT_EQ(signals[1].at, 9s);
}

TEST(AgentSignals, a_second_signal_during_the_shutdown_starts_the_grace_anew_with_sigterm) {
  TestJob job;
  job.worker = ignores_sigterm;
  job.signal_at(5s, Signal::term);
  job.signal_at(10s, Signal::hup);
  job.start_and_run();
  const auto signals = job.events_named("worker.signalled");
  ASSERT_EQ(signals.size(), 3U);
  EXPECT_EQ(job.texts("worker.signalled", "signal"), (Texts{"15", "15", "9"}));
  EXPECT_EQ(signals[1].at, 10s);
  EXPECT_EQ(signals[2].at, 40s);
  EXPECT_EQ(job.ending(), "signalled 1 Process 100 got signal: 1");
  EXPECT_EQ(job.texts("agent.signalled", "signal"), (Texts{"1"}));
}

TEST(AgentSignals, a_third_signal_during_the_shutdown_orphans_the_workers) {
  TestJob job;
  job.worker = ignores_sigterm;
  for (const Duration when : {5s, 10s, 15s}) job.signal_at(when, Signal::term);
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job.status(), 1);
  EXPECT_EQ(job.events_named("agent.finished").at(0).at, 15s);
  EXPECT_EQ(job.living(), 1U);
}

TEST(AgentSignals, a_hardened_agent_stops_its_workers_first_however_many_signals_come) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job.worker = ignores_sigterm;
  job.signal_at(5s, Signal::term);
  job.signal_at(10s, Signal::hup);
  job.signal_at(15s, Signal::quit);
  job.start();
  job.run_for(1h);
  const auto signals = job.events_named("worker.signalled");
  ASSERT_EQ(signals.size(), 2U);
  EXPECT_EQ(job.texts("worker.signalled", "signal"), (Texts{"15", "9"}));
  EXPECT_EQ(signals[1].at, 35s);
  EXPECT_EQ(job.ending().substr(0, 9), "signalled");
  EXPECT_EQ(job.living(), 0U);
  EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
}

TEST(AgentSignals, a_hardened_agent_that_is_told_to_go_twice_at_once_still_leaves) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job.worker = ignores_sigterm;
  job.signal_at(5s, Signal::term);
  job.signal_at(5s + 1us, Signal::quit);
  job.start_and_run();
  EXPECT_EQ(job.texts("agent.signalled", "signal"), (Texts{"15", "3"}));
  EXPECT_EQ(job.status(), 128 + static_cast<int>(Signal::quit)) << "the latest is told";
  EXPECT_EQ(job[0].rendezvous.leaves, 1);
  EXPECT_EQ(job.living(), 0U);
}

TEST(AgentSignals, a_hardened_agent_that_is_told_again_while_it_leaves_leaves_all_the_same) {
  for (const auto& [times, leaves] : {std::pair(1, 1), {2, 1}, {3, 0}}) {
    TestJob job;
    job[0].config.variant = Variant::hardened;
    job[0].rendezvous.leave = [](Ports& ports) { interruptible_sleep(ports, 300ms); };
    job.signal_at(5s, Signal::int_);
    for (int i = 1; i <= times; ++i) job.signal_at(5s + i * 200ms, Signal::term);
    job.start_and_run();
    EXPECT_EQ(job[0].rendezvous.leaves, leaves) << times << " more signals";
    EXPECT_EQ(job.status(), 128 + static_cast<int>(Signal::term));
  }
}

TEST(AgentSignals, a_hardened_agent_says_by_which_signal_it_ended) {  // L-4
  for (const Signal signal : {Signal::term, Signal::int_, Signal::hup, Signal::quit}) {
    TestJob job;
    job[0].config.variant = Variant::hardened;
    job.signal_at(5s, signal);
    job.start_and_run();
    EXPECT_EQ(job.status(), 128 + static_cast<int>(signal));
    EXPECT_EQ(job[0].rendezvous.leaves, 1);
  }
}

TEST(AgentSignals, a_signal_while_an_error_shuts_the_workers_down_orphans_them) {
  TestJob job;
  job[0].rendezvous.waiting = [](Ports&) -> std::int64_t {
    throw RendezvousConnectionError("gone");
  };
  job.worker = ignores_sigterm;
  job.signal_at(5s, Signal::term);
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job.events_named("agent.finished").at(0).at, 5s);
  EXPECT_EQ(job.ending().substr(0, 11), "signalled 1");
  EXPECT_EQ(job.living(), 1U);
}

TEST(AgentSignals, a_signal_while_siblings_of_a_failed_worker_stop_shuts_down_with_that_signal) {
  TestJob job;
  job[0].config.max_restarts = 3;
  job[0].config.nproc_per_node = 2;
  job.worker = [](Ports& ports) {
    if (number_of(ports, "LOCAL_RANK") == 0) return 1;
    return ignores_sigterm(ports);
  };
  job.signal_at(5s, Signal::quit);
  job.start_and_run();
  EXPECT_EQ(job.texts("worker.signalled", "signal"), (Texts{"15", "3"}));
  EXPECT_EQ(job.ending(), "signalled 1 Process 100 got signal: 3");
  EXPECT_EQ(job[0].rendezvous.joins, 1);
}

TEST(AgentSignals, handlers_stay_installed_while_the_agent_rejoins) {
  TestJob job;
  job[0].config.max_restarts = 3;
  job[0].rendezvous.join = [&](Ports& ports, std::int64_t call) {
    if (call > 0) interruptible_sleep(ports, 60s);
    return job.round_of(ports, call + 1);
  };
  job.worker = exits(1s, 1);
  job.signal_at(5s, Signal::term);
  job.start_and_run();
  EXPECT_EQ(job.status(), 1);
  EXPECT_EQ(job.events_named("agent.finished").at(0).at, 5s);
  EXPECT_EQ(job.states().back(), "STOPPED");
  EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
}

/// Two agents; the worker of a runs for 1 s, that of b for `span`; a is told to stop at 10 s.
void signal_in_exit_barrier(TestJob& job, Duration span) {
  job.worker = [span](Ports& ports) {
    world::sleep(ports, ports.network.host_name() == "a" ? 1s : span);
    return 0;
  };
  job.signal_at(10s, Signal::term);
  job.start_and_run();
}

TEST(AgentSignals, a_signal_in_the_exit_barrier_waits_until_the_others_have_come) {
  TestJob job(2);
  signal_in_exit_barrier(job, 20s);
  const auto left = job.events_named("exit_barrier.left");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0]["result"], "interrupted");
  EXPECT_EQ(left[0].at, 20s);
  EXPECT_EQ(job.ending(0).substr(0, 11), "signalled 1");
  EXPECT_EQ(job.status(1), 0);
}

TEST(AgentSignals, a_signal_in_the_exit_barrier_waits_for_its_whole_timeout) {
  TestJob job(2);
  signal_in_exit_barrier(job, 1000s);
  const auto left = job.events_named("exit_barrier.left");
  ASSERT_EQ(left.size(), 1U);
  EXPECT_EQ(left[0]["result"], "interrupted");  // not "timed_out": that error is not told
  EXPECT_EQ(left[0].at, 301s);
  EXPECT_EQ(job.ending(0).substr(0, 11), "signalled 1");
  EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
}

TEST(AgentSignals, a_signal_at_the_fault_point_before_the_exit_barrier_comes_before_it) {
  TestJob job;
  job.worker = exits(1s, 0);
  job.world->on_fault_point(
      [&](sim::NodeId node, sim::Pid pid, std::string_view name, std::uint64_t) {
        if (name != "agent.exit_barrier") return;
        job.inject(world::FaultKind::process_signal, [&](world::Fault& fault) {
          fault.node = node;
          fault.pid = pid;
          fault.signal = Signal::hup;
        });
      });
  job.start_and_run();
  EXPECT_TRUE(job.events_named("exit_barrier.entered").empty());
  EXPECT_EQ(job.texts("agent.signalled", "signal"), (Texts{"1"}));
  EXPECT_EQ(job.ending().substr(0, 11), "signalled 1");
}

TEST(AgentSignals, equal_signals_in_a_deaf_wait_count_as_one) {
  TestJob job;
  job[0].rendezvous.waiting = [](Ports& ports) {
    world::sleep(ports, 10s);  // a slow store
    return std::int64_t{0};
  };
  job.worker = exits(60s, 0);
  for (const Duration when : {2s, 3s, 4s}) job.signal_at(when, Signal::term);
  job.start_and_run();
  // Three different ones would have left the worker running, see above.
  EXPECT_EQ(job.texts("worker.ended", "status"), (Texts{"-15"}));
  EXPECT_EQ(job.ending().substr(0, 11), "signalled 1");
}

/// a forms a round of its own, then one with b, which comes at `late` (never without).
void signal_in_rank_assignment(TestJob& job, std::optional<Duration> late) {
  job[0].rendezvous.join = [&job](Ports& ports, std::int64_t call) {
    RendezvousInfo info = job.round_of(ports, call + 1);
    if (call == 0) info.world_size = 1;
    return info;
  };
  job[0].rendezvous.waiting = [&job](Ports&) { return job[0].rendezvous.joins == 1 ? 1 : 0; };
  job[1].rendezvous.join = [&job](Ports& ports, std::int64_t) { return job.round_of(ports, 2); };
  job.signal_at(10s, Signal::term);
  job.start_agent(0);
  if (late) job.at(*late, [&job] { job.start_agent(1); });
  job.run();
}

TEST(AgentSignals, rank_assignment_is_deaf_but_ends_after_the_call_that_was_waiting) {
  TestJob job(2);
  signal_in_rank_assignment(job, 20s);
  EXPECT_EQ(job.events_named("agent.finished").at(0).at, 20s);
  EXPECT_EQ(job.ending(0).substr(0, 11), "signalled 1");
  // a has read both role infos, but it is interrupted before it can write the ranks.
  EXPECT_EQ(job.store(2)->text("torchelastic/assigned_ranks/1"), "<none>");
  EXPECT_EQ(job.ending(1).substr(0, 23), "error 1 DistStoreError:");
}

TEST(AgentSignals, a_signal_in_a_deaf_wait_that_fails_replaces_the_error) {
  TestJob job(2);
  signal_in_rank_assignment(job, std::nullopt);
  EXPECT_GE(job.events_named("agent.finished").at(0).at, 300s);
  EXPECT_EQ(job.ending(0).substr(0, 11), "signalled 1");
  EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
}

TEST(AgentSignals, a_signal_during_a_look_at_the_rendezvous_comes_before_the_restart) {
  TestJob job;
  job[0].rendezvous.waiting = [](Ports& ports) {
    world::sleep(ports, 10s);  // a slow store
    return std::int64_t{1};
  };
  job.worker = exits(60s, 0);
  job.signal_at(5s, Signal::term);
  job.start_and_run();
  EXPECT_TRUE(job.events_named("group.restarting").empty());
  EXPECT_EQ(job.ending().substr(0, 11), "signalled 1");
}

TEST(AgentSignals, a_signal_while_a_finished_agent_closes_the_rendezvous_makes_it_fail) {
  TestJob job;
  job[0].rendezvous.shutdown = [](Ports& ports) {
    world::sleep(ports, 10s);  // a slow store
    return true;
  };
  job.worker = exits(1s, 0);
  job.signal_at(5s, Signal::term);
  job.start_and_run();
  EXPECT_EQ(job.status(), 1);
  EXPECT_EQ(job.ending().substr(0, 11), "signalled 1");
}

TEST(AgentSignals, a_signal_that_is_not_to_be_handled_keeps_its_default_action) {
  TestJob job;
  job[0].config.signals_to_handle = {Signal::term};
  job.signal_at(5s, Signal::hup);
  job.start_and_run();
  EXPECT_EQ(job.status(), -1);
  EXPECT_EQ(job.ending(), "<none>");
}

TEST(AgentSignals, sigint_that_is_not_to_be_handled_stays_a_keyboard_interrupt) {
  TestJob job;
  job[0].config.signals_to_handle = {Signal::term};
  job.signal_at(5s, Signal::int_);
  job.start_and_run();
  EXPECT_EQ(job.status(), 130);
  EXPECT_EQ(job.texts("worker.signalled", "signal"), (Texts{"15"}));
  EXPECT_EQ(job[0].rendezvous.shutdowns, 1);
}

TEST(AgentSignals, a_signal_that_cannot_be_caught_makes_the_start_fail) {
  TestJob job;
  job[0].config.signals_to_handle = {Signal::term, Signal::kill};
  job.start_and_run();
  EXPECT_EQ(job.ending(), "error 1 OSError: OSError: SIGKILL cannot be caught");
  EXPECT_TRUE(job.environments.empty());
}

}  // namespace
}  // namespace hooke::model
