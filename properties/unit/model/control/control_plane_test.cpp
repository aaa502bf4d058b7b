// The control plane over a simulated network, and the HTTP server under it.
#include "model/control/control_plane.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/http/http_client.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Ports;
using testing::HasSubstr;
using testing::StartsWith;
using world::in;

constexpr sim::PortNumber kPort{8000};

class ControlPlaneTest : public testing::Test {
 protected:
  /// Serves on node "s" and runs `ask` on another.
  void served(const std::function<void(Ports&, HttpClient&)>& ask) {
    world_.start(world_.node("s"), "server", [](Ports& ports) {
      ControlPlane plane(ports);
      EXPECT_EQ(plane.serve(kPort, true), kPort);
      plane.add("echo", [](const HttpQuery& query) {
        return ControlAnswer{201, "text/plain", query.body + query.parameters.at("x")};
      });
      plane.add("fails",
                [](const HttpQuery&) -> ControlAnswer { throw std::runtime_error("broken"); });
      EXPECT_THROW(plane.add("ping", {}), std::invalid_argument);
      EXPECT_THROW(plane.serve(kPort, true), std::runtime_error);
      MetricBoard board;
      board.handler()({0, "g", "n", 7});
      plane.show(board);
      plane.show([] { return std::string("of_its_own 1\n"); });
      world::park_for_ever(ports);
      return 0;
    });
    bool done = false;
    world_.start(world_.node("c"), "client", [&](Ports& ports) {
      world::sleep(ports, 1s);
      HttpClient client(ports, {{"s", kPort}, {}});
      ask(ports, client);
      done = true;
      return 0;
    });
    world_.run_for(1min);
    EXPECT_TRUE(done);
  }
  world::TestWorld world_;
};

TEST_F(ControlPlaneTest, answers_as_pytorchs_worker_server) {
  served([](Ports& ports, HttpClient& client) {
    const auto ask = [&](const std::string& method, const std::string& target,
                         const std::string& body = "") {
      return client.exchange({method, target, body, "", ""}, in(ports, 5s));
    };
    EXPECT_THAT(ask("GET", "/").text(), HasSubstr("torch.distributed.WorkerServer"));
    EXPECT_EQ(ask("GET", "/handler/").text(), R"(["echo","fails","ping","wait_counter_values"])");
    EXPECT_EQ(ask("POST", "/handler/ping").text(), "pong");
    EXPECT_EQ(ask("POST", "/handler/wait_counter_values").text(), "{}");
    const HttpResponse echo = ask("POST", "/handler/echo?x=a%20b", "said ");
    EXPECT_EQ(echo.status, 201);
    EXPECT_EQ(echo.text(), "said a b");
    EXPECT_EQ(ask("POST", "/handler/none").status, 404);
    EXPECT_EQ(ask("POST", "/handler/none").text(),
              "Handler none not found: Failed to find handler none");
    EXPECT_EQ(ask("POST", "/handler/fails").status, 500);
    EXPECT_EQ(ask("POST", "/handler/fails").text(), "Handler fails failed: broken");
    EXPECT_EQ(ask("GET", "/elsewhere").status, 404);
    EXPECT_THAT(ask("GET", "/metrics").text(),
                HasSubstr("hooke_elastic_metric{group=\"g\",name=\"n\"} 7"));
    EXPECT_THAT(ask("GET", "/metrics").text(), StartsWith("of_its_own 1\n# HELP"));
  });
}

TEST_F(ControlPlaneTest, with_a_token_serves_no_client_that_does_not_show_it) {
  world_.start(world_.node("s"), "server", [](Ports& ports) {
    ControlPlane plane(ports);
    EXPECT_EQ(plane.serve(kPort, true, "s3cret"), kPort);
    world::park_for_ever(ports);
    return 0;
  });
  std::string said;
  world_.start(world_.node("c"), "client", [&](Ports& ports) {
    world::sleep(ports, 1s);
    for (const char* shown :
         {"", "Authorization: Bearer s3cre\r\n", "Authorization: Bearer s3cretx\r\n",
          "Authorization: Basic s3cret\r\n", "Authorization: s3cret\r\n", "X: Bearer s3cret\r\n",
          "Authorization: Bearer s3cret\r\n"}) {
      auto stream = std::move(ports.network.connect({"s", kPort}, in(ports, 1s))).value();
      static_cast<void>(stream->write(sim::Buffer(std::string("POST /handler/ping HTTP/1.1\r\n") +
                                                  shown + "Content-Length: 0\r\n\r\n")));
      said += world::read_text(*stream, in(ports, 5s)).substr(9, 4);
    }
    return 0;
  });
  world_.run_for(1min);
  EXPECT_EQ(said, "401 401 401 401 401 401 200 ");
}

TEST_F(ControlPlaneTest, what_is_no_http_is_refused_and_the_next_client_served) {
  served([](Ports& ports, HttpClient& client) {
    for (const char* rubbish : {"hello\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\0\1\2\3"}) {
      auto stream = std::move(ports.network.connect({"s", kPort}, in(ports, 1s))).value();
      static_cast<void>(stream->write(sim::Buffer(std::string(rubbish) + "\r\n\r\n")));
      EXPECT_THAT(world::read_text(*stream, in(ports, 5s)), HasSubstr("HTTP/1.1 400"));
    }
    EXPECT_EQ(client.exchange({"POST", "/handler/ping", "", "", ""}, in(ports, 5s)).text(), "pong");
  });
}

TEST_F(ControlPlaneTest, requests_in_one_piece_and_in_many_are_the_same) {
  served([](Ports& ports, HttpClient&) {
    const std::string request =
        "POST /handler/ping HTTP/1.1\r\nHost: s\r\nContent-Length: 0\r\n\r\n";
    auto stream = std::move(ports.network.connect({"s", kPort}, in(ports, 1s))).value();
    static_cast<void>(stream->write(sim::Buffer(request + request)));
    for (const char c : request) {
      static_cast<void>(stream->write(sim::Buffer(std::string(1, c))));
      world::sleep(ports, 1ms);
    }
    std::string answers;
    while (true) {
      const std::string more = world::read_text(*stream, in(ports, 1s));
      if (more.starts_with("<")) break;
      answers += more;
    }
    std::size_t count = 0;
    for (std::size_t at = 0; (at = answers.find("pong", at)) != std::string::npos; ++at) ++count;
    EXPECT_EQ(count, 3U) << answers;
  });
}

TEST_F(ControlPlaneTest, a_flood_of_requests_in_one_piece_is_answered_one_by_one) {
  served([](Ports& ports, HttpClient&) {
    constexpr std::size_t kRequests = 50'000;
    std::string flood;
    for (std::size_t i = 0; i < kRequests; ++i) {
      flood += "POST /handler/ping HTTP/1.1\r\nContent-Length: 0\r\n\r\n";
    }
    auto stream = std::move(ports.network.connect({"s", kPort}, in(ports, 1s))).value();
    static_cast<void>(stream->write(sim::Buffer(flood)));
    std::size_t answers = 0;
    while (true) {
      const std::string more = world::read_text(*stream, in(ports, 1s));
      if (more.starts_with("<")) break;
      for (std::size_t at = 0; (at = more.find("pong", at)) != std::string::npos; ++at) ++answers;
    }
    EXPECT_GE(answers, kRequests - kRequests / 100) << "some lie across two pieces";
  });
}

TEST_F(ControlPlaneTest, of_idle_clients_the_one_silent_longest_gives_way) {
  served([](Ports& ports, HttpClient& client) {
    const auto ping = [&] {
      return client.exchange({"POST", "/handler/ping", "", "", ""}, in(ports, 5s)).text();
    };
    EXPECT_EQ(ping(), "pong");
    std::vector<std::unique_ptr<sim::Stream>> idle;
    for (std::size_t i = 0; i < 3 * HttpService::kFewConnections; ++i) {
      idle.push_back(std::move(ports.network.connect({"s", kPort}, in(ports, 5s))).value());
      static_cast<void>(idle.back()->write(sim::Buffer("GET /half-a-req")));
      world::sleep(ports, 1ms);
      // An agent that asks now and then is never the one.
      EXPECT_EQ(ping(), "pong");
    }
    std::size_t connected = 0;
    for (const auto& stream : idle) {
      const std::string last = world::read_text(*stream, in(ports, 10ms));
      if (last == "<timed out>") ++connected;
    }
    EXPECT_EQ(connected, HttpService::kFewConnections - 1);
  });
}

TEST_F(ControlPlaneTest, on_loopback_answers_no_client_from_another_machine) {
  std::string refused, served;
  world_.start(world_.node("s"), "agent", [&](Ports& ports) {
    ControlPlane plane(ports);
    plane.serve(kPort, false);
    HttpClient client(ports, {{"localhost", kPort}, {}});
    served = client.exchange({"POST", "/handler/ping", "", "", ""}, in(ports, 5s)).text();
    world::sleep(ports, 10s);
    return 0;
  });
  world_.start(world_.node("c"), "client", [&](Ports& ports) {
    world::sleep(ports, 1s);
    const auto stream = ports.network.connect({"s", kPort}, in(ports, 5s));
    refused = stream ? "connected" : std::string(to_string(stream.failure().fault));
    return 0;
  });
  world_.run_for(1min);
  EXPECT_EQ(served, "pong");
  EXPECT_EQ(refused, "connection refused");
}

/// What a server on a socket file answers to ping.
std::string pinged(Ports& ports, const std::string& path) {
  auto stream = ports.network.connect_local(path, in(ports, 1s));
  if (!stream) return "<" + std::string(to_string(stream.failure().fault)) + ">";
  static_cast<void>((*stream)->write(
      sim::Buffer("POST /handler/ping HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")));
  return world::read_text(**stream, in(ports, 5s));
}

TEST(ControlSocket, serves_beside_a_port_and_goes_with_the_control_plane) {
  world::TestWorld world;
  world.start(world.node("n"), "agent", [](Ports& ports) {
    {
      ControlPlane plane(ports);
      plane.serve(kPort, true);
      plane.serve("/control");
      EXPECT_THAT(pinged(ports, "/control"), HasSubstr("\r\n\r\npong"));
      HttpClient client(ports, {{"n", kPort}, {}});
      EXPECT_EQ(client.exchange({"POST", "/handler/ping", "", "", ""}, in(ports, 5s)).text(),
                "pong");
    }
    EXPECT_FALSE(ports.files.exists("/control"));
    return 0;
  });
  world.run();
}

TEST(ControlSocket, of_a_killed_agent_is_taken_over_and_that_of_a_living_one_is_not) {
  world::TestWorld world;
  const sim::NodeId node = world.node("n");
  world.start(node, "first", [](Ports& ports) {
    ControlPlane plane(ports);
    plane.serve("/control");
    world::sleep(ports, 10s);
    static_cast<void>(ports.processes.signal(ports.processes.self(), sim::Signal::kill));
    return 0;
  });
  std::string while_it_lives;
  bool done = false;
  world.start(node, "second", [&](Ports& ports) {
    world::sleep(ports, 1s);
    ControlPlane plane(ports);
    try {
      plane.serve("/control");
    } catch (const std::runtime_error& error) {
      while_it_lives = error.what();
    }
    world::sleep(ports, 10s);
    EXPECT_EQ(pinged(ports, "/control"), "<connection refused>");
    plane.serve("/control");
    EXPECT_THAT(pinged(ports, "/control"), HasSubstr("pong"));
    done = true;
    return 0;
  });
  world.run();
  EXPECT_EQ(while_it_lives, "cannot listen on /control: address already in use");
  EXPECT_TRUE(done);
}

TEST(ControlSocket, a_path_that_cannot_be_is_refused_with_the_reason) {
  world::TestWorld world;
  world.start(world.node("n"), "agent", [](Ports& ports) {
    ControlPlane plane(ports);
    const auto refusal = [&](const std::string& path) {
      try {
        plane.serve(path);
      } catch (const std::runtime_error& error) {
        return std::string(error.what());
      }
      return std::string("none");
    };
    static_cast<void>(ports.files.write("/file", "mine"));
    EXPECT_THAT(refusal("/none/control"), HasSubstr("not found"));
    EXPECT_THAT(refusal("/" + std::string(sim::kSocketPathBytesMax, 'x')),
                HasSubstr("longer than 107 bytes"));
    EXPECT_THAT(refusal("/file"), HasSubstr("already in use"));
    EXPECT_EQ(ports.files.read("/file").value(), "mine");
    return 0;
  });
  world.run();
}

}  // namespace
}  // namespace hooke::model
