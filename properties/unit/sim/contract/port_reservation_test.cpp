// Only the real world hands out ports that others may take.
#include "sim/real/port_reservation.h"

#include <set>

#include "contract_world.h"

namespace hooke::contract {
namespace {

class Deaf final : public sim::AcceptHandler {
  void on_accept(std::unique_ptr<sim::Stream> /*stream*/) override {}
};

class Reservation : public PortContract {};
INSTANTIATE_TEST_SUITE_P(In, Reservation, testing::Values("real"), world_name);

TEST_P(Reservation, leaves_the_port_to_a_server_that_asks_for_it_by_number) {
  run([](Ports& ports) {
    const real::PortReservation reserved;
    Deaf deaf;
    const auto listener = ports.network.listen(reserved.port(), deaf);
    ASSERT_TRUE(listener.ok()) << listener.failure().detail;
    EXPECT_EQ(listener.value()->local().port, reserved.port());
  });
}

TEST_P(Reservation, keeps_the_port_from_servers_that_take_any) {
  run([](Ports& ports) {
    std::vector<real::PortReservation> reserved(200);
    std::set<sim::PortNumber> taken;
    for (const real::PortReservation& each : reserved) taken.insert(each.port());
    EXPECT_EQ(taken.size(), reserved.size());
    Deaf deaf;
    std::vector<std::unique_ptr<sim::Listener>> listeners;
    for (int i = 0; i < 200; ++i) {
      listeners.push_back(ports.network.listen(sim::PortNumber{0}, deaf).value());
      EXPECT_FALSE(taken.contains(listeners.back()->local().port));
    }
  });
}

}  // namespace
}  // namespace hooke::contract
