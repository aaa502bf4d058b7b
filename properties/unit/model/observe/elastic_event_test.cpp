// PyTorch's events as texts, and where they go; metrics, and what a scraper gets.
#include "model/observe/elastic_event.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/observe/metrics.h"
#include "model/observe/python_error.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;

TEST(ElasticEvent, is_written_as_pytorch_writes_it_and_read_again) {
  ElasticEvent event;
  event.name = "x";
  event.source = ElasticEvent::Source::worker;
  event.metadata = {{"text", std::string("schön")},
                    {"number", std::int64_t{-3}},
                    {"float", 1.5},
                    {"yes", true},
                    {"none", ElasticEvent::Datum{}}};
  const std::string text = encode_elastic_event(event);
  EXPECT_EQ(
      text,
      R"({"name": "x", "source": "WORKER", "timestamp": 0, "metadata": {"text": "sch\u00f6n", )"
      R"("number": -3, "float": 1.5, "yes": true, "none": null}})");
  EXPECT_EQ(encode_elastic_event(parse_elastic_event(text)), text);
}

TEST(ElasticEvent, what_is_wrong_is_named) {
  const auto refusal = [](const std::string& text) -> std::string {
    try {
      static_cast<void>(parse_elastic_event(text));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refusal("{"), HasSubstr("no JSON at byte 2"));
  EXPECT_THAT(refusal("[]"), HasSubstr("a JSON object"));
  EXPECT_THAT(refusal("{}"), HasSubstr("/name is missing"));
  EXPECT_THAT(refusal(R"({"name": "x", "source": "agent"})"), HasSubstr("/source must be AGENT"));
  EXPECT_THAT(refusal(R"({"name": "x", "source": "AGENT", "x": 1})"), HasSubstr("/x is not"));
  EXPECT_THAT(refusal(R"({"name": "x", "source": "AGENT", "metadata": {"a": []}})"),
              HasSubstr("/metadata/a must be"));
}

class Observed : public testing::Test {
 protected:
  void in_process(const std::function<void(sim::Ports&)>& body,
                  std::map<std::string, std::string> environment = {}) {
    world_.world->register_program("test", [&](sim::Ports& ports) {
      body(ports);
      done_ = true;
      return 0;
    });
    ASSERT_TRUE(world_.world->start(world_.node("n"), {{"test"}, environment, true, {}, {}}).ok());
    world_.run_for(1h);
    ASSERT_TRUE(done_);
  }
  world::TestWorld world_;
  bool done_ = false;
};

TEST_F(Observed, events_go_to_the_handler_of_their_destination) {
  in_process([](sim::Ports& ports) {
    EventHandlers handlers(ports);
    std::vector<std::string> seen;
    handlers.add("mine", [&](const ElasticEvent& event) { seen.push_back(event.name); });
    handlers.record({"one", {}, 0, {}}, "mine");
    handlers.record({"two", {}, 0, {}}, "null");
    EXPECT_THAT(seen, ElementsAre("one"));
    EXPECT_THROW(handlers.record({"x", {}, 0, {}}, "elsewhere"), EscapedPythonError);
  });
}

TEST_F(Observed, events_disappear_where_the_log_level_is_above_info) {
  in_process(
      [](sim::Ports& ports) {
        EventHandlers handlers(ports);
        int seen = 0;
        handlers.add("mine", [&](const ElasticEvent&) { ++seen; });
        handlers.record({"one", {}, 0, {}}, "mine");
        EXPECT_EQ(seen, 0);
      },
      {{"LOGLEVEL", "WARNING"}});
}

TEST_F(Observed, metrics_go_to_their_group_or_to_the_usual_handler) {
  in_process([](sim::Ports& ports) {
    Metrics metrics(ports.clock);
    EXPECT_FALSE(metrics.wanted());
    metrics.put("dropped", 1);
    std::vector<std::string> usual, own;
    metrics.configure([&](const MetricData& data) { usual.emplace_back(data.name); });
    metrics.configure([&](const MetricData& data) { own.emplace_back(data.name); }, "mine");
    metrics.put("a", 1);
    metrics.put("b", 1, "mine");
    EXPECT_EQ(metrics.profile("f", [] { return 7; }), 7);
    EXPECT_THROW(metrics.profile("g", [] { throw std::runtime_error("no"); }), std::runtime_error);
    EXPECT_THAT(usual,
                ElementsAre("a", "f.success", "f.duration.ms", "g.failure", "g.duration.ms"));
    EXPECT_THAT(own, ElementsAre("b"));
  });
}

TEST_F(Observed, a_board_shows_the_latest_values_to_prometheus) {
  in_process([](sim::Ports& ports) {
    Metrics metrics(ports.clock);
    MetricBoard board;
    metrics.configure(board.handler());
    metrics.put("workers.a\"b.healthy", 1);
    metrics.put("workers.a\"b.healthy", 5);
    EXPECT_THAT(
        board.prometheus_text(),
        HasSubstr(
            "hooke_elastic_metric{group=\"torchelastic\",name=\"workers.a\\\"b.healthy\"} 5\n"));
    EXPECT_THAT(board.prometheus_text(),
                HasSubstr("hooke_elastic_metric_total{group=\"torchelastic\",name=\"workers.a\\\"b."
                          "healthy\"} 2\n"));
  });
}

}  // namespace
}  // namespace hooke::model
