// How connections end: half-closed, reset, closed, given up.
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;

TEST(Network, after_a_half_close_the_other_direction_still_works) {
  TestWorld test;
  Lines at_server;
  std::unique_ptr<sim::Stream> accepted;
  struct Acceptor final : sim::AcceptHandler {
    explicit Acceptor(std::unique_ptr<sim::Stream>& slot) : stream(slot) {}
    void on_accept(std::unique_ptr<sim::Stream> given) override { stream = std::move(given); }
    std::unique_ptr<sim::Stream>& stream;
  } acceptor(accepted);
  test.start(test.node("b"), "server", [&](Ports& ports) {
    auto listener = ports.network.listen(PortNumber{29500}, acceptor);
    sleep(ports, milliseconds(10));
    const std::unique_ptr<sim::Stream> stream = std::move(accepted);
    at_server.push_back(read_text(*stream));
    at_server.push_back(read_text(*stream));
    write_text(*stream, "still here");
    sleep(ports, milliseconds(10));
    return 0;
  });
  Lines at_client;
  test.start(test.node("a"), "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    write_text(*stream, "last words");
    stream->finish_writing();
    at_client.push_back(write_text(*stream, "more"));
    at_client.push_back(read_text(*stream));
    at_client.push_back(read_text(*stream));
    return 0;
  });
  test.run();
  EXPECT_EQ(at_server, (Lines{"last words", "<end>"}));
  EXPECT_EQ(at_client, (Lines{"<closed>", "still here", "<end>"}));
}

TEST(Network, a_read_gives_up_at_its_deadline_and_loses_nothing) {
  TestWorld test;
  AnsweringServer server(echo);
  const NodeId b = test.node("b");
  test.start(b, "server", serve(server));
  test.world->set_service(b, PortNumber{29500}, {milliseconds(5), {}, 4096, {}});
  Lines seen;
  test.start(test.node("a"), "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    write_text(*stream, "slow");
    const Duration begin = test.now();
    seen.push_back(read_text(*stream, in(ports, milliseconds(2))));
    seen.push_back(std::to_string((test.now() - begin) / microseconds(1)));
    seen.push_back(read_text(*stream, in(ports, milliseconds(20))));
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"<timed out>", "2000", "slow"}));
}

TEST(Network, a_reset_is_seen_by_the_peer_and_drops_what_was_under_way) {
  TestWorld test;
  AnsweringServer server(echo);
  test.start(test.node("b"), "server", serve(server));
  Lines seen;
  test.start(test.node("a"), "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    write_text(*stream, "one");
    sleep(ports, microseconds(150));  // the answer is on its way
    stream->reset();
    seen.push_back(read_text(*stream));
    seen.push_back(write_text(*stream, "two"));
    sleep(ports, seconds(1));
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"<connection reset>", "<connection reset>"}));
  EXPECT_EQ(server.ended, 1);
}

TEST(Network, closing_with_unread_data_resets_the_peer) {
  TestWorld test;
  struct Acceptor final : sim::AcceptHandler {
    void on_accept(std::unique_ptr<sim::Stream> given) override { stream = std::move(given); }
    std::unique_ptr<sim::Stream> stream;
  } acceptor;
  Lines seen;
  test.start(test.node("b"), "server", [&](Ports& ports) {
    auto listener = ports.network.listen(PortNumber{29500}, acceptor);
    sleep(ports, milliseconds(1));
    write_text(*acceptor.stream, "never read");
    seen.push_back(read_text(*acceptor.stream));
    acceptor.stream.reset();
    return 0;
  });
  test.start(test.node("a"), "client", [](Ports& ports) {
    auto stream = dial(ports, "b");
    sleep(ports, milliseconds(5));
    stream.reset();
    park_for_ever(ports);
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"<connection reset>"}));
}

TEST(Network, bytes_that_reach_a_closed_socket_are_answered_by_a_reset) {
  TestWorld test;
  Lines seen;
  AnsweringServer server(echo);
  test.start(test.node("b"), "server", [&](Ports& ports) {
    auto listener = ports.network.listen(PortNumber{29500}, server);
    sleep(ports, milliseconds(1));
    server.hang_up();
    sleep(ports, seconds(1));
    return 0;
  });
  test.start(test.node("a"), "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    sleep(ports, microseconds(750));  // the next bytes are on their way when the server hangs up
    write_text(*stream, "too late");
    seen.push_back(read_text(*stream));
    sleep(ports, microseconds(300));
    seen.push_back(write_text(*stream, "again"));
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"<end>", "<connection reset>"}));
}

TEST(Network, writing_to_a_peer_that_has_closed_is_answered_by_a_reset) {
  TestWorld test;
  Lines seen;
  AnsweringServer server([&](const std::string&) {
    server.hang_up();
    return "";
  });
  test.start(test.node("b"), "server", serve(server));
  test.start(test.node("a"), "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    write_text(*stream, "please close");
    seen.push_back(read_text(*stream));
    seen.push_back(write_text(*stream, "into the void"));
    sleep(ports, microseconds(250));
    seen.push_back(read_text(*stream));
    return 0;
  });
  test.run();
  EXPECT_EQ(seen, (Lines{"<end>", "ok", "<connection reset>"}));
}

TEST(Network, an_answer_written_before_the_handler_hangs_up_still_arrives) {
  for (const Duration cost : {Duration::zero(), Duration(milliseconds(1))}) {
    TestWorld test;
    Lines seen;
    AnsweringServer server([&](const std::string&) {
      write_text(server.stream(0), "goodbye");
      server.hang_up();
      return "";
    });
    const NodeId b = test.node("b");
    test.start(b, "server", serve(server));
    test.world->set_service(b, PortNumber{29500}, {cost, {}, 4096, {}});
    test.start(test.node("a"), "client", [&](Ports& ports) {
      const auto stream = dial(ports, "b");
      write_text(*stream, "x");
      seen.push_back(read_text(*stream));
      seen.push_back(read_text(*stream));
      return 0;
    });
    test.run();
    EXPECT_EQ(seen, (Lines{"goodbye", "<end>"})) << cost.count();
  }
}

}  // namespace
}  // namespace hooke::world
