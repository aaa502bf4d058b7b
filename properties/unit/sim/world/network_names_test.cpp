// How machines and ports are found: names, addresses, aliases, listeners.
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;

TEST(Network, a_node_is_reached_by_name_qualified_name_address_and_alias) {
  TestWorld test;
  AnsweringServer server(echo);
  test.node("a");
  const NodeId b = test.node("b");
  test.start(b, "server", serve(server));
  const FaultId alias = test.inject(FaultKind::dns_alias, [b](Fault& f) {
    f.node = b;
    f.text = "store.example";
  });
  Lines addresses;
  Lines names;
  int connected = 0;
  test.start(*test.world->find_node("a"), "client", [&](Ports& ports) {
    for (const char* host : {"b", "b.sim", "10.0.0.2", "store.example"}) {
      addresses.push_back(ports.network.resolve(host).value().at(0));
      names.push_back(ports.network.canonical_name(host).value());
      connected += dial(ports, host) != nullptr ? 1 : 0;
    }
    return 0;
  });
  test.run();
  EXPECT_EQ(addresses, Lines(4, "10.0.0.2"));
  EXPECT_EQ(names, Lines(4, "b"));
  EXPECT_EQ(connected, 4);
  EXPECT_GE(test.world->felt(alias), 1U);
}

/// How often the trace says of two aliases that they took effect, after a process has asked for the
/// name of the second.
std::size_t told_of(const std::string& first, const std::string& second) {
  TestWorld test;
  const NodeId a = test.node("a");
  const NodeId b = test.node("b");
  const auto alias_of = [&](NodeId node, const std::string& name) {
    return test.inject(FaultKind::dns_alias, [&](Fault& f) {
      f.node = node;
      f.text = name;
    });
  };
  alias_of(a, first);
  const FaultId alias = alias_of(b, second);
  test.start(a, "client", [&](Ports& ports) {
    EXPECT_EQ(ports.network.canonical_name(second).value(), "b");
    return 0;
  });
  test.run();
  EXPECT_EQ(test.world->felt(alias), 1U) << "it had an effect";
  return test.events.count("fault.took_effect");
}

TEST(Network, an_alias_leads_a_process_astray_only_where_the_name_led_elsewhere) {
  EXPECT_EQ(told_of("a-ib0", "b-ib0"), 0U) << "each has a name of its own";
  EXPECT_EQ(told_of("a-ib0", "b"), 0U) << "b is called so anyway";
  EXPECT_EQ(told_of("a-ib0", "a"), 1U) << "the name of another machine";
  EXPECT_EQ(told_of("a-ib0", "10.0.0.1"), 1U) << "its address";
  EXPECT_EQ(told_of("store", "store"), 1U) << "the name has moved";
}

TEST(Network, an_alias_that_is_given_twice_leads_astray_as_one_does) {
  TestWorld test;
  const NodeId a = test.node("a");
  const NodeId b = test.node("b");
  FaultId latest{};
  for (int i = 0; i < 2; ++i) {
    latest = test.inject(FaultKind::dns_alias, [&](Fault& f) {
      f.node = a;
      f.text = "b";
    });
  }
  test.start(b, "client", [&](Ports& ports) {
    EXPECT_EQ(ports.network.canonical_name("b").value(), "a");
    return 0;
  });
  test.run();
  EXPECT_EQ(test.world->felt(latest), 1U);
  EXPECT_EQ(test.events.count("fault.took_effect"), 1U);
}

TEST(Network, localhost_in_all_its_spellings_is_the_asking_node_itself) {
  TestWorld test;
  Lines seen;
  for (const char* name : {"a", "b"}) {
    test.start(test.node(name), name, [&](Ports& ports) {
      for (const char* host : {"localhost", "127.0.0.1", "127.0.1.1", "::1"}) {
        seen.push_back(ports.network.canonical_name(host).value() + "=" +
                       ports.network.resolve(host).value().at(0));
      }
      return 0;
    });
  }
  test.run();
  Lines wanted(4, "a=127.0.0.1");
  wanted.insert(wanted.end(), 4, "b=127.0.0.1");
  EXPECT_EQ(seen, wanted);
}

TEST(Network, names_and_addresses_that_no_node_has_cannot_be_resolved) {
  TestWorld test;
  Lines faults;
  test.start(test.node("a"), "client", [&](Ports& ports) {
    for (const char* host : {"nobody", "10.0.0.2", "10.0.0.0", "10.0.0.01", "10.0.0", "10.0.0.256",
                             "10.0.0.1.1", "a.sim.sim", "", "192.168.0.1"}) {
      auto stream = ports.network.connect({host, PortNumber{1}}, std::nullopt);
      faults.push_back(stream ? std::string("connected to ") + host
                              : std::string(to_string(stream.failure().fault)));
    }
    return 0;
  });
  test.run();
  // "10.0.0.01" is another spelling of a's address; nothing listens there.
  Lines wanted(10, "name cannot be resolved");
  wanted[3] = "connection refused";
  EXPECT_EQ(faults, wanted);
}

TEST(Network, addresses_stay_unique_beyond_65536_nodes) {
  TestWorld test;
  for (int i = 0; i < 66'000; ++i) test.node("n" + std::to_string(i));
  std::string address;
  std::string name;
  test.start(NodeId{65'999}, "asker", [&](Ports& ports) {
    address = ports.network.resolve("n65999").value().at(0);
    name = ports.network.canonical_name(address).value();
    return 0;
  });
  test.run();
  EXPECT_EQ(address, "10.1.1.208");
  EXPECT_EQ(name, "n65999");
}

TEST(Network, connecting_to_a_port_without_listener_is_refused_after_a_round_trip) {
  TestWorld test;
  test.node("b");
  std::string fault;
  Duration took{};
  test.start(test.node("a"), "client", [&](Ports& ports) {
    auto stream = ports.network.connect({"b", PortNumber{29500}}, std::nullopt);
    fault = to_string(stream.failure().fault);
    took = test.now();
    return 0;
  });
  test.run();
  EXPECT_EQ(fault, "connection refused");
  EXPECT_EQ(took, microseconds(200));
}

TEST(Network, a_port_serves_one_listener_at_a_time_and_is_free_after_closing) {
  TestWorld test;
  AnsweringServer server(echo);
  Lines seen;
  test.start(test.node("a"), "server", [&](Ports& ports) {
    auto first = ports.network.listen(PortNumber{80}, server);
    auto second = ports.network.listen(PortNumber{80}, server);
    seen.emplace_back(to_string(second.failure().fault));
    first.value().reset();
    seen.emplace_back(ports.network.listen(PortNumber{80}, server).ok() ? "free" : "taken");
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"address already in use", "free"}));
}

TEST(Network, port_zero_gives_different_ephemeral_ports) {
  TestWorld test;
  AnsweringServer server(echo);
  std::vector<int> ports_given;
  test.start(test.node("a"), "server", [&](Ports& ports) {
    auto first = ports.network.listen(PortNumber{0}, server);
    auto second = ports.network.listen(PortNumber{0}, server);
    for (const auto* listener : {&first, &second}) {
      ports_given.push_back(listener->value()->local().port.value);
    }
    return 0;
  });
  test.run();
  EXPECT_EQ(ports_given, (std::vector<int>{32768, 32769}));
}

}  // namespace
}  // namespace hooke::world
