// Client and server over a network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/heartbeat/heartbeat_client.h"
#include "model/heartbeat/heartbeat_server.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Pid;
using sim::Ports;
using testing::ElementsAre;
using testing::HasSubstr;
using world::sleep;

constexpr sim::PortNumber kPort{4900};

class Heartbeat : public testing::Test {
 protected:
  /// Looks every 100 ms; `lost_` becomes the names that were lost, in order, each with the second.
  void serve(std::vector<std::string> workers) {
    world_.start(server_, "server " + std::to_string(++programs_), [=, this](Ports& ports) {
      HeartbeatServer server(ports, kPort, {3s, std::nullopt});
      for (const std::string& each : workers) server.expect(each);
      std::size_t lost = 0;
      for (;;) {
        const auto now = server.look();
        if (now.size() > lost) {
          lost_.push_back(now.back().worker + " at " + std::to_string(world_.now() / 1s));
        }
        lost = now.size();
        sleep(ports, 100ms);
      }
      return 0;
    });
  }
  Pid work(const std::string& name, const std::function<void(Ports&, HeartbeatClient&)>& body) {
    return world_.start(worker_, "worker " + std::to_string(++programs_), [=](Ports& ports) {
      HeartbeatClient client(ports, {{"server", kPort}, name, 1s});
      client.start();
      body(ports, client);
      return 0;
    });
  }
  [[nodiscard]] std::vector<std::string> changes() const {
    std::vector<std::string> out;
    for (const std::string& line : world_.events.starting_with("heartbeat.client")) {
      const std::size_t begin = line.find("change=") + 7;
      out.push_back(line.substr(begin, line.find(" detail") - begin));
    }
    return out;
  }

  world::TestWorld world_;
  sim::NodeId server_ = world_.node("server");
  sim::NodeId worker_ = world_.node("worker");
  int programs_ = 0;
  std::vector<std::string> lost_;
};

TEST_F(Heartbeat, no_worker_that_beats_is_lost_and_one_that_ends_orderly_is_not_missed) {
  serve({"w"});
  std::uint64_t sent = 0;
  work("w", [&](Ports& ports, HeartbeatClient& client) {
    sleep(ports, 20500ms);
    client.stop();
    client.stop();
    sleep(ports, 20s);
    sent = client.sent();
  });
  world_.run_for(1min);
  EXPECT_THAT(lost_, ElementsAre());
  EXPECT_EQ(sent, 22U) << "one at once, one each second, and the last one";
  EXPECT_EQ(world_.events.count("heartbeat.received"), 22U);
  EXPECT_THAT(changes(), ElementsAre("beats", "ended"));
}

TEST_F(Heartbeat, a_worker_that_falls_silent_is_lost_and_comes_back) {
  serve({"w"});
  work("w", [](Ports& ports, HeartbeatClient& client) {
    sleep(ports, 5500ms);
    client.pause();
    sleep(ports, 10s);
    client.start();
    sleep(ports, 1min);
  });
  world_.run_for(30s);
  EXPECT_THAT(lost_, ElementsAre("w at 8"));
  EXPECT_EQ(world_.events.count("heartbeat.returned"), 1U);
  EXPECT_THAT(changes(), ElementsAre("beats", "silent", "beats"));
}

TEST_F(Heartbeat, a_worker_that_asks_is_told_which_others_live) {
  world_.start(server_, "server", [&](Ports& ports) {
    HeartbeatServer server(ports, kPort, {3s, std::nullopt});
    WorkerLives lives{WorkerLife::alive, WorkerLife::unknown};
    server.answer_with([&] { return encode_peers(lives); });
    server.expect("asks");
    server.expect("beats");
    sleep(ports, 5s);
    lives[1] = WorkerLife::alive;
    sleep(ports, 1min);
    return 0;
  });
  std::vector<WorkerLives> seen;
  world_.start(worker_, "asks", [&](Ports& ports) {
    HeartbeatClient client(ports, {{"server", kPort}, "asks", 1s, true});
    client.start();
    EXPECT_FALSE(client.peers());
    for (int i = 0; i < 2; ++i) {
      sleep(ports, 4s);
      seen.push_back(client.peers().value_or(PeersSeen{}).lives);
    }
    client.stop();
    return 0;
  });
  bool told = false;
  work("beats", [&](Ports& ports, HeartbeatClient& client) {
    sleep(ports, 8s);
    told = client.peers().has_value();
  });
  world_.run_for(30s);
  EXPECT_THAT(seen, ElementsAre(WorkerLives{WorkerLife::alive, WorkerLife::unknown},
                                WorkerLives{WorkerLife::alive, WorkerLife::alive}));
  EXPECT_FALSE(told) << "it has not asked";
}

TEST_F(Heartbeat, a_worker_that_asks_an_agent_that_does_not_answer_beats_on) {
  serve({"w"});
  world_.start(worker_, "w", [&](Ports& ports) {
    HeartbeatClient client(ports, {{"server", kPort}, "w", 1s, true});
    client.start();
    sleep(ports, 20s);
    EXPECT_FALSE(client.peers());
    client.stop();
    return 0;
  });
  world_.run_for(1min);
  EXPECT_THAT(lost_, ElementsAre());
  EXPECT_EQ(world_.events.count("heartbeat.received"), 21U);
}

TEST_F(Heartbeat, a_killed_worker_is_lost) {
  serve({"w", "v"});
  const Pid victim = work("w", [](Ports& ports, HeartbeatClient&) { sleep(ports, 1min); });
  work("v", [](Ports& ports, HeartbeatClient&) { sleep(ports, 1min); });
  world_.inject_at(10500ms, world::FaultKind::process_signal, [&](world::Fault& fault) {
    fault.node = worker_;
    fault.pid = victim;
    fault.signal = sim::Signal::kill;
  });
  world_.run_for(30s);
  EXPECT_THAT(lost_, ElementsAre("w at 13"));
}

TEST_F(Heartbeat, a_link_that_carries_nothing_loses_its_worker_and_brings_it_back) {
  serve({"w"});
  work("w", [](Ports& ports, HeartbeatClient&) { sleep(ports, 2min); });
  world_.inject_at(10500ms, world::FaultKind::net_partition, [&](world::Fault& fault) {
    fault.paths = {{worker_}, {server_}};
    fault.duration = 10s;
  });
  world_.run_for(1min);
  EXPECT_THAT(lost_, ElementsAre("w at 13"));
  EXPECT_EQ(world_.events.count("heartbeat.returned"), 1U);
}

TEST_F(Heartbeat, a_slow_link_is_no_reason_to_be_lost) {
  serve({"w"});
  work("w", [](Ports& ports, HeartbeatClient&) { sleep(ports, 2min); });
  world_.inject_at(10s, world::FaultKind::net_delay, [&](world::Fault& fault) {
    fault.paths = {{worker_}, {server_}};
    fault.span = 1500ms;
  });
  world_.run_for(1min);
  EXPECT_THAT(lost_, ElementsAre());
}

TEST_F(Heartbeat, a_worker_outlives_its_server_and_finds_the_next_one) {
  work("w", [](Ports& ports, HeartbeatClient&) { sleep(ports, 2min); });
  world_.at(10s, [&] { serve({"w"}); });
  world_.run_for(1min);
  EXPECT_THAT(lost_, ElementsAre());
  EXPECT_GT(world_.events.count("heartbeat.received"), 40U);
  EXPECT_THAT(changes(), ElementsAre("beats", "cut off", "connected"));
}

TEST_F(Heartbeat, what_a_stranger_sends_ends_his_connection_and_nothing_else) {
  serve({"w"});
  std::vector<std::string> answers;
  world_.start(worker_, "stranger", [&](Ports& ports) {
    for (const std::string& text :
         {std::string("hello\n"), std::string("{\"worker\": \"x\", \"beat\": 1}\n"),
          std::string(5000, '{'), std::string(5000, ' ') + "\n"}) {
      auto stream = std::move(ports.network.connect({"server", kPort}, std::nullopt)).value();
      static_cast<void>(stream->write(sim::Buffer(text)));
      answers.push_back(world::read_text(*stream));
    }
    return 0;
  });
  work("w", [](Ports& ports, HeartbeatClient&) { sleep(ports, 1min); });
  world_.run_for(30s);
  EXPECT_EQ(answers, std::vector<std::string>(4, "<end>"));
  const auto refused = world_.events.starting_with("heartbeat.refused");
  ASSERT_EQ(refused.size(), 4U);
  EXPECT_THAT(refused[0], HasSubstr("no JSON at byte 1"));
  EXPECT_THAT(refused[1], HasSubstr("no agent expects the worker \"x\""));
  EXPECT_THAT(refused[2], HasSubstr("a line without an end"));
  EXPECT_THAT(refused[3], HasSubstr("a line that is too long"));
  EXPECT_THAT(lost_, ElementsAre());
}

TEST_F(Heartbeat, a_server_that_cannot_be_says_why) {
  std::vector<std::string> errors;
  world_.start(server_, "server", [&](Ports& ports) {
    const auto try_to = [&](sim::PortNumber port, HeartbeatTerms terms) {
      try {
        const HeartbeatServer server(ports, port, terms);
      } catch (const std::exception& error) {
        errors.emplace_back(error.what());
      }
    };
    const HeartbeatServer first(ports, kPort, HeartbeatTerms{});
    try_to(kPort, {});
    try_to({}, {0s, std::nullopt});
    try_to({}, {1s, 0s});
    return 0;
  });
  world_.run_for(1s);
  EXPECT_THAT(errors, ElementsAre(HasSubstr("port 4900: address already in use"),
                                  HasSubstr("greater than zero"), HasSubstr("greater than zero")));
}

TEST(HeartbeatOptions, are_read_from_the_environment) {
  using Environment = std::map<std::string, std::string>;
  EXPECT_FALSE(heartbeat_options({}).has_value());
  const Environment good{
      {kHeartbeatAddress, "host:1:4900"}, {kHeartbeatWorker, "0-1"}, {kHeartbeatInterval, "250"}};
  const auto options = heartbeat_options(good);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->server, (sim::Endpoint{"host:1", sim::PortNumber{4900}}));
  EXPECT_EQ(options->worker, "0-1");
  EXPECT_EQ(options->interval, 250ms);
  const auto refusal = [&](const char* name, const char* value) -> std::string {
    Environment bad = good;
    bad[name] = value;
    try {
      static_cast<void>(heartbeat_options(bad));
    } catch (const std::invalid_argument& error) {
      return error.what();
    }
    return "accepted";
  };
  for (const char* bad : {"host", ":1", "host:", "host:0", "host:70000", "host:1x"}) {
    EXPECT_THAT(
        refusal(kHeartbeatAddress, bad),
        HasSubstr("HOOKE_HEARTBEAT_ADDRESS: expected HOST:PORT, got \"" + std::string(bad)));
  }
  EXPECT_THAT(refusal(kHeartbeatWorker, ""), HasSubstr(kHeartbeatWorker));
  for (const char* bad : {"", "0", "-1", "1s", "99999999999999999999"}) {
    EXPECT_THAT(refusal(kHeartbeatInterval, bad), HasSubstr("whole milliseconds"));
  }
}

}  // namespace
}  // namespace hooke::model
