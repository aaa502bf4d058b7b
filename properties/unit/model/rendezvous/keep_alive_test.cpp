// When the heartbeats of a node of a dynamic rendezvous end.
#include "model/rendezvous/dynamic/keep_alive.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "model/rendezvous/dynamic_factory.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using sim::Ports;
using world::sleep;

/// Nothing stands there, and every look is counted.
class CountedBackend final : public RendezvousBackend {
 public:
  explicit CountedBackend(int& looks) : looks_(looks) {}
  [[nodiscard]] std::string name() const override { return "counted"; }
  std::optional<StoredState> get_state() override {
    ++looks_;
    return std::nullopt;
  }
  std::optional<SetStateResult> set_state(const sim::Value&, const std::optional<Token>&) override {
    return std::nullopt;
  }

 private:
  int& looks_;
};

/// How often the heartbeats look at the state that were dismissed while they waited for the lock.
int looks_of_the_dismissed(Variant variant) {
  world::TestWorld world;
  int looks = 0;
  world.start(world.node("a"), "node", [&](Ports& ports) {
    RendezvousResources resources;
    resources.backend = std::make_unique<CountedBackend>(looks);
    RendezvousSettings settings;
    settings.run_id = "job";
    settings.variant = variant;
    const auto core =
        make_dynamic_core(ports, std::move(resources), settings, NodeDesc{"a", 100, 0});
    core->heartbeat_lock.lock();
    const auto heartbeats = KeepAlive::start(core);
    sleep(ports, 2 * settings.keep_alive_interval);
    heartbeats->dismiss();
    core->heartbeat_lock.unlock();
    heartbeats->cancel();
    return 0;
  });
  world.run();
  return looks;
}

TEST(KeepAlive, that_is_dismissed_while_it_waits_for_the_lock_is_over_where_hardened) {
  EXPECT_EQ(looks_of_the_dismissed(Variant::hardened), 0)
      << "an agent that dismissed it may use the state without the lock by now";
}

TEST(KeepAlive, that_waits_for_the_lock_has_a_tick_more_in_pytorch) {
  EXPECT_EQ(looks_of_the_dismissed(Variant::torch_2_x), 1);
}

}  // namespace
}  // namespace hooke::model
