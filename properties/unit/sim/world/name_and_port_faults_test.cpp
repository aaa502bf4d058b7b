// Names that lead elsewhere or nowhere, and ports that a stranger holds.
#include "properties/unit/sim/world/echo_pair.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;

TEST(NetworkFaults, a_name_can_be_made_unresolvable_for_one_node_or_for_all) {
  Pair pair;
  const NodeId c = pair.test.node("c");
  const FaultId one = pair.test.inject(FaultKind::dns_unresolvable, [&](Fault& f) {
    f.node = pair.a;
    f.text = "b";
    f.duration = seconds(5);
  });
  Lines seen;
  const auto ask = [&](Ports& ports) {
    seen.emplace_back(ports.network.resolve("b") ? "found" : "unknown");
    return 0;
  };
  pair.test.start(pair.a, "asker", ask);
  pair.test.run_for(seconds(1));
  pair.test.start_again(c, "asker");
  pair.test.run_for(seconds(10));
  pair.test.start_again(pair.a, "asker");
  pair.test.run();
  EXPECT_EQ(seen, (Lines{"unknown", "found", "found"}));
  EXPECT_EQ(pair.test.world->felt(one), 1U);
  pair.test.inject(FaultKind::dns_unresolvable, [](Fault& f) { f.text = "b"; });
  pair.test.start_again(c, "asker");
  pair.test.run();
  EXPECT_EQ(seen.back(), "unknown");
}

TEST(NetworkFaults, an_alias_ends_with_its_fault) {
  Pair pair;
  const FaultId alias = pair.test.inject(FaultKind::dns_alias, [&](Fault& f) {
    f.node = pair.a;
    f.text = "b";  // takes the name of another machine
  });
  Lines seen;
  const auto ask = [&](Ports& ports) {
    seen.push_back(ports.network.canonical_name("b").value());
    return 0;
  };
  pair.test.start(pair.a, "asker", ask);
  pair.test.run();
  pair.test.world->heal(alias);
  pair.test.start_again(pair.a, "asker");
  pair.test.run();
  EXPECT_EQ(seen, (Lines{"a", "b"}));
}

TEST(NetworkFaults, a_busy_port_cannot_be_bound_until_the_stranger_leaves) {
  TestWorld test;
  const NodeId a = test.node("a");
  const FaultId busy = test.inject(FaultKind::port_busy, [a](Fault& f) {
    f.node = a;
    f.port = PortNumber{80};
    f.duration = seconds(5);
  });
  AnsweringServer server(echo);
  Lines seen;
  test.start(a, "server", [&](Ports& ports) {
    for (int i = 0; i < 2; ++i) {
      auto listener = ports.network.listen(PortNumber{80}, server);
      seen.emplace_back(listener ? "bound" : to_string(listener.failure().fault));
      sleep(ports, seconds(6));
    }
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"address already in use", "bound"}));
  EXPECT_EQ(test.world->felt(busy), 1U);
}

TEST(NetworkFaults, a_stolen_port_is_gone_between_finding_it_and_binding_it) {
  TestWorld test;
  const NodeId a = test.node("a");
  const FaultId thief = test.inject(FaultKind::port_steal, [a](Fault& f) { f.node = a; });
  AnsweringServer server(echo);
  Lines seen;
  test.start(a, "server", [&](Ports& ports) {
    // The way a free port is found: bind port 0, look, close, bind it again later.
    auto probe = ports.network.listen(PortNumber{0}, server);
    const PortNumber port = probe.value()->local().port;
    probe.value().reset();
    auto listener = ports.network.listen(port, server);
    seen.emplace_back(listener ? "bound" : to_string(listener.failure().fault));
    test.world->heal(thief);
    seen.emplace_back(ports.network.listen(port, server).ok() ? "bound" : "taken");
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"address already in use", "bound"}));
  EXPECT_EQ(test.world->felt(thief), 2U);  // took it, and was in the way
}

}  // namespace
}  // namespace hooke::world
