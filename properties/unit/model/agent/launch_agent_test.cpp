// What each ending of the agent means for the rendezvous and for the exit status, and what the
// launcher says about itself.
#include "model/rendezvous/dynamic/decisions.h"
#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

TEST(LaunchAgent, any_failure_of_a_worker_gives_1_and_closes_the_rendezvous) {
  for (const int code : {1, 2, 137, 255}) {
    TestJob job;
    job.worker = exits(1s, code);
    job.start_and_run();
    EXPECT_EQ(job.status(), 1) << code;
    EXPECT_EQ(job[0].rendezvous.shutdowns, 1);
  }
}

TEST(LaunchAgent, a_worker_killed_by_a_signal_is_named_with_it) {
  TestJob job;
  job.inject_at(1s, world::FaultKind::process_signal, [&](world::Fault& fault) {
    fault.node = job[0].node;
    fault.pid = sim::Pid{101};
    fault.signal = Signal::kill;
  });
  job.start_and_run();
  EXPECT_EQ(job.ending(),
            "failed 1 ChildFailedError: rank 0: Signal 9 (SIGKILL) received by PID 101");
  EXPECT_EQ(job.texts("failure.reported", "status"), (Texts{"-9"}));
}

TEST(LaunchAgent, a_spare_that_leaves_gracefully_ends_as_an_error) {
  TestJob job;
  job[0].rendezvous.join = [](Ports&, std::int64_t) -> RendezvousInfo {
    throw RendezvousGracefulExitError("");
  };
  job.start_and_run();
  EXPECT_EQ(job.status(), 1);
  EXPECT_EQ(job.ending(), "graceful_exit 1 AttributeError: the agent returned no result");
  EXPECT_EQ(job[0].rendezvous.shutdowns, 1);
}

TEST(LaunchAgent, names_errors_as_pytorch_does) {
  const std::vector<std::pair<std::function<void()>, std::string>> expected{
      {[] { throw RendezvousClosedError("x"); }, "RendezvousClosedError: x"},
      {[] { throw RendezvousConnectionError("x"); }, "RendezvousConnectionError: x"},
      {[] { throw StoreTimeoutError("x"); }, "DistStoreError: x"},
      {[] { throw StoreNetworkError("x"); }, "DistNetworkError: x"},
      {[] { throw std::invalid_argument("x"); }, "ValueError: x"},
      {[] { throw std::runtime_error("x"); }, "RuntimeError: x"},
  };
  for (const auto& [raise, detail] : expected) {
    TestJob job;
    job[0].rendezvous.join = [&raise = raise](Ports&, std::int64_t) {
      raise();
      return RendezvousInfo{};
    };
    job.start_and_run();
    EXPECT_EQ(job.ending(), "error 1 " + detail);
    EXPECT_EQ(job[0].rendezvous.shutdowns, 1);
  }
}

TEST(LaunchAgent, an_error_while_closing_the_rendezvous_hides_the_real_ending) {  // L-1
  for (const int code : {0, 1}) {
    TestJob job;
    job[0].rendezvous.shutdown = [](Ports&) -> bool { throw StoreNetworkError("gone"); };
    job.worker = exits(1s, code);
    job.start_and_run();
    EXPECT_EQ(job.ending(), "error 1 DistNetworkError: gone");
    EXPECT_EQ(job.status(), 1);
  }
}

TEST(LaunchAgent, an_error_while_closing_leaves_the_ending_of_a_hardened_agent_alone) {  // L-1
  for (const int code : {0, 1}) {
    TestJob job;
    job[0].config.variant = Variant::hardened;
    job[0].rendezvous.shutdown = [](Ports&) -> bool { throw StoreNetworkError("gone"); };
    job.worker = exits(1s, code);
    job.start_and_run();
    EXPECT_EQ(job.ending().substr(0, job.ending().find(' ')), code == 0 ? "succeeded" : "failed");
    EXPECT_EQ(job.status(), code);
    EXPECT_EQ(job.texts("rendezvous.failed", "error"), (Texts{"DistNetworkError"}));
  }
}

TEST(LaunchAgent, a_rendezvous_that_cannot_be_closed_does_not_matter) {
  TestJob job;
  job[0].rendezvous.shutdown = [](Ports&) { return false; };
  job.start_and_run();
  EXPECT_EQ(job.status(), 0);
}

TEST(LaunchAgent, a_known_defect_makes_a_signal_close_the_rendezvous) {
  TestJob job;
  job[0].config.defects = {"launcher.shutdown_on_signal"};
  job.signal_at(5s, Signal::term);
  job.start_and_run();
  EXPECT_EQ(job.status(), 1);
  EXPECT_EQ(job[0].rendezvous.shutdowns, 1);
}

TEST(LaunchAgent, identical_workers_can_be_declared_by_a_variable) {
  for (const char* value : {"1", "0", ""}) {
    TestJob job;
    job[0].environment["TORCH_ELASTIC_WORKER_IDENTICAL"] = value;
    job.start_and_run();
    EXPECT_EQ(job.status(), 0);
    // The exchange leaves its keys in the store of the round.
    const bool exchanged = job.store(1)->values.contains("torchelastic/role_info/0");
    EXPECT_EQ(exchanged, std::string_view(value) != "1") << value;
  }
}

TEST(LaunchAgent, refuses_a_group_without_workers_command_or_interval_and_closes_nothing) {
  const std::vector<std::function<void(LaunchConfig&)>> spoil{
      [](LaunchConfig& config) { config.nproc_per_node = 0; },
      [](LaunchConfig& config) { config.monitor_interval = 0s; },
      [](LaunchConfig& config) { config.command.clear(); },
  };
  for (const auto& change : spoil) {
    TestJob job;
    change(job[0].config);
    job.start_and_run();
    EXPECT_EQ(job.ending().substr(0, 19), "error 1 ValueError:");
    EXPECT_EQ(job[0].rendezvous.shutdowns, 0);
    EXPECT_EQ(job[0].rendezvous.joins, 0);
  }
}

TEST(LaunchAgent, an_unknown_backend_is_an_error) {
  TestJob job;
  job[0].config.rdzv_backend = "carrier-pigeon";
  job.start_and_run();
  EXPECT_EQ(job.ending().substr(0, 19), "error 1 ValueError:");
}

TEST(LaunchAgent, agents_without_a_run_id_draw_different_ones) {  // L-10
  TestJob job(2);
  job[0].config.run_id = job[1].config.run_id = "";
  job.start_and_run();
  const Texts ids = job.variable("TORCHELASTIC_RUN_ID");
  ASSERT_EQ(ids.size(), 2U);
  EXPECT_FALSE(ids[0].empty());
  EXPECT_NE(ids[0], ids[1]);
  EXPECT_EQ(ids[0].find_first_not_of("0123456789"), std::string::npos);
}

TEST(LaunchAgent, hardened_agents_without_a_run_id_have_the_one_of_torchrun) {  // L-10
  TestJob job(2);
  for (std::size_t i = 0; i < 2; ++i) {
    job[i].config.run_id = "";
    job[i].config.variant = Variant::hardened;
  }
  job.start_and_run();
  EXPECT_EQ(job.variable("TORCHELASTIC_RUN_ID"), (Texts{"none", "none"}));
}

TEST(LaunchAgent, announces_the_spans_it_was_configured_with) {
  TestJob job;
  LaunchConfig& config = job[0].config;
  config.max_restarts = 2;
  config.nproc_per_node = 3;
  config.shutdown_timeout = 7s;
  config.exit_barrier_timeout = 11s;
  config.rdzv_configs = {{"join_timeout", "40"}, {"keep_alive_interval", "2s"}};
  job.start_and_run();
  const Seen started = job.events_named("agent.started").at(0);
  EXPECT_EQ(started["run_id"], "job");
  EXPECT_EQ(started["backend"], "fake");
  EXPECT_EQ(started["local_world_size"], "3");
  EXPECT_EQ(started["max_restarts"], "2");
  EXPECT_EQ(started["shutdown"], "7000000000");
  const Seen settings = job.events_named("agent.settings").at(0);
  EXPECT_EQ(settings["join"], "40000000000");
  EXPECT_EQ(settings["last_call"], "30000000000");
  EXPECT_EQ(settings["keep_alive"], "6000000000");
  EXPECT_EQ(settings["monitor"], "100000000");
  EXPECT_EQ(settings["exit_barrier"], "11000000000");
}

TEST(LaunchAgent, bad_rendezvous_settings_are_an_error_and_no_crash) {
  TestJob job;
  job[0].config.rdzv_configs = {{"join_timeout", "soon"}};
  job.start_and_run();
  EXPECT_EQ(job.ending().substr(0, 19), "error 1 ValueError:");
}

TEST(LaunchAgent, equal_jobs_leave_equal_traces) {
  const auto hash = [] {
    TestJob job(3);
    job[0].config.max_restarts = 1;
    job.worker = [](Ports& ports) {
      world::sleep(ports, 2s);
      const bool fails =
          number_of(ports, "RANK") == 0 && number_of(ports, "TORCHELASTIC_RESTART_COUNT") == 0;
      return fails ? 1 : 0;
    };
    job.start_and_run();
    return job.trace.hash().hex();
  };
  EXPECT_EQ(hash(), hash());
}

}  // namespace
}  // namespace hooke::model
