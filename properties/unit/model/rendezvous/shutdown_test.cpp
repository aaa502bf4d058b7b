// The orderly end of a rendezvous, on every backend that knows which others are there.
#include "model/rendezvous/core/shutdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/etcd/v2_server.h"
#include "model/rendezvous/registry.h"
#include "model/store/kinds/tcp_stores.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Ports;
using world::sleep;

constexpr sim::PortNumber kPort{29400};

class Shutdown : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    server_ = world_.start(world_.node("s"), "server", [](Ports& ports) {
      std::unique_ptr<TcpStoreServer> store;
      std::unique_ptr<EtcdV2Server> etcd;
      if (std::string_view(GetParam()) == "c10d") {
        store = serve_tcp_store(ports, kPort, "rendezvous");
      } else {
        etcd = std::make_unique<EtcdV2Server>(ports, kPort);
      }
      world::park_for_ever(ports);
      return 0;
    });
  }

  /// A node that joins with another one and goes on with `body`.
  void node(const std::string& name, const std::function<void(Ports&, RendezvousShutdown&)>& body) {
    world_.start(world_.node(name), name, [=, this](Ports& ports) {
      sleep(ports, 1s);
      RendezvousParameters parameters;
      parameters.backend = GetParam();
      parameters.endpoint = "s:29400";
      parameters.run_id = "job";
      parameters.min_nodes = parameters.max_nodes = 2;
      parameters.config = {{"is_host", "0"},
                           {"keep_alive_interval", "1s"},
                           {"keep_alive_max_attempt", "3"},
                           {"read_timeout", "2s"},
                           {"close_timeout", "5s"}};
      RendezvousShutdown shutdown(ports,
                                  RendezvousRegistry::with_builtins().create(ports, parameters));
      EXPECT_EQ(shutdown.handler()->next_rendezvous().world_size, 2);
      body(ports, shutdown);
      ++done_;
      return 0;
    });
  }
  void run(int nodes) {
    world_.run_for(10min);
    EXPECT_EQ(done_, nodes);
  }

  world::TestWorld world_;
  sim::Pid server_{};
  int done_ = 0;
};

INSTANTIATE_TEST_SUITE_P(, Shutdown, testing::Values("c10d", "etcd-v2", "etcd"),
                         [](const auto& backend) {
                           std::string name = backend.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST_P(Shutdown, a_users_own_one_ends_the_heartbeats_with_the_handler) {
  node("a", [](Ports& ports, RendezvousShutdown& shutdown) {
    EXPECT_TRUE(shutdown({.instead = [](RendezvousHandler&) { return true; }}));
    EXPECT_EQ(shutdown.handler(), nullptr);
    sleep(ports, 2min);
  });
  node("b", [](Ports& ports, RendezvousShutdown& shutdown) {
    EXPECT_THAT(shutdown.handler()->others_alive(), testing::SizeIs(1));
    sleep(ports, 40s);
    EXPECT_THAT(shutdown.handler()->others_alive(), testing::IsEmpty());
  });
  run(2);
}

TEST_P(Shutdown, a_graceful_one_waits_for_the_others_and_then_closes) {
  sim::Duration took{};
  node("a", [&](Ports& ports, RendezvousShutdown& shutdown) {
    const sim::MonotonicTime begin = ports.clock.monotonic_now();
    EXPECT_TRUE(shutdown({.graceful = true, .timeout = 100s}));
    took = ports.clock.monotonic_now() - begin;
    EXPECT_EQ(shutdown.handler(), nullptr) << "its stores and background work are gone";
  });
  node("b", [](Ports& ports, RendezvousShutdown& shutdown) {
    sleep(ports, 20s);
    EXPECT_FALSE(shutdown.handler()->is_closed()) << "no agent closes it under a node at work";
  });
  run(2);
  EXPECT_GT(took, 19s);
  EXPECT_LT(took, 45s) << "until the other's last sign of life is too old";
}

TEST_P(Shutdown, two_graceful_ones_do_not_wait_for_each_other) {
  const auto takes_little = [](Ports& ports, RendezvousShutdown& shutdown) {
    const sim::MonotonicTime begin = ports.clock.monotonic_now();
    EXPECT_TRUE(shutdown({.graceful = true, .timeout = 100s}));
    EXPECT_LT(ports.clock.monotonic_now() - begin, 5s);
  };
  node("a", takes_little);
  node("b", takes_little);
  run(2);
}

TEST_P(Shutdown, a_strict_one_is_not_refused_for_those_whose_work_is_done) {
  node("a", [&](Ports& ports, RendezvousShutdown& shutdown) {
    sleep(ports, 2s);
    EXPECT_TRUE(shutdown({.strict = true}));
  });
  node("b", [](Ports& ports, RendezvousShutdown& shutdown) {
    tell_work_done(*shutdown.handler());
    sleep(ports, 30s);
  });
  run(2);
}

TEST_P(Shutdown, a_graceful_one_waits_no_longer_than_its_timeout) {
  sim::Duration took{};
  node("a", [&](Ports& ports, RendezvousShutdown& shutdown) {
    const sim::MonotonicTime begin = ports.clock.monotonic_now();
    EXPECT_TRUE(shutdown({.graceful = true, .timeout = 5s}));
    took = ports.clock.monotonic_now() - begin;
  });
  node("b", [](Ports& ports, RendezvousShutdown& shutdown) {
    sleep(ports, 60s);
    EXPECT_TRUE(shutdown.handler()->is_closed());
  });
  run(2);
  EXPECT_GE(took, 5s);
  EXPECT_LT(took, 7s);
}

TEST_P(Shutdown, a_strict_one_is_refused_while_others_are_at_work) {
  node("a", [&](Ports& ports, RendezvousShutdown& shutdown) {
    EXPECT_THROW(shutdown({.strict = true}), RendezvousStateError);
    EXPECT_FALSE(shutdown.handler()->is_closed()) << "a refusal does nothing";
    sleep(ports, 40s);
    EXPECT_TRUE(shutdown({.strict = true}));
  });
  node("b", [](Ports& ports, RendezvousShutdown&) { sleep(ports, 10s); });
  run(2);
}

TEST_P(Shutdown, takes_effect_once_and_refuses_arguments_that_mean_nothing) {
  node("a", [&](Ports&, RendezvousShutdown& shutdown) {
    EXPECT_THROW(shutdown({.timeout = 0s}), std::invalid_argument);
    EXPECT_THROW(shutdown({.graceful = true, .strict = true}), std::invalid_argument);
    int calls = 0;
    const auto own = [&](RendezvousHandler&) { return ++calls > 1; };
    EXPECT_FALSE(shutdown({.instead = own}));
    EXPECT_FALSE(shutdown({.instead = own})) << "the first result stands";
    EXPECT_FALSE(shutdown({.graceful = true, .timeout = 1s}));
    EXPECT_EQ(calls, 1);
  });
  node("b", [](Ports& ports, RendezvousShutdown& shutdown) {
    sleep(ports, 30s);
    EXPECT_FALSE(shutdown.handler()->is_closed()) << "the user's own way closes what it closes";
  });
  run(2);
}

TEST_P(Shutdown, with_a_dead_store_ends_and_says_that_it_could_not_close) {
  sim::Duration took{};
  node("a", [&](Ports& ports, RendezvousShutdown& shutdown) {
    sleep(ports, 10s);
    const sim::MonotonicTime begin = ports.clock.monotonic_now();
    EXPECT_FALSE(shutdown({.graceful = true, .timeout = 100s}));
    took = ports.clock.monotonic_now() - begin;
  });
  node("b", [](Ports& ports, RendezvousShutdown&) { sleep(ports, 60s); });
  world_.at(8s, [&] {
    world_.inject(world::FaultKind::process_signal, [&](world::Fault& fault) {
      fault.node = sim::NodeId{0};
      fault.pid = server_;
    });
  });
  run(2);
  EXPECT_LT(took, 60s);
}

}  // namespace
}  // namespace hooke::model
