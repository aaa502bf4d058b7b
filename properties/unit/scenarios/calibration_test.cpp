// The file of hooke calibrate: read, refused, applied.
#include "scenarios/format/calibration.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hooke::scenario {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

const char* const kSmall = R"({"version": 1,
  "store": {"service_time": "7us", "service_time_per_byte": "2ns"},
  "network": {"latency": {"median": "30us", "p99": "1ms"}}})";

/// kSmall with `before` replaced by `after`.
std::string changed(const std::string& before, const std::string& after) {
  std::string text = kSmall;
  const std::size_t at = text.find(before);
  EXPECT_NE(at, std::string::npos) << before;
  return text.replace(at, before.size(), after);
}

std::string refusal(const std::string& text) {
  try {
    static_cast<void>(load_calibration(text, "c.json"));
  } catch (const ScenarioError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Calibration, sets_the_store_and_the_network_of_a_cluster_and_nothing_else) {
  ClusterPlan cluster;
  cluster.backlog = 7;
  apply(load_calibration(kSmall, "c.json"), cluster);
  ClusterPlan expected;
  expected.backlog = 7;
  expected.service_time = 7us;
  expected.service_time_per_byte = 2ns;
  expected.latency_median = 30us;
  expected.latency_p99 = 1ms;
  EXPECT_EQ(cluster, expected);
}

TEST(Calibration, is_read_as_it_was_written) {
  Calibration calibration = load_calibration(kSmall, "c.json");
  calibration.endpoint = "head:29400";
  calibration.protocol = "torch-2.x";
  calibration.connections = 64;
  calibration.client_percent = 41;
  calibration.operations = {{"get", 6us, 1ns}, {"compare_set", 8us, 3ns}};
  EXPECT_EQ(load_calibration(calibration_json(calibration).dump(), "c.json"), calibration);
}

TEST(Calibration, of_a_wrong_kind_is_refused_by_its_place) {
  EXPECT_THAT(refusal("{}"), HasSubstr("c.json"));
  EXPECT_THAT(refusal("{"), HasSubstr("c.json"));
  EXPECT_THAT(refusal(changed("1,", "2,")), HasSubstr("/version"));
  EXPECT_THAT(refusal(changed("\"7us\"", "7")), HasSubstr("/store/service_time: "));
  EXPECT_THAT(refusal(changed("\"7us\"", "\"-7us\"")), HasSubstr("/store/service_time: "));
  EXPECT_THAT(refusal(changed("\"2ns\"", "\"2s\"")), HasSubstr("/store/service_time_per_byte: "));
  EXPECT_THAT(refusal(changed(", \"service_time_per_byte\": \"2ns\"", "")), HasSubstr("/store"));
  EXPECT_THAT(refusal(changed("\"p99\": \"1ms\"", "\"p99\": \"1us\"")),
              HasSubstr("/network/latency: "));
  EXPECT_THAT(refusal(changed("median", "mean")), HasSubstr("/network/latency"));
  EXPECT_THAT(refusal(changed("\"network\": {", "\"network\": {\"bandwidth\": \"1Gbps\", ")),
              HasSubstr("/network"));
  EXPECT_THAT(refusal(changed("1ms\"}}", "1ms\"}}, \"measured\": {}")), HasSubstr("/measured"));
}

}  // namespace
}  // namespace hooke::scenario
