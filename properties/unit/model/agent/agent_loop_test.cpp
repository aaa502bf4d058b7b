// The loop of the agent, row by row: what each state of the workers and each count of waiting nodes
// leads to.
#include <gmock/gmock.h>

#include <utility>

#include "model/observe/raised_errors.h"
#include "model/rendezvous/core/errors.h"
#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;
using ::testing::HasSubstr;

TEST(AgentLoop, workers_that_end_well_lead_through_the_exit_barrier_to_success) {
  TestJob job;
  job.worker = exits(1050ms, 0);
  job.start_and_run();
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "SUCCEEDED"}));
  EXPECT_EQ(job.texts("exit_barrier.left", "result"), (Texts{"passed"}));
  EXPECT_EQ(job.ending(), "succeeded 0 ");
  EXPECT_EQ(job.status(), 0);
  EXPECT_EQ(job[0].rendezvous.shutdowns, 1);
}

TEST(AgentLoop, waiting_nodes_are_asked_for_at_every_healthy_look_and_only_then) {
  TestJob job;
  job.worker = exits(1050ms, 0);
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.looks, 10);  // at 0.1 s … 1.0 s, not at 1.1 s
}

TEST(AgentLoop, the_first_look_comes_one_interval_after_the_start) {
  TestJob job;
  job[0].config.monitor_interval = 5s;
  job.worker = exits(0s, 0);
  job.start_and_run();
  EXPECT_EQ(job.events_named("worker.ended").at(0).at, 5s);
}

TEST(AgentLoop, a_failed_worker_restarts_the_group_and_costs_one_of_the_budget) {
  TestJob job;
  job[0].config.max_restarts = 3;
  job.worker = [](Ports& ports) {
    world::sleep(ports, 1s);
    return number_of(ports, "TORCHELASTIC_RESTART_COUNT") < 2 ? 7 : 0;
  };
  job.start_and_run();
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "FAILED", "STOPPED", "HEALTHY", "FAILED", "STOPPED",
                                 "HEALTHY", "SUCCEEDED"}));
  EXPECT_EQ(job.texts("group.restarting", "cause"), (Texts{"worker_failure", "worker_failure"}));
  EXPECT_EQ(job.texts("group.restarting", "remaining_restarts"), (Texts{"2", "1"}));
  EXPECT_EQ(job.variable("TORCHELASTIC_RESTART_COUNT"), (Texts{"0", "1", "2"}));
  EXPECT_EQ(job.variable("TORCHELASTIC_MAX_RESTARTS"), (Texts{"3", "3", "3"}));
  EXPECT_EQ(job[0].rendezvous.joins, 3);
  EXPECT_EQ(job.status(), 0);
}

TEST(AgentLoop, waiting_nodes_are_not_asked_for_when_a_worker_has_failed) {
  TestJob job;
  job[0].config.max_restarts = 1;
  job.worker = exits(0s, 1);
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.looks, 0);
  EXPECT_EQ(job[0].rendezvous.joins, 2);
}

TEST(AgentLoop, a_failure_with_the_budget_spent_ends_the_agent_without_an_exit_barrier) {
  TestJob job;
  job.worker = exits(1s, 7);
  job.start_and_run();
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "FAILED"}));
  EXPECT_TRUE(job.events_named("exit_barrier.entered").empty());
  EXPECT_EQ(job.status(), 1);
  EXPECT_EQ(job.texts("failure.reported", "status"), (Texts{"7"}));
}

TEST(AgentLoop, torch_1_13_meets_in_the_exit_barrier_after_a_failure_too) {
  TestJob job;
  job[0].config.variant = Variant::torch_1_13;
  job.worker = exits(1s, 7);
  job.start_and_run();
  EXPECT_EQ(job.texts("exit_barrier.left", "result"), (Texts{"passed"}));
  EXPECT_EQ(job.ending().substr(0, 8), "failed 1");
}

TEST(AgentLoop, a_waiting_node_restarts_the_group_and_leaves_the_budget_alone) {
  TestJob job;
  job[0].rendezvous.waiting = [&](Ports&) { return job[0].rendezvous.joins == 1 ? 1 : 0; };
  job.start_and_run();
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "STOPPED", "HEALTHY", "SUCCEEDED"}));
  EXPECT_EQ(job.texts("group.restarting", "cause"), (Texts{"membership_change"}));
  EXPECT_EQ(job.variable("TORCHELASTIC_RESTART_COUNT"), (Texts{"0", "0"}));
  EXPECT_EQ(job.texts("worker.ended", "status"), (Texts{"-15", "0"}));
  EXPECT_EQ(job.texts("worker.ended", "stopped"), (Texts{"1", "0"}));
}

TEST(AgentLoop, only_a_hardened_agent_asks_what_has_followed_its_round) {
  const auto causes = [](Variant variant) {
    TestJob job;
    FakeRendezvous& rendezvous = job[0].rendezvous;
    job[0].config.variant = variant;
    rendezvous.waiting = [&](Ports&) { return rendezvous.joins == 1 ? 1 : 0; };
    rendezvous.successor = [&] {
      return rendezvous.joins == 1 ? Successor::complete : Successor::none;
    };
    job.start_and_run();
    return job.texts("group.restarting", "cause");
  };
  EXPECT_EQ(causes(Variant::torch_2_x), (Texts{"membership_change"}));
  EXPECT_EQ(causes(Variant::hardened), (Texts{"rendezvous_lost"}));
}

TEST(AgentLoop, membership_restarts_are_unlimited_even_with_no_budget) {
  TestJob job;
  job[0].config.max_restarts = 0;
  job[0].rendezvous.waiting = [&](Ports&) { return job[0].rendezvous.joins <= 20 ? 3 : 0; };
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.joins, 21);
  EXPECT_EQ(job.status(), 0);
}

TEST(AgentLoop, only_a_positive_number_of_waiting_nodes_matters) {
  TestJob job;
  job[0].rendezvous.waiting = [](Ports&) { return std::int64_t{-1}; };
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.joins, 1);
  EXPECT_EQ(job.status(), 0);
}

TEST(AgentLoop, one_failing_look_at_the_rendezvous_ends_a_healthy_agent_and_its_workers) {
  TestJob job;
  job[0].config.max_restarts = 3;
  job[0].rendezvous.waiting = [&](Ports&) -> std::int64_t {
    if (job[0].rendezvous.looks == 5) throw RendezvousConnectionError("blip");
    return 0;
  };
  job.start_and_run();
  EXPECT_EQ(job.ending(), "error 1 RendezvousConnectionError: blip");
  EXPECT_EQ(job.texts("worker.signalled", "signal"), (Texts{"15"}));
  EXPECT_EQ(job.texts("worker.ended", "status"), (Texts{"-15"}));
  EXPECT_EQ(job[0].rendezvous.shutdowns, 1);
}

TEST(AgentLoop, budgets_and_restart_counts_are_per_agent) {
  TestJob job(2);
  job[0].config.max_restarts = job[1].config.max_restarts = 1;
  // b's worker fails once; a learns of it as a membership change.
  job[0].rendezvous.waiting = [&](Ports&) {
    return job[1].rendezvous.joins > job[0].rendezvous.joins ? 1 : 0;
  };
  job.worker = [](Ports& ports) {
    const bool fails =
        ports.network.host_name() == "b" && number_of(ports, "TORCHELASTIC_RESTART_COUNT") == 0;
    world::sleep(ports, fails ? 1s : 10s);
    return fails ? 1 : 0;
  };
  job.start_and_run();
  std::map<std::string, std::string> counts;  // by group rank, of the last incarnation
  for (const auto& environment : job.environments) {
    counts[environment.at("GROUP_RANK")] = environment.at("TORCHELASTIC_RESTART_COUNT");
  }
  EXPECT_EQ(counts, (std::map<std::string, std::string>{{"0", "0"}, {"1", "1"}}));
  EXPECT_EQ(job.status(0), 0);
  EXPECT_EQ(job.status(1), 0);
}

TEST(AgentLoop, no_worker_runs_while_the_agent_rejoins) {
  TestJob job;
  std::vector<std::size_t> living;
  job[0].config.max_restarts = 1;
  job[0].config.nproc_per_node = 3;
  job[0].rendezvous.join = [&](Ports& ports, std::int64_t call) {
    living.push_back(job.living());
    world::sleep(ports, 2s);
    living.push_back(job.living());
    return job.round_of(ports, call + 1);
  };
  job.worker = [](Ports& ports) {
    world::sleep(ports, number_of(ports, "LOCAL_RANK") == 1 ? 1s : 5s);
    return number_of(ports, "TORCHELASTIC_RESTART_COUNT") == 0 ? 1 : 0;
  };
  job.start_and_run();
  EXPECT_EQ(living, (std::vector<std::size_t>{1, 1, 1, 1}));
  EXPECT_EQ(job.status(), 0);
}

TEST(AgentLoop, a_failed_first_rendezvous_ends_the_agent_before_any_state) {
  TestJob job;
  job[0].rendezvous.join = [](Ports&, std::int64_t) -> RendezvousInfo {
    throw RendezvousTimeoutError("no agent came");
  };
  job.start_and_run();
  EXPECT_EQ(job.ending(), "error 1 RendezvousTimeoutError: no agent came");
  EXPECT_TRUE(job.states().empty());
  EXPECT_EQ(job[0].rendezvous.shutdowns, 1);
}

TEST(AgentLoop, a_failed_rendezvous_within_a_restart_leaves_the_group_stopped) {
  TestJob job;
  job[0].config.max_restarts = 3;
  job[0].rendezvous.join = [&](Ports& ports, std::int64_t call) {
    if (call == 1) throw RendezvousClosedError("");
    return job.round_of(ports, call + 1);
  };
  job.worker = exits(1s, 1);
  job.start_and_run();
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "FAILED", "STOPPED"}));
  EXPECT_EQ(job.ending().substr(0, 29), "error 1 RendezvousClosedError");
}

/// How an agent ends whose worker fails while it asks the others, and hears that all is over, and
/// how many failures it tells of.
template <class Over>
std::string ending_of_a_failure_during_a_look(Variant variant) {
  TestJob job;
  job[0].config.variant = variant;
  job[0].rendezvous.waiting = [](Ports& ports) -> std::int64_t {
    world::sleep(ports, 10s);
    throw Over("for all");
  };
  job.worker = exits(3s, 1);
  job.start_and_run();
  return job.ending().substr(0, job.ending().find(':')) + ", " +
         std::to_string(job.texts("failure.reported", "rank").size());
}

TEST(AgentLoop, a_hardened_agent_that_hears_of_the_end_tells_of_its_own_failure_first) {
  for (const Variant variant : {Variant::hardened, Variant::torch_2_x}) {
    const bool mended = variant == Variant::hardened;
    EXPECT_EQ(ending_of_a_failure_during_a_look<RendezvousClosedError>(variant),
              mended ? "failed 1 ChildFailedError, 1" : "error 1 RendezvousClosedError, 0");
    EXPECT_EQ(ending_of_a_failure_during_a_look<RendezvousJobLostError>(variant),
              mended ? "failed 1 ChildFailedError, 1" : "error 1 RendezvousJobLostError, 0");
  }
}

TEST(AgentLoop, the_configured_grace_is_ignored_when_workers_are_restarted) {
  TestJob job;
  job[0].config.shutdown_timeout = 1s;
  job[0].rendezvous.waiting = [&](Ports&) { return job[0].rendezvous.joins == 1 ? 1 : 0; };
  job.worker = [&](Ports& ports) {
    if (job[0].rendezvous.joins == 1) return ignores_sigterm(ports);
    return 0;
  };
  job.start_and_run();
  const auto signals = job.events_named("worker.signalled");
  ASSERT_EQ(signals.size(), 2U);
  EXPECT_EQ(signals[0]["signal"], "15");
  EXPECT_EQ(signals[1]["signal"], "9");
  EXPECT_EQ(signals[1].at - signals[0].at, 30s);
}

/// Span between the two signals that an agent sends to a worker that ignores the first, when it
/// ends of an error.
Duration grace_at_end(Variant variant) {
  TestJob job;
  job[0].config.shutdown_timeout = 1s;
  job[0].config.variant = variant;
  job[0].rendezvous.waiting = [](Ports&) -> std::int64_t { throw RendezvousStateError("bad"); };
  job.worker = ignores_sigterm;
  job.start_and_run();
  EXPECT_EQ(job.texts("agent.started", "shutdown").at(0),
            variant == Variant::torch_2_x ? "1000000000" : "30000000000");
  const auto signals = job.events_named("worker.signalled");
  EXPECT_EQ(signals.size(), 2U);
  return signals.back().at - signals.front().at;
}

TEST(AgentLoop, the_configured_grace_is_honoured_at_the_end) {
  EXPECT_EQ(grace_at_end(Variant::torch_2_x), 1s);
}

TEST(AgentLoop, torch_1_13_knows_no_grace_but_thirty_seconds) {
  EXPECT_EQ(grace_at_end(Variant::torch_1_13), 30s);
}

TEST(AgentLoop, fault_points_are_passed_in_the_order_of_the_protocol) {
  TestJob job;
  job[0].config.max_restarts = 1;
  Texts points;
  job.world->on_fault_point([&](sim::NodeId, sim::Pid, std::string_view name, std::uint64_t) {
    points.emplace_back(name);
  });
  job.worker = [](Ports& ports) {
    return number_of(ports, "TORCHELASTIC_RESTART_COUNT") == 0 ? 1 : 0;
  };
  job.start_and_run();
  EXPECT_EQ(points, (Texts{"agent.started", "agent.joined", "agent.ranks_assigned",
                           "agent.workers_started", "agent.stopping", "agent.joined",
                           "agent.ranks_assigned", "agent.workers_started", "agent.exit_barrier",
                           "agent.stopping", "agent.closing"}));
}

TEST(AgentLoop, an_agent_killed_at_any_fault_point_leaves_nothing_unwound) {
  for (const char* const point :
       {"agent.started", "agent.joined", "agent.ranks_assigned", "agent.workers_started",
        "agent.exit_barrier", "agent.stopping", "agent.closing"}) {
    TestJob job;
    job.worker = exits(1s, 0);
    job.world->on_fault_point(
        [&](sim::NodeId node, sim::Pid pid, std::string_view name, std::uint64_t) {
          if (name != point) return;
          job.inject(world::FaultKind::process_signal, [&](world::Fault& fault) {
            fault.node = node;
            fault.pid = pid;
            fault.signal = Signal::kill;
          });
        });
    job.start_and_run();
    EXPECT_EQ(job.status(), -9) << point;
    EXPECT_EQ(job.ending(), "<none>") << point;
  }
}

/// How an agent ends in which that error is raised at that point.
std::string ending_with(const char* error, const char* point) {
  TestJob job;
  job.worker = exits(1s, 0);
  bool raised = false;
  job.world->on_fault_point(
      [&](sim::NodeId node, sim::Pid pid, std::string_view name, std::uint64_t) {
        if (name != point || std::exchange(raised, true)) return;
        job.inject(world::FaultKind::process_raise, [&](world::Fault& fault) {
          fault.node = node;
          fault.pid = pid;
          fault.text = error;
        });
      });
  job.start_and_run();
  return job.ending();
}

TEST(AgentLoop, an_error_raised_at_any_fault_point_ends_the_agent_by_its_class) {
  for (const char* const point : {"agent.started", "agent.joined", "agent.ranks_assigned",
                                  "agent.workers_started", "agent.stopping", "agent.closing"}) {
    EXPECT_THAT(ending_with("OSError", point), HasSubstr("OSError: raised at a fault point"))
        << point;
  }
  for (const std::string_view error : raised::kAll) {
    if (error == raised::kGracefulExit) continue;
    EXPECT_THAT(ending_with(std::string(error).c_str(), "agent.joined"),
                HasSubstr(std::string(error) + ": "));
  }
}

TEST(AgentLoop,
     a_graceful_exit_and_an_error_of_the_exit_barrier_are_handled_where_they_are_raised) {
  EXPECT_THAT(ending_with("RendezvousGracefulExitError", "agent.joined"),
              HasSubstr("graceful_exit"));
  EXPECT_THAT(ending_with("DistStoreError", "agent.exit_barrier"), HasSubstr("succeeded"));
}

TEST(AgentLoop, only_a_hardened_agent_stops_its_workers_whatever_errors_it_meets_as_it_does) {
  for (const Variant variant : {Variant::hardened, Variant::torch_2_x}) {
    TestJob job;
    job[0].config.variant = variant;
    job[0].config.nproc_per_node = 2;
    std::size_t left = 0;
    job.worker = [](Ports& ports) -> int {
      world::park_for_ever(ports);
      return 0;
    };
    job.world->on_fault_point(
        [&](sim::NodeId node, sim::Pid pid, std::string_view name, std::uint64_t) {
          if (name == "agent.closing") left = job.living();
          if (name != "agent.workers_started" && name != "agent.stopping") return;
          job.inject(world::FaultKind::process_raise, [&](world::Fault& fault) {
            fault.node = node;
            fault.pid = pid;
            fault.text = raised::kRuntime;
          });
        });
    job.start();
    job.run_for(1h);
    EXPECT_THAT(job.ending(), HasSubstr("RuntimeError: raised at a fault point"));
    EXPECT_EQ(left, variant == Variant::hardened ? 1U : 3U) << "itself, and two workers";
  }
}

TEST(AgentLoop, subprocess_workers_outlive_a_killed_agent) {
  TestJob job;
  job.worker = [](Ports& ports) -> int {
    world::park_for_ever(ports);
    return 0;
  };
  job[0].config.nproc_per_node = 2;
  job.signal_at(5s, Signal::kill);
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job.status(), -9);
  EXPECT_EQ(job.living(), 2U);
}

}  // namespace
}  // namespace hooke::model
