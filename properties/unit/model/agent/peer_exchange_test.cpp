// What agents tell each other of their workers over a store.
#include "model/agent/peer_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "properties/unit/model/agent/memory_store.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using enum WorkerLife;

/// Two agents with two workers each: ranks 0, 1 and 2, 3.
class PeerExchanges : public testing::Test {
 protected:
  using Body = std::function<void(sim::Ports&, PeerExchange&)>;

  void agent(std::int64_t group_rank, Body body) {
    world_.start(world_.node("n" + std::to_string(group_rank)),
                 "agent " + std::to_string(group_rank), [=, this](sim::Ports& ports) {
                   WorkerGroup group;
                   group.store = std::make_shared<MemoryStore>(ports, data_);
                   group.group_rank = group_rank;
                   group.group_world_size = 2;
                   group.ranks = {2 * group_rank, 4, 2 * group_rank, 4};
                   PeerExchange exchange(ports, group, 1s, 5s);
                   body(ports, exchange);
                   return 0;
                 });
  }
  static void go_on(sim::Ports& ports, PeerExchange& exchange, const WorkerLives& own,
                    sim::Duration span) {
    const sim::MonotonicTime end = ports.clock.monotonic_now() + span;
    while (ports.clock.monotonic_now() < end) {
      exchange.exchange(own);
      world::sleep(ports, 100ms);
    }
  }

  world::TestWorld world_;
  std::shared_ptr<MemoryStoreData> data_ = std::make_shared<MemoryStoreData>();
};

TEST_F(PeerExchanges, of_a_store_that_names_a_size_no_group_has_keep_to_one_that_groups_have) {
  constexpr std::int64_t kLargest = 1'000'000;
  std::size_t known = 0;
  world_.start(world_.node("n0"), "agent 0", [&](sim::Ports& ports) {
    WorkerGroup group;
    group.store = std::make_shared<MemoryStore>(ports, data_);
    group.group_world_size = 2;
    group.ranks = {0, 2 * kLargest, 0, 2 * kLargest};
    known = PeerExchange(ports, group, 1s, 5s).lives().size();
    return 0;
  });
  world_.run();
  EXPECT_EQ(known, static_cast<std::size_t>(kLargest));
}

TEST_F(PeerExchanges, of_two_agents_tell_each_of_the_others_workers) {
  WorkerLives first, second, left;
  agent(0, [&](sim::Ports& ports, PeerExchange& exchange) {
    go_on(ports, exchange, {alive, silent}, 4s);
    first = exchange.lives();
    go_on(ports, exchange, {alive, silent}, 10s);
    left = exchange.lives();
  });
  agent(1, [&](sim::Ports& ports, PeerExchange& exchange) {
    go_on(ports, exchange, {alive, unknown}, 2s);
    go_on(ports, exchange, {alive, ended}, 2s);
    second = exchange.lives();
  });
  world_.run();
  EXPECT_EQ(first, (WorkerLives{alive, silent, alive, ended}));
  EXPECT_EQ(second, first);
  EXPECT_EQ(left, (WorkerLives{alive, silent, silent, ended})) << "the other agent has gone";
}

TEST_F(PeerExchanges, leaves_the_workers_of_an_agent_that_tells_nothing_unknown) {
  agent(0, [&](sim::Ports& ports, PeerExchange& exchange) {
    go_on(ports, exchange, {alive, alive}, 10s);
    EXPECT_EQ(exchange.lives(), (WorkerLives{alive, alive, unknown, unknown}));
  });
  world_.run();
  for (const std::string& call : data_->calls) {
    EXPECT_THAT(call, testing::AnyOf("set hooke/workers/0", "check hooke/workers/1"));
  }
  EXPECT_LE(data_->calls.size(), 2U * 11U) << "once in a second";
}

TEST_F(PeerExchanges, goes_on_without_a_store_and_asks_it_seldom) {
  data_->lost = true;
  agent(0, [&](sim::Ports& ports, PeerExchange& exchange) {
    go_on(ports, exchange, {alive, ended}, 20s);
    EXPECT_EQ(exchange.lives(), (WorkerLives{alive, ended, unknown, unknown}));
  });
  world_.run();
  EXPECT_LE(data_->calls.size(), 5U);
}

TEST_F(PeerExchanges, passes_over_what_another_program_has_written_there) {
  data_->values["hooke/workers/1"] = Value(std::string("hello"));
  agent(0, [&](sim::Ports& ports, PeerExchange& exchange) {
    go_on(ports, exchange, {alive, alive}, 3s);
    EXPECT_EQ(exchange.lives(), (WorkerLives{alive, alive, unknown, unknown}));
  });
  world_.run();
}

}  // namespace
}  // namespace hooke::model
