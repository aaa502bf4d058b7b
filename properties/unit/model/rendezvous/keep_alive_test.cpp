// When the heartbeats of a node of a dynamic rendezvous end.
#include "model/rendezvous/dynamic/keep_alive.h"

#include <gtest/gtest.h>

#include <functional>
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
    const auto heartbeats = std::make_unique<KeepAlive>(core);
    heartbeats->start();
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

/// What a node's main thread does while its keep-alive has the lock, from 0 s to 10 s, and whether
/// SIGTERM comes at 3 s: how the wait ends, and when.
std::string beside_a_long_tick(bool signal, void (*wait)(Ports&, HandlerCore&, KeepAlive&)) {
  world::TestWorld world;
  int looks = 0;
  std::string seen;
  const sim::NodeId node = world.node("a");
  const sim::Pid pid = world.start(node, "node", [&](Ports& ports) {
    EXPECT_TRUE(ports.processes.catch_signal(sim::Signal::term).ok());
    RendezvousResources resources;
    resources.backend = std::make_unique<CountedBackend>(looks);
    RendezvousSettings settings;
    settings.run_id = "job";
    settings.keep_alive_interval = std::chrono::seconds(1);
    const auto core =
        make_dynamic_core(ports, std::move(resources), settings, NodeDesc{"a", 100, 0});
    ports.executor.spawn("long tick", [core, &ports] {
      core->heartbeat_lock.lock();
      sleep(ports, std::chrono::seconds(10));
      core->heartbeat_lock.unlock();
    });
    const auto heartbeats = std::make_unique<KeepAlive>(core);
    heartbeats->start();
    const sim::MonotonicTime began = ports.clock.monotonic_now();
    sleep(ports, std::chrono::seconds(2));
    try {
      wait(ports, *core, *heartbeats);
      seen = "done";
    } catch (const SignalException& error) {
      seen = error.what();
    }
    const auto span = ports.clock.monotonic_now() - began;
    seen += " after " +
            std::to_string(std::chrono::duration_cast<std::chrono::seconds>(span).count()) + " s";
    heartbeats->dismiss();
    return 0;
  });
  if (signal) {
    world.inject_at(std::chrono::seconds(3), world::FaultKind::process_signal,
                    [pid, node](world::Fault& fault) {
                      fault.node = node;
                      fault.pid = pid;
                      fault.signal = sim::Signal::term;
                    });
  }
  world.run();
  return seen;
}

void take_the_lock(Ports& ports, HandlerCore& core, KeepAlive&) {
  const HeartbeatLock::Held held(core.heartbeat_lock, ports);
}
void cancel(Ports&, HandlerCore&, KeepAlive& heartbeats) {
  heartbeats.cancel();
}

TEST(KeepAlive, whose_tick_has_the_lock_is_waited_for) {
  EXPECT_EQ(beside_a_long_tick(false, &take_the_lock), "done after 10 s");
  EXPECT_EQ(beside_a_long_tick(false, &cancel), "done after 10 s");
}

TEST(KeepAlive, whose_tick_has_the_lock_is_waited_for_no_longer_after_a_signal) {
  EXPECT_EQ(beside_a_long_tick(true, &take_the_lock), "Process 100 got signal: 15 after 3 s");
  EXPECT_EQ(beside_a_long_tick(true, &cancel), "Process 100 got signal: 15 after 3 s");
}

/// A thread dies between two of its steps: here when it has been given the lock and has not run yet.
TEST(HeartbeatLock, is_given_back_by_a_thread_that_dies_before_it_knows_that_it_has_it) {
  world::TestWorld world;
  world.world->on_fault_point([&](sim::NodeId node, sim::Pid pid, std::string_view, std::uint64_t) {
    world.inject(world::FaultKind::fiber_dies, [=](world::Fault& fault) {
      fault.node = node;
      fault.pid = pid;
      fault.text = "keep-alive";
    });
  });
  bool taken_again = false;
  world.start(world.node("a"), "node", [&](Ports& ports) {
    HeartbeatLock lock(ports.executor);
    {
      const HeartbeatLock::Held held(lock, ports);
      ports.executor.spawn("keep-alive", [&] {
        lock.lock();
        ADD_FAILURE() << "it has died";
      });
      ports.executor.sleep_until(world::in(ports, 1s));
    }
    EXPECT_TRUE(lock.locked()) << "it is the other's";
    ports.fault_point.reach("test.point");
    ports.executor.sleep_until(world::in(ports, 1s));
    const HeartbeatLock::Held held(lock, ports);
    taken_again = true;
    return 0;
  });
  world.run();
  EXPECT_TRUE(taken_again);
}

/// Starts the keep-alive of a node while `other`, a fiber that began at the same instant, has not
/// run yet; whether it has when the start returns or raises, and how often the heartbeats look
/// within the next interval and a half.
std::string start_beside(const std::function<void(Ports&)>& other) {
  world::TestWorld world;
  int looks = 0;
  std::string seen;
  world.start(world.node("a"), "node", [&](Ports& ports) {
    EXPECT_TRUE(ports.processes.catch_signal(sim::Signal::term).ok());
    RendezvousResources resources;
    resources.backend = std::make_unique<CountedBackend>(looks);
    RendezvousSettings settings;
    settings.run_id = "job";
    const auto core =
        make_dynamic_core(ports, std::move(resources), settings, NodeDesc{"a", 100, 0});
    const sim::MonotonicTime began = ports.clock.monotonic_now();
    KeepAlive heartbeats(core);
    ports.executor.spawn("other", [&] {
      seen = "other, ";
      other(ports);
    });
    try {
      heartbeats.start();
      seen += "started, ";
    } catch (const SignalException& error) {
      seen += error.what() + std::string(", ");
    }
    EXPECT_EQ(ports.clock.monotonic_now(), began) << "no time passes";
    sleep(ports, 3 * settings.keep_alive_interval / 2);
    seen += std::to_string(looks);
    heartbeats.dismiss();
    return 0;
  });
  world.run();
  return seen;
}

// threading.py:Thread.start waits for the thread to run, and another agent of that machine, which
// has begun before, runs before what the caller does next.
TEST(KeepAlive, is_started_when_its_thread_runs_which_is_behind_what_was_ready_before) {
  EXPECT_EQ(start_beside([](Ports&) {}), "other, started, 1");
}

TEST(KeepAlive, whose_start_a_signal_interrupts_has_started) {
  const auto send = [](Ports& ports) {
    EXPECT_TRUE(ports.processes.signal(ports.processes.self(), sim::Signal::term).ok());
  };
  EXPECT_EQ(start_beside(send), "other, Process 100 got signal: 15, 1");
}

}  // namespace
}  // namespace hooke::model
