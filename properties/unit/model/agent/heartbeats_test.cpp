// What an agent does about workers that fall silent.
#include "model/heartbeat/heartbeat_client.h"
#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

/// Beats for `span`, then is silent until 60 s have passed, and ends with 0.
std::function<int(Ports&)> beats_for(Duration span) {
  return [span](Ports& ports) {
    HeartbeatClient client(ports, *heartbeat_options(ports.processes.environment()));
    client.start();
    world::sleep(ports, span);
    client.pause();
    world::sleep(ports, 60s - span);
    return 0;
  };
}

/// As above in the first incarnation; later ones beat to the end.
std::function<int(Ports&)> beats_for_at_first(Duration span) {
  return [span](Ports& ports) {
    const bool first = number_of(ports, "TORCHELASTIC_RESTART_COUNT") == 0;
    return beats_for(first ? span : Duration(60s))(ports);
  };
}

struct HeartbeatJob : TestJob {
  explicit HeartbeatJob(HeartbeatPolicy policy) {
    (*this)[0].config.heartbeats = HeartbeatPlan{1s, 4s, std::nullopt, policy, {}, false, ""};
    (*this)[0].config.max_restarts = 1;
  }
};

TEST(AgentHeartbeats, mark_makes_the_group_unhealthy_and_nothing_else) {
  HeartbeatJob job(HeartbeatPolicy::mark);
  job.worker = [](Ports& ports) {
    HeartbeatClient client(ports, *heartbeat_options(ports.processes.environment()));
    client.start();
    world::sleep(ports, 10s);
    client.pause();
    world::sleep(ports, 10s);
    client.start();
    world::sleep(ports, 10s);
    return 0;
  };
  job.start_and_run();
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "UNHEALTHY", "HEALTHY", "SUCCEEDED"}));
  EXPECT_EQ(job.ending(), "succeeded 0 ");
  EXPECT_EQ(job.texts("worker.signalled", "signal"), Texts{});
  EXPECT_EQ(job.texts("heartbeat.expected", "policy"), Texts{"mark"});
}

TEST(AgentHeartbeats, a_worker_that_is_never_heard_of_is_left_alone) {
  HeartbeatJob patient(HeartbeatPolicy::stop);
  patient.start_and_run();
  EXPECT_EQ(patient.ending(), "succeeded 0 ");
}

TEST(AgentHeartbeats, unless_a_span_to_the_first_beat_is_given) {
  HeartbeatJob strict(HeartbeatPolicy::stop);
  strict[0].config.heartbeats->first_beat = 5s;
  strict.start_and_run();
  EXPECT_EQ(strict.ending(), "failed 1 ChildFailedError: rank 0: No heartbeat for 5100 ms");
}

TEST(AgentHeartbeats, restart_spends_the_budget_and_the_job_goes_on) {
  HeartbeatJob job(HeartbeatPolicy::restart);
  job.worker = beats_for_at_first(10s);
  job.start_and_run();
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "UNHEALTHY", "STOPPED", "HEALTHY", "SUCCEEDED"}));
  EXPECT_EQ(job.texts("group.restarting", "cause"), Texts{"heartbeat_loss"});
  EXPECT_EQ(job.variable("TORCHELASTIC_RESTART_COUNT"), (Texts{"0", "1"}));
  EXPECT_EQ(job.ending(), "succeeded 0 ");
  const Texts names = job.variable(kHeartbeatWorker);
  ASSERT_EQ(names.size(), 2U);
  EXPECT_NE(names[0], names[1]) << "an orphan of the first incarnation must not beat for the next";
}

TEST(AgentHeartbeats, restart_without_budget_fails_and_names_the_silent_worker) {
  HeartbeatJob job(HeartbeatPolicy::restart);
  job[0].config.max_restarts = 0;
  job[0].config.nproc_per_node = 2;
  job.worker = [](Ports& ports) {
    return beats_for(number_of(ports, "LOCAL_RANK") == 1 ? 10s : 60s)(ports);
  };
  job.start_and_run();
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "UNHEALTHY", "FAILED"}));
  EXPECT_TRUE(job.ending().starts_with("failed 1 ChildFailedError: rank 1: No heartbeat for "))
      << job.ending();
  EXPECT_EQ(job.texts("failure.reported", "status"), Texts{"-15"});
  EXPECT_EQ(job[0].rendezvous.shutdowns, 1);
  EXPECT_EQ(job.living(), 0U);
}

TEST(AgentHeartbeats, an_agent_that_looks_rarely_sees_a_loss_too) {
  HeartbeatJob job(HeartbeatPolicy::stop);
  job[0].config.monitor_interval = 5s;
  job.worker = beats_for(10s);
  job.start_and_run();
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "UNHEALTHY", "FAILED"}));
}

TEST(AgentHeartbeats, stop_ends_the_job_whatever_the_budget) {
  HeartbeatJob job(HeartbeatPolicy::stop);
  job.worker = beats_for(10s);
  job.start_and_run();
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "UNHEALTHY", "FAILED"}));
  EXPECT_EQ(job.status(), 1);
  EXPECT_EQ(job[0].rendezvous.shutdowns, 1);
}

TEST(AgentHeartbeats, the_workers_are_told_where_and_how_to_beat) {
  HeartbeatJob job(HeartbeatPolicy::mark);
  job[0].environment = {{kHeartbeatAddress, "of the agent's own launcher"}};
  job[0].config.heartbeats->port = sim::PortNumber{4900};
  job.start_and_run();
  EXPECT_EQ(job.variable(kHeartbeatAddress), Texts{"localhost:4900"});
  EXPECT_EQ(job.variable(kHeartbeatInterval), Texts{"1000"});
  EXPECT_EQ(job.variable(kHeartbeatDeadline), Texts{"4000"});
}

TEST(AgentHeartbeats, or_the_way_that_they_have_to_take) {
  HeartbeatJob elsewhere(HeartbeatPolicy::mark);
  elsewhere[0].config.heartbeats->address = "gateway:99";
  elsewhere.start_and_run();
  EXPECT_EQ(elsewhere.variable(kHeartbeatAddress), Texts{"gateway:99"});
}

TEST(AgentHeartbeats, a_worker_that_is_an_agent_does_not_pass_its_own_address_on) {
  TestJob job;
  job[0].environment = {{kHeartbeatAddress, "outer:1"}, {kHeartbeatWorker, "0-1"}};
  job.start_and_run();
  EXPECT_EQ(job.variable(kHeartbeatAddress), Texts{"<unset>"});
  EXPECT_EQ(job.variable(kHeartbeatWorker), Texts{"<unset>"});
}

TEST(AgentHeartbeats, terms_that_mean_nothing_are_refused) {
  for (const auto& [interval, deadline, error] :
       {std::tuple{Duration(999us), Duration(5s), "must be at least 1 ms"},
        std::tuple{Duration(5s), Duration(5s), "must be longer than their interval"}}) {
    HeartbeatJob job(HeartbeatPolicy::mark);
    job[0].config.heartbeats->interval = interval;
    job[0].config.heartbeats->deadline = deadline;
    job.start_and_run();
    EXPECT_TRUE(job.ending().starts_with("error 1 ValueError: ")) << job.ending();
    EXPECT_TRUE(job.ending().ends_with(error)) << job.ending();
  }
}

}  // namespace
}  // namespace hooke::model
