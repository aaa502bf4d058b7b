// What the fibers of one process share: they are killed together, in an order that lets them refer
// to each other, and they sleep by one clock.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "properties/unit/sim/kernel/test_kernel.h"

namespace hooke::kernel {
namespace {

using sim::Duration;
using sim::WorldTime;

/// Notes when it is destroyed.
struct Witness {
  std::vector<std::string>& log;
  std::string name;
  ~Witness() { log.push_back(name); }
};

/// Parks until something wakes it or kills it.
void park_for_ever(TestKernel& test) {
  test.kernel.park(test.kernel.ticket(), std::nullopt);
}

TEST(FiberGroup, killed_fibers_unwind_youngest_first) {
  std::vector<std::string> ended;
  TestKernel test;
  test.spawn("main", [&] {
    const Witness main{ended, "main"};
    test.spawn("child", [&] {
      const Witness child{ended, "child"};
      test.spawn("grandchild", [&] {
        const Witness grandchild{ended, "grandchild"};
        park_for_ever(test);
      });
      park_for_ever(test);
    });
    park_for_ever(test);
  });
  test.at(WorldTime(Duration(5)), [&] { test.group.kill(); });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(ended, (std::vector<std::string>{"grandchild", "child", "main"}));
}

TEST(FiberGroup, the_order_of_unwinding_holds_under_random_scheduling_and_for_ready_fibers) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<std::string> ended;
    TestKernel test(seed, Strategy::random);
    std::vector<sim::ParkTicket> tickets;
    for (int i = 0; i < 6; ++i) {
      test.spawn("f" + std::to_string(i), [&, i] {
        const Witness witness{ended, std::to_string(i)};
        tickets.push_back(test.kernel.ticket());
        park_for_ever(test);
        park_for_ever(test);
      });
    }
    test.at(WorldTime(Duration(5)), [&] {
      for (std::size_t i = 0; i < 3; ++i) test.kernel.wake(tickets[i]);
      test.group.kill();
    });
    EXPECT_EQ(test.kernel.run(), RunEnd::idle);
    EXPECT_EQ(ended, (std::vector<std::string>{"5", "4", "3", "2", "1", "0"})) << seed;
  }
}

/// As a world is taken down: among the groups is one whose fibers unwind already.
TEST(FiberGroup, fibers_that_were_ready_and_are_withdrawn_unwind_with_their_groups) {
  std::vector<std::string> ended;
  TestKernel test;
  FiberGroup dying(test.kernel);
  FiberGroup living(test.kernel);
  std::vector<sim::ParkTicket> tickets;
  const auto spawn = [&](FiberGroup& group, const std::string& name) {
    test.kernel.spawn(group, name, [&, name] {
      const Witness witness{ended, name};
      tickets.push_back(test.kernel.ticket());
      park_for_ever(test);
    });
  };
  for (const char* name : {"a", "b"}) spawn(dying, name);
  for (const char* name : {"c", "d"}) spawn(living, name);
  test.at(WorldTime(Duration(5)), [&] {
    dying.kill();
    for (const sim::ParkTicket ticket : tickets) test.kernel.wake(ticket);
    test.kernel.withdraw_ready();
    living.kill();
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(ended, (std::vector<std::string>{"b", "d", "a", "c"}));
}

TEST(FiberGroup, a_fiber_that_kills_its_own_group_lets_younger_ones_end_first_when_it_parks) {
  std::vector<std::string> ended;
  TestKernel test;
  test.spawn("main", [&] {
    const Witness main{ended, "main"};
    test.spawn("child", [&] {
      const Witness child{ended, "child"};
      park_for_ever(test);
    });
    test.sleep(Duration(1));
    test.group.kill();
    ended.push_back("killed");
    park_for_ever(test);
    ended.push_back("never");
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(ended, (std::vector<std::string>{"killed", "child", "main"}));
}

TEST(FiberGroup, a_killed_group_that_was_paused_unwinds_too) {
  std::vector<std::string> ended;
  TestKernel test;
  test.spawn("main", [&] {
    const Witness main{ended, "main"};
    test.sleep(Duration(3));
    ended.push_back("ran");
  });
  test.at(WorldTime(Duration(1)), [&] { test.group.pause(); });
  test.at(WorldTime(Duration(9)), [&] { test.group.kill(); });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(ended, (std::vector<std::string>{"main"}));
}

TEST(FiberGroup, one_fiber_can_be_killed_by_name_while_the_others_go_on) {
  std::vector<std::string> ended;
  TestKernel test;
  for (const char* name : {"a", "b"}) {
    test.spawn(name, [&, name] {
      const Witness witness{ended, name};
      test.sleep(Duration(10));
      ended.push_back(std::string(name) + " slept");
    });
  }
  bool killed = false;
  bool unknown = true;
  test.at(WorldTime(Duration(4)), [&] {
    killed = test.group.kill_fiber("a");
    unknown = test.group.kill_fiber("nobody");
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_TRUE(killed);
  EXPECT_FALSE(unknown);
  EXPECT_EQ(ended, (std::vector<std::string>{"a", "b slept", "b"}));
}

TEST(FiberGroup, deadlines_that_are_pending_can_be_moved) {
  std::vector<std::int64_t> woke;
  TestKernel test;
  for (const int span : {10, 20}) {
    test.spawn("sleeper", [&, span] {
      test.sleep(Duration(span));
      woke.push_back(test.kernel.now().time_since_epoch().count());
    });
  }
  std::size_t moved = 0;
  test.at(WorldTime(Duration(15)), [&] {
    moved = test.group.move_deadlines([](WorldTime old) { return old + Duration(100); });
  });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(moved, 1U);
  EXPECT_EQ(woke, (std::vector<std::int64_t>{10, 120}));
}

TEST(FiberGroup, a_deadline_moved_into_the_past_passes_at_once) {
  std::int64_t woke = 0;
  TestKernel test;
  test.spawn("sleeper", [&] {
    test.sleep(Duration(100));
    woke = test.kernel.now().time_since_epoch().count();
  });
  test.at(WorldTime(Duration(15)),
          [&] { test.group.move_deadlines([](WorldTime) { return WorldTime(Duration(1)); }); });
  EXPECT_EQ(test.kernel.run(), RunEnd::idle);
  EXPECT_EQ(woke, 15);
}

}  // namespace
}  // namespace hooke::kernel
