// A core is healed: what hinders it ends, what hinders others lasts for good, and what did both is
// divided.
#include <algorithm>

#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;

/// Machines a, b, c, d, of which a and b are the core.
struct FourMachines {
  FourMachines() {
    for (const char* const name : {"a", "b", "c", "d"}) all.push_back(test.node(name));
  }
  void heal_at(Duration when) {
    test.at(when, [this] { test.world->heal_core({all[0], all[1]}); });
  }
  [[nodiscard]] NodeId a() const { return all[0]; }
  [[nodiscard]] NodeId b() const { return all[1]; }
  [[nodiscard]] NodeId c() const { return all[2]; }
  [[nodiscard]] NodeId d() const { return all[3]; }
  /// What the healing has put on the trace.
  [[nodiscard]] Lines told() const {
    Lines lines;
    for (const std::string& line : test.events.lines) {
      if (line.starts_with("fault.")) lines.push_back(line);
    }
    return lines;
  }
  TestWorld test;
  std::vector<NodeId> all;
};

/// True for each pair ("ac" is the way from a to c) over which a connection comes about at 20 s.
std::vector<std::string> open_ways(FourMachines& four) {
  std::vector<std::string> open;
  std::list<AnsweringServer> servers;
  for (const NodeId node : four.all) {
    servers.emplace_back([](const std::string& text) { return text; });
    four.test.start(node, "server " + four.test.world->node_name(node), serve(servers.back()));
  }
  for (const NodeId from : four.all) {
    for (const NodeId to : four.all) {
      const std::string way = four.test.world->node_name(from) + four.test.world->node_name(to);
      four.test.start(from, "client " + way, [&open, way](Ports& ports) {
        sleep(ports, seconds(20));
        const auto stream =
            ports.network.connect({way.substr(1), PortNumber{29500}}, in(ports, seconds(5)));
        if (stream) open.push_back(way);
        return 0;
      });
    }
  }
  four.test.run_for(seconds(60));
  std::sort(open.begin(), open.end());
  return open;
}

TEST(CoreHealing, a_partition_of_one_machine_from_all_is_healed_towards_the_core_alone) {
  FourMachines four;
  four.test.inject(FaultKind::net_partition, [&](Fault& f) {
    f.paths = {{four.a()}, {}};
    f.duration = seconds(30);
  });
  four.heal_at(seconds(10));
  EXPECT_EQ(open_ways(four),
            (Lines{"aa", "ab", "ba", "bb", "bc", "bd", "cb", "cc", "cd", "db", "dc", "dd"}));
  const Lines told = four.told();
  EXPECT_TRUE(std::find(told.begin(), told.end(),
                        "fault.injected fault=1 kind=net_partition target=a <-> c d for=0") !=
              told.end());
  EXPECT_EQ(told.back().substr(0, 42), "fault.took_effect fault=1 kind=net_partiti");
}

TEST(CoreHealing, a_one_way_partition_stays_one_way) {
  FourMachines four;
  four.test.inject(FaultKind::net_partition, [&](Fault& f) {
    f.paths = {{four.a(), four.c()}, {four.b(), four.d()}, true};
  });
  four.heal_at(seconds(10));
  const Lines told = [&] {
    static_cast<void>(open_ways(four));
    return four.told();
  }();
  EXPECT_EQ(told[1], "fault.injected fault=1 kind=net_partition target=c -> b d for=0");
  EXPECT_EQ(told[2], "fault.injected fault=2 kind=net_partition target=a -> d for=0");
  EXPECT_EQ(told[3], "fault.ended fault=0 kind=net_partition lingers=0");
}

TEST(CoreHealing, a_fault_between_others_loses_its_end_and_one_without_an_end_is_left_as_it_is) {
  FourMachines four;
  four.test.inject(FaultKind::net_partition, [&](Fault& f) {
    f.paths = {{four.a()}, {four.c()}};
    f.duration = seconds(12);
  });
  four.test.inject(FaultKind::net_delay, [&](Fault& f) {
    f.paths = {{four.c()}, {four.d()}};
    f.span = seconds(1);
  });
  four.heal_at(seconds(10));
  const Lines open = open_ways(four);
  EXPECT_EQ(std::count(open.begin(), open.end(), "ac"), 0) << "20 s is after the end it had";
  EXPECT_EQ(std::count(open.begin(), open.end(), "cd"), 1);
  EXPECT_EQ(four.test.events.count("fault.injected"), 3U);
  EXPECT_EQ(four.test.events.count("fault.ended fault=1"), 0U);
}

TEST(CoreHealing, what_is_held_for_the_core_arrives_and_what_is_held_for_others_does_not) {
  FourMachines four;
  Lines arrived;
  AnsweringServer server([&](const std::string& text) {
    arrived.push_back(text);
    return std::string();
  });
  for (const NodeId to : {four.b(), four.c()}) {
    const std::string name = four.test.world->node_name(to);
    four.test.start(to, "server " + name, serve(server));
    four.test.start(four.a(), "client " + name, [name](Ports& ports) {
      const auto stream = dial(ports, name);
      sleep(ports, seconds(2));
      write_text(*stream, "to " + name);
      park_for_ever(ports);
      return 0;
    });
  }
  four.test.inject_at(seconds(1), FaultKind::net_clog, [&](Fault& f) {
    f.paths = {{four.a()}, {}};
    f.duration = seconds(20);
  });
  four.heal_at(seconds(10));
  four.test.run_for(seconds(60));
  EXPECT_EQ(arrived, Lines{"to b"});
}

TEST(CoreHealing, clocks_of_the_core_run_right_and_a_frozen_one_elsewhere_never_goes_on) {
  FourMachines four;
  std::vector<Duration> off;
  for (const NodeId node : {four.a(), four.c()}) {
    four.test.inject_at(seconds(5), FaultKind::clock_freeze, [node](Fault& f) {
      f.node = node;
      f.duration = seconds(30);
    });
    const std::string name = four.test.world->node_name(node);
    four.test.start(node, "sleeper " + name, [](Ports& ports) {
      sleep(ports, seconds(6));
      return 0;
    });
  }
  four.test.inject_at(seconds(1), FaultKind::clock_jump, [&](Fault& f) {
    f.node = four.b();
    f.span = -seconds(40);
  });
  four.test.inject_at(seconds(1), FaultKind::clock_drift, [&](Fault& f) {
    f.node = four.b();
    f.amount = 90'000'000;
  });
  four.test.start(four.b(), "watch", [&](Ports& ports) {
    sleep(ports, seconds(60));
    off.push_back(ports.clock.wall_now() - four.test.world->true_wall_time());
    const MonotonicTime before = ports.clock.monotonic_now();
    const Duration at = four.test.now();
    sleep(ports, seconds(10));
    EXPECT_EQ(ports.clock.monotonic_now() - before, four.test.now() - at);
    return 0;
  });
  four.heal_at(seconds(10));
  four.test.run_for(seconds(200));
  EXPECT_EQ(off, std::vector<Duration>{Duration::zero()});
  EXPECT_EQ(four.test.events.count("process.ended 0/"), 1U);
  EXPECT_EQ(four.test.events.count("process.ended 2/"), 0U);
}

TEST(CoreHealing, a_paused_process_of_the_core_goes_on_and_one_elsewhere_never_does) {
  FourMachines four;
  std::vector<Pid> pids;
  for (const NodeId node : {four.a(), four.c()}) {
    const std::string name = "sleeper " + four.test.world->node_name(node);
    const Pid pid = four.test.start(node, name, [](Ports& ports) {
      sleep(ports, seconds(6));
      return 0;
    });
    for (const FaultKind kind : {FaultKind::process_pause, FaultKind::process_unkillable}) {
      four.test.inject_at(seconds(5), kind, [node, pid](Fault& f) {
        f.node = node;
        f.pid = pid;
        f.duration = seconds(30);
      });
    }
  }
  four.heal_at(seconds(10));
  four.test.run_for(seconds(200));
  EXPECT_EQ(four.test.events.count("process.ended 0/"), 1U);
  EXPECT_EQ(four.test.events.count("process.ended 2/"), 0U);
  EXPECT_EQ(four.test.events.count("process.resumed 2/"), 0U);
  EXPECT_EQ(four.test.events.count("fault.injected fault=4 kind=process_pause"), 1U);
}

TEST(CoreHealing, disks_ports_services_and_names_of_the_core_are_sound) {
  FourMachines four;
  for (const NodeId node : {four.a(), four.c()}) {
    for (const FaultKind kind : {FaultKind::disk_full, FaultKind::port_busy, FaultKind::port_steal,
                                 FaultKind::service_stop}) {
      four.test.inject(kind, [node](Fault& f) {
        f.node = node;
        f.port = PortNumber{29500};
        f.duration = seconds(30);
      });
    }
  }
  four.test.inject(FaultKind::dns_unresolvable, [](Fault& f) { f.text = "b"; });
  four.test.inject(FaultKind::dns_alias, [&](Fault& f) {
    f.node = four.d();
    f.text = "a";
  });
  four.test.inject(FaultKind::dns_alias, [&](Fault& f) {
    f.node = four.d();
    f.text = "rendezvous";
  });
  Lines resolved;
  for (const NodeId node : {four.a(), four.c()}) {
    const std::string own = four.test.world->node_name(node);
    four.test.start(node, "asker " + own, [&resolved, own](Ports& ports) {
      sleep(ports, seconds(20));
      for (const char* const name : {"a", "b", "rendezvous"}) {
        auto address = ports.network.resolve(name);
        resolved.push_back(own + " " + name + " " + (address ? address->front() : "-"));
      }
      AnsweringServer server([](const std::string& text) { return text; });
      const bool heard = ports.network.listen(PortNumber{29500}, server).ok();
      resolved.push_back(own + (heard ? " listens" : " is kept from its port"));
      return 0;
    });
  }
  four.heal_at(seconds(10));
  four.test.run_for(seconds(60));
  std::sort(resolved.begin(), resolved.end());
  EXPECT_EQ(resolved,
            (Lines{"a a 10.0.0.1", "a b 10.0.0.2", "a listens", "a rendezvous 10.0.0.4",
                   "c a 10.0.0.1", "c b -", "c is kept from its port", "c rendezvous 10.0.0.4"}));
  EXPECT_EQ(four.test.events.count("fault.ended"), 4U + 4U + 2U);
}

TEST(CoreHealing, what_is_left_of_a_fault_is_felt_for_the_fault_itself) {
  FourMachines four;
  const FaultId fault =
      four.test.inject(FaultKind::dns_unresolvable, [](Fault& f) { f.text = "b"; });
  four.test.start(four.c(), "asker", [](Ports& ports) {
    sleep(ports, seconds(20));
    static_cast<void>(ports.network.resolve("b"));
    return 0;
  });
  four.heal_at(seconds(10));
  four.test.run_for(seconds(60));
  EXPECT_EQ(four.test.world->felt(fault), 1U);
}

TEST(CoreHealing, a_world_without_faults_stays_as_it_is) {
  FourMachines four;
  four.heal_at(seconds(10));
  four.test.run_for(seconds(60));
  EXPECT_TRUE(four.told().empty());
}

}  // namespace
}  // namespace hooke::world
