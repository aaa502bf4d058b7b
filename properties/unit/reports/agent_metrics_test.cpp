// What Prometheus is told of the agents of whole simulated jobs, and of events by hand.
#include "reports/exports/agent_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/observe/trace_events.h"
#include "scenarios/format/loader.h"
#include "scenarios/simulated/runner.h"

namespace hooke::report {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using testing::Not;
namespace ev = model::events;

/// The metrics of the agent on node a at the end of the run of `scenario`.
class OfNode final : public kernel::TraceSink {
 public:
  void on_event(const sim::Event& event) override {
    if (event.node == sim::NodeId{0}) metrics.on_event(event);
  }
  AgentMetrics metrics;
};

std::string metrics_after(const std::string& workers) {
  const scenario::Scenario scenario = scenario::load_scenario(
      R"({"version": 1, "name": "x",
          "cluster": {"nodes": [{"id": "a"}, {"id": "b"}], "store_host": "external"},
          "protocol": {"rendezvous": {"min_nodes": 2, "max_nodes": 2}, "agent": {"max_restarts": 2}},
          "workers": {"per_node": 2, )" +
          workers + "}}",
      "x");
  OfNode sink;
  kernel::Kernel kernel;
  scenario::RunOptions options;
  options.determinism_check = false;
  options.sinks = {&sink};
  static_cast<void>(
      scenario::run(kernel, scenario, options, properties::InvariantRegistry::with_builtins()));
  return sink.metrics.text(sim::WallTime{}, std::nullopt);
}

TEST(AgentMetrics, count_rounds_workers_and_restarts) {
  const std::string text = metrics_after(
      R"("program": [{"run": "20s"}], "overrides": {"a/1/*": [{"run": "5s"}, {"exit": 3}]})");
  for (const char* const line :
       {"hooke_rendezvous_rounds_total 3", "hooke_rendezvous_round 2", "hooke_job_nodes 2",
        "hooke_job_world_size 4", "hooke_agent_restarts_left 0", "hooke_agent_restarts_used 2",
        "hooke_agent_restarts_total{cause=\"worker_failure\"} 2",
        "hooke_worker_failures_total{kind=\"exit_code\"} 3",
        "hooke_worker_failures_total{kind=\"signal\"} 0", "hooke_workers_started_total 6",
        "hooke_workers 0", "hooke_agent_phase{phase=\"finished\"} 1",
        "hooke_agent_phase{phase=\"working\"} 0",
        "hooke_rendezvous_join_duration_seconds_count 3"}) {
    EXPECT_THAT(text, HasSubstr("\n" + std::string(line) + "\n"));
  }
}

TEST(AgentMetrics, are_all_there_before_the_agent_has_done_anything) {
  const std::string text = AgentMetrics{}.text(sim::WallTime{}, std::nullopt);
  EXPECT_THAT(text, HasSubstr("\nhooke_rendezvous_round -1\n"));
  EXPECT_THAT(text, HasSubstr("\nhooke_agent_phase{phase=\"starting\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("# TYPE hooke_rendezvous_spare_nodes gauge\n#"));
  EXPECT_THAT(text, HasSubstr("hooke_rendezvous_store_duration_seconds_bucket{operation=\"write\","
                              "le=\"+Inf\"} 0\n"));
}

TEST(AgentMetrics, show_the_group_as_the_agent_knows_it) {
  const model::GroupView view{4, true, false, 3, 2, 1, sim::WallTime(1500ms)};
  const std::string text = AgentMetrics{}.text(sim::WallTime{}, view);
  EXPECT_THAT(text, HasSubstr("\nhooke_rendezvous_participants 3\n"));
  EXPECT_THAT(text, HasSubstr("\nhooke_rendezvous_waiting_nodes 2\n"));
  EXPECT_THAT(text, HasSubstr("\nhooke_rendezvous_spare_nodes 1\n"));
  EXPECT_THAT(text, HasSubstr("\nhooke_rendezvous_complete 1\n"));
  EXPECT_THAT(text,
              HasSubstr("\nhooke_rendezvous_oldest_keep_alive_timestamp_seconds 1.500000000\n"));
}

class ByHand : public testing::Test {
 protected:
  void tell(const sim::EventType& type, std::initializer_list<sim::FieldValue> fields,
            sim::Duration at) {
    sim::Event event;
    event.type = &type;
    event.fields = {fields.begin(), fields.size()};
    event.wall = sim::WallTime(at);
    metrics_.on_event(event);
  }
  [[nodiscard]] std::string text(sim::Duration now) const {
    return metrics_.text(sim::WallTime(now), std::nullopt);
  }
  AgentMetrics metrics_;
};

TEST_F(ByHand, a_join_that_goes_on_counts_as_time_in_the_rendezvous) {
  tell(ev::rendezvous_joining, {"job", "a_1_0", 0}, 10s);
  EXPECT_THAT(text(12s), HasSubstr("\nhooke_rendezvous_seconds_total 2.000000000\n"));
  EXPECT_THAT(text(12s),
              HasSubstr("\nhooke_rendezvous_joining_since_timestamp_seconds 10.000000000\n"));
  tell(ev::rendezvous_failed, {"job", "RendezvousTimeoutError", ""}, 13s);
  EXPECT_THAT(text(99s), HasSubstr("\nhooke_rendezvous_seconds_total 3.000000000\n"));
  EXPECT_THAT(text(99s), HasSubstr("\nhooke_rendezvous_joins_failed_total 1\n"));
  EXPECT_THAT(text(99s),
              HasSubstr("\nhooke_rendezvous_joining_since_timestamp_seconds 0.000000000\n"));
}

TEST_F(ByHand, a_keep_alive_counts_when_it_was_written) {
  tell(ev::keep_alive_tick, {"ok", ""}, 5s);
  tell(ev::keep_alive_tick, {"failed", "RendezvousConnectionError"}, 10s);
  EXPECT_THAT(text(11s),
              HasSubstr("\nhooke_rendezvous_last_keep_alive_timestamp_seconds 5.000000000\n"));
  EXPECT_THAT(text(11s), HasSubstr("\nhooke_rendezvous_keep_alives_failed_total 1\n"));
}

TEST_F(ByHand, exchanges_with_the_store_fall_into_the_bucket_that_ends_at_their_time) {
  const auto exchange = [&](const char* kind, sim::Duration spent) {
    tell(ev::rendezvous_exchanged, {"job", kind, 1, 2, 3s + spent, sim::Duration(3s)}, 1s);
  };
  exchange("read", 1ms);
  exchange("write", 1ms + 1ns);
  exchange("attempt", 400s);
  const std::string bucket = "hooke_rendezvous_store_duration_seconds_bucket";
  for (const char* const line :
       {"{operation=\"read\",le=\"0.0005\"} 0", "{operation=\"read\",le=\"0.001\"} 1",
        "{operation=\"read\",le=\"+Inf\"} 1", "{operation=\"write\",le=\"0.001\"} 0",
        "{operation=\"write\",le=\"0.005\"} 1", "{operation=\"write\",le=\"300\"} 1",
        "{operation=\"write\",le=\"+Inf\"} 2"}) {
    EXPECT_THAT(text(9s), HasSubstr("\n" + bucket + line + "\n"));
  }
}

TEST_F(ByHand, a_worker_that_was_told_to_stop_has_not_failed) {
  tell(ev::worker_started, {"job", 0, 100, 0, 0, 1, 0, "a:1"}, 1s);
  EXPECT_THAT(text(2s), HasSubstr("\nhooke_workers 1\n"));
  tell(ev::worker_ended, {100, 0, 0, -15, 1}, 3s);
  EXPECT_THAT(text(4s), HasSubstr("\nhooke_workers 0\n"));
  EXPECT_THAT(text(4s), HasSubstr("\nhooke_worker_failures_total{kind=\"signal\"} 0\n"));
}

TEST_F(ByHand, names_are_escaped) {
  tell(ev::agent_started, {"a\"b\\c\nd", "c10d", 1, 4, 1, 3, sim::Duration(30s)}, 1s);
  EXPECT_THAT(text(2s),
              HasSubstr("hooke_agent_info{run_id=\"a\\\"b\\\\c\\nd\",backend=\"c10d\"} 1\n"));
}

}  // namespace
}  // namespace hooke::report
