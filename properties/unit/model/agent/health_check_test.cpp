// The health check: alone, and as an agent has it.
#include "model/agent/health_check.h"

#include <gmock/gmock.h>

#include "model/http/http_client.h"
#include "model/timer/file_timer.h"
#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

using testing::HasSubstr;

constexpr char kVariable[] = "TORCHELASTIC_HEALTH_CHECK_PORT";

/// "200 alive" and so on; "<connection refused>" when nothing serves.
std::string asked(Ports& ports, std::uint16_t port) {
  HttpClient client(ports, {{"localhost", sim::PortNumber{port}}, {}});
  try {
    const HttpResponse answer = client.exchange({"GET", "/", "", "", ""}, world::in(ports, 5s));
    return std::to_string(answer.status) + " " + answer.text();
  } catch (const HttpError& error) {
    return "<" + std::string(to_string(error.fault())) + ">";
  }
}

/// Runs `body` in a process whose variable is `port`, none if empty.
void run(const std::string& port, const std::function<void(Ports&)>& body) {
  world::TestWorld world;
  bool done = false;
  world.world->register_program("process", [&](Ports& ports) {
    body(ports);
    done = true;
    return 0;
  });
  std::map<std::string, std::string> environment;
  if (!port.empty()) environment[kVariable] = port;
  ASSERT_TRUE(world.world->start(world.node("n"), {{"process"}, environment, true, {}, {}}).ok());
  world.run_for(1h);
  EXPECT_TRUE(done);
}

TEST(HealthCheck, is_alive_for_sixty_seconds_after_the_last_sign_of_life) {
  run("8080", [](Ports& ports) {
    HealthCheck check(ports);
    sim::WallTime last = ports.clock.wall_now();
    check.start([&last] { return last; });
    EXPECT_EQ(asked(ports, 8080), "200 alive\n");
    world::sleep(ports, 59s);
    EXPECT_EQ(asked(ports, 8080), "200 alive\n");
    world::sleep(ports, 2s);
    EXPECT_EQ(asked(ports, 8080), "503 not alive\n");
    last = ports.clock.wall_now();
    EXPECT_EQ(asked(ports, 8080), "200 alive\n");
    check.stop();
    EXPECT_EQ(asked(ports, 8080), "<connection refused>");
  });
}

TEST(HealthCheck, is_not_there_without_a_port) {
  for (const char* port : {"", "x", "80a", "-1", "65536"}) {
    run(port, [&](Ports& ports) {
      HealthCheck check(ports);
      check.start([&ports] { return ports.clock.wall_now(); });
      for (const std::uint16_t guess : {std::uint16_t{80}, std::uint16_t{8080}}) {
        EXPECT_EQ(asked(ports, guess), "<connection refused>") << port;
      }
    });
  }
}

TEST(HealthCheck, a_port_that_is_taken_is_told_and_not_raised) {
  run("8080", [](Ports& ports) {
    HttpService other(ports, sim::PortNumber{8080}, [](const auto& exchange) {
      exchange->answer(200, "the other", {{"Content-Type", "text/plain"}});
    });
    HealthCheck check(ports);
    check.start([&ports] { return ports.clock.wall_now(); });
    EXPECT_EQ(asked(ports, 8080), "200 the other");
  });
}

/// What a health check on port 8080 of the agent's machine says at these times.
std::vector<std::string> asked_at(TestJob& job, const std::vector<Duration>& times) {
  std::vector<std::string> answers;
  job[0].environment[kVariable] = "8080";
  job.world->register_program("monitor", [&](Ports& ports) {
    Duration now{};
    for (const Duration time : times) {
      world::sleep(ports, time - std::exchange(now, time));
      answers.push_back(asked(ports, 8080));
    }
    return 0;
  });
  job.start();
  job.start_again(job[0].node, "monitor");
  job.run_for(10min);
  return answers;
}

TEST(AgentHealth, is_told_while_workers_run_and_no_longer) {
  TestJob job;
  EXPECT_EQ(asked_at(job, {5s, 15s}),
            (std::vector<std::string>{"200 alive\n", "<connection refused>"}));
}

TEST(AgentHealth, each_start_of_the_workers_has_a_check_on_the_same_port) {
  TestJob job;
  job[0].config.max_restarts = 1;
  job.worker = exits(10s, 1);
  EXPECT_EQ(asked_at(job, {5s, 15s}), (std::vector<std::string>{"200 alive\n", "200 alive\n"}));
  EXPECT_TRUE(job.events_named("watchdog.failed").empty());
}

TEST(AgentHealth, is_told_of_an_agent_that_waits_in_the_exit_barrier) {
  // Two agents, the second of which works for five minutes; the first one is asked.
  for (const bool defect : {false, true}) {
    TestJob job(2);
    if (defect) job[0].config.defects = {"health_check.silent_in_exit_barrier"};
    job.worker = [](Ports& ports) {
      world::sleep(ports, ports.network.host_name() == "a" ? 10s : 300s);
      return 0;
    };
    EXPECT_EQ(asked_at(job, {5s, 60s, 120s}),
              (std::vector<std::string>{"200 alive\n", "200 alive\n",
                                        defect ? "503 not alive\n" : "200 alive\n"}));
  }
}

TEST(AgentHealth, is_that_of_the_watchdog_where_there_is_one) {
  TestJob job;
  job[0].environment["TORCHELASTIC_ENABLE_FILE_TIMER"] = "1";
  job[0].environment["TORCHELASTIC_TIMER_FILE"] = "/timers";
  job.worker = [](Ports& ports) {
    // An agent that keeps the FIFO open lets the watchdog wait for bytes, and so makes no progress
    // of it.
    const auto writer = ports.files.open_fifo_writer("/timers");
    EXPECT_TRUE(writer.ok());
    world::sleep(ports, 300s);
    return 0;
  };
  EXPECT_EQ(asked_at(job, {30s, 120s}),
            (std::vector<std::string>{"200 alive\n", "503 not alive\n"}));
}

}  // namespace
}  // namespace hooke::model
