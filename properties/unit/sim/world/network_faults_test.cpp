// What broken paths do to connections, and which machines feel it.
#include "properties/unit/sim/world/echo_pair.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;

TEST(NetworkFaults, bytes_written_during_a_partition_arrive_in_order_when_it_heals) {
  Pair pair;
  std::string answers;
  pair.test.inject_at(milliseconds(1), FaultKind::net_partition, pair.paths(false, seconds(20)));
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    sleep(ports, milliseconds(5));
    for (int i = 0; i < 5; ++i) {
      write_text(*stream, std::to_string(i));
      sleep(ports, seconds(1));
    }
    while (answers.size() < 5) answers += read_text(*stream);
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(answers, "01234");
  ASSERT_EQ(pair.arrivals.size(), 5U);
  EXPECT_EQ(pair.arrivals.front().second, milliseconds(20'001) + microseconds(100));
}

TEST(NetworkFaults, a_node_is_cut_off_from_itself_only_where_its_loopback_is_meant) {
  Pair pair;
  Lines seen;
  pair.test.inject(FaultKind::net_partition, [&](Fault& f) {
    f.paths = {{pair.a, pair.b}, {pair.a, pair.b}};
    f.duration = seconds(10);
  });
  const auto loopback = pair.test.inject_at(seconds(20), FaultKind::net_partition, [&](Fault& f) {
    f.paths = {{pair.b}, {pair.b}, false, true};
    f.duration = seconds(10);
  });
  const auto ask = [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    write_text(*stream, "x");
    seen.push_back(read_text(*stream, in(ports, seconds(2))));
  };
  pair.test.start(pair.b, "neighbour", [&](Ports& ports) {
    ask(ports);  // others are cut off from b, it is not from itself
    const auto stream = dial(ports, "b");
    sleep(ports, seconds(21));
    write_text(*stream, "y");
    seen.push_back(read_text(*stream, in(ports, seconds(2))));
    seen.push_back(read_text(*stream, in(ports, seconds(20))));
    return 0;
  });
  pair.test.start(pair.a, "stranger", [&](Ports& ports) {
    sleep(ports, seconds(22));
    ask(ports);  // b's loopback is none of a's paths
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(seen, (Lines{"x", "x", "<timed out>", "y"}));
  EXPECT_EQ(pair.test.world->felt(*loopback), 1U);
}

TEST(NetworkFaults, a_one_way_partition_lets_the_other_direction_pass) {
  Pair pair;
  Lines seen;
  // b cannot reach a: requests arrive, answers do not.
  const auto fault = pair.test.inject_at(milliseconds(1), FaultKind::net_partition, [&](Fault& f) {
    f.paths = {{pair.b}, {pair.a}, true};
    f.duration = seconds(10);
  });
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    sleep(ports, milliseconds(5));
    write_text(*stream, "hello");
    seen.push_back(read_text(*stream, in(ports, seconds(2))));
    seen.push_back(std::to_string(pair.arrivals.size()));
    seen.push_back(read_text(*stream, in(ports, seconds(20))));
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(seen, (Lines{"<timed out>", "1", "hello"}));
  EXPECT_EQ(pair.test.world->felt(*fault), 1U);
}

TEST(NetworkFaults, connecting_into_a_partition_waits_for_the_deadline_or_127_seconds) {
  Pair pair;
  pair.test.inject(FaultKind::net_partition, pair.paths());
  Lines seen;
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    const auto timed = ports.network.connect({"b", PortNumber{29500}}, in(ports, seconds(3)));
    seen.emplace_back(to_string(timed.failure().fault));
    seen.push_back(std::to_string(pair.test.now() / seconds(1)));
    const auto endless = ports.network.connect({"b", PortNumber{29500}}, std::nullopt);
    seen.emplace_back(to_string(endless.failure().fault));
    seen.push_back(std::to_string(pair.test.now() / seconds(1)));
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(seen, (Lines{"timed out", "3", "unreachable", "130"}));
}

TEST(NetworkFaults, a_connection_begun_during_a_partition_is_made_when_it_heals) {
  Pair pair;
  pair.test.inject(FaultKind::net_partition, pair.paths(false, seconds(30)));
  Duration connected{};
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    connected = stream ? pair.test.now() : Duration::zero();
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(connected, seconds(30) + microseconds(200));
}

TEST(NetworkFaults, a_partition_of_others_is_not_felt) {
  Pair pair;
  const NodeId c = pair.test.node("c");
  const FaultId fault = pair.test.inject(FaultKind::net_partition, [&](Fault& f) {
    f.paths = {{c}, {}, false};
  });
  std::string answer;
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    write_text(*stream, "hi");
    answer = read_text(*stream);
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(answer, "hi");
  EXPECT_EQ(pair.test.world->felt(fault), 0U);
  EXPECT_EQ(pair.test.events.count("fault.took_effect"), 0U);
}

TEST(NetworkFaults, a_partition_reaches_paths_that_are_first_used_while_it_lasts) {
  Pair pair;
  const NodeId c = pair.test.node("c");
  const FaultId fault = pair.test.inject(FaultKind::net_partition, [&](Fault& f) {
    f.paths = {{c}, {}, false};
  });
  std::string outcome;
  pair.test.start(c, "client", [&](Ports& ports) {
    const auto timed = ports.network.connect({"b", PortNumber{29500}}, in(ports, seconds(1)));
    outcome = timed ? "connected" : to_string(timed.failure().fault);
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(outcome, "timed out");
  EXPECT_EQ(pair.test.world->felt(fault), 1U);
}

TEST(NetworkFaults, a_node_is_never_cut_off_from_itself) {
  TestWorld test;
  AnsweringServer server(echo);
  const NodeId a = test.node("a");
  test.start(a, "server", serve(server));
  test.inject(FaultKind::net_partition, [](Fault&) {});
  std::string answer;
  test.start(a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "localhost");
    write_text(*stream, "hi");
    answer = read_text(*stream);
    return 0;
  });
  test.run();
  EXPECT_EQ(answer, "hi");
}

TEST(NetworkFaults, what_was_written_before_closing_into_a_partition_arrives_after_it) {
  Pair pair;
  pair.test.inject_at(milliseconds(1), FaultKind::net_partition, pair.paths(false, seconds(5)));
  pair.test.start(pair.a, "client", [](Ports& ports) {
    auto stream = dial(ports, "b");
    sleep(ports, milliseconds(5));
    write_text(*stream, "testament");
    return 0;  // the process ends with its bytes still unsent
  });
  pair.test.run();
  ASSERT_EQ(pair.arrivals.size(), 1U);
  EXPECT_EQ(pair.arrivals[0].first, "testament");
  EXPECT_EQ(pair.server.ended, 1);
}

TEST(NetworkFaults, a_reset_into_a_partition_is_lost_and_told_when_the_peer_writes) {
  Pair pair;
  pair.test.inject_at(milliseconds(1), FaultKind::net_partition, pair.paths(false, seconds(5)));
  pair.test.start(pair.a, "client", [](Ports& ports) {
    const auto stream = dial(ports, "b");
    sleep(ports, milliseconds(5));
    stream->reset();
    park_for_ever(ports);
    return 0;
  });
  pair.test.run_for(seconds(10));
  EXPECT_EQ(pair.server.ended, 0);
  write_text(pair.server.stream(0), "anybody there?");
  pair.test.run();
  EXPECT_EQ(pair.server.ended, 1);
}

TEST(NetworkFaults, a_clog_holds_bytes_back_and_lets_them_go_together) {
  Pair pair;
  const auto fault =
      pair.test.inject_at(milliseconds(1), FaultKind::net_clog, pair.paths(true, seconds(2)));
  pair.test.start(pair.a, "client", [](Ports& ports) {
    const auto stream = dial(ports, "b");
    sleep(ports, milliseconds(2));
    for (const char* text : {"x", "y", "z"}) {
      write_text(*stream, text);
      sleep(ports, milliseconds(100));
    }
    sleep(ports, seconds(5));
    return 0;
  });
  pair.test.run();
  ASSERT_EQ(pair.arrivals.size(), 3U);
  for (const auto& [text, when] : pair.arrivals) {
    EXPECT_EQ(when, milliseconds(2001) + microseconds(100)) << text;
  }
  EXPECT_EQ(pair.arrivals[2].first, "z");
  EXPECT_EQ(pair.test.world->felt(*fault), 3U);
}

TEST(NetworkFaults, a_delay_adds_to_every_message_of_its_direction) {
  Pair pair;
  const FaultId fault = pair.test.inject(FaultKind::net_delay, [&](Fault& f) {
    f.paths = {{pair.a}, {pair.b}, true};
    f.span = milliseconds(50);
  });
  Duration took{};
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    const Duration begin = pair.test.now();
    write_text(*stream, "x");
    read_text(*stream);
    took = pair.test.now() - begin;
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(took, milliseconds(50) + microseconds(200));
  EXPECT_EQ(pair.test.world->felt(fault), 3U);  // SYN, request, end
}

TEST(NetworkFaults, less_bandwidth_makes_bytes_queue_on_the_path) {
  Pair pair;
  const FaultId fault = pair.test.inject(FaultKind::net_bandwidth, [&](Fault& f) {
    f.paths = {{pair.a}, {pair.b}, true};
    f.amount = 8'000;  // one byte per millisecond
  });
  pair.test.start(pair.a, "client", [](Ports& ports) {
    const auto stream = dial(ports, "b");
    write_text(*stream, std::string(100, 'x'));
    write_text(*stream, std::string(100, 'y'));
    sleep(ports, seconds(1));
    return 0;
  });
  pair.test.run();
  ASSERT_EQ(pair.arrivals.size(), 2U);
  EXPECT_EQ(pair.arrivals[0].second, milliseconds(100) + microseconds(300));
  EXPECT_EQ(pair.arrivals[1].second, milliseconds(200) + microseconds(300));
  EXPECT_GE(pair.test.world->felt(fault), 2U);
}

TEST(NetworkFaults, certain_loss_breaks_a_connection_at_its_next_write_for_both_ends) {
  Pair pair;
  const auto fault = pair.test.inject_at(milliseconds(1), FaultKind::net_loss, [&](Fault& f) {
    f.paths = {{pair.a}, {pair.b}, true};
    f.ratio_ppm = 1'000'000;
  });
  Lines seen;
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    sleep(ports, milliseconds(2));
    write_text(*stream, "lost");
    seen.push_back(read_text(*stream));
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(seen, (Lines{"<connection reset>"}));
  EXPECT_TRUE(pair.arrivals.empty());
  EXPECT_EQ(pair.server.ended, 1);
  EXPECT_EQ(pair.test.world->felt(*fault), 1U);
}

TEST(NetworkFaults, loss_hits_about_as_often_as_its_ratio_says) {
  int broken = 0;
  constexpr int kRuns = 400;
  for (std::uint64_t seed = 0; seed < kRuns; ++seed) {
    Pair pair(constant_latency(), seed);
    pair.test.inject(FaultKind::net_loss, [&](Fault& f) {
      f.paths = {{pair.a}, {pair.b}, true};
      f.ratio_ppm = 250'000;
    });
    pair.test.start(pair.a, "client", [&](Ports& ports) {
      const auto stream = dial(ports, "b");
      write_text(*stream, "x");
      broken += read_text(*stream) == "x" ? 0 : 1;
      return 0;
    });
    pair.test.run();
  }
  EXPECT_NEAR(broken, kRuns / 4, 30);
}

TEST(NetworkFaults, the_reset_fault_breaks_what_is_established_and_nothing_later) {
  Pair pair;
  Lines seen;
  const auto fault = pair.test.inject_at(milliseconds(5), FaultKind::net_reset, pair.paths());
  pair.test.start(pair.a, "client", [&](Ports& ports) {
    auto stream = dial(ports, "b");
    seen.push_back(read_text(*stream));
    stream = dial(ports, "b");
    write_text(*stream, "again");
    seen.push_back(read_text(*stream));
    return 0;
  });
  pair.test.run();
  EXPECT_EQ(seen, (Lines{"<connection reset>", "again"}));
  EXPECT_EQ(pair.server.ended, 2);
  EXPECT_GE(pair.test.world->felt(*fault), 1U);
}

TEST(NetworkFaults, a_reset_fault_without_connections_is_not_felt) {
  Pair pair;
  const FaultId fault = pair.test.inject(FaultKind::net_reset, pair.paths());
  pair.test.run();
  EXPECT_EQ(pair.test.world->felt(fault), 0U);
}

}  // namespace
}  // namespace hooke::world
