// What a running agent tells a person, from the events of a whole simulated job.
#include "reports/agent_console.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "model/observe/trace_events.h"
#include "scenarios/format/loader.h"
#include "scenarios/simulated/runner.h"

namespace hooke::report {
namespace {

std::string told(const std::string& workers, const std::string& more = ", \"time_limit\": \"60s\"",
                 const std::vector<std::string>& defects = {}) {
  scenario::Scenario scenario = scenario::load_scenario(
      R"({"version": 1, "name": "x", "cluster": {"nodes": [{"id": "a"}], "store_host": "a"},
          "protocol": {"rendezvous": {"min_nodes": 1, "max_nodes": 1, "timeouts": {"last_call": "1s"}},
                       "agent": {"max_restarts": 1}},
          "workers": {"per_node": 2, )" +
          workers + "}" + more + "}",
      "x");
  scenario.protocol.defects = defects;
  std::ostringstream out;
  AgentConsole console(out);
  kernel::Kernel kernel;
  scenario::RunOptions options;
  options.determinism_check = false;
  options.sinks = {&console};
  static_cast<void>(
      scenario::run(kernel, scenario, options, properties::InvariantRegistry::with_builtins()));
  return out.str();
}

TEST(AgentConsole, of_a_job_that_succeeds_tells_its_round) {
  EXPECT_EQ(
      told(R"("program": [{"run": "5s"}, {"exit": 0}])"),
      "hooke: joins job job: a round takes 1 node, and has 600 s to form\n"
      "hooke: in round 0: 1 node here, waits until it is complete, and for MASTER_ADDR from its "
      "rank 0\n"
      "hooke: round 0: node 0 of 1, first rank 0 of 2\n");
}

TEST(AgentConsole, tells_what_the_agent_waits_for) {
  std::ostringstream out;
  AgentConsole console(out);
  const auto tell = [&](const sim::EventType& type, std::initializer_list<sim::FieldValue> fields) {
    sim::Event event;
    event.type = &type;
    event.fields = {fields.begin(), fields.size()};
    console.on_event(event);
  };
  namespace ev = model::events;
  const sim::Duration span = std::chrono::seconds(90);
  tell(ev::agent_started, {"train", "c10d", 2, 4, 1, 3, span});
  tell(ev::agent_settings, {span, span, span, span, span, span, span, span});
  tell(ev::rendezvous_joining, {"train", "a_1_0", 0});
  tell(ev::rendezvous_added, {"train", 0, "participants", 1});
  tell(ev::rendezvous_added, {"train", 3, "participants", 2});
  tell(ev::rendezvous_added, {"train", 3, "wait_list", 1});
  tell(ev::rendezvous_added, {"train", 3, "redundancy_list", 1});
  EXPECT_EQ(
      out.str(),
      "hooke: joins job train: a round takes 2 to 4 nodes, and has 90 s to form\n"
      "hooke: in round 0: 1 of 2 nodes here, waits for 1 more\n"
      "hooke: in round 3: 2 nodes here, waits until it is complete, and for MASTER_ADDR from its "
      "rank 0\n"
      "hooke: round 3 goes on without this node: waits for the next one\n"
      "hooke: round 3 is full: waits as a spare\n");
}

TEST(AgentConsole, of_a_job_that_fails_tells_which_worker_ended_how_and_why_it_was_over) {
  const std::string text =
      told(R"("program": [{"run": "20s"}], "overrides": {"a/1/*": [{"run": "5s"}, {"exit": 3}]})");
  EXPECT_THAT(text, testing::HasSubstr("worker 1 (local rank 1, process "));
  EXPECT_THAT(text, testing::HasSubstr(" ended with exit code 3\n"));
  EXPECT_THAT(text, testing::ContainsRegex("hooke: process [0-9]+ is sent SIGTERM: stop\n"));
  EXPECT_THAT(text, testing::HasSubstr(" ended with SIGTERM after it was told to stop\n"));
  EXPECT_THAT(text, testing::HasSubstr("the workers restart (worker_failure), 0 restarts left\n"));
  EXPECT_THAT(text, testing::HasSubstr("hooke: failed: ChildFailedError: rank 1: "));
}

/// The second worker fails, and the first cannot be ended.
std::string told_of_a_sleeper(const std::vector<std::string>& defects) {
  return told(
      R"("program": [{"run": "600s"}], "overrides": {"a/1/*": [{"run": "10s"}, {"exit": 3}]})",
      R"(, "timeline": [{"at": "5s", "do": "worker.unkillable", "node": "a", "local_rank": 0}],
         "time_limit": "200s")",
      defects);
}

TEST(AgentConsole, of_a_worker_that_cannot_be_ended_tells_what_comes_of_it) {
  const std::string asleep =
      "worker 0 .local rank 0, process [0-9]+. is asleep in the kernel, where no signal reaches it "
      ".state D.: not even SIGKILL, 30.0 s ago; it is ";
  const std::string text = told_of_a_sleeper({});
  EXPECT_THAT(text, testing::ContainsRegex("process [0-9]+ is sent SIGKILL: grace is over\n"));
  EXPECT_THAT(text, testing::ContainsRegex(asleep + "left behind\n"));
  const std::string up_to_2_12 = told_of_a_sleeper({"worker.killed_waited_for_without_limit"});
  EXPECT_THAT(up_to_2_12, testing::ContainsRegex(asleep + "waited for\n"));
}

}  // namespace
}  // namespace hooke::report
