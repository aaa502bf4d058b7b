// The metric that says how much of its restarts an agent has used.
#include <gmock/gmock.h>

#include "properties/unit/model/agent/test_job.h"

namespace hooke::model {
namespace {

/// The flakiness that is told of an agent whose workers fail so often before they succeed.
std::vector<std::int64_t> flakiness(std::int64_t max_restarts, std::int64_t failures) {
  TestJob job;
  job[0].config.max_restarts = max_restarts;
  job.worker = [failures](Ports& ports) {
    const std::string& count = ports.processes.environment().at("TORCHELASTIC_RESTART_COUNT");
    world::sleep(ports, 1s);
    return std::stoll(count) < failures ? 1 : 0;
  };
  std::vector<std::int64_t> told;
  job.world->register_program("agent", [&](Ports& ports) {
    Observers observers(ports);
    observers.metrics.configure([&](const MetricData& data) {
      if (data.name == "workers.default.flakiness") told.push_back(data.value);
    });
    return launch_agent(ports, job.plugins, job[0].config, &observers);
  });
  job.start_and_run();
  return told;
}

/// What PyTorch's agents put, of 1.13 and of 2.13 (api.py:SimpleElasticAgent._record_flakiness_metric).
TEST(Flakiness, is_the_share_of_restarts_that_were_used_and_100_after_a_failure) {
  const std::vector<std::vector<std::int64_t>> kRecorded{
      {0}, {0, 50}, {0, 33, 66}, {0, 25, 50, 75}, {0, 20, 40, 60, 80}, {0, 16, 33, 50, 66, 83}};
  for (std::int64_t most = 0; most < std::ssize(kRecorded); ++most) {
    for (std::int64_t failures = 0; failures <= most; ++failures) {
      EXPECT_THAT(
          flakiness(most, failures),
          testing::ElementsAre(
              kRecorded[static_cast<std::size_t>(most)][static_cast<std::size_t>(failures)]))
          << most << " restarts, " << failures << " failures";
    }
    EXPECT_THAT(flakiness(most, most + 1), testing::ElementsAre(100)) << most;
  }
}

}  // namespace
}  // namespace hooke::model
