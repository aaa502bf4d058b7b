// The life of processes: birth, arguments, children, signals, numbers.
#include "properties/unit/sim/world/process_requests.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;
using sim::Signal;

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

TEST(Process, starts_no_other_while_a_fault_keeps_it_from_that_or_so_often) {
  TestWorld test;
  const NodeId a = test.node("a");
  Lines seen;
  test.world->register_program("worker", [](Ports&) { return 0; });
  FaultId twice{};
  test.start(a, "parent", [&](Ports& ports) {
    const auto starts = [&] {
      const auto started = ports.processes.spawn(child("worker"));
      seen.emplace_back(started ? "started" : to_string(started.failure().fault));
    };
    twice = test.inject(FaultKind::spawn_fails, [=](Fault& f) {
      f.node = a;
      f.amount = 2;
    });
    for (int i = 0; i < 3; ++i) starts();
    test.inject(FaultKind::spawn_fails, [=](Fault& f) {
      f.node = a;
      f.duration = seconds(1);
    });
    starts();
    starts();
    sleep(ports, seconds(2));
    starts();
    return 0;
  });
  test.run();
  EXPECT_EQ(seen,
            (Lines{"not found", "not found", "started", "not found", "not found", "started"}));
  EXPECT_EQ(test.world->felt(twice), 2U);
}

TEST(Process, a_signal_for_a_reused_number_hits_the_new_owner_and_the_trace_names_it) {
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

}  // namespace
}  // namespace hooke::world
