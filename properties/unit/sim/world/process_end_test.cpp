// How processes end: by themselves, with their machine or the world, by a signal to their group.
#include "properties/unit/sim/world/process_requests.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;
using sim::Signal;

TEST(Process, its_fibers_end_with_its_main_program) {
  TestWorld test;
  const NodeId a = test.node("a");
  bool went_on = false;
  test.start(a, "main", [&](Ports& ports) {
    ports.executor.spawn("helper", [&ports, &went_on] {
      sleep(ports, seconds(10));
      went_on = true;
    });
    sleep(ports, seconds(1));
    return 0;
  });
  test.run();
  EXPECT_FALSE(went_on);
  EXPECT_EQ(test.now(), seconds(1));
}

TEST(Process, every_port_of_a_dead_process_is_a_silent_no_op) {
  TestWorld test;
  const NodeId a = test.node("a");
  AnsweringServer server(echo);
  AnsweringServer other(echo);
  test.start(a, "server", serve(server));
  Lines seen;
  struct OnUnwinding {
    std::function<void()> act;
    ~OnUnwinding() { act(); }
  };
  static constexpr sim::EventType kNever{"test.never", {}};
  const Pid pid = test.start(a, "victim", [&](Ports& ports) {
    const auto stream = dial(ports, "a");
    static_cast<void>(ports.files.write("/mine", "before"));
    static_cast<void>(ports.processes.catch_signal(Signal::usr1));
    const OnUnwinding unwinding{[&] {
      seen.push_back(write_text(*stream, "ghost"));
      seen.emplace_back(ports.files.write("/mine", "after") ? "written" : "refused");
      seen.emplace_back(ports.network.listen(PortNumber{81}, other) ? "bound" : "refused");
      seen.emplace_back(ports.processes.spawn(child("server")) ? "started" : "refused");
      seen.emplace_back(ports.processes.signal(Pid{100}, Signal::kill) ? "sent" : "refused");
      seen.emplace_back(ports.processes.take_signal() ? "signal" : "none");
      seen.push_back(std::to_string(ports.trace.emit(kNever, {}).value));
      seen.push_back(std::to_string(ports.random.below("test.purpose", 1'000'000'000)));
      try {
        sleep(ports, seconds(1));
        seen.emplace_back("slept");
      } catch (const sim::Killed&) {
        seen.emplace_back("killed again");
      }
    }};
    park_for_ever(ports);
    return 0;
  });
  test.inject_at(seconds(1), FaultKind::process_signal, to_process(a, pid));
  std::string left;
  test.start(a, "reader", [&](Ports& ports) {
    sleep(ports, seconds(2));
    left = ports.files.read("/mine").value();
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"<closed>", "refused", "refused", "refused", "refused", "none", "0", "0",
                         "killed again"}));
  EXPECT_EQ(left, "before");
  EXPECT_EQ(test.events.count("test.never"), 0U);
  EXPECT_EQ(test.world->living(a), (std::vector<Pid>{Pid{100}}));
}

TEST(Process, nothing_is_heard_of_a_process_after_it_has_ended) {
  TestWorld test;
  const NodeId a = test.node("a");
  AnsweringServer server(echo);
  const Pid pid = test.start(a, "server", serve(server));
  test.inject_at(seconds(1), FaultKind::process_signal, to_process(a, pid));
  test.run();
  bool ended = false;
  for (const std::string& line : test.events.lines) {
    EXPECT_FALSE(ended && line.find(" 0/100") != std::string::npos) << line;
    ended = ended || line.starts_with("process.ended 0/100");
  }
  EXPECT_TRUE(ended);
}

TEST(Process, its_peers_see_an_orderly_end_when_it_exits_and_when_it_is_killed) {
  for (const bool killed : {false, true}) {
    TestWorld test;
    const NodeId a = test.node("a");
    const NodeId b = test.node("b");
    AnsweringServer server(echo);
    const Pid pid = test.start(b, "server", [&](Ports& ports) {
      auto listener = ports.network.listen(PortNumber{29500}, server);
      sleep(ports, seconds(2));
      return 0;
    });
    if (killed) test.inject_at(seconds(1), FaultKind::process_signal, to_process(b, pid));
    Lines seen;
    test.start(a, "client", [&](Ports& ports) {
      const auto stream = dial(ports, "b");
      seen.push_back(read_text(*stream));
      const auto again = ports.network.connect({"b", PortNumber{29500}}, std::nullopt);
      seen.emplace_back(to_string(again.failure().fault));
      return 0;
    });
    test.run();
    EXPECT_EQ(seen, (Lines{"<end>", "connection refused"})) << killed;
  }
}

TEST(Process, a_crash_of_its_node_ends_all_and_a_restart_brings_back_the_disk_but_no_process) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.world->register_program("worker", [](Ports& ports) {
    park_for_ever(ports);
    return 0;
  });
  const Pid parent = test.start(a, "parent", [](Ports& ports) {
    static_cast<void>(ports.processes.spawn(child("worker")));
    static_cast<void>(ports.files.write("/state", "kept"));
    park_for_ever(ports);
    return 0;
  });
  test.inject_at(seconds(1), FaultKind::node_crash, [a](Fault& f) { f.node = a; });
  const auto second_crash =
      test.inject_at(seconds(2), FaultKind::node_crash, [a](Fault& f) { f.node = a; });
  test.inject_at(seconds(3), FaultKind::node_restart, [a](Fault& f) { f.node = a; });
  const auto second_restart =
      test.inject_at(seconds(4), FaultKind::node_restart, [a](Fault& f) { f.node = a; });
  test.run();
  EXPECT_EQ(test.exit_code(a, parent), -9);
  EXPECT_TRUE(test.world->living(a).empty());
  EXPECT_TRUE(test.world->node_up(a));
  EXPECT_EQ(test.world->felt(*second_crash), 0U);
  EXPECT_EQ(test.world->felt(*second_restart), 0U);
  EXPECT_EQ(test.events.starting_with("node."),
            (Lines{"node.crashed name=a", "node.restarted name=a"}));
  std::string kept;
  test.start(a, "reader", [&](Ports& ports) {
    kept = ports.files.read("/state").value();
    return 0;
  });
  test.run();
  EXPECT_EQ(kept, "kept");
}

TEST(Process, the_fibers_of_a_process_can_be_killed_one_by_one) {
  TestWorld test;
  const NodeId a = test.node("a");
  int beats = 0;
  const Pid pid = test.start(a, "main", [&](Ports& ports) {
    ports.executor.spawn("keep-alive", [&] {
      for (;;) {
        sleep(ports, seconds(1));
        ++beats;
      }
    });
    sleep(ports, seconds(10));
    return 0;
  });
  const auto hit = test.inject_at(milliseconds(3500), FaultKind::fiber_dies, [&](Fault& f) {
    f.node = a;
    f.pid = pid;
    f.text = "keep-alive";
  });
  const auto missed = test.inject_at(milliseconds(4000), FaultKind::fiber_dies, [&](Fault& f) {
    f.node = a;
    f.pid = pid;
    f.text = "keep-alive";
  });
  test.run();
  EXPECT_EQ(beats, 3);
  EXPECT_EQ(test.exit_code(a, pid), 0);
  EXPECT_EQ(test.world->felt(*hit), 1U);
  EXPECT_EQ(test.world->felt(*missed), 0U);
}

TEST(Process, an_exception_that_leaves_it_ends_the_run_as_a_failure_that_names_it) {
  TestWorld test;
  test.start(test.node("a"), "broken", [](Ports&) -> int { throw std::runtime_error("oh"); });
  EXPECT_EQ(test.kernel.run(), kernel::RunEnd::failed);
  EXPECT_EQ(test.kernel.failure(), "fiber \"broken\" failed: oh");
}

TEST(Process, the_world_takes_down_whatever_still_lives) {
  bool unwound = false;
  struct OnEnd {
    bool& flag;
    ~OnEnd() { flag = true; }
  };
  {
    TestWorld test;
    AnsweringServer server(echo);
    const NodeId a = test.node("a");
    test.start(a, "server", serve(server));
    test.start(a, "client", [&](Ports& ports) {
      const OnEnd on_end{unwound};
      const auto stream = dial(ports, "a");
      park_for_ever(ports);
      return 0;
    });
    test.run();
    server.hang_up();
    const std::uint64_t events = test.trace.event_count();
    test.world.reset();
    EXPECT_EQ(test.trace.event_count(), events);  // without a word
  }
  EXPECT_TRUE(unwound);
}

TEST(Signals, to_a_group_reach_all_its_members_and_no_other_process) {
  TestWorld test;
  const NodeId a = test.node("a");
  const auto forever = [](Ports& ports) {
    park_for_ever(ports);
    return 0;
  };
  test.world->register_program("leaf", forever);
  // The leader's child stays in its group, its other child leads a session of its own.
  const Pid leader = test.start(a, "leader", [](Ports& ports) {
    static_cast<void>(ports.processes.spawn({{"leaf"}, {}, false, {}, {}}));
    static_cast<void>(ports.processes.spawn({{"leaf"}, {}, true, {}, {}}));
    park_for_ever(ports);
    return 0;
  });
  Lines seen;
  test.start(a, "sender", [&](Ports& ports) {
    sleep(ports, seconds(1));
    seen.emplace_back(ports.processes.signal_group(leader, Signal::term) ? "sent" : "no process");
    seen.emplace_back(ports.processes.signal_group(leader, Signal::term) ? "sent" : "no process");
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"sent", "no process"}));
  EXPECT_EQ(test.exit_code(a, leader), -15);
  EXPECT_EQ(test.exit_code(a, Pid{102}), -15);
  EXPECT_EQ(test.world->living(a), (std::vector<Pid>{Pid{103}}));
}

}  // namespace
}  // namespace hooke::world
