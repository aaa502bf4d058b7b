// Timers over a queue, and a server of a user's own.
#include "model/timer/queue_timer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/observe/python_error.h"
#include "model/timer/kinds/timers_of_variant.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Pid;
using sim::Ports;
using world::sleep;

constexpr sim::PortNumber kPort{4900};

/// Gives a worker a second life: the first try fails, the second one is left to somebody else.
class HesitantServer final : public QueueTimerServer {
 public:
  using QueueTimerServer::QueueTimerServer;
  std::vector<std::int64_t> asked;

 protected:
  bool reap_worker(std::int64_t worker) override {
    asked.push_back(worker);
    return asked.size() > 1;
  }
};

class QueueTimer : public testing::Test {
 protected:
  Pid serve(sim::Duration span, Variant variant = Variant::torch_2_x) {
    return world_.start(node_, "server", [=](Ports& ports) {
      const auto queue = std::make_shared<TimerQueue>(ports.executor);
      const TimerListener listener(ports, kPort, queue);
      const auto server = make_queue_timer_server(ports, queue, 500ms, {}, variant);
      server->start();
      sleep(ports, span);
      server->stop();
      return server->last_progress_time() > ports.clock.wall_now() - 2s ? 0 : 1;
    });
  }
  Pid work(const std::function<void(Ports&, QueueTimerClient&)>& body) {
    return world_.start(node_, "worker " + std::to_string(++workers_), [=](Ports& ports) {
      QueueTimerClient client(ports, {"localhost", kPort});
      try {
        body(ports, client);
      } catch (const EscapedPythonError&) {
        return 32;
      }
      sleep(ports, 1min);
      return 0;
    });
  }
  std::optional<int> code(Pid pid) { return world_.exit_code(node_, pid); }

  world::TestWorld world_;
  sim::NodeId node_ = world_.node("n");
  int workers_ = 0;
};

TEST_F(QueueTimer, no_other_machine_is_heard) {
  const Pid server = serve(2min);
  const Pid victim = world_.start(node_, "victim", [](Ports& ports) {
    sleep(ports, 1min);
    return 0;
  });
  const sim::NodeId far = world_.node("far");
  const Pid attacker = world_.start(far, "attacker", [=](Ports& ports) {
    sleep(ports, 100ms);
    auto stream = ports.network.connect({"n", kPort}, ports.clock.monotonic_now() + 10s);
    if (!stream) return stream.failure().fault == sim::Fault::connection_refused ? 0 : 1;
    const TimerRequest past{victim.value, "x", ports.clock.wall_now() - 1s};
    static_cast<void>(stream.value()->write(sim::Buffer(encode_timer_request(past) + "\n")));
    sleep(ports, 10s);
    return 2;
  });
  world_.run_for(3min);
  EXPECT_EQ(code(victim), 0);
  EXPECT_EQ(world_.exit_code(far, attacker), 0);
  EXPECT_EQ(code(server), 0);
}

TEST_F(QueueTimer, ends_only_the_worker_that_let_its_deadline_pass) {
  const Pid server = serve(2min);
  const Pid late = work([](Ports& ports, QueueTimerClient& client) {
    client.acquire("step", ports.clock.wall_now() + 2s);
  });
  const Pid in_time = work([](Ports& ports, QueueTimerClient& client) {
    client.acquire("step", ports.clock.wall_now() + 2s);
    client.acquire("other", ports.clock.wall_now() + 3s);
    sleep(ports, 1s);
    client.release("step");
    client.release("other");
  });
  world_.run_for(3min);
  EXPECT_EQ(code(late), -9);
  EXPECT_EQ(code(in_time), 0);
  EXPECT_EQ(code(server), 0);
}

TEST_F(QueueTimer, a_hardened_server_that_stood_still_hears_the_releases_before_it_acts) {
  const Pid server = serve(2min, Variant::hardened);
  const Pid in_time = work([](Ports& ports, QueueTimerClient& client) {
    sleep(ports, 2s);
    for (const char* scope : {"one", "two", "three"}) {
      client.acquire(scope, ports.clock.wall_now() + 2s);
      sleep(ports, 1s);
      client.release(scope);
    }
  });
  const Pid late = work([](Ports& ports, QueueTimerClient& client) {
    sleep(ports, 2s);
    client.acquire("step", ports.clock.wall_now() + 2s);
  });
  world_.inject_at(1s, world::FaultKind::process_pause, [&](world::Fault& fault) {
    fault.node = node_;
    fault.pid = server;
    fault.duration = 20s;
  });
  world_.run_for(3min);
  EXPECT_EQ(code(in_time), 0);
  EXPECT_EQ(code(late), -9);
}

TEST_F(QueueTimer, a_hardened_server_may_end_while_it_listens_once_more) {
  bool done = false;
  world_.start(node_, "server", [&](Ports& ports) {
    const auto queue = std::make_shared<TimerQueue>(ports.executor);
    auto server = make_queue_timer_server(ports, queue, 1ms, PlantedSet{}, Variant::hardened);
    server->start();
    queue->put({77, "step", ports.clock.wall_now() + 1s});
    sleep(ports, 1s + 4ms);
    server->stop();  // waits no longer than the interval
    server = nullptr;
    sleep(ports, 1s);
    done = true;
    return 0;
  });
  world_.run_for(1min);
  EXPECT_TRUE(done);
  EXPECT_EQ(world_.events.count("timer.killed"), 0U);
}

TEST_F(QueueTimer, without_a_server_the_worker_is_told) {
  const Pid worker = work([](Ports& ports, QueueTimerClient& client) {
    client.acquire("step", ports.clock.wall_now() + 2s);
  });
  world_.run_for(3min);
  EXPECT_EQ(code(worker), 32);
}

TEST_F(QueueTimer, a_malformed_line_ends_its_connection_and_no_other) {
  serve(2min);
  world_.start(node_, "stranger", [](Ports& ports) {
    auto stream = std::move(ports.network.connect({"localhost", kPort}, std::nullopt)).value();
    static_cast<void>(stream->write(sim::Buffer(std::string("hello\n"))));
    return world::read_text(*stream) == "<end>" ? 0 : 1;
  });
  const Pid late = work([](Ports& ports, QueueTimerClient& client) {
    sleep(ports, 1s);
    client.acquire("step", ports.clock.wall_now() + 2s);
  });
  world_.run_for(3min);
  EXPECT_EQ(code(late), -9);
  EXPECT_EQ(world_.events.count("watchdog.failed"), 1U);
}

TEST_F(QueueTimer, a_users_own_server_decides_how_a_worker_ends) {
  std::vector<std::int64_t> asked;
  world_.start(node_, "server", [&](Ports& ports) {
    const auto queue = std::make_shared<TimerQueue>(ports.executor);
    HesitantServer server(ports, queue, 500ms);
    server.start();
    queue->put({77, "step", ports.clock.wall_now() + 1s});
    sleep(ports, 10s);
    server.stop();
    asked = server.asked;
    return 0;
  });
  world_.run_for(1min);
  EXPECT_THAT(asked, testing::ElementsAre(77, 77)) << "false asks for another try, true ends it";
}

}  // namespace
}  // namespace hooke::model
