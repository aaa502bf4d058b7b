// What holds for faults of every kind: they are on the trace, they end, they say what they need.
#include <algorithm>
#include <stdexcept>

#include "properties/unit/sim/world/test_world.h"
#include "sim/world/fault_log.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;

constexpr auto kLastKind = FaultKind::process_raise;

TEST(Faults, every_kind_has_a_name_of_its_own) {
  std::vector<std::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(kLastKind); ++kind) {
    const std::string_view name = to_string(static_cast<FaultKind>(kind));
    EXPECT_NE(name, "?") << kind;
    EXPECT_EQ(std::count(names.begin(), names.end(), name), 0) << name;
    names.push_back(name);
  }
}

TEST(Faults, an_injected_fault_is_on_the_trace_with_its_target_and_its_end) {
  TestWorld test;
  const NodeId a = test.node("a");
  const NodeId b = test.node("b");
  test.inject(FaultKind::net_partition, [=](Fault& f) {
    f.paths = {{a}, {b}, true};
    f.duration = seconds(1);
  });
  test.inject(FaultKind::service_slow, [=](Fault& f) { f.node = b; });
  test.run();
  const Lines injected = test.events.starting_with("fault.injected");
  ASSERT_EQ(injected.size(), 2U);
  EXPECT_TRUE(injected[0].starts_with("fault.injected fault=0 kind=net_partition target=a -> b"))
      << injected[0];
  EXPECT_TRUE(injected[1].starts_with("fault.injected fault=1 kind=service_slow target=b"))
      << injected[1];
  EXPECT_EQ(test.events.starting_with("fault.ended"),
            (Lines{"fault.ended fault=0 kind=net_partition lingers=0"}));
  EXPECT_EQ(test.now(), seconds(1));
}

TEST(Faults, a_fiber_that_the_schedule_holds_up_is_on_the_trace) {
  std::size_t held_up = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TestWorld test(constant_latency(), seed, kernel::Strategy::delays);
    test.start(test.node("a"), "busy", [](Ports& ports) {
      for (int i = 0; i < 1'000; ++i) sleep(ports, milliseconds(1));
      return 0;
    });
    test.run();
    std::int64_t late = 0;
    for (const std::string& line : test.events.starting_with("fiber.held_up 0/100 fiber=busy")) {
      late += std::stoll(line.substr(line.rfind('=') + 1));
      ++held_up;
    }
    EXPECT_EQ(test.now(), seconds(1) + nanoseconds(late)) << "seed " << seed;
  }
  EXPECT_GT(held_up, 0U);
}

TEST(Faults, being_felt_is_told_once_and_counted_each_time) {
  TestWorld test;
  const NodeId a = test.node("a");
  const FaultId fault =
      test.inject(FaultKind::dns_unresolvable, [](Fault& f) { f.text = "store"; });
  test.start(a, "asker", [](Ports& ports) {
    for (int i = 0; i < 3; ++i) static_cast<void>(ports.network.resolve("store"));
    return 0;
  });
  test.run();
  EXPECT_EQ(test.world->felt(fault), 3U);
  EXPECT_EQ(test.events.starting_with("fault.took_effect"),
            (Lines{"fault.took_effect fault=0 kind=dns_unresolvable"}));
}

TEST(Faults, healing_ends_a_fault_once_and_twice_is_harmless) {
  TestWorld test;
  const NodeId a = test.node("a");
  const FaultId fault = test.inject(FaultKind::disk_full, [a](Fault& f) {
    f.node = a;
    f.duration = seconds(5);
  });
  test.world->heal(fault);
  test.world->heal(fault);
  test.run();
  EXPECT_EQ(test.events.count("fault.ended"), 1U);
}

TEST(Faults, one_without_the_node_or_process_it_needs_is_refused) {
  TestWorld test;
  const NodeId a = test.node("a");
  for (const FaultKind kind : {FaultKind::node_crash, FaultKind::clock_jump, FaultKind::dns_alias,
                               FaultKind::disk_full, FaultKind::process_pause}) {
    EXPECT_THROW(test.inject(kind), std::invalid_argument);
  }
  EXPECT_THROW(test.inject(FaultKind::process_signal, [a](Fault& f) { f.node = a; }),
               std::invalid_argument);
  EXPECT_THROW(test.inject(FaultKind::clock_drift,
                           [a](Fault& f) {
                             f.node = a;
                             f.amount = -1'000'000'000;
                           }),
               std::invalid_argument);
  EXPECT_EQ(test.events.count("fault."), 0U);
}

TEST(Faults, two_nodes_of_one_name_and_a_clock_that_stands_are_refused) {
  TestWorld test;
  test.node("a");
  EXPECT_THROW(test.node("a"), std::invalid_argument);
  EXPECT_THROW(test.node("b", {}, -1'000'000'000), std::invalid_argument);
  EXPECT_EQ(test.world->node_count(), 1U);
}

TEST(Faults, a_crash_of_a_node_without_processes_is_felt_by_no_process) {
  TestWorld test;
  const NodeId a = test.node("a");
  const FaultId crash = test.inject(FaultKind::node_crash, [a](Fault& f) { f.node = a; });
  test.run();
  EXPECT_EQ(test.world->felt(crash), 0U);
}

TEST(FaultPoints, passing_one_costs_nothing_until_somebody_watches) {
  TestWorld test;
  test.start(test.node("a"), "main", [](Ports& ports) {
    ports.fault_point.reach("test.point");
    return 0;
  });
  test.run();
  EXPECT_EQ(test.events.count("fault_point.passed"), 0U);
}

TEST(FaultPoints, passages_are_counted_by_node_and_name_across_processes) {
  TestWorld test;
  Lines seen;
  test.world->on_fault_point(
      [&](NodeId node, Pid pid, std::string_view name, std::uint64_t passage) {
        seen.push_back(test.world->node_name(node) + "/" + std::to_string(pid.value) + " " +
                       std::string(name) + " " + std::to_string(passage));
      });
  const NodeId a = test.node("a");
  const NodeId b = test.node("b");
  test.start(a, "main", [](Ports& ports) {
    ports.fault_point.reach("test.one");
    ports.fault_point.reach("test.two");
    return 0;
  });
  test.run();
  test.start_again(b, "main");
  test.start_again(a, "main");
  test.run();
  EXPECT_EQ(seen, (Lines{"a/100 test.one 1", "a/100 test.two 1", "b/100 test.one 1",
                         "b/100 test.two 1", "a/101 test.one 2", "a/101 test.two 2"}));
  EXPECT_EQ(test.events.count("fault_point.passed"), 6U);
}

TEST(FaultPoints, a_process_killed_at_one_does_nothing_more) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.world->on_fault_point([&](NodeId node, Pid pid, std::string_view, std::uint64_t passage) {
    if (passage != 2) return;
    test.inject(FaultKind::process_signal, [=](Fault& f) {
      f.node = node;
      f.pid = pid;
    });
  });
  int passed = 0;
  const Pid pid = test.start(a, "main", [&](Ports& ports) {
    for (int i = 0; i < 5; ++i) {
      ports.fault_point.reach("test.loop");
      ++passed;
    }
    return 0;
  });
  test.run();
  EXPECT_EQ(passed, 1);
  EXPECT_EQ(test.exit_code(a, pid), -9);
}

[[noreturn]] void raise_text(std::string_view error) {
  throw std::runtime_error(std::string(error));
}

/// What the main fiber of a process with a raiser gets at each of so many points, "-" for nothing.
Lines raised_at_points(Ports& ports, int points) {
  Lines seen;
  for (int i = 0; i < points; ++i) {
    try {
      ports.fault_point.reach("test.point");
      seen.emplace_back("-");
    } catch (const std::runtime_error& error) {
      seen.emplace_back(error.what());
    }
  }
  return seen;
}

TEST(FaultPoints, an_error_is_raised_where_its_process_stands_or_at_the_next_one_and_once) {
  TestWorld test;
  const NodeId a = test.node("a");
  std::vector<FaultId> faults;
  const auto raise = [&](Pid pid, const char* error) {
    faults.push_back(test.inject(FaultKind::process_raise, [=](Fault& f) {
      f.node = a;
      f.pid = pid;
      f.text = error;
    }));
  };
  test.world->on_fault_point([&](NodeId, Pid pid, std::string_view, std::uint64_t passage) {
    if (passage == 2) raise(pid, "here");
  });
  Lines seen;
  test.start(a, "main", [&](Ports& ports) {
    ports.fault_point.raise_by(&raise_text);
    seen = raised_at_points(ports, 3);
    for (const char* const error : {"first", "second", "healed"}) {
      raise(ports.processes.self(), error);
    }
    test.world->heal(faults.back());
    EXPECT_EQ(test.world->felt(faults.at(1)), 0U);
    const Lines later = raised_at_points(ports, 4);
    seen.insert(seen.end(), later.begin(), later.end());
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"-", "here", "-", "first", "second", "-", "-"}));
  EXPECT_EQ(test.world->felt(faults.at(0)), 1U);
  EXPECT_EQ(test.world->felt(faults.at(1)), 1U);
  EXPECT_EQ(test.world->felt(faults.at(3)), 0U);
}

TEST(FaultPoints, no_error_is_raised_beside_the_main_fiber_or_where_no_raiser_knows_it) {
  TestWorld test;
  const NodeId a = test.node("a");
  Lines beside, main, without;
  const auto raise = [&](Ports& ports) {
    return test.inject(FaultKind::process_raise, [&](Fault& f) {
      f.node = a;
      f.pid = ports.processes.self();
      f.text = "error";
    });
  };
  test.start(a, "main", [&](Ports& ports) {
    ports.fault_point.raise_by(&raise_text);
    raise(ports);
    ports.executor.join(
        ports.executor.spawn("beside", [&] { beside = raised_at_points(ports, 2); }));
    main = raised_at_points(ports, 1);
    return 0;
  });
  FaultId unfelt{};
  test.start(a, "without", [&](Ports& ports) {
    unfelt = raise(ports);
    without = raised_at_points(ports, 1);
    return 0;
  });
  test.run();
  EXPECT_EQ(beside, (Lines{"-", "-"}));
  EXPECT_EQ(main, Lines{"error"});
  EXPECT_EQ(without, Lines{"-"});
  EXPECT_EQ(test.world->felt(unfelt), 0U);
}

TEST(FaultPoints, a_process_paused_at_one_stays_there_until_it_is_resumed) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.world->on_fault_point([&](NodeId node, Pid pid, std::string_view, std::uint64_t) {
    test.inject(FaultKind::process_pause, [=](Fault& f) {
      f.node = node;
      f.pid = pid;
      f.duration = seconds(20);
    });
  });
  Duration passed{};
  test.start(a, "main", [&](Ports& ports) {
    ports.fault_point.reach("test.point");
    passed = test.now();
    return 0;
  });
  test.run();
  EXPECT_EQ(passed, seconds(20));
}

}  // namespace
}  // namespace hooke::world
