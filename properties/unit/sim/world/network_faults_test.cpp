// What broken paths and dead machines do to connections, and who feels it.
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;

/// Two nodes, an echo server on b that notes when what arrives.
struct Pair {
  explicit Pair(WorldOptions options = constant_latency(), std::uint64_t seed = 1)
      : test(std::move(options), seed), server([this](const std::string& text) {
          arrivals.emplace_back(text, test.now());
          return text;
        }) {
    a = test.node("a");
    b = test.node("b");
    server_pid = test.start(b, "server", serve(server));
  }
  /// Paths from a to b, and back unless `one_way`.
  std::function<void(Fault&)> paths(bool one_way = false, Duration duration = {}) {
    return [this, one_way, duration](Fault& fault) {
      fault.paths = {{a}, {b}, one_way};
      fault.duration = duration;
    };
  }
  TestWorld test;
  AnsweringServer server;
  NodeId a;
  NodeId b;
  Pid server_pid;
  std::vector<std::pair<std::string, Duration>> arrivals;
};

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
  EXPECT_EQ(pair.test.events.count("fault.felt"), 0U);
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
