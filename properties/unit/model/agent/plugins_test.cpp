// Parts of an agent that are not PyTorch's: timers over connections, and a project's own.
#include "model/launch/plugins.h"

#include <gtest/gtest.h>

#include "model/agent/kinds/agents_of_variant.h"
#include "model/observe/python_error.h"
#include "model/observe/trace_events.h"
#include "model/timer/group_timer.h"
#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using Texts = std::vector<std::string>;

// ---- starts that fail

/// Starts "late", a program that is there only after 1.5 s, and says how that ended, and when.
std::string patient_start(const std::string& launcher) {
  world::TestWorld test;
  std::string out;
  test.start(test.node("a"), "agent", [&](Ports& ports) {
    const auto made =
        ProcessLauncherRegistry::with_builtins().create(PluginChoice::parse(launcher))->make(ports);
    ports.executor.spawn("disk", [&] {
      world::sleep(ports, 1500ms);
      test.world->register_program("late", [](Ports&) { return 0; });
    });
    const sim::MonotonicTime begin = ports.clock.monotonic_now();
    const auto started = made->start({{"late"}, {}, true, {}, {}});
    const auto spent = ports.clock.monotonic_now() - begin;
    out = started ? "started" : to_string(started.failure().fault);
    out += " after " + std::to_string(spent / 1ms) + " ms";
    world::sleep(ports, 5s);
    return 0;
  });
  test.run();
  return out;
}

TEST(PatientLauncher, tries_again_as_often_as_it_is_told_and_then_reports_the_failure) {
  EXPECT_EQ(patient_start("local"), "not found after 0 ms");
  EXPECT_EQ(patient_start("patient"), "started after 2000 ms");
  EXPECT_EQ(patient_start("patient:attempts=2"), "not found after 1000 ms");
  EXPECT_EQ(patient_start("patient:attempts=9,pause=200ms"), "started after 1600 ms");
}

TEST(PatientLauncher, is_refused_without_an_attempt) {
  EXPECT_THROW(static_cast<void>(ProcessLauncherRegistry::with_builtins().create(
                   PluginChoice::parse("patient:attempts=0"))),
               std::invalid_argument);
}

// ---- timers

TEST(Timers, a_queue_ends_a_worker_that_lets_its_deadline_pass) {
  TestJob job;
  job[0].config.max_restarts = 1;
  job[0].config.timer = PluginChoice::parse("queue:interval=200ms");
  job.worker = [](Ports& ports) {
    const auto client = TimerRegistry::with_builtins()
                            .create({"queue", {}})
                            ->client(ports, Variant::torch_2_x, Signal::kill);
    const bool first = number_of(ports, "TORCHELASTIC_RESTART_COUNT") == 0;
    client->acquire("step", ports.clock.wall_now() + 2s);
    world::sleep(ports, first ? 60s : 1s);
    client->release("step");
    world::sleep(ports, 10s);
    return 0;
  };
  job.start_and_run();
  EXPECT_EQ(job.texts("worker.ended", "status"), (Texts{"-9", "0"}));
  EXPECT_EQ(job.status(), 0);
}

TEST(GroupTimer, of_each_worker_measures_its_work_against_the_limit_of_its_agent) {
  TestJob job;
  job[0].config.nproc_per_node = 2;
  job[0].config.max_restarts = 1;
  job[0].config.timer = PluginChoice::parse("queue:interval=200ms,limit=3s");
  std::vector<std::string> measured;
  job.worker = [&](Ports& ports) {
    const auto limit = group_limit(ports.processes.environment());
    GroupTimer timer(ports.clock,
                     TimerRegistry::with_builtins()
                         .create({"queue", {}})
                         ->client(ports, Variant::torch_2_x, Signal::kill),
                     "step", limit.value());
    EXPECT_EQ(timer.elapsed(), 0s);
    EXPECT_EQ(timer.stop(), 0s);
    timer.start();
    const bool is_late =
        number_of(ports, "LOCAL_RANK") == 1 && number_of(ports, "TORCHELASTIC_RESTART_COUNT") == 0;
    world::sleep(ports, is_late ? 60s : 2s);
    EXPECT_TRUE(timer.runs());
    EXPECT_EQ(timer.elapsed(), 2s);
    measured.push_back(std::to_string(timer.stop() / 1s));
    world::sleep(ports, 10s);
    EXPECT_EQ(timer.elapsed(), 2s) << "it stands still between two pieces of work";
    return 0;
  };
  job.start_and_run();
  EXPECT_EQ(job.status(), 0);
  EXPECT_EQ(job.texts("timer.killed", "scope"), (Texts{"step"}));
  EXPECT_EQ(measured, (Texts{"2", "2", "2"}));
}

TEST(GroupTimer, takes_no_limit_that_is_none) {
  EXPECT_EQ(group_limit({}), std::nullopt);
  EXPECT_EQ(group_limit({{kTimerLimitVariable, "1500"}}), 1500ms);
  for (const char* const text : {"", "0", "-1", "1s", "86400001"}) {
    EXPECT_THROW(static_cast<void>(group_limit({{kTimerLimitVariable, text}})),
                 std::invalid_argument)
        << text;
  }
  EXPECT_THROW(static_cast<void>(
                   TimerRegistry::with_builtins().create(PluginChoice::parse("queue:limit=0s"))),
               std::invalid_argument);
}

TEST(Timers, a_worker_that_was_told_of_no_queue_cannot_ask_it) {
  world::TestWorld test;
  test.world->register_program("lonely", [](Ports& ports) {
    EXPECT_THROW(static_cast<void>(TimerRegistry::with_builtins()
                                       .create({"queue", {}})
                                       ->client(ports, Variant::torch_2_x, std::nullopt)),
                 EscapedPythonError);
    return 0;
  });
  EXPECT_TRUE(test.world->start(test.node("a"), {{"lonely"}, {}, true, {}, {}}).ok());
  test.run();
}

// ---- names

TEST(Plugins, what_is_not_there_is_refused_by_the_name_of_its_option) {
  const Plugins plugins;
  const auto refusal = [&](const std::function<void(LaunchConfig&)>& choose) {
    LaunchConfig config;
    choose(config);
    const auto refused = plugins.refusal(config);
    return refused ? refused->option + ": " + refused->reason : "";
  };
  EXPECT_EQ(refusal([](LaunchConfig&) {}), "");
  EXPECT_EQ(refusal([](LaunchConfig& config) {
              config.agent = {"mine", {}};
            }),
            "agent-kind: the agent \"mine\" is not registered; known are elastic");
  EXPECT_EQ(refusal([](LaunchConfig& config) {
              config.timer = {"que", {}};
            }),
            "timer: the timer \"que\" is not registered; known are file, queue");
  EXPECT_EQ(
      refusal([](LaunchConfig& config) {
        config.process_launcher = {"ray", {}};
      }),
      "process-launcher: the process launcher \"ray\" is not registered; known are local, patient, "
      "pool");
  EXPECT_EQ(refusal([](LaunchConfig& config) {
              config.process_launcher = PluginChoice::parse("pool:port=0");
            }),
            "process-launcher: option \"port\" of \"pool\": expected a whole number from 1 to "
            "65535, got \"0\"");
  EXPECT_EQ(refusal([](LaunchConfig& config) {
              config.shutdown = {"slow", {}};
            }),
            "shutdown: the shutdown \"slow\" is not registered; known are graceful, strict, torch");
  EXPECT_EQ(refusal([](LaunchConfig& config) {
              config.shutdown = PluginChoice::parse("graceful:limit=0s");
            }),
            "shutdown: option \"limit\" of \"graceful\": expected more than 0s, got \"0s\"");
  EXPECT_EQ(refusal([](LaunchConfig& config) {
              config.timer = PluginChoice::parse("queue:interval=0s");
            }),
            "timer: option \"interval\" of \"queue\": expected at least 1ms, got \"0s\"");
}

/// Says what is asked of it, and asks PyTorch's.
class Observed final : public Agent {
 public:
  Observed(const AgentParts& parts, std::string word)
      : ports_(parts.ports), inner_(make_elastic_agent(parts)), word_(std::move(word)) {}
  std::optional<RunResult> run() override {
    ports_.trace.emit(events::coverage_point, {word_});
    return inner_->run();
  }
  [[nodiscard]] bool handles(Signal signal) const override { return inner_->handles(signal); }
  void ended(const char* state, const std::string& error) override {
    ports_.trace.emit(events::coverage_point, {word_ + " " + state});
    inner_->ended(state, error);
  }

 private:
  Ports& ports_;
  std::unique_ptr<Agent> inner_;
  std::string word_;
};

/// Gives the only agent of `job` that say.
void observe(TestJob& job) {
  job.plugins.agents.add("observed", [](const PluginChoice& choice) {
    choice.allow({"word"});
    return std::make_unique<AgentKind>(
        AgentKind{[word = choice.text("word", "")](const AgentParts& parts) {
          return std::make_unique<Observed>(parts, word);
        }});
  });
  job[0].config.agent = PluginChoice::parse("observed:word=here");
}

TEST(Plugins, a_projects_agent_gets_the_parts_and_has_the_say) {
  TestJob job;
  observe(job);
  job.start_and_run();
  EXPECT_EQ(job.texts("coverage.point", "name"), (Texts{"here", "here SUCCEEDED"}));
  EXPECT_EQ(job.status(), 0);
}

TEST(Plugins, the_last_word_on_a_failed_job_is_succeeded_and_failed_where_hardened) {  // L-9
  for (const Variant variant : {Variant::torch_2_x, Variant::hardened}) {
    TestJob job;
    observe(job);
    job[0].config.variant = variant;
    job.worker = exits(1s, 1);
    job.start_and_run();
    EXPECT_EQ(job.texts("coverage.point", "name"),
              (Texts{"here", variant == Variant::hardened ? "here FAILED" : "here SUCCEEDED"}));
  }
}

}  // namespace
}  // namespace hooke::model
