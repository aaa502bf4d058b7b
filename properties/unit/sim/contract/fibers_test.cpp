// Fibers, time and the primitives on them.
#include "contract_world.h"
#include "sim/port/sync.h"

namespace hooke::contract {
namespace {

class Fibers : public PortContract {};
INSTANTIATE_TEST_SUITE_P(In, Fibers, testing::Values("simulated", "real"), world_name);

TEST_P(Fibers, a_sleeper_wakes_not_before_its_time) {
  run([](Ports& ports) {
    const sim::MonotonicTime until = in(ports, 20ms);
    ports.executor.sleep_until(until);
    EXPECT_GE(ports.clock.monotonic_now(), until);
  });
}

TEST_P(Fibers, sleepers_wake_in_the_order_of_their_deadlines) {
  run([](Ports& ports) {
    std::string order;
    sim::Scope scope(ports.executor);
    for (const int tens : {3, 1, 2}) {
      scope.spawn("sleeper", [&, tens] {
        sleep(ports, tens * 10ms);
        order += std::to_string(tens);
      });
    }
    scope.join();
    EXPECT_EQ(order, "123");
  });
}

TEST_P(Fibers, a_deadline_in_the_past_lets_others_run_first) {
  run([](Ports& ports) {
    std::string order;
    sim::Scope scope(ports.executor);
    scope.spawn("other", [&] { order += "other "; });
    ports.executor.sleep_until(sim::MonotonicTime());
    order += "sleeper";
    scope.join();
    EXPECT_EQ(order, "other sleeper");
  });
}

TEST_P(Fibers, those_that_never_wait_do_not_keep_the_clock_from_the_others) {
  run([](Ports& ports) {
    bool woken = false;
    sim::Scope scope(ports.executor);
    scope.spawn("sleeper", [&] {
      sleep(ports, 1ms);
      woken = true;
    });
    // Yields for ever; in the simulated world each turn must cost some time or it would stand
    // still.
    while (!woken) sleep(ports, 1us);
    scope.join();
  });
}

TEST_P(Fibers, a_wake_between_ticket_and_park_is_not_lost) {
  run([](Ports& ports) {
    const sim::ParkTicket ticket = ports.executor.ticket();
    EXPECT_TRUE(ports.executor.wake(ticket));
    EXPECT_EQ(ports.executor.park(ticket, in(ports, 10s)), sim::Wake::woken);
    EXPECT_FALSE(ports.executor.wake(ticket));
  });
}

TEST_P(Fibers, exceptions_of_one_stay_its_own_while_it_waits_in_a_handler) {
  run([](Ports& ports) {
    sim::Scope scope(ports.executor);
    std::vector<std::string> caught;
    for (const char* name : {"a", "b"}) {
      scope.spawn(name, [&, name] {
        try {
          throw std::runtime_error(name);
        } catch (const std::exception& error) {
          sleep(ports, 5ms);
          try {
            throw;
          } catch (const std::exception& same) {
            caught.push_back(std::string(error.what()) + same.what());
          }
        }
      });
    }
    scope.join();
    EXPECT_EQ(caught, (std::vector<std::string>{"aa", "bb"}));
  });
}

TEST_P(Fibers, left_behind_are_ended_with_their_process) {
  bool unwound = false;
  struct Mark {
    bool& flag;
    ~Mark() { flag = true; }
  };
  run([&](Ports& ports) {
    ports.executor.spawn("left", [&] {
      const Mark mark{unwound};
      world::park_for_ever(ports);
    });
    sleep(ports, 1ms);
  });
  EXPECT_TRUE(unwound);
}

TEST_P(Fibers, draw_numbers_below_their_bound) {
  run([](Ports& ports) {
    for (std::uint64_t bound = 1; bound < 50; ++bound) {
      EXPECT_LT(ports.random.below("test", bound), bound);
    }
  });
}

}  // namespace
}  // namespace hooke::contract
