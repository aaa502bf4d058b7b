// From when an outage counts.
#include "model/hardened/dynamic/retrying_backend.h"

#include <gtest/gtest.h>

#include <optional>

#include "model/rendezvous/core/errors.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

/// A backend of which the first question takes a while to find that no agent can be reached.
class OutOfReach final : public RendezvousBackend {
 public:
  OutOfReach(sim::Ports& ports, sim::Duration after) : ports_(ports), after_(after) {}
  [[nodiscard]] std::string name() const override { return "out of reach"; }
  std::optional<StoredState> get_state() override {
    ports_.executor.sleep_until(ports_.clock.monotonic_now() + after_);
    after_ = {};
    throw RendezvousConnectionError("lost");
  }
  std::optional<SetStateResult> set_state(const sim::Value&, const std::optional<Token>&) override {
    return std::nullopt;
  }

 private:
  sim::Ports& ports_;
  sim::Duration after_;
};

/// How long a node goes on to ask after a slow first failure.
sim::Duration asks_for(sim::Duration first_failure, sim::Duration limit,
                       std::optional<sim::Duration> deadline = std::nullopt) {
  world::TestWorld world;
  sim::Duration took{};
  static_cast<void>(world.start(world.node("a"), "client", [&](sim::Ports& ports) {
    RetryingBackend retrying(ports, std::make_unique<OutOfReach>(ports, first_failure));
    const sim::MonotonicTime begin = ports.clock.monotonic_now();
    retrying.endures = {limit, std::nullopt, 5s};
    if (deadline) retrying.endures.deadline = begin + *deadline;
    EXPECT_THROW(static_cast<void>(retrying.get_state()), RendezvousConnectionError);
    took = ports.clock.monotonic_now() - begin;
    return 0;
  }));
  world.run();
  return took;
}

TEST(RetryingBackend, counts_an_outage_from_when_it_is_felt_but_no_time_out_twice) {
  EXPECT_EQ(asks_for(0s, 30s), 30s);
  EXPECT_EQ(asks_for(600ms, 30s), 30600ms);
  EXPECT_EQ(asks_for(20s, 30s), 31s);
}

TEST(RetryingBackend, without_a_limit_asks_once) {
  EXPECT_EQ(asks_for(600ms, 0s), 600ms);
}

TEST(RetryingBackend, endures_only_a_short_outage_beyond_its_deadline) {
  EXPECT_EQ(asks_for(0s, 30s, 12s), 12s);
  EXPECT_EQ(asks_for(0s, 30s, 2s), 5s);
  EXPECT_EQ(asks_for(0s, 3s, 2s), 3s) << "no longer than the limit";
  EXPECT_EQ(asks_for(20s, 30s, 12s), 20s) << "which was over when the first failure came";
}

}  // namespace
}  // namespace hooke::model
