// What each policy answers, and what an agent does with the answers.
#include "model/agent/restart_policy.h"

#include <gtest/gtest.h>

#include "model/heartbeat/heartbeat_client.h"
#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

RestartDecision ask(const std::string& policy, std::int64_t restarts, std::int64_t remaining,
                    const std::map<std::int64_t, std::int64_t>& attempts = {{0, 1}}) {
  const ProcessFailures failures(1);
  return RestartPolicyRegistry::with_builtins()
      .create(PluginChoice::parse(policy))
      ->decide({failures, attempts, restarts, remaining});
}

std::string refusal(const std::string& policy) {
  try {
    static_cast<void>(RestartPolicyRegistry::with_builtins().create(PluginChoice::parse(policy)));
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(RestartPolicy, torch_restarts_the_group_at_once_while_the_budget_lasts) {
  EXPECT_EQ(ask("torch", 2, 1).scope, RestartScope::group);
  EXPECT_EQ(ask("torch", 2, 1).delay, 0s);
  EXPECT_EQ(ask("torch", 3, 0).scope, RestartScope::none);
}

TEST(RestartPolicy, pauses_grow_by_the_factor_up_to_the_longest) {
  std::vector<Duration> pauses;
  for (std::int64_t restarts : {0, 1, 2, 3, 4, 1'000'000'000})
    pauses.push_back(ask("backoff:first=500ms,factor=3,longest=10s", restarts, 9).delay);
  EXPECT_EQ(pauses, (std::vector<Duration>{500ms, 1500ms, 4500ms, 10s, 10s, 10s}));
  EXPECT_EQ(ask("backoff:first=2m,longest=5s", 0, 1).delay, 5s);
  EXPECT_EQ(ask("backoff:first=0s", 1'000'000'000, 1).delay, 0s);
  EXPECT_EQ(ask("backoff:first=3s,factor=1", 1'000'000'000, 1).delay, 3s);
  EXPECT_EQ(ask("backoff", 0, 0).scope, RestartScope::none);
}

TEST(RestartPolicy, per_worker_gives_up_with_the_first_worker_that_has_no_attempt_left) {
  EXPECT_EQ(ask("per-worker:attempts=2", 3, 5, {{0, 1}, {1, 1}, {2, 1}}).scope,
            RestartScope::group);
  const RestartDecision decision = ask("per-worker:attempts=2", 3, 5, {{0, 1}, {1, 2}});
  EXPECT_EQ(decision.scope, RestartScope::none);
  EXPECT_EQ(decision.reason, "worker 1 has failed in 2 of 2 attempts");
  EXPECT_EQ(ask("per-worker:attempts=2", 3, 0).scope, RestartScope::none);
}

TEST(RestartPolicy, what_cannot_be_chosen_is_refused_by_name) {
  EXPECT_EQ(refusal("tourch"),
            "the restart policy \"tourch\" is not registered; known are backoff, failed-only, "
            "per-worker, rerun, torch");
  EXPECT_EQ(refusal("torch:x=1"), "\"torch\" has no option \"x\"; it has none");
  EXPECT_EQ(refusal("rerun:attempts=1"), "\"rerun\" has no option \"attempts\"; it has runs");
  EXPECT_EQ(
      refusal("rerun:runs=0"),
      "option \"runs\" of \"rerun\": expected a whole number from 1 to 1000000000, got \"0\"");
  EXPECT_EQ(refusal("backoff:first=25h"),
            "option \"first\" of \"backoff\": expected a whole number with a unit such as "
            "\"500ms\", at most 24h, got \"25h\"");
  EXPECT_EQ(refusal("backoff:first=99999999999999999999s").substr(0, 15), "option \"first\" ");
  for (const char* text :
       {"", ":", "torch:", ":x=1", "torch:x", "torch:=1", "torch:x=1,", "a:b=1,,c=2"}) {
    EXPECT_EQ(refusal(text),
              "expected NAME or NAME:KEY=VALUE,KEY=VALUE, got \"" + std::string(text) + "\"");
  }
  EXPECT_EQ(refusal("rerun:runs=1,runs=2"),
            "\"rerun:runs=1,runs=2\": the option \"runs\" is given twice");
}

TEST(RestartPolicy, a_name_is_registered_once) {
  RestartPolicyRegistry registry = RestartPolicyRegistry::with_builtins();
  const auto nothing = [](const PluginChoice&) { return std::unique_ptr<RestartPolicy>(); };
  EXPECT_THROW(registry.add("torch", nothing), std::invalid_argument);
  EXPECT_THROW(registry.add("", nothing), std::invalid_argument);
  EXPECT_THROW(registry.add("a:b", nothing), std::invalid_argument);
  registry.add("mine", nothing);
  EXPECT_THROW(static_cast<void>(registry.create({"mine", {}})), std::runtime_error);
}

// ---- the agent

TEST(RestartPolicy, an_agent_waits_between_the_old_workers_and_the_rendezvous) {
  TestJob job;
  job[0].config.max_restarts = 2;
  job[0].config.restart_policy = PluginChoice::parse("backoff:first=4s,factor=10,longest=20s");
  job.worker = [](Ports& ports) {
    world::sleep(ports, 1s);
    return number_of(ports, "TORCHELASTIC_RESTART_COUNT") < 2 ? 7 : 0;
  };
  job.start_and_run();
  EXPECT_EQ(job.texts("restart.delayed", "delay"), (Texts{"4000000000", "20000000000"}));
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "FAILED", "STOPPED", "HEALTHY", "FAILED", "STOPPED",
                                 "HEALTHY", "SUCCEEDED"}));
  const auto started = job.events_named("worker.started");
  ASSERT_EQ(started.size(), 3U);
  EXPECT_GE(started[1].at - started[0].at, 5s);
  EXPECT_GE(started[2].at - started[1].at, 21s);
  EXPECT_EQ(job.status(), 0);
}

TEST(RestartPolicy, a_signal_ends_a_pause) {
  TestJob job;
  job[0].config.max_restarts = 1;
  job[0].config.restart_policy = PluginChoice::parse("backoff:first=10m,longest=10m");
  job.worker = exits(1s, 7);
  job.signal_at(5s, Signal::term);
  job.start_and_run();
  EXPECT_EQ(job.ending().substr(0, 11), "signalled 1");
  EXPECT_LT(job.events_named("agent.finished").at(0).at, 6s);
}

/// Of ten minutes, in which another agent gives the job up at 30 s: when the agent has ended, and how.
void hears_in_a_pause_that_the_job_has_failed(const std::string& policy) {
  TestJob job;
  job[0].config.variant = Variant::hardened;
  job[0].config.max_restarts = 1;
  job[0].config.nproc_per_node = 2;
  job[0].config.restart_policy = PluginChoice::parse(policy);
  const auto store = std::make_shared<MemoryStoreData>();
  job[0].rendezvous.job_store = store;
  job.at(30s, [&] { store->values["failed/1"] = Value("1"); });
  job.worker = [](Ports& ports) {
    world::sleep(ports, number_of(ports, "LOCAL_RANK") == 0 ? 1s : 1h);
    return 7;
  };
  job.start_and_run();
  EXPECT_EQ(job.texts("restart.delayed", "delay"), Texts{"600000000000"});
  EXPECT_EQ(job.ending().substr(0, 8), "failed 1") << "what has failed here is told";
  EXPECT_GE(job.events_named("agent.finished").at(0).at, 30s);
  EXPECT_LE(job.events_named("agent.finished").at(0).at, 33s);
}

TEST(RestartPolicy, a_hardened_agent_hears_in_a_pause_that_the_job_has_failed) {
  hears_in_a_pause_that_the_job_has_failed("backoff:first=10m,longest=10m");
  hears_in_a_pause_that_the_job_has_failed("failed-only:first=10m,longest=10m,rejoin=yes");
}

TEST(RestartPolicy, a_worker_without_attempts_ends_the_agent_before_the_budget_does) {
  TestJob job;
  job[0].config.max_restarts = 9;
  job[0].config.nproc_per_node = 2;
  job[0].config.restart_policy = PluginChoice::parse("per-worker:attempts=2");
  job.worker = [](Ports& ports) {
    world::sleep(ports, 1s);
    return number_of(ports, "LOCAL_RANK") == 1 ? 7 : (world::sleep(ports, 1h), 0);
  };
  job.start_and_run();
  EXPECT_EQ(job[0].rendezvous.joins, 2);
  EXPECT_EQ(job.texts("restart.refused", "reason"),
            (Texts{"worker 1 has failed in 2 of 2 attempts"}));
  EXPECT_EQ(job.ending().substr(0, 8), "failed 1");
  EXPECT_EQ(job.living(), 0U);
}

TEST(RestartPolicy, failed_only_starts_one_worker_again_and_leaves_the_others_alone) {
  TestJob job;
  job[0].config.max_restarts = 2;
  job[0].config.nproc_per_node = 3;
  job[0].config.rdzv_backend = "static";
  job[0].config.rdzv_endpoint = "a:29400";
  job[0].config.rdzv_configs["rank"] = "0";
  job[0].config.restart_policy = PluginChoice::parse("failed-only:first=1s");
  job.worker = [](Ports& ports) {
    const bool fails =
        number_of(ports, "LOCAL_RANK") == 1 && number_of(ports, "TORCHELASTIC_RESTART_COUNT") < 2;
    world::sleep(ports, fails ? 2s : 20s);
    return fails ? 7 : 0;
  };
  job.start_and_run();
  EXPECT_EQ(job.status(), 0);
  // Between a failure and the look that finds the worker running again the group is not healthy.
  EXPECT_EQ(job.states(),
            (Texts{"HEALTHY", "UNHEALTHY", "HEALTHY", "UNHEALTHY", "HEALTHY", "SUCCEEDED"}));
  EXPECT_EQ(job.texts("worker.started", "local_rank"), (Texts{"0", "1", "2", "1", "1"}));
  EXPECT_EQ(job.texts("worker.started", "restart_count"), (Texts{"0", "0", "0", "1", "2"}));
  EXPECT_EQ(job.texts("worker.restarting", "remaining_restarts"), (Texts{"1", "0"}));
  EXPECT_EQ(job.texts("restart.delayed", "delay"), (Texts{"1000000000", "2000000000"}));
  EXPECT_TRUE(job.events_named("worker.signalled").empty());
}

TEST(RestartPolicy, failed_only_with_the_budget_spent_stops_the_others) {
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job[0].config.rdzv_backend = "static";
  job[0].config.rdzv_endpoint = "a:29400";
  job[0].config.rdzv_configs["rank"] = "0";
  job[0].config.restart_policy = PluginChoice::parse("failed-only");
  job.worker = [](Ports& ports) {
    world::sleep(ports, number_of(ports, "LOCAL_RANK") == 1 ? 2s : 1h);
    return 7;
  };
  job.start_and_run();
  EXPECT_EQ(job.ending().substr(0, 8), "failed 1");
  EXPECT_EQ(job.texts("worker.ended", "stopped"), (Texts{"0", "1"}));
  EXPECT_EQ(job.living(), 0U);
}

TEST(RestartPolicy, failed_only_needs_the_static_rendezvous) {
  TestJob job;
  job[0].config.restart_policy = PluginChoice::parse("failed-only");
  job.start_and_run();
  EXPECT_EQ(job.ending(),
            "error 1 ValueError: the restart policy \"failed-only\" needs the static rendezvous: "
            "with \"fake\" a restart is one of the whole job, unless its workers can rejoin those "
            "that go on, which the option rejoin=yes says");
}

TEST(RestartPolicy, failed_only_needs_no_static_rendezvous_where_workers_can_rejoin) {
  TestJob job;
  job[0].config.max_restarts = 2;
  job[0].config.nproc_per_node = 2;
  job[0].config.restart_policy = PluginChoice::parse("failed-only:first=1s,rejoin=yes");
  job.worker = [](Ports& ports) {
    const bool fails =
        number_of(ports, "LOCAL_RANK") == 1 && number_of(ports, "TORCHELASTIC_RESTART_COUNT") < 1;
    world::sleep(ports, fails ? 2s : 20s);
    return fails ? 7 : 0;
  };
  job.start_and_run();
  EXPECT_EQ(job.status(), 0);
  EXPECT_EQ(job[0].rendezvous.joins, 1);
  EXPECT_EQ(job.texts("worker.started", "local_rank"), (Texts{"0", "1", "1"}));
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "UNHEALTHY", "HEALTHY", "SUCCEEDED"}));
}

TEST(RestartPolicy, failed_only_is_not_healthy_while_the_worker_fails_at_each_start) {
  TestJob job;
  job[0].config.max_restarts = 3;
  job[0].config.nproc_per_node = 2;
  job[0].config.restart_policy = PluginChoice::parse("failed-only:rejoin=yes");
  job.worker = [](Ports& ports) {
    if (number_of(ports, "LOCAL_RANK") == 0) return world::sleep(ports, 20s), 0;
    if (number_of(ports, "TORCHELASTIC_RESTART_COUNT") == 3) return world::sleep(ports, 5s), 0;
    return 7;
  };
  job.start_and_run();
  EXPECT_EQ(job.states(), (Texts{"HEALTHY", "UNHEALTHY", "HEALTHY", "SUCCEEDED"}));
}

TEST(RestartPolicy, failed_only_refuses_an_option_that_means_nothing) {
  EXPECT_EQ(refusal("failed-only:rejoin=maybe"),
            "option \"rejoin\" of \"failed-only\": expected yes or no, got \"maybe\"");
  EXPECT_EQ(refusal("backoff:rejoin=yes"),
            "\"backoff\" has no option \"rejoin\"; it has first, factor, longest");
}

TEST(RestartPolicy, a_worker_that_is_started_again_alone_is_watched_anew) {
  TestJob job;
  job[0].config.max_restarts = 2;
  job[0].config.nproc_per_node = 2;
  job[0].config.heartbeats = HeartbeatPlan{1s, 5s, 3s, HeartbeatPolicy::stop, {}, false, ""};
  job[0].config.restart_policy = PluginChoice::parse("failed-only:rejoin=yes");
  job.worker = [](Ports& ports) {
    HeartbeatClient client(ports, *heartbeat_options(ports.processes.environment()));
    const bool again = number_of(ports, "TORCHELASTIC_RESTART_COUNT") > 0;
    client.start();
    world::sleep(ports, 2s);
    if (number_of(ports, "LOCAL_RANK") == 1 && !again) return 7;
    if (again) client.pause();
    world::sleep(ports, 1min);
    return 0;
  };
  job.start_and_run();
  const Texts lost = job.texts("heartbeat.lost", "worker");
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_TRUE(lost[0].starts_with("1-")) << lost[0];
  EXPECT_EQ(job.status(), 1);
}

TEST(RestartPolicy, rerun_begins_a_failed_job_anew_under_another_run_id) {
  TestJob job;
  job[0].config.max_restarts = 1;
  job[0].config.restart_policy = PluginChoice::parse("rerun:runs=2");
  std::int64_t starts = 0;
  job.worker = [&](Ports& ports) {
    world::sleep(ports, 1s);
    return ++starts < 4 ? 7 : 0;
  };
  job.start_and_run();
  EXPECT_EQ(job.variable("TORCHELASTIC_RUN_ID"), (Texts{"job", "job", "job.run2", "job.run2"}));
  EXPECT_EQ(job.variable("TORCHELASTIC_RESTART_COUNT"), (Texts{"0", "1", "0", "1"}));
  EXPECT_EQ(job.texts("agent.finished", "outcome"), (Texts{"failed", "succeeded"}));
  EXPECT_EQ(job.texts("job.rerun", "next_run_id"), (Texts{"job.run2"}));
  EXPECT_EQ(job[0].rendezvous.shutdowns, 2);
  EXPECT_EQ(job.status(), 0);
}

TEST(RestartPolicy, the_last_run_has_the_last_word) {
  TestJob job;
  job[0].config.restart_policy = PluginChoice::parse("rerun:runs=3");
  job.worker = exits(1s, 7);
  job.start_and_run();
  EXPECT_EQ(job.texts("agent.finished", "outcome"), (Texts{"failed", "failed", "failed"}));
  EXPECT_EQ(job.status(), 1);
}

TEST(RestartPolicy, a_signal_is_no_failure_to_run_a_job_again_for) {
  TestJob job;
  job[0].config.restart_policy = PluginChoice::parse("rerun:runs=3");
  job.signal_at(3s, Signal::term);
  job.start_and_run();
  EXPECT_EQ(job.texts("agent.finished", "outcome"), (Texts{"signalled"}));
}

TEST(RestartPolicy, a_signal_between_workers_of_a_second_run_leaves_the_rendezvous_open) {
  TestJob job;
  job[0].config.restart_policy = PluginChoice::parse("rerun:runs=2");
  job[0].rendezvous.join = [&](Ports& ports, std::int64_t call) {
    if (call == 1) interruptible_sleep(ports, 1h);
    return job.round_of(ports, call + 1);
  };
  job.worker = exits(1s, 7);
  job.signal_at(10s, Signal::term);
  job.start_and_run();
  EXPECT_EQ(job.texts("agent.finished", "outcome"), (Texts{"failed", "signalled"}));
  EXPECT_EQ(job[0].rendezvous.shutdowns, 1);  // of the first run
  EXPECT_EQ(job.status(), 1);
}

TEST(RestartPolicy, a_projects_own_is_asked_like_a_built_in_one) {
  class Never final : public RestartPolicy {
   public:
    [[nodiscard]] RestartDecision decide(const FailedWorkers&) const override {
      return {RestartScope::none, {}, "this project restarts nothing"};
    }
  };
  TestJob job;
  job.plugins.restart_policies.add("never",
                                   [](const PluginChoice&) { return std::make_unique<Never>(); });
  job[0].config.max_restarts = 5;
  job[0].config.restart_policy = {"never", {}};
  job.worker = exits(1s, 7);
  job.start_and_run();
  EXPECT_EQ(job.texts("restart.refused", "reason"), (Texts{"this project restarts nothing"}));
  EXPECT_EQ(job[0].rendezvous.joins, 1);
}

}  // namespace
}  // namespace hooke::model
