// Connections between healthy machines: set-up, order, time, what is told of them.
#include <algorithm>

#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;

TEST(Network, a_connection_takes_one_round_trip) {
  TestWorld test;
  AnsweringServer server(echo);
  test.start(test.node("b"), "server", serve(server));
  Duration connected{};
  test.start(test.node("a"), "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    connected = test.now();
    return stream == nullptr ? 1 : 0;
  });
  test.run();
  EXPECT_EQ(connected, microseconds(200));
  EXPECT_EQ(server.accepted, 1);
}

TEST(Network, a_request_and_its_answer_take_one_round_trip) {
  TestWorld test;
  AnsweringServer server([](const std::string& text) { return text + "!"; });
  test.start(test.node("b"), "server", serve(server));
  std::string answer;
  Duration took{};
  test.start(test.node("a"), "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    const Duration begin = test.now();
    write_text(*stream, "ping");
    answer = read_text(*stream);
    took = test.now() - begin;
    return 0;
  });
  test.run();
  EXPECT_EQ(answer, "ping!");
  EXPECT_EQ(took, microseconds(200));
}

TEST(Network, within_a_node_the_loopback_latency_counts) {
  TestWorld test;
  AnsweringServer server(echo);
  const NodeId a = test.node("a");
  test.start(a, "server", serve(server));
  Duration connected{};
  test.start(a, "client", [&](Ports& ports) {
    const auto stream = dial(ports, "localhost");
    connected = test.now();
    return 0;
  });
  test.run();
  EXPECT_EQ(connected, microseconds(40));
}

TEST(Network, bytes_arrive_in_order_although_latencies_vary) {
  WorldOptions options = constant_latency();
  options.network.latency = {microseconds(150), milliseconds(20)};
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TestWorld test(options, seed);
    std::string seen;
    std::string sent;
    AnsweringServer server([&](const std::string& text) {
      seen += text;
      return "";
    });
    test.start(test.node("b"), "server", serve(server));
    test.start(test.node("a"), "client", [&](Ports& ports) {
      const auto stream = dial(ports, "b");
      for (int i = 0; i < 100; ++i) {
        sent += std::to_string(i) + ",";
        write_text(*stream, std::to_string(i) + ",");
        if (i % 7 == 0) sleep(ports, microseconds(40));
      }
      sleep(ports, seconds(1));
      return 0;
    });
    test.run();
    EXPECT_EQ(seen, sent);
  }
}

TEST(Network, latencies_have_the_median_and_the_99th_percentile_they_are_given) {
  WorldOptions options = constant_latency();
  options.network.latency = {microseconds(150), milliseconds(2)};
  TestWorld test(options);
  AnsweringServer server([](const std::string&) { return ""; });
  std::vector<Duration> arrivals;
  AnsweringServer timed([&](const std::string&) {
    arrivals.push_back(test.now());
    return "";
  });
  test.start(test.node("b"), "server", serve(timed));
  constexpr int kWrites = 40'000;
  std::vector<Duration> latencies;
  test.start(test.node("a"), "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    for (int i = 0; i < kWrites; ++i) {
      const Duration begin = test.now();
      write_text(*stream, "x");
      sleep(ports, milliseconds(10));
      latencies.push_back(arrivals.back() - begin);
    }
    return 0;
  });
  test.run();
  ASSERT_EQ(latencies.size(), static_cast<std::size_t>(kWrites));
  std::sort(latencies.begin(), latencies.end());
  EXPECT_GE(latencies.front(), microseconds(75));
  EXPECT_LE(latencies.back(), milliseconds(4));
  EXPECT_NEAR(static_cast<double>(latencies[kWrites / 2].count()), 150e3, 8e3);
  EXPECT_NEAR(static_cast<double>(latencies[kWrites * 99 / 100].count()), 2e6, 3e5);
}

TEST(Network, the_quiet_run_has_exactly_the_median_latency) {
  WorldOptions options = constant_latency();
  options.network.latency = {microseconds(150), milliseconds(2)};
  kernel::QuietSource quiet;
  kernel::TraceRecorder trace;
  kernel::Kernel kernel;
  kernel.begin(quiet, trace, {}, kernel::Strategy::fifo);
  Duration took{};
  {
    World world(kernel, options);
    const NodeId a = world.add_node({"a", {}, 0});
    world.add_node({"b", {}, 0});
    world.register_program("client", [&](Ports& ports) {
      static_cast<void>(ports.network.connect({"b", PortNumber{1}}, std::nullopt));
      took = kernel.now().time_since_epoch();
      return 0;
    });
    ASSERT_TRUE(world.start(a, {{"client"}, {}, true, {}, {}}).ok());
    kernel.run();
  }
  EXPECT_EQ(took, microseconds(300));
}

TEST(Network, bandwidth_delays_bytes_by_their_size_and_is_shared_by_all_that_a_node_sends) {
  WorldOptions options = constant_latency();
  options.network.bandwidth_bits_per_s = 8'000'000;  // one byte per microsecond
  TestWorld test(options);
  std::vector<Duration> arrivals;
  AnsweringServer server([&](const std::string&) {
    arrivals.push_back(test.now());
    return "";
  });
  test.start(test.node("b"), "server", serve(server));
  const NodeId a = test.node("a");
  for (int i = 0; i < 2; ++i) {
    test.start(a, "client" + std::to_string(i), [](Ports& ports) {
      const auto stream = dial(ports, "b");
      write_text(*stream, std::string(1000, 'x'));
      sleep(ports, seconds(1));
      return 0;
    });
  }
  test.run();
  // Both connect at 200 us; their thousand bytes leave one after the other.
  EXPECT_EQ(arrivals, (std::vector<Duration>{microseconds(1300), microseconds(2300)}));
}

TEST(Network, messages_of_many_gibibytes_take_the_time_of_their_size) {
  class Huge final : public sim::Payload {
   public:
    [[nodiscard]] std::size_t size() const override { return 4'000'000'000; }
    [[nodiscard]] const std::string& bytes() const override {
      ADD_FAILURE() << "four gigabytes were written out";
      return none_;
    }

   private:
    std::string none_;
  };
  WorldOptions options = constant_latency();
  options.network.bandwidth_bits_per_s = 8'000'000'000;  // one byte per nanosecond
  TestWorld test(options);
  Duration arrived{};
  struct Sink final : sim::AcceptHandler, sim::StreamHandler {
    explicit Sink(std::function<void()> on_bytes) : tell(std::move(on_bytes)) {}
    void on_accept(std::unique_ptr<sim::Stream> given) override {
      stream = std::move(given);
      stream->set_handler(*this);
    }
    void on_data(sim::Buffer& received) override {
      received.drop(received.size());
      tell();
    }
    void on_end() override { stream.reset(); }
    std::function<void()> tell;
    std::unique_ptr<sim::Stream> stream;
  } sink([&] { arrived = test.now(); });
  test.start(test.node("b"), "server", [&](Ports& ports) {
    auto listener = ports.network.listen(PortNumber{29500}, sink);
    park_for_ever(ports);
    return 0;
  });
  test.start(test.node("a"), "client", [](Ports& ports) {
    const auto stream = dial(ports, "b");
    sim::Buffer bytes;
    bytes.append(sim::Value(std::make_shared<Huge>()));
    static_cast<void>(stream->write(std::move(bytes)));
    sleep(ports, seconds(10));
    return 0;
  });
  test.run();
  EXPECT_EQ(arrived, seconds(4) + microseconds(300));
}

TEST(Network, payloads_travel_by_reference_and_are_never_turned_into_bytes) {
  class Opaque final : public sim::Payload {
   public:
    [[nodiscard]] std::size_t size() const override { return 1000; }
    [[nodiscard]] const std::string& bytes() const override {
      ADD_FAILURE() << "a payload was encoded";
      return none_;
    }

   private:
    std::string none_;
  };
  TestWorld test;
  struct Reflector final : sim::AcceptHandler, sim::StreamHandler {
    void on_accept(std::unique_ptr<sim::Stream> given) override {
      stream = std::move(given);
      stream->set_handler(*this);
    }
    void on_data(sim::Buffer& received) override {
      static_cast<void>(stream->write(received.split(received.size())));
    }
    void on_end() override {}
    std::unique_ptr<sim::Stream> stream;
  } reflector;
  test.start(test.node("b"), "server", [&](Ports& ports) {
    auto listener = ports.network.listen(PortNumber{29500}, reflector);
    sleep(ports, seconds(1));
    reflector.stream.reset();
    return 0;
  });
  const auto payload = std::make_shared<Opaque>();
  bool same = false;
  test.start(test.node("a"), "client", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    sim::Buffer bytes;
    bytes.append(sim::Value(payload));
    static_cast<void>(stream->write(std::move(bytes)));
    auto back = stream->read(std::nullopt);
    same = back.ok() && back->take(1000).payload() == payload;
    return 0;
  });
  test.run();
  EXPECT_TRUE(same);
  EXPECT_EQ(test.world->traffic(NodeId{0}).bytes_received, 1000U);
  EXPECT_EQ(test.world->traffic(NodeId{0}).bytes_sent, 1000U);
  EXPECT_EQ(test.world->traffic(NodeId{1}).writes, 1U);
}

TEST(Network, what_a_process_asks_is_told_for_each_ten_seconds_and_at_its_end) {
  TestWorld test;
  AnsweringServer server(echo);
  test.start(test.node("b"), "server", serve(server));
  test.start(test.node("a"), "client", [&](Ports& ports) {
    sleep(ports, seconds(1));
    const auto stream = dial(ports, "b");
    for (int second = 0; second < 10; ++second) {  // the last one within 10 s of the first
      write_text(*stream, "ping");
      if (second < 9) sleep(ports, seconds(1));
    }
    sleep(ports, seconds(30));
    write_text(*stream, "late");
    sleep(ports, seconds(2));
    return 0;
  });
  test.run();
  const Lines told = test.events.starting_with("process.asked");
  EXPECT_EQ(told, (Lines{"process.asked 1/100 since=1000000000 connects=1 messages=10",
                         "process.asked 1/100 since=40000200000 connects=0 messages=1"}))
      << "an answer is no request: the server has none";
  EXPECT_LT(std::find(test.events.lines.begin(), test.events.lines.end(), told.back()),
            std::find(test.events.lines.begin(), test.events.lines.end(),
                      "process.ended 1/100 status=0"));
}

TEST(Network, attempts_to_connect_that_fail_are_told) {
  TestWorld test;
  test.node("b");
  test.start(test.node("a"), "client", [&](Ports& ports) {
    for (const char* const host : {"b", "b", "no such host"}) {
      EXPECT_EQ(dial(ports, host), nullptr);
      sleep(ports, seconds(4));
    }
    sleep(ports, seconds(4));
    EXPECT_EQ(dial(ports, "b"), nullptr);
    return 0;
  });
  test.run();
  EXPECT_EQ(test.events.starting_with("process.asked"),
            (Lines{"process.asked 1/100 since=0 connects=3 messages=0",
                   "process.asked 1/100 since=16000400000 connects=1 messages=0"}));
}

TEST(Network, a_process_that_another_has_started_is_not_told_of) {
  TestWorld test;
  AnsweringServer server(echo);
  test.start(test.node("b"), "server", serve(server));
  int asked = 0;
  test.world->register_program("child", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    asked += write_text(*stream, "ping") == "ok" ? 1 : 0;
    return 0;
  });
  test.start(test.node("a"), "parent", [](Ports& ports) {
    const auto child = ports.processes.spawn({{"child"}, {}, false, {}, {}});
    static_cast<void>(ports.processes.wait(child.value(), std::nullopt));
    return 0;
  });
  test.run();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(test.events.count("process.asked"), 0U);
}

}  // namespace
}  // namespace hooke::world
