// Files of a machine: whole-file operations, full disks, FIFOs, and what outlives a process.
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;
using sim::FileSystem;

/// Runs `body` in a process of its own on node "a" of `test`.
void in_process(TestWorld& test, const std::function<void(Ports&)>& body) {
  const auto known = test.world->find_node("a");
  test.start(known ? *known : test.node("a"), "main", [body](Ports& ports) {
    body(ports);
    return 0;
  });
  test.run();
}

template <class T>
std::string outcome(const sim::Outcome<T>& result) {
  return result ? "ok" : std::string(to_string(result.failure().fault));
}

std::string contents(FileSystem& files, const std::string& path) {
  auto text = files.read(path);
  return text ? "[" + text.value() + "]" : std::string(to_string(text.failure().fault));
}

TEST(Files, writing_truncates_and_appending_does_not) {
  TestWorld test;
  Lines seen;
  in_process(test, [&](Ports& ports) {
    FileSystem& files = ports.files;
    seen.push_back(outcome(files.append("/f", "a")));
    seen.push_back(outcome(files.append("/f", "b")));
    seen.push_back(contents(files, "/f"));
    seen.push_back(outcome(files.write("/f", "c")));
    seen.push_back(contents(files, "/f"));
  });
  EXPECT_EQ(seen, (Lines{"ok", "ok", "[ab]", "ok", "[c]"}));
}

TEST(Files, a_file_needs_its_directory) {
  TestWorld test;
  Lines seen;
  in_process(test, [&](Ports& ports) {
    FileSystem& files = ports.files;
    seen.push_back(outcome(files.write("/d/e/f", "x")));
    seen.push_back(outcome(files.make_directories("/d/e")));
    seen.push_back(outcome(files.make_directories("/d/e")));
    seen.push_back(outcome(files.write("/d/e/f", "x")));
    seen.push_back(outcome(files.write("/d/e/f/g", "x")));
    seen.push_back(outcome(files.make_directories("/d/e/f/g")));
    seen.push_back(outcome(files.write("/d/e", "x")));
    seen.push_back(outcome(files.read("/d/e")));
    seen.emplace_back(files.exists("/d/e/f/g") ? "there" : "absent");
  });
  EXPECT_EQ(seen, (Lines{"not found", "ok", "ok", "ok", "denied", "already exists", "denied",
                         "denied", "absent"}));
}

TEST(Files, a_directory_lists_what_is_directly_in_it_sorted) {
  TestWorld test;
  Lines seen;
  std::string missing;
  in_process(test, [&](Ports& ports) {
    FileSystem& files = ports.files;
    static_cast<void>(files.make_directories("/d/z/deep"));
    static_cast<void>(files.write("/d/b", ""));
    static_cast<void>(files.write("/d/a", ""));
    static_cast<void>(files.write("/d/z/inner", ""));
    static_cast<void>(files.make_directories("/dd"));
    seen = files.list("/d").value();
    missing = outcome(files.list("/nowhere")) + ", " + outcome(files.list("/d/a"));
  });
  EXPECT_EQ(seen, (Lines{"a", "b", "z"}));
  EXPECT_EQ(missing, "not found, not found");
}

TEST(Files, renaming_replaces_in_one_step) {
  TestWorld test;
  Lines seen;
  in_process(test, [&](Ports& ports) {
    FileSystem& files = ports.files;
    static_cast<void>(files.write("/old", "old"));
    static_cast<void>(files.write("/new.tmp", "new"));
    seen.push_back(outcome(files.rename("/new.tmp", "/old")));
    seen.push_back(contents(files, "/old"));
    seen.push_back(contents(files, "/new.tmp"));
    seen.push_back(outcome(files.rename("/absent", "/old")));
    seen.push_back(outcome(files.rename("/old", "/no/directory")));
    seen.push_back(outcome(files.rename("/old", "/old")));
    seen.push_back(contents(files, "/old"));
  });
  EXPECT_EQ(seen, (Lines{"ok", "[new]", "not found", "not found", "not found", "ok", "[new]"}));
}

TEST(Files, renaming_a_directory_takes_its_contents_along) {
  TestWorld test;
  Lines seen;
  in_process(test, [&](Ports& ports) {
    FileSystem& files = ports.files;
    static_cast<void>(files.make_directories("/d/e"));
    static_cast<void>(files.write("/d/e/f", "x"));
    seen.push_back(outcome(files.rename("/d", "/moved")));
    seen.push_back(contents(files, "/moved/e/f"));
    seen.push_back(outcome(files.rename("/moved", "/moved/e/inside")));
    seen.emplace_back(files.exists("/d/e/f") ? "there" : "gone");
  });
  EXPECT_EQ(seen, (Lines{"ok", "[x]", "denied", "gone"}));
}

TEST(Files, removing_takes_a_directory_with_all_in_it_and_nothing_else) {
  TestWorld test;
  Lines seen;
  in_process(test, [&](Ports& ports) {
    FileSystem& files = ports.files;
    static_cast<void>(files.make_directories("/d/e"));
    static_cast<void>(files.write("/d/e/f", "x"));
    static_cast<void>(files.write("/dx", "y"));
    seen.push_back(outcome(files.remove("/d")));
    seen.push_back(outcome(files.remove("/d")));
    seen.emplace_back(files.exists("/d/e/f") ? "there" : "gone");
    seen.push_back(contents(files, "/dx"));
  });
  EXPECT_EQ(seen, (Lines{"ok", "ok", "gone", "[y]"}));
}

TEST(Files, processes_of_one_machine_share_them_and_machines_do_not) {
  TestWorld test;
  const NodeId a = test.node("a");
  const NodeId b = test.node("b");
  test.start(a, "writer", [](Ports& ports) {
    static_cast<void>(ports.files.write("/f", "x"));
    return 0;
  });
  test.run();
  Lines seen;
  test.start(a, "reader", [&](Ports& ports) {
    seen.push_back(contents(ports.files, "/f"));
    return 0;
  });
  test.start_again(b, "reader");
  test.run();
  EXPECT_EQ(seen, (Lines{"[x]", "not found"}));
}

TEST(Files, a_full_disk_keeps_what_is_there_and_takes_nothing_new) {
  TestWorld test;
  const NodeId a = test.node("a");
  const FaultId full = test.inject(FaultKind::disk_full, [a](Fault& f) { f.node = a; });
  Lines seen;
  in_process(test, [&](Ports& ports) {
    seen.push_back(outcome(ports.files.append("/f", "x")));
    seen.push_back(contents(ports.files, "/f"));
    test.world->heal(full);
    seen.push_back(outcome(ports.files.append("/f", "x")));
    seen.push_back(contents(ports.files, "/f"));
  });
  EXPECT_EQ(seen, (Lines{"no space left", "[]", "ok", "[x]"}));
  EXPECT_EQ(test.world->felt(full), 1U);
}

TEST(Files, a_full_disk_has_no_room_for_another_directory) {
  TestWorld test;
  const NodeId a = test.node("a");
  Lines seen;
  in_process(test, [&](Ports& ports) {
    seen.push_back(outcome(ports.files.make_directories("/logs")));
    const FaultId full = test.inject(FaultKind::disk_full, [a](Fault& f) { f.node = a; });
    seen.push_back(outcome(ports.files.make_directories("/logs")));
    seen.push_back(outcome(ports.files.make_directories("/logs/0")));
    EXPECT_FALSE(ports.files.exists("/logs/0"));
    test.world->heal(full);
    seen.push_back(outcome(ports.files.make_directories("/logs/0")));
    EXPECT_EQ(test.world->felt(full), 1U);
  });
  EXPECT_EQ(seen, (Lines{"ok", "ok", "no space left", "ok"}));
}

TEST(Files, a_disk_is_full_until_the_last_reason_is_gone) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.inject(FaultKind::disk_full, [a](Fault& f) {
    f.node = a;
    f.duration = seconds(5);
  });
  const FaultId other = test.inject(FaultKind::disk_full, [a](Fault& f) { f.node = a; });
  Lines seen;
  in_process(test, [&](Ports& ports) {
    sleep(ports, seconds(6));
    seen.push_back(outcome(ports.files.write("/f", "x")));
    test.world->heal(other);
    seen.push_back(outcome(ports.files.write("/f", "x")));
  });
  EXPECT_EQ(seen, (Lines{"no space left", "ok"}));
}

TEST(Files, a_short_write_keeps_a_prefix_once) {
  TestWorld test;
  const NodeId a = test.node("a");
  const FaultId fault = test.inject(FaultKind::disk_short_write, [a](Fault& f) {
    f.node = a;
    f.amount = 3;
  });
  Lines seen;
  in_process(test, [&](Ports& ports) {
    static_cast<void>(ports.files.read("/f"));
    seen.push_back(outcome(ports.files.write("/f", "abcdef")));
    seen.push_back(contents(ports.files, "/f"));
    seen.push_back(outcome(ports.files.append("/f", "ghi")));
    seen.push_back(contents(ports.files, "/f"));
  });
  EXPECT_EQ(seen, (Lines{"no space left", "[abc]", "ok", "[abcghi]"}));
  EXPECT_EQ(test.world->felt(fault), 1U);
}

TEST(Files, a_disk_that_stalls_answers_when_the_last_reason_is_gone_and_what_is_on_none_at_once) {
  TestWorld test;
  const NodeId a = test.node("a");
  Lines seen;
  std::vector<Duration> when;
  in_process(test, [&](Ports& ports) {
    FileSystem& files = ports.files;
    static_cast<void>(files.write("/f", "x"));
    const FaultId stall = test.inject(FaultKind::disk_stall, [a](Fault& f) {
      f.node = a;
      f.duration = seconds(5);
    });
    const FaultId longer = test.inject(FaultKind::disk_stall, [a](Fault& f) {
      f.node = a;
      f.duration = seconds(7);
    });
    const auto note = [&](const std::string& result) {
      seen.push_back(result);
      when.push_back(test.now());
    };
    note(files.exists("/f") ? "there" : "absent");
    note(outcome(files.rename("/f", "/g")));
    note(outcome(files.append("/dev/stderr", "x")));
    EXPECT_EQ(test.world->felt(stall), 0U);
    note(contents(files, "/g"));
    note(outcome(files.append("/g", "y")));
    EXPECT_EQ(test.world->felt(stall), 1U);
    EXPECT_EQ(test.world->felt(longer), 1U) << "from 5 s on it is why the disk stalls";
  });
  EXPECT_EQ(seen, (Lines{"there", "ok", "not found", "[x]", "ok"}));
  EXPECT_EQ(when, (std::vector<Duration>{{}, {}, {}, seconds(7), seconds(7)}));
}

TEST(Files, each_call_that_moves_bytes_or_makes_a_directory_waits_for_a_disk_that_stalls) {
  using Call = std::function<bool(FileSystem&)>;
  const std::vector<Call> calls{
      [](FileSystem& files) { return files.write("/f", "x").ok(); },
      [](FileSystem& files) { return files.append("/f", "x").ok(); },
      [](FileSystem& files) { return files.read("/f").ok(); },
      [](FileSystem& files) { return files.read_from("/f", 1).ok(); },
      [](FileSystem& files) { return files.make_directories("/d/e").ok(); },
      [](FileSystem& files) { return files.make_private_directory("/p").ok(); },
  };
  for (std::size_t i = 0; i < calls.size(); ++i) {
    TestWorld test;
    const NodeId a = test.node("a");
    bool worked = false;
    in_process(test, [&](Ports& ports) {
      static_cast<void>(ports.files.write("/f", "xyz"));
      test.inject(FaultKind::disk_stall, [a](Fault& f) {
        f.node = a;
        f.duration = seconds(3);
      });
      worked = calls[i](ports.files);
    });
    EXPECT_TRUE(worked) << i;
    EXPECT_EQ(test.now(), seconds(3)) << i;
  }
}

TEST(Files, a_process_that_waits_for_its_disk_can_be_killed_and_one_elsewhere_does_not_wait) {
  TestWorld test;
  const NodeId a = test.node("a");
  test.inject(FaultKind::disk_stall, [a](Fault& f) { f.node = a; });
  const Program writes = [](Ports& ports) { return ports.files.write("/f", "x") ? 0 : 1; };
  const Pid stuck = test.start(a, "writer", writes);
  const NodeId b = test.node("b");
  const Pid elsewhere = test.start_again(b, "writer");
  test.inject_at(seconds(1), FaultKind::process_signal, [=](Fault& f) {
    f.node = a;
    f.pid = stuck;
    f.signal = sim::Signal::kill;
  });
  test.run();
  EXPECT_EQ(test.exit_code(a, stuck), -9);
  EXPECT_EQ(test.exit_code(b, elsewhere), 0);
  EXPECT_EQ(test.now(), seconds(1));
}

TEST(Files, a_process_whose_output_goes_to_a_disk_that_stalls_starts_when_that_is_over) {
  TestWorld test;
  const NodeId a = test.node("a");
  Duration started{};
  test.world->register_program("child", [&](Ports&) {
    started = test.now();
    return 0;
  });
  in_process(test, [&](Ports& ports) {
    test.inject(FaultKind::disk_stall, [a](Fault& f) {
      f.node = a;
      f.duration = seconds(4);
    });
    sim::SpawnRequest silent{{"child"}, {}, false, {}, {}};
    static_cast<void>(ports.processes.spawn(silent));
    sleep(ports, seconds(1));
    EXPECT_EQ(started, Duration::zero());
    sim::SpawnRequest loud{{"child"}, {}, false, "/out", {}};
    const auto child = ports.processes.spawn(loud);
    ASSERT_TRUE(child.ok());
    static_cast<void>(ports.processes.wait(child.value(), std::nullopt));
  });
  EXPECT_EQ(started, seconds(4));
}

TEST(Files, disk_faults_without_a_write_are_not_felt) {
  TestWorld test;
  const NodeId a = test.node("a");
  const FaultId full = test.inject(FaultKind::disk_full, [a](Fault& f) { f.node = a; });
  const FaultId cut = test.inject(FaultKind::disk_short_write, [a](Fault& f) { f.node = a; });
  in_process(test, [](Ports& ports) {
    static_cast<void>(ports.files.read("/f"));
    static_cast<void>(ports.files.write("/empty", ""));
  });
  EXPECT_EQ(test.world->felt(full), 0U);
  EXPECT_EQ(test.world->felt(cut), 0U);
}

TEST(Fifo, its_end_closes_with_the_process_that_had_it_open) {
  TestWorld test;
  const NodeId a = test.node("a");
  const Pid reader = test.start(a, "reader", [](Ports& ports) {
    static_cast<void>(ports.files.make_fifo("/fifo"));
    auto fifo = std::move(ports.files.open_fifo_reader("/fifo")).value();
    static_cast<void>(fifo->wait_for_writer(std::nullopt));
    return 0;
  });
  Lines seen;
  test.start(a, "writer", [&](Ports& ports) {
    sleep(ports, seconds(1));
    static_cast<void>(ports.processes.signal(reader, sim::Signal::kill));
    seen.emplace_back(ports.files.exists("/fifo") ? "there" : "gone");
    seen.push_back(outcome(ports.files.open_fifo_writer("/fifo")));
    seen.push_back(outcome(ports.files.make_fifo("/fifo")));
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"there", "closed", "already exists"}));
}

TEST(Fifo, a_writer_that_is_killed_ends_what_its_reader_waits_for) {
  TestWorld test;
  const NodeId a = test.node("a");
  Lines seen;
  Duration read_at{};
  test.start(a, "reader", [&](Ports& ports) {
    static_cast<void>(ports.files.make_fifo("/fifo"));
    auto reader = std::move(ports.files.open_fifo_reader("/fifo")).value();
    static_cast<void>(reader->wait_for_writer(std::nullopt));
    seen.push_back(outcome(reader->read(in(ports, seconds(5)))));
    seen.push_back("\"" + reader->read(std::nullopt).value() + "\"");
    read_at = test.now();
    return 0;
  });
  const Pid writer = test.start(a, "writer", [](Ports& ports) {
    sleep(ports, seconds(1));
    const auto held = ports.files.open_fifo_writer("/fifo");
    park_for_ever(ports);
    return 0;
  });
  test.start(a, "killer", [&](Ports& ports) {
    sleep(ports, seconds(20));
    static_cast<void>(ports.processes.signal(writer, sim::Signal::kill));
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"timed out", "\"\""}));
  EXPECT_EQ(read_at, seconds(20));
}

}  // namespace
}  // namespace hooke::world
