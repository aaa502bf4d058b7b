// What a static rank 0 that serves its store on could not tell the others before.
#include <gtest/gtest.h>

#include "model/rendezvous/registry.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Duration;
using sim::Ports;

/// Node a has something to tell when it lingers, at 10 s; node b asks once a second until it hears of
/// it, or for that long.
class StaticLingering : public testing::Test {
 protected:
  /// From 5 s on.
  void hinder_the_store(world::FaultKind kind, Duration duration, Duration slow_by = {}) {
    world_.inject_at(5s, kind, [=, this](world::Fault& fault) {
      fault.node = a_;
      fault.port = sim::PortNumber{29400};
      fault.duration = duration;
      fault.span = slow_by;
    });
  }
  void run(Duration b_asks_for = 1h) {
    a_pid_ = world_.start(a_, "a", [this](Ports& ports) {
      static_cast<void>(ports.processes.catch_signal(sim::Signal::term));
      const auto handler = joined(ports, "0");
      world::sleep(ports, 10s);
      handler->tell_while_lingering([this](const std::shared_ptr<Store>& store) {
        ++attempts_;
        store->set("failed", Value("1"));
        return true;
      });
      handler->linger();
      left_ = world_.now();
      return 0;
    });
    world_.start(world_.node("b"), "b", [=, this](Ports& ports) {
      const auto handler = joined(ports, "1");
      while (!heard_ && world_.now() < b_asks_for) {
        world::sleep(ports, 1s);
        if (has_heard(*handler)) heard_ = world_.now();
      }
      return 0;
    });
    world_.run_for(2h);
  }

  world::TestWorld world_;
  sim::NodeId a_ = world_.node("a");
  sim::Pid a_pid_{};
  int attempts_ = 0;  ///< that reached the store
  std::optional<Duration> heard_, left_;

 private:
  static std::unique_ptr<RendezvousHandler> joined(Ports& ports, const std::string& rank) {
    RendezvousParameters parameters;
    parameters.backend = "static";
    parameters.endpoint = "a:29400";
    parameters.run_id = "job";
    parameters.min_nodes = parameters.max_nodes = 2;
    parameters.config = {{"rank", rank}, {"timeout", "60"}};
    parameters.variant = Variant::hardened;
    auto handler = RendezvousRegistry::with_builtins().create(ports, parameters);
    static_cast<void>(handler->next_rendezvous());
    handler->group_formed();
    return handler;
  }
  static bool has_heard(RendezvousHandler& handler) try {
    return handler.job_store()->check({"failed"});
  } catch (const StoreError&) {
    return false;
  }
};

TEST_F(StaticLingering, tells_the_others_when_the_store_answers_again) {
  hinder_the_store(world::FaultKind::service_stop, 50s);
  run();
  ASSERT_TRUE(heard_ && left_);
  EXPECT_GE(*heard_, 55s);
  EXPECT_LE(*heard_, 75s);
  EXPECT_EQ(attempts_, 1) << "told once";
  EXPECT_GT(*left_, *heard_);
  EXPECT_LE(*left_, *heard_ + 5s);
}

TEST_F(StaticLingering, ends_as_ever_when_the_store_is_silent_for_good) {
  hinder_the_store(world::FaultKind::service_stop, 2h);
  run();
  EXPECT_FALSE(heard_);
  ASSERT_TRUE(left_);
  EXPECT_GE(*left_, 60s);
  EXPECT_LE(*left_, 70s) << "a minute after a client was heard for the last time";
}

TEST_F(StaticLingering, ends_although_its_own_attempts_are_served_when_they_are_over) {
  hinder_the_store(world::FaultKind::service_slow, 2h, 15s);
  run(30s);
  EXPECT_FALSE(heard_);
  ASSERT_TRUE(left_);
  EXPECT_LE(*left_, 20min);
}

TEST_F(StaticLingering, is_ended_by_a_signal_while_it_tells) {
  hinder_the_store(world::FaultKind::service_stop, 2h);
  world_.inject_at(20500ms, world::FaultKind::process_signal, [this](world::Fault& fault) {
    fault.node = a_;
    fault.pid = a_pid_;
    fault.signal = sim::Signal::term;
  });
  run();
  ASSERT_TRUE(left_);
  EXPECT_LE(*left_, 22s);
}

}  // namespace
}  // namespace hooke::model
