// Workers asleep in the kernel, where no signal reaches them: when the agent finds one, and what
// follows.
#include <gmock/gmock.h>

#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

int sleeps_for_ever(Ports& ports) {
  world::park_for_ever(ports);
  return 0;
}

constexpr char kLimit[] = "TORCHELASTIC_UNINTERRUPTIBLE_STATE_TIMEOUT";

TEST(UninterruptibleWorkers, make_the_group_unhealthy_when_the_limit_is_over) {
  TestJob job;
  job[0].config.max_restarts = 3;
  job[0].environment[kLimit] = "10.5";
  job.worker = sleeps_for_ever;
  make_unkillable(job, 0, 100s);
  job.start_and_run();
  EXPECT_EQ(job.texts("worker.uninterruptible", "consequence"),
            (Texts{"watched", "unhealthy", "abandoned"}));
  const auto told = job.events_named("worker.uninterruptible");
  EXPECT_GE(told.at(1).at - told.at(0).at, 10500ms);
  EXPECT_LT(told.at(1).at - told.at(0).at, 10700ms);
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "UNHEALTHY", "FAILED"})) << "no restart";
  EXPECT_EQ(job.ending(), "succeeded 0 ") << "no agent has failed, so all is well";
}

/// What an event says under `name`.
ElasticEvent::Datum datum(const ElasticEvent& event, const std::string& name) {
  const auto found = std::find_if(event.metadata.begin(), event.metadata.end(),
                                  [&](const auto& member) { return member.first == name; });
  return found == event.metadata.end() ? ElasticEvent::Datum() : found->second;
}

/// As in PyTorch, where the look that finds it takes all restarts away.
TEST(UninterruptibleWorkers, are_told_as_terminated_and_leave_no_restart) {
  TestJob job;
  job[0].config.max_restarts = 3;
  job[0].config.event_log_handler = "seen";
  job[0].environment[kLimit] = "10";
  job.worker = sleeps_for_ever;
  make_unkillable(job, 0, 100s);
  Texts states;
  std::map<std::string, std::int64_t> metrics;
  job.world->register_program("agent", [&](Ports& ports) {
    Observers observers(ports);
    observers.events.add("seen", [&](const ElasticEvent& event) {
      const auto restarts = std::get<std::int64_t>(datum(event, "agent_restarts"));
      states.push_back(std::get<std::string>(datum(event, "state")) + " " +
                       std::to_string(restarts));
    });
    observers.metrics.configure(
        [&](const MetricData& data) { metrics[std::string(data.name)] = data.value; });
    return launch_agent(ports, job.plugins, job[0].config, &observers);
  });
  job.start_and_run();
  EXPECT_EQ(states, (Texts{"RENDEZVOUS 0", "ASSIGN_WORKER_RANKS 0", "START 0", "TERMINATED 3",
                           "SUCCEEDED 3"}));
  EXPECT_EQ(metrics["workers.default.remaining_restarts"], 0);
  EXPECT_EQ(metrics["workers.default.flakiness"], 75);
  EXPECT_EQ(metrics["workers.default.run_success_with_retries"], 1);
}

TEST(UninterruptibleWorkers, are_an_error_when_hardened) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].environment[kLimit] = "10";
  job.worker = sleeps_for_ever;
  make_unkillable(job, 0, Duration::zero());
  job.start();
  job.run_for(1h);
  EXPECT_EQ(job.ending(), "error 1 RuntimeError: a worker is asleep in the kernel (state D)");
}

TEST(UninterruptibleWorkers, that_wake_up_in_time_are_as_if_nothing_had_been) {
  TestJob job;
  job[0].environment[kLimit] = "10";
  job.worker = exits(60s, 0);
  make_unkillable(job, 0, 8s);
  job.inject_at(15s, world::FaultKind::process_unkillable, [&](world::Fault& fault) {
    fault.node = job[0].node;
    fault.pid = sim::Pid{101};
    fault.duration = 8s;
  });
  job.start_and_run();
  EXPECT_EQ(job.texts("worker.uninterruptible", "consequence"), (Texts{"watched", "watched"}));
  EXPECT_EQ(job.ending(), "succeeded 0 ");
}

TEST(UninterruptibleWorkers, are_not_looked_for_without_a_limit) {
  for (const char* limit : {"", "0", "-3", "x", "nan", "1s"}) {
    TestJob job;
    job[0].environment[kLimit] = limit;
    job.worker = exits(60s, 0);
    make_unkillable(job, 0, 30s);
    job.start_and_run();
    EXPECT_TRUE(job.events_named("worker.uninterruptible").empty()) << limit;
    EXPECT_EQ(job.states(), (Texts{"HEALTHY", "SUCCEEDED"})) << limit;
  }
}

}  // namespace
}  // namespace hooke::model
