// The life of processes: birth, arguments, children, ends, and what is left of them.
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;
using sim::Signal;

sim::SpawnRequest child(const std::string& program, bool new_session = true) {
  return {{program}, {}, new_session, {}, {}};
}

std::function<void(Fault&)> to_process(NodeId node, Pid pid, Signal signal = Signal::kill,
                                       Duration duration = {}) {
  return [=](Fault& fault) {
    fault.node = node;
    fault.pid = pid;
    fault.signal = signal;
    fault.duration = duration;
  };
}

TEST(Process, its_exit_code_is_what_its_program_returns_modulo_256) {
  TestWorld test;
  const NodeId a = test.node("a");
  const Pid ok = test.start(a, "ok", [](Ports&) { return 0; });
  const Pid failed = test.start(a, "failed", [](Ports&) { return 3; });
  const Pid odd = test.start(a, "odd", [](Ports&) { return -1; });
  test.run();
  EXPECT_EQ(test.exit_code(a, ok), 0);
  EXPECT_EQ(test.exit_code(a, failed), 3);
  EXPECT_EQ(test.exit_code(a, odd), 255);
  EXPECT_EQ(test.events.starting_with("process.ended"),
            (Lines{"process.ended 0/100 status=0", "process.ended 0/101 status=3",
                   "process.ended 0/102 status=255"}));
}

TEST(Process, it_sees_its_arguments_its_environment_and_its_number) {
  TestWorld test;
  const NodeId a = test.node("a");
  Lines seen;
  test.world->register_program("worker", [&](Ports& ports) {
    seen = ports.processes.arguments();
    seen.push_back(ports.processes.environment().at("RANK"));
    seen.push_back(std::to_string(ports.processes.self().value));
    seen.push_back(std::to_string(ports.processes.environment().size()));
    park_for_ever(ports);
    return 0;
  });
  const Pid pid =
      test.world->start(a, {{"worker", "--flag"}, {{"RANK", "3"}}, true, {}, {}}).value();
  test.run();
  EXPECT_EQ(seen, (Lines{"worker", "--flag", "3", "100", "1"}));
  EXPECT_EQ(test.world->arguments(a, pid), (Lines{"worker", "--flag"}));
  EXPECT_EQ(test.world->environment(a, pid).at("RANK"), "3");
  EXPECT_EQ(test.world->living(a), (std::vector<Pid>{pid}));
}

TEST(Process, a_program_that_is_not_there_cannot_be_started) {
  TestWorld test;
  const NodeId a = test.node("a");
  const auto unknown = test.world->start(a, child("nothing"));
  ASSERT_FALSE(unknown.ok());
  EXPECT_EQ(unknown.failure().fault, sim::Fault::not_found);
  EXPECT_EQ(test.world->start(a, {{}, {}, true, {}, {}}).failure().fault, sim::Fault::not_found);
  test.world->register_program("program", [](Ports&) { return 0; });
  test.inject(FaultKind::node_crash, [a](Fault& f) { f.node = a; });
  EXPECT_EQ(test.world->start(a, child("program")).failure().fault, sim::Fault::unreachable);
}

TEST(Process, its_output_files_are_truncated_when_it_starts) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.world->register_program("worker", [](Ports&) { return 0; });
  Lines seen;
  test.start(a, "parent", [&](Ports& ports) {
    static_cast<void>(ports.files.write("/out", "old"));
    auto request = child("worker");
    request.stdout_path = "/out";
    request.stderr_path = "/err";
    const Pid pid = ports.processes.spawn(request).value();
    static_cast<void>(ports.processes.wait(pid, std::nullopt));
    seen.push_back("[" + ports.files.read("/out").value() + "]");
    seen.emplace_back(ports.files.exists("/err") ? "there" : "missing");
    request.stdout_path = "/no/such/directory/out";
    seen.emplace_back(to_string(ports.processes.spawn(request).failure().fault));
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"[]", "there", "not found"}));
  EXPECT_EQ(test.events.count("process.started"), 2U);
}

TEST(Process, a_parent_waits_for_its_child_and_gets_its_status_once) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.world->register_program("worker", [](Ports& ports) {
    sleep(ports, seconds(5));
    return 7;
  });
  Lines seen;
  test.start(a, "parent", [&](Ports& ports) {
    const Pid pid = ports.processes.spawn(child("worker")).value();
    seen.emplace_back(ports.processes.poll(pid) ? "ended" : "runs");
    seen.emplace_back(ports.processes.wait(pid, in(ports, seconds(2))) ? "ended" : "runs");
    seen.push_back(std::to_string(ports.processes.wait(pid, std::nullopt)->code));
    seen.push_back(std::to_string(test.now() / seconds(1)));
    seen.emplace_back(ports.processes.wait(pid, std::nullopt) ? "again" : "reaped");
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"runs", "runs", "7", "5", "reaped"}));
}

TEST(Process, only_the_parent_can_reap) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.world->register_program("worker", [](Ports&) { return 0; });
  Pid worker{};
  test.start(a, "parent", [&](Ports& ports) {
    worker = ports.processes.spawn(child("worker")).value();
    sleep(ports, seconds(10));
    return ports.processes.poll(worker) ? 0 : 1;
  });
  bool stranger_reaped = true;
  test.start(a, "stranger", [&](Ports& ports) {
    sleep(ports, seconds(5));
    stranger_reaped = ports.processes.poll(worker).has_value();
    return 0;
  });
  test.run();
  EXPECT_FALSE(stranger_reaped);
  EXPECT_EQ(test.exit_code(a, Pid{100}), 0);
}

TEST(Process, a_zombie_keeps_its_number_takes_signals_and_is_not_living) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.world->register_program("worker", [](Ports&) { return 1; });
  Lines seen;
  test.start(a, "parent", [&](Ports& ports) {
    const Pid pid = ports.processes.spawn(child("worker")).value();
    sleep(ports, seconds(1));
    seen.push_back(std::to_string(test.world->living(a).size()));
    seen.emplace_back(ports.processes.signal(pid, Signal::term) ? "sent" : "no such process");
    seen.push_back(std::to_string(ports.processes.poll(pid)->code));
    seen.emplace_back(ports.processes.signal(pid, Signal::term) ? "sent" : "no such process");
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"1", "sent", "1", "no such process"}));
}

TEST(Process, an_orphan_lives_on_and_is_reaped_by_init) {
  TestWorld test;
  const NodeId a = test.node("a");
  Duration ended{};
  test.world->register_program("worker", [&](Ports& ports) {
    sleep(ports, seconds(10));
    ended = test.now();
    return 4;
  });
  test.start(a, "parent", [&](Ports& ports) {
    static_cast<void>(ports.processes.spawn(child("worker")));
    return 0;
  });
  test.run();
  EXPECT_EQ(ended, seconds(10));
  EXPECT_EQ(test.events.starting_with("process.orphaned"),
            (Lines{"process.orphaned 0/101 parent_pid=100"}));
  EXPECT_EQ(test.exit_code(a, Pid{101}), 4);
  EXPECT_TRUE(test.world->living(a).empty());
}

TEST(Process, a_child_that_is_to_die_with_its_parent_does) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.world->register_program("leased", [](Ports& ports) {
    sleep(ports, seconds(10));
    return 4;
  });
  test.start(a, "parent that goes", [&](Ports& ports) {
    sim::SpawnRequest request = child("leased");
    request.dies_with_parent = true;
    static_cast<void>(ports.processes.spawn(request));
    sleep(ports, seconds(3));
    return 0;
  });
  test.run();
  EXPECT_EQ(test.now(), seconds(3));
  EXPECT_EQ(test.exit_code(a, Pid{101}), -9);
}

TEST(Process, when_the_parent_of_a_zombie_dies_the_zombie_goes) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.world->register_program("worker", [](Ports&) { return 0; });
  const Pid parent = test.start(a, "parent", [&](Ports& ports) {
    static_cast<void>(ports.processes.spawn(child("worker")));
    park_for_ever(ports);
    return 0;
  });
  std::string found;
  test.start(a, "stranger", [&](Ports& ports) {
    sleep(ports, seconds(1));
    found = ports.processes.signal(Pid{102}, Signal::term) ? "zombie" : "nothing";
    static_cast<void>(ports.processes.signal(parent, Signal::kill));
    found += ports.processes.signal(Pid{102}, Signal::term) ? ", zombie" : ", nothing";
    return 0;
  });
  test.run();
  EXPECT_EQ(found, "zombie, nothing");
}

TEST(Process, its_number_is_reused_when_the_fault_says_so_and_only_when_it_is_free) {
  TestWorld test;
  const NodeId a = test.node("a");
  Lines seen;
  test.world->register_program("worker", [](Ports&) { return 0; });
  FaultId reuse{};
  test.start(a, "parent", [&](Ports& ports) {
    const Pid first = ports.processes.spawn(child("worker")).value();
    reuse = test.inject(FaultKind::pid_reuse, to_process(a, first));
    sleep(ports, seconds(1));
    const Pid while_zombie = ports.processes.spawn(child("worker")).value();
    seen.emplace_back(while_zombie == first ? "reused" : "new");
    static_cast<void>(ports.processes.poll(first));
    const Pid after = ports.processes.spawn(child("worker")).value();
    seen.emplace_back(after == first ? "reused" : "new");
    const Pid later = ports.processes.spawn(child("worker")).value();
    seen.emplace_back(later == first ? "reused" : "new");
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"new", "reused", "new"}));
  EXPECT_EQ(test.world->felt(reuse), 1U);
}

TEST(Process, a_signal_for_a_reused_number_hits_the_new_owner_and_the_trace_shows_whom) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.world->register_program("short", [](Ports&) { return 0; });
  test.world->register_program("long", [](Ports& ports) {
    park_for_ever(ports);
    return 0;
  });
  std::optional<int> status;
  test.start(a, "parent", [&](Ports& ports) {
    const Pid stale = ports.processes.spawn(child("short")).value();
    static_cast<void>(ports.processes.wait(stale, std::nullopt));
    test.inject(FaultKind::pid_reuse, to_process(a, stale));
    const Pid innocent = ports.processes.spawn(child("long")).value();
    static_cast<void>(ports.processes.signal(stale, Signal::term));
    status = ports.processes.wait(innocent, std::nullopt)->as_python();
    return 0;
  });
  test.run();
  EXPECT_EQ(status, -15);
  const Lines signalled = test.events.starting_with("process.signalled");
  ASSERT_EQ(signalled.size(), 1U);
  std::size_t born = 0;  // the event that started the second owner of the number
  for (std::size_t i = 0; i < test.events.lines.size(); ++i) {
    if (test.events.lines[i].starts_with("process.started 0/101 parent_pid=100 program=long")) {
      born = i + 1;
    }
  }
  EXPECT_EQ(signalled[0],
            "process.signalled 0/101 from_pid=100 target_pid=101 signal=15 "
            "target_born=" +
                std::to_string(born));
}

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

}  // namespace
}  // namespace hooke::world
