// How the agents of a round hear where workers meet, and what a signal does to that.
#include "model/rendezvous/core/bootstrap.h"

#include <gtest/gtest.h>

#include "model/signals/signal_gate.h"
#include "properties/unit/model/agent/memory_store.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using Texts = std::vector<std::string>;

struct Exchange {
  Texts calls;  ///< of the store
  std::string how;
};

/// Of an agent of rank 1, which waits for rank 0 from the beginning; rank 0 tells its address after
/// two seconds. `interrupted`: SIGINT comes after one.
Exchange exchange_of_rank_one(bool interrupted) {
  world::TestWorld test;
  const sim::NodeId node = test.node("a");
  const auto shared = std::make_shared<MemoryStoreData>();
  Exchange out;
  const sim::Pid agent = test.start(node, "agent", [&](sim::Ports& ports) {
    static_cast<void>(ports.processes.catch_signal(sim::Signal::int_));
    MemoryStore store(ports, shared);
    Bootstrap bootstrap(ports, "a", {});
    try {
      const RendezvousStoreInfo info = bootstrap.for_round(1, store);
      out.how = info.master_addr + ":" + std::to_string(info.master_port);
    } catch (const SignalException& error) {
      out.how = error.what();
    }
    return 0;
  });
  test.start(node, "rank 0", [&](sim::Ports& ports) {
    MemoryStore store(ports, shared);
    ports.executor.sleep_until(ports.clock.monotonic_now() + 2s);
    store.set("MASTER_PORT", Value("29500"));
    store.set("MASTER_ADDR", Value("b"));
    return 0;
  });
  if (interrupted) {
    static_cast<void>(
        test.inject_at(1s, world::FaultKind::process_signal, [&](world::Fault& fault) {
          fault.node = node;
          fault.pid = agent;
          fault.signal = sim::Signal::int_;
        }));
  }
  test.run();
  for (const std::string& call : shared->calls) {
    if (call.starts_with("get ")) out.calls.push_back(call);
  }
  return out;
}

TEST(Bootstrap, reads_the_address_and_then_the_port) {
  const Exchange seen = exchange_of_rank_one(false);
  EXPECT_EQ(seen.how, "b:29500");
  EXPECT_EQ(seen.calls, (Texts{"get MASTER_ADDR", "get MASTER_PORT"}));
}

/// The native call does not hear a signal; the interpreter does before the next one.
TEST(Bootstrap, asks_for_nothing_more_after_a_signal_that_came_while_it_waited) {
  const Exchange seen = exchange_of_rank_one(true);
  EXPECT_EQ(seen.how, "Process 100 got signal: 2");
  EXPECT_EQ(seen.calls, (Texts{"get MASTER_ADDR"}));
}

}  // namespace
}  // namespace hooke::model
