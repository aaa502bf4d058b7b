// What a crashed machine and its restart do to connections.
#include "properties/unit/sim/world/echo_pair.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;

TEST(NetworkFaults, a_crashed_machine_is_silent_to_its_peers) {
  Pair pair;
  pair.test.inject_at(milliseconds(1), FaultKind::node_crash, [&](Fault& f) { f.node = pair.b; });
  Lines seen;
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    sleep(ports, milliseconds(5));
    seen.push_back(write_text(*stream, "hello?"));
    seen.push_back(read_text(*stream, in(ports, seconds(60))));
    const auto other = ports.network.connect({"b", PortNumber{29500}}, in(ports, seconds(5)));
    seen.emplace_back(to_string(other.failure().fault));
    // Linux gives up repeating after 924.6 s.
    seen.push_back(read_text(*stream));
    seen.push_back(std::to_string(pair.test.now() / seconds(1)));
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(seen, (Lines{"ok", "<timed out>", "timed out", "<connection reset>", "924"}));
  EXPECT_FALSE(pair.test.world->node_up(pair.b));
}

TEST(NetworkFaults, after_a_restart_what_is_sent_to_the_old_connection_is_answered_by_a_reset) {
  Pair pair;
  pair.test.inject_at(milliseconds(1), FaultKind::node_crash, [&](Fault& f) { f.node = pair.b; });
  pair.test.inject_at(seconds(10), FaultKind::node_restart, [&](Fault& f) { f.node = pair.b; });
  Lines seen;
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    seen.push_back(read_text(*stream, in(ports, seconds(20))));  // silence, then nothing sent
    write_text(*stream, "hello?");
    const Duration begin = pair.test.now();
    seen.push_back(read_text(*stream));
    seen.push_back(std::to_string((pair.test.now() - begin) / microseconds(1)));
    const auto again = ports.network.connect({"b", PortNumber{29500}}, std::nullopt);
    seen.emplace_back(to_string(again.failure().fault));
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(seen, (Lines{"<timed out>", "<connection reset>", "200", "connection refused"}));
}

TEST(NetworkFaults, bytes_sent_into_the_silence_are_repeated_and_reset_by_the_restarted_machine) {
  Pair pair;
  pair.test.inject_at(milliseconds(1), FaultKind::node_crash, [&](Fault& f) { f.node = pair.b; });
  pair.test.inject_at(seconds(10), FaultKind::node_restart, [&](Fault& f) { f.node = pair.b; });
  Lines seen;
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    sleep(ports, seconds(2));
    write_text(*stream, "hello?");
    seen.push_back(read_text(*stream));
    seen.push_back(std::to_string(pair.test.now() / microseconds(1)));
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(seen, (Lines{"<connection reset>", "10000200"}));
}

TEST(NetworkFaults, a_connection_begun_while_the_machine_is_down_is_refused_when_it_is_up_again) {
  Pair pair;
  const auto crash = pair.test.inject_at(milliseconds(1), FaultKind::node_crash,
                                         [&](Fault& f) { f.node = pair.b; });
  pair.test.inject_at(seconds(10), FaultKind::node_restart, [&](Fault& f) { f.node = pair.b; });
  Lines seen;
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    sleep(ports, seconds(3));
    const auto stream = ports.network.connect({"b", PortNumber{29500}}, std::nullopt);
    seen.emplace_back(to_string(stream.failure().fault));
    seen.push_back(std::to_string(pair.test.now() / microseconds(1)));
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(seen, (Lines{"connection refused", "10000200"}));
  EXPECT_EQ(pair.test.world->felt(*crash), 2U);  // by the server, and by the client
}

TEST(NetworkFaults, a_crash_during_a_request_loses_the_answer) {
  Pair pair;
  pair.test.world->set_service(pair.b, PortNumber{29500}, {milliseconds(10), {}, 4096, {}});
  pair.test.inject_at(milliseconds(5), FaultKind::node_crash, [&](Fault& f) { f.node = pair.b; });
  Lines seen;
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    write_text(*stream, "x");
    seen.push_back(read_text(*stream, in(ports, seconds(1))));
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(pair.arrivals.size(), 1U);  // it was served …
  EXPECT_EQ(seen, (Lines{"<timed out>"}));
}

}  // namespace
}  // namespace hooke::world
