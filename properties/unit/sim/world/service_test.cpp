// The serial server of a port: which client waits how long, and what its faults do.
#include "properties/unit/sim/world/test_world.h"

namespace hooke::world {
namespace {

using Lines = std::vector<std::string>;

constexpr PortNumber kPort{29500};

/// A server on b with that model, and clients on a that send `requests` at the same time.
struct Served {
  explicit Served(ServiceModel model, AnsweringServer::Answer answer = echo)
      : server([this, answer](const std::string& text) {
          started.push_back(test.now());
          return answer(text);
        }) {
    a = test.node("a");
    b = test.node("b");
    server_pid = test.start(b, "server", serve(server));
    test.world->set_service(b, kPort, model);
  }
  /// A client that connects, waits until `when`, sends `text` and notes answer and time.
  void client(Duration when, const std::string& text) {
    const std::size_t index = answers.size();
    answers.emplace_back();
    answered.emplace_back();
    test.start(a, "client" + std::to_string(index), [this, when, text, index](Ports& ports) {
      const auto stream = dial(ports, "b");
      if (stream == nullptr) {
        answers[index] = "<no connection>";
        return 1;
      }
      sleep(ports, when - test.now());
      write_text(*stream, text);
      answers[index] = read_text(*stream);
      answered[index] = test.now();
      return 0;
    });
  }
  std::function<void(Fault&)> at_port(Duration duration = {}, Duration span = {},
                                      std::int64_t amount = 0) {
    return [this, duration, span, amount](Fault& fault) {
      fault.node = b;
      fault.port = kPort;
      fault.duration = duration;
      fault.span = span;
      fault.amount = amount;
    };
  }
  TestWorld test;
  AnsweringServer server;
  NodeId a;
  NodeId b;
  Pid server_pid;
  std::vector<Duration> started;
  Lines answers;
  std::vector<Duration> answered;
};

TEST(Service, requests_are_served_one_after_the_other_in_order_of_arrival) {
  Served served({milliseconds(2), {}, 4096, {}});
  for (int i = 0; i < 3; ++i) served.client(milliseconds(10), std::to_string(i));
  served.test.run();
  // They arrive at 10.1 ms; each keeps the server busy for 2 ms; an answer travels 0.1 ms.
  const Duration first = milliseconds(10) + microseconds(100);
  EXPECT_EQ(served.started,
            (std::vector<Duration>{first, first + milliseconds(2), first + milliseconds(4)}));
  EXPECT_EQ(served.answered, (std::vector<Duration>{first + milliseconds(2) + microseconds(100),
                                                    first + milliseconds(4) + microseconds(100),
                                                    first + milliseconds(6) + microseconds(100)}));
  EXPECT_EQ(served.answers, (Lines{"0", "1", "2"}));
}

TEST(Service, bytes_in_and_bytes_out_cost_time) {
  Served served({microseconds(10), microseconds(1), 4096, {}},
                [](const std::string& text) { return text + text; });
  served.client(milliseconds(1), std::string(100, 'x'));
  served.test.run();
  // 10 us + 100 in + 200 out, and a round trip of 200 us.
  EXPECT_EQ(served.answered.at(0), milliseconds(1) + microseconds(10 + 300 + 200));
}

TEST(Service, an_idle_server_starts_at_once_and_a_free_one_costs_nothing) {
  Served served({});
  served.client(milliseconds(1), "x");
  served.client(milliseconds(1), "y");
  served.test.run();
  EXPECT_EQ(served.answered, (std::vector<Duration>(2, milliseconds(1) + microseconds(200))));
}

TEST(Service, the_default_model_counts_where_a_port_has_none_of_its_own) {
  Served served({milliseconds(1), {}, 4096, {}});
  AnsweringServer other(echo);
  served.test.start(served.b, "other", serve(other, 80));
  Duration took{};
  served.test.start(served.a, "client", [&](Ports& ports) {
    for (int i = 0; i < 2; ++i) {
      auto stream = ports.network.connect({"b", PortNumber{80}}, std::nullopt);
      const Duration begin = served.test.now();
      write_text(*stream.value(), "x");
      read_text(*stream.value());
      took = served.test.now() - begin;
      if (i == 0) served.test.world->set_default_service({milliseconds(7), {}, 4096, {}});
    }
    return 0;
  });
  served.client(milliseconds(50), "x");
  served.test.run();
  EXPECT_EQ(took, milliseconds(7) + microseconds(200));
  EXPECT_EQ(served.answered.at(0), milliseconds(51) + microseconds(200));
}

TEST(Service, accepting_takes_time_and_a_full_backlog_refuses) {
  Served served({{}, {}, 3, milliseconds(5)});
  Lines outcomes;
  for (int i = 0; i < 5; ++i) {
    served.test.start(served.a, "dialer" + std::to_string(i), [&](Ports& ports) {
      const auto stream = ports.network.connect({"b", kPort}, std::nullopt);
      outcomes.emplace_back(stream ? "connected" : to_string(stream.failure().fault));
      sleep(ports, milliseconds(100));
      return 0;
    });
  }
  served.test.run_for(milliseconds(12));
  EXPECT_EQ(served.server.accepted, 2);  // at 5.1 and 10.1 ms
  served.test.run();
  EXPECT_EQ(outcomes, (Lines{"connected", "connected", "connected", "connection refused",
                             "connection refused"}));
  EXPECT_EQ(served.server.accepted, 3);
}

TEST(Service, a_client_that_leaves_before_it_is_accepted_frees_its_place) {
  Served served({{}, {}, 1, milliseconds(5)});
  std::string second;
  served.test.start(served.a, "hasty", [](Ports& ports) {
    auto stream = dial(ports, "b");
    stream->reset();
    return 0;
  });
  served.test.start(served.a, "patient", [&](Ports& ports) {
    sleep(ports, milliseconds(6));
    second = dial(ports, "b") ? "connected" : "refused";
    return 0;
  });
  served.test.run();
  EXPECT_EQ(second, "connected");
}

TEST(Service, a_request_of_a_client_that_is_gone_costs_nothing) {
  Served served({milliseconds(50), {}, 4096, {}});
  served.client(milliseconds(1), "first");
  served.test.start(served.a, "gone", [&](Ports& ports) {
    const auto stream = dial(ports, "b");
    sleep(ports, milliseconds(2) - served.test.now());
    write_text(*stream, "never mind");
    sleep(ports, milliseconds(1));
    stream->reset();
    return 0;
  });
  served.client(milliseconds(10), "second");
  served.test.run();
  EXPECT_EQ(served.answers, (Lines{"first", "second"}));
  EXPECT_EQ(served.answered.at(1), milliseconds(101) + microseconds(200));
}

TEST(Service, slowness_adds_to_each_request_and_ends) {
  Served served({milliseconds(1), {}, 4096, {}});
  const FaultId slow =
      served.test.inject(FaultKind::service_slow, served.at_port(seconds(1), milliseconds(30)));
  served.client(milliseconds(10), "x");
  served.client(milliseconds(10), "y");
  served.client(seconds(2), "z");
  served.test.run();
  EXPECT_EQ(served.answered.at(0), milliseconds(10 + 31) + microseconds(200));
  EXPECT_EQ(served.answered.at(1), milliseconds(10 + 62) + microseconds(200));
  EXPECT_EQ(served.answered.at(2), milliseconds(2001) + microseconds(200));
  EXPECT_EQ(served.test.world->felt(slow), 2U);
}

TEST(Service, slowness_lingers_until_the_request_is_served_that_it_has_met) {
  Served served({milliseconds(1), {}, 4096, {}});
  served.test.inject(FaultKind::service_slow, served.at_port(milliseconds(20), seconds(30)));
  served.client(milliseconds(10), "x");
  served.test.run();
  EXPECT_EQ(served.answered.at(0),
            milliseconds(10) + seconds(30) + milliseconds(1) + microseconds(200));
  // The request arrived at 10.1 ms, the fault ended at 20 ms.
  EXPECT_EQ(served.test.events.starting_with("fault.ended"),
            (Lines{"fault.ended fault=0 kind=service_slow lingers=29991100000"}));
}

TEST(Service, a_slow_server_does_not_hold_up_what_its_machine_sends_otherwise) {
  WorldOptions options = constant_latency();
  options.network.bandwidth_bits_per_s = 8'000'000;
  TestWorld test(options);
  AnsweringServer slow(echo);
  AnsweringServer quick(echo);
  const NodeId a = test.node("a");
  const NodeId b = test.node("b");
  test.start(b, "slow", serve(slow));
  test.start(b, "quick", serve(quick, 80));
  test.world->set_service(b, kPort, {seconds(5), {}, 4096, {}});
  Duration answered{};
  test.start(a, "patient", [](Ports& ports) {
    const auto stream = dial(ports, "b");
    write_text(*stream, "x");
    read_text(*stream);
    return 0;
  });
  test.start(a, "other", [&](Ports& ports) {
    sleep(ports, seconds(1));
    auto stream = ports.network.connect({"b", PortNumber{80}}, std::nullopt);
    write_text(*stream.value(), "y");
    read_text(*stream.value());
    answered = test.now();
    return 0;
  });
  test.run();
  EXPECT_LT(answered, seconds(1) + milliseconds(1));
}

TEST(Service, a_stopped_server_serves_nothing_and_then_goes_on) {
  Served served({milliseconds(1), {}, 4096, {}});
  const FaultId stop = served.test.inject(FaultKind::service_stop, served.at_port(seconds(3)));
  served.client(milliseconds(10), "x");
  served.client(milliseconds(20), "y");
  served.test.run();
  EXPECT_EQ(served.answered.at(0), milliseconds(3001) + microseconds(100));
  EXPECT_EQ(served.answered.at(1), milliseconds(3002) + microseconds(100));
  EXPECT_GE(served.test.world->felt(stop), 1U);
}

TEST(Service, an_erring_server_resets_each_connection_at_its_next_request) {
  Served served({milliseconds(1), {}, 4096, {}});
  const FaultId error = served.test.inject(FaultKind::service_error, served.at_port(seconds(1)));
  served.client(milliseconds(10), "x");
  served.client(seconds(2), "y");
  served.test.run();
  EXPECT_EQ(served.answers, (Lines{"<connection reset>", "y"}));
  EXPECT_EQ(served.started.size(), 1U);
  EXPECT_EQ(served.test.world->felt(error), 1U);
}

TEST(Service, a_lost_reply_leaves_the_request_served_and_the_client_reset) {
  Served served({milliseconds(1), {}, 4096, {}});
  const FaultId lost = served.test.inject(FaultKind::service_reply_lost, served.at_port({}, {}, 2));
  for (int i = 0; i < 3; ++i) served.client(milliseconds(10 + i), std::to_string(i));
  served.test.run();
  EXPECT_EQ(served.started.size(), 3U);
  EXPECT_EQ(served.answers, (Lines{"<connection reset>", "<connection reset>", "2"}));
  EXPECT_EQ(served.test.world->felt(lost), 2U);
  EXPECT_EQ(served.test.events.count("fault.took_effect"), 2U) << "each is told of";
}

TEST(Service, a_lost_reply_takes_no_answer_of_another_client_with_it) {
  // The second client's request makes the server answer the first one, which waits.
  TestWorld test;
  AnsweringServer* self = nullptr;
  AnsweringServer server([&](const std::string& text) {
    if (text == "wait") return std::string();
    write_text(self->stream(0), "woken");
    return std::string("done");
  });
  self = &server;
  const NodeId a = test.node("a");
  const NodeId b = test.node("b");
  test.start(b, "server", serve(server));
  test.world->set_service(b, kPort, {milliseconds(1), {}, 4096, {}});
  test.inject(FaultKind::service_reply_lost, [b](Fault& f) {
    f.node = b;
    f.port = kPort;
    f.amount = 1;
  });
  Lines seen(2);
  const auto client = [&](std::size_t index, Duration when, const char* text) {
    return [&seen, index, when, text](Ports& ports) {
      sleep(ports, when);
      const auto stream = dial(ports, "b");
      write_text(*stream, text);
      seen[index] = read_text(*stream);
      return 0;
    };
  };
  test.start(a, "waiter", client(0, milliseconds(1), "wait"));
  test.start(a, "waker", client(1, milliseconds(9), "wake"));
  test.run();
  EXPECT_EQ(seen, (Lines{"woken", "<connection reset>"}));
}

TEST(Service, faults_of_an_unused_port_are_not_felt) {
  Served served({});
  std::vector<FaultId> faults;
  for (const FaultKind kind : {FaultKind::service_slow, FaultKind::service_stop,
                               FaultKind::service_error, FaultKind::service_reply_lost}) {
    faults.push_back(served.test.inject(kind, served.at_port({}, milliseconds(1), 1)));
  }
  served.test.run();
  for (const FaultId fault : faults) EXPECT_EQ(served.test.world->felt(fault), 0U);
}

TEST(Service, a_server_killed_while_it_serves_sends_no_answer) {
  Served served({milliseconds(10), {}, 4096, {}});
  served.client(milliseconds(5), "x");
  served.test.inject_at(milliseconds(10), FaultKind::process_signal, [&](Fault& f) {
    f.node = served.b;
    f.pid = served.server_pid;
  });
  served.test.run();
  EXPECT_EQ(served.started.size(), 1U);
  EXPECT_EQ(served.answers, (Lines{"<end>"}));
}

TEST(Service, a_request_waiting_at_a_killed_server_is_answered_by_a_reset) {
  Served served({milliseconds(10), {}, 4096, {}});
  served.client(milliseconds(5), "x");
  served.client(milliseconds(6), "y");
  served.test.inject_at(milliseconds(10), FaultKind::process_signal, [&](Fault& f) {
    f.node = served.b;
    f.pid = served.server_pid;
  });
  served.test.run();
  EXPECT_EQ(served.answers, (Lines{"<end>", "<connection reset>"}));
}

TEST(Service, a_paused_server_keeps_requests_waiting_and_its_answer_back) {
  Served served({milliseconds(10), {}, 4096, {}});
  served.client(milliseconds(5), "x");
  served.client(milliseconds(6), "y");
  served.test.inject_at(milliseconds(10), FaultKind::process_pause, [&](Fault& f) {
    f.node = served.b;
    f.pid = served.server_pid;
    f.duration = seconds(1);
  });
  served.test.run();
  EXPECT_EQ(served.answers, (Lines{"x", "y"}));
  EXPECT_EQ(served.answered.at(0), milliseconds(1010) + microseconds(100));
  EXPECT_EQ(served.answered.at(1), milliseconds(1020) + microseconds(100));
}

TEST(Service, a_paused_server_accepts_when_it_goes_on) {
  Served served({});
  served.test.inject_at(milliseconds(1), FaultKind::process_pause, [&](Fault& f) {
    f.node = served.b;
    f.pid = served.server_pid;
    f.duration = seconds(1);
  });
  served.test.run_for(milliseconds(2));
  served.client(milliseconds(5), "x");
  served.test.run_for(milliseconds(500));
  EXPECT_EQ(served.server.accepted, 0);
  served.test.run();
  EXPECT_EQ(served.answers, (Lines{"x"}));
  EXPECT_EQ(served.answered.at(0), milliseconds(1001) + microseconds(100));
}

}  // namespace
}  // namespace hooke::world
