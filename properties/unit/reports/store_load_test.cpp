// The load on a store, in a simulated world where every answer takes the same time.
#include "reports/store_load.h"

#include <gtest/gtest.h>

#include "properties/unit/model/store/store_world.h"

namespace hooke::report {
namespace {

using namespace std::chrono_literals;

StoreFigures figures(const std::string& operation, std::size_t connections) {
  StoreFigures out;
  model::StoreWorld world;
  world.client([&](sim::Ports& ports) {
    StoreLoad load;
    load.store = model::StoreWorld::options();
    load.connections = connections;
    load.span = 10s;
    out = StoreClients(ports, load).measure(operation);
  });
  world.run();
  return out;
}

TEST(StoreLoad, one_client_makes_one_operation_after_the_other) {
  const StoreFigures one = figures("add", 1);
  ASSERT_GT(one.operations, 100U);
  EXPECT_EQ(one.p50, one.p99);
  EXPECT_NEAR(one.per_second, 1e9 / static_cast<double>(one.p50.count()), one.per_second / 100);
}

TEST(StoreLoad, clients_ask_side_by_side) {
  EXPECT_EQ(figures("compare_set", 8).operations, 8 * figures("compare_set", 1).operations);
}

TEST(StoreLoad, a_get_is_a_wait_and_a_read_and_a_set_is_followed_by_a_check) {
  const sim::Duration round_trip = figures("add", 1).p50;
  EXPECT_EQ(figures("get", 1).p50, 2 * round_trip);
  EXPECT_EQ(figures("set", 1).p50, round_trip);
}

}  // namespace
}  // namespace hooke::report
