// A simulated store is measured, whose service time is known.
#include "reports/store_calibration.h"

#include <gtest/gtest.h>

#include "properties/unit/model/store/store_world.h"

namespace hooke::report {
namespace {

using namespace std::chrono_literals;

TEST(StoreCalibration, finds_the_service_time_that_the_simulated_store_has) {
  scenario::Calibration found;
  std::int64_t more_keys = -1;
  model::StoreWorld store_world;
  store_world.world->set_default_service({11us, 3ns});
  store_world.client([&](sim::Ports& ports) {
    CalibrationPlan plan;
    plan.store = model::StoreWorld::options();
    const auto store = model::StoreWorld::connect(ports);
    const std::int64_t keys = store->num_keys();
    found = calibrate_store(ports, plan);
    more_keys = store->num_keys() - keys;
  });
  store_world.run();
  EXPECT_EQ(more_keys, 0);
  EXPECT_EQ(found.connections, 64);
  EXPECT_NEAR(static_cast<double>(found.service_time.count()), 11'000, 1'500);
  EXPECT_NEAR(static_cast<double>(found.service_time_per_byte.count()), 3, 1);
}

}  // namespace
}  // namespace hooke::report
