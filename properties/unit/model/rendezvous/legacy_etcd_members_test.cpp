// Members of a version that are lost, late, left out or missing (legacy rendezvous on etcd).
#include <gmock/gmock.h>

#include <algorithm>
#include <set>
#include <string>

#include "model/etcd/v2_client.h"
#include "model/rendezvous/core/errors.h"
#include "properties/unit/model/rendezvous/legacy_etcd_handlers.h"

namespace hooke::model {
namespace {

TEST_F(LegacyEtcdHandlers, wait_for_no_member_that_is_lost_before_the_group_is_formed) {
  parameters_.variant = Variant::hardened;
  node("a", [](Ports& ports, RendezvousHandler& handler) {
    const RendezvousInfo info = handler.next_rendezvous();
    EXPECT_EQ(info.world_size, 2);
    const auto begin = ports.clock.monotonic_now();
    EXPECT_THROW(static_cast<void>(info.store->get("what b would have written")),
                 RendezvousGroupLostError);
    EXPECT_LT(ports.clock.monotonic_now() - begin, 20s);
  });
  node("b", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 1s);  // so that a is rank 0
    EXPECT_EQ(handler.next_rendezvous().rank, 1);
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 2);
}

/// Within the time that it has for joining: the round's store is asked again for a minute.
TEST_F(LegacyEtcdHandlers, wait_in_no_round_that_is_not_formed_yet_for_an_etcd_that_fails) {
  parameters_.variant = Variant::hardened;
  node("a", [this](Ports& ports, RendezvousHandler& handler) {
    const RendezvousInfo info = handler.next_rendezvous();
    world_.inject(world::FaultKind::service_error, [&](world::Fault& fault) {
      fault.node = etcd_;
      fault.port = kLegacyPort;
    });
    const auto begin = ports.clock.monotonic_now();
    EXPECT_THROW(static_cast<void>(info.store->get("what b would have written")),
                 RendezvousGroupLostError);
    EXPECT_LT(ports.clock.monotonic_now() - begin, 10s);
  });
  one_of_two("b", 60s);
  world_.run_for(10min);
  EXPECT_EQ(done_, 2);
}

TEST_F(LegacyEtcdHandlers, say_which_members_are_missing) {
  parameters_.variant = Variant::hardened;
  node("a", [](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().world_size, 2);
    EXPECT_EQ(handler.group_state(), GroupState::whole);
    EXPECT_THAT(handler.missing_ranks(), testing::IsEmpty());
    sleep(ports, 20s);
    EXPECT_EQ(handler.group_state(), GroupState::broken);
    EXPECT_THAT(handler.missing_ranks(), testing::ElementsAre(1));
  });
  node("b", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 1s);  // so that a is rank 0
    EXPECT_EQ(handler.next_rendezvous().rank, 1);
    sleep(ports, 2s);
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 2);
}

/// As above, but b closes the version before it goes.
TEST_F(LegacyEtcdHandlers, say_which_members_of_a_closed_version_are_missing) {
  parameters_.variant = Variant::hardened;
  node("a", [](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().world_size, 2);
    sleep(ports, 5s);
    EXPECT_EQ(handler.group_state(), GroupState::closed);
    EXPECT_THAT(handler.missing_ranks(), testing::IsEmpty()) << "its keep-alive lives on";
    sleep(ports, 15s);
    EXPECT_EQ(handler.group_state(), GroupState::closed);
    EXPECT_THAT(handler.missing_ranks(), testing::ElementsAre(1));
  });
  node("b", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 1s);  // so that a is rank 0
    EXPECT_EQ(handler.next_rendezvous().rank, 1);
    sleep(ports, 2s);
    EXPECT_TRUE(handler.shutdown());
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 2);
}

/// c waits beside a and b, and b goes: a hears of the version that c begins.
TEST_F(LegacyEtcdHandlers, are_waited_for_in_a_version_that_has_begun_without_them) {
  parameters_.variant = Variant::hardened;
  node("a", [](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().world_size, 2);
    sleep(ports, 6s);
    EXPECT_EQ(handler.num_nodes_waiting(), 0) << "for c there is no seat";
    EXPECT_EQ(handler.successor(), Successor::none);
    std::int64_t waiting = 0;
    for (int i = 0; i < 100 && waiting == 0; ++i) {
      sleep(ports, 200ms);
      waiting = handler.num_nodes_waiting();
    }
    EXPECT_EQ(waiting, 1);
    EXPECT_EQ(handler.successor(), Successor::begun);
    EXPECT_EQ(handler.group_state(), GroupState::over);
    EXPECT_EQ(handler.next_rendezvous().round, 2);
  });
  one_of_two("b", 8s);
  node("c", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 5s);
    EXPECT_EQ(handler.next_rendezvous().world_size, 2);
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 3);
}

/// Eight want the seat of a full version, and requests are answered one after the other, in 600 ms
/// each.
TEST_F(LegacyEtcdHandlers, give_up_between_two_attempts_where_etcd_is_slow) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 1;
  parameters_.config["timeout"] = "20s";
  node("a", [](Ports& ports, RendezvousHandler& handler) {
    static_cast<void>(handler.next_rendezvous());
    sleep(ports, 5min);
  });
  sim::Duration longest{};
  for (const char* name : {"b", "c", "d", "e", "f", "g", "h", "i"}) {
    node(name, [&](Ports& ports, RendezvousHandler& handler) {
      sleep(ports, 2s);
      const auto begin = ports.clock.monotonic_now();
      EXPECT_THROW(static_cast<void>(handler.next_rendezvous()), RendezvousTimeoutError);
      longest = std::max(longest, ports.clock.monotonic_now() - begin);
    });
  }
  world_.inject_at(2500ms, world::FaultKind::service_slow, [this](world::Fault& fault) {
    fault.node = etcd_;
    fault.port = kLegacyPort;
    fault.span = 600ms;
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 9);
  EXPECT_LT(longest, 27s) << "20 s, and the request under way, behind those of eight others";
}

/// There is no version, and to begin one takes six requests of 4 s each.
TEST_F(LegacyEtcdHandlers, give_up_while_they_begin_a_version_where_etcd_is_slow) {
  parameters_.variant = Variant::hardened;
  parameters_.config["timeout"] = "6s";
  sim::Duration longest{};
  node("a", [&](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 2s);
    const auto begin = ports.clock.monotonic_now();
    EXPECT_THROW(static_cast<void>(handler.next_rendezvous()), RendezvousTimeoutError);
    longest = ports.clock.monotonic_now() - begin;
  });
  world_.inject_at(2500ms, world::FaultKind::service_slow, [this](world::Fault& fault) {
    fault.node = etcd_;
    fault.port = kLegacyPort;
    fault.span = 4s;
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 1);
  EXPECT_GT(longest, 6s);
  EXPECT_LT(longest, 6s + 3 * 4s) << "three requests between two looks at the clock";
}

/// etcd loses all it has, and b begins with the number of the version that a was in: a, which comes
/// back to that number, is a stranger beside it.
TEST_F(LegacyEtcdHandlers, do_not_come_back_to_a_version_of_the_same_number_that_is_anothers) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 1;
  node("a", [this](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().round, 1);
    modes_->expire(felt_);
    sleep(ports, 20s);
    EXPECT_EQ(handler.next_rendezvous().round, 2) << "when b has gone";
  });
  node("b", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 10s);
    EXPECT_EQ(handler.next_rendezvous().round, 1);
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(handler.num_nodes_waiting(), 0) << "all seats are taken";
      sleep(ports, 1s);
    }
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 2);
}

/// As above, but a is at work, and looks for what has become of its version.
TEST_F(LegacyEtcdHandlers, know_that_a_version_of_the_same_number_is_anothers) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 1;
  node("a", [this](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().round, 1);
    EXPECT_EQ(handler.group_state(), GroupState::whole);
    sleep(ports, 10s);
    modes_->expire(felt_);
    sleep(ports, 5s);
    EXPECT_EQ(handler.group_state(), GroupState::over) << "b is at work in it";
    sleep(ports, 10s);
    EXPECT_EQ(handler.group_state(), GroupState::over) << "b has closed it";
  });
  node("b", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 11s);
    EXPECT_EQ(handler.next_rendezvous().round, 1);
    EXPECT_EQ(handler.group_state(), GroupState::whole) << "to b it is its own";
    sleep(ports, 6s);
    EXPECT_TRUE(handler.shutdown());
    sleep(ports, 10s);
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 2);
}

/// etcd's machine crashes while a waits in version 1 for another node, and b and c begin with 1
/// before a has seen that: a is in none of theirs, and there is no second rank 0.
TEST_F(LegacyEtcdHandlers, hold_no_place_in_a_forming_version_that_etcd_has_lost) {
  parameters_.variant = Variant::hardened;
  parameters_.min_nodes = 2;
  parameters_.max_nodes = 3;
  std::multiset<std::int64_t> ranks;
  const auto join = [&](Ports& ports, RendezvousHandler& handler) {
    const RendezvousInfo info = handler.next_rendezvous();
    EXPECT_EQ(info.world_size, 3);
    ranks.insert(info.rank);
    sleep(ports, 5s);
  };
  node("a", join);
  for (const char* name : {"b", "c"}) {
    node(name, [&](Ports& ports, RendezvousHandler& handler) {
      sleep(ports, 3s);
      EXPECT_EQ(handler.next_rendezvous().world_size, 2);
      while (handler.num_nodes_waiting() == 0) sleep(ports, 100ms);
      join(ports, handler);
    });
  }
  world_.start(world_.node("other"), "other", [](Ports& ports) {  // etcd is not this job's alone
    sleep(ports, 4500ms);
    EtcdOptions options;
    options.server.endpoint = {"s", kLegacyPort};
    EtcdV2Client client(ports, options);
    for (int i = 0; i < 50; ++i) client.put("/other", {.value = "x"});
    return 0;
  });
  const auto on_its_machine = [this](world::Fault& fault) { fault.node = etcd_; };
  world_.inject_at(3s, world::FaultKind::node_crash, on_its_machine);
  world_.inject_at(3500ms, world::FaultKind::node_restart, on_its_machine);
  world_.at(3600ms, [this] { world_.start_again(etcd_, "server"); });
  world_.run_for(10min);
  EXPECT_THAT(ranks, testing::ElementsAre(0, 1, 2));
}

/// As above, but a looks when c has done all the work: its own version is over all the same.
TEST_F(LegacyEtcdHandlers, know_that_they_were_left_out_of_a_version_that_has_closed_since) {
  parameters_.variant = Variant::hardened;
  node("a", [](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().world_size, 2);
    sleep(ports, 40s);
    EXPECT_TRUE(handler.is_closed());
    EXPECT_EQ(handler.group_state(), GroupState::over);
  });
  one_of_two("b", 8s);
  node("c", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 5s);
    EXPECT_EQ(handler.next_rendezvous().world_size, 1);
    EXPECT_TRUE(handler.shutdown());
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 3);
}

/// As above, but c is still at work when a, which was in b's version, closes.
TEST_F(LegacyEtcdHandlers, close_no_version_that_has_begun_without_them) {
  parameters_.variant = Variant::hardened;
  node("a", [](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().world_size, 2);
    sleep(ports, 40s);
    EXPECT_TRUE(handler.shutdown());
    EXPECT_FALSE(handler.is_closed());
  });
  one_of_two("b", 8s);
  node("c", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 5s);
    EXPECT_EQ(handler.next_rendezvous().world_size, 1);
    sleep(ports, 60s);
    EXPECT_EQ(handler.group_state(), GroupState::whole);
    EXPECT_TRUE(handler.shutdown());
    EXPECT_TRUE(handler.is_closed());
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 3);
}

/// etcd comes up empty, and c, which has waited beside a and b, begins a version that no agent
/// joins.
TEST_F(LegacyEtcdHandlers, close_what_newcomers_alone_have_begun) {
  parameters_.variant = Variant::hardened;
  node("a", [this](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().world_size, 2);
    sleep(ports, 10s);
    modes_->expire(felt_);
    sleep(ports, 10s);
    EXPECT_EQ(handler.successor(), Successor::begun);
    EXPECT_TRUE(handler.shutdown());
    EXPECT_TRUE(handler.is_closed());
  });
  one_of_two("b", 30s);
  node("c", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 5s);
    EXPECT_THROW(static_cast<void>(handler.next_rendezvous()), RendezvousGracefulExitError)
        << "it was a spare from beginning to end";
  });
  parameters_.min_nodes = 2;
  world_.run_for(10min);
  EXPECT_EQ(done_, 3);
}

/// The most messages of one process in ten seconds.
std::int64_t most_asked(const world::TestWorld& world) {
  std::int64_t most = 0;
  for (const std::string& line : world.events.starting_with("process.asked"))
    most = std::max<std::int64_t>(most, std::stoll(line.substr(line.rfind('=') + 1)));
  return most;
}

TEST_F(LegacyEtcdHandlers, pause_where_etcd_tells_them_at_once_of_what_they_know) {
  parameters_.variant = Variant::hardened;
  modes_->begin(EtcdMisbehaviour::Mode::duplicate_events, felt_);
  node("a", [](Ports&, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().world_size, 1);
  });
  world_.run_for(1min);
  EXPECT_GT(felt_, 0U);
  EXPECT_LT(most_asked(world_), 150) << "without a pause it is some thousands";
  EXPECT_EQ(done_, 1);
}

TEST_F(LegacyEtcdHandlers, pause_where_etcd_has_forgotten_what_follows_the_index_that_it_gives) {
  parameters_.variant = Variant::hardened;
  one_of_two("a", 20s);
  one_of_two("b", 20s);
  world_.at(5s, [&] { modes_->begin(EtcdMisbehaviour::Mode::stale_read, felt_); });
  world_.at(10s, [&] { modes_->begin(EtcdMisbehaviour::Mode::compaction, felt_); });
  node("c", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 15s);
    EXPECT_EQ(handler.next_rendezvous().world_size, 1);
  });
  world_.run_for(10min);
  EXPECT_LT(most_asked(world_), 300);
  EXPECT_EQ(done_, 3);
}

}  // namespace
}  // namespace hooke::model
