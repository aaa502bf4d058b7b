// The legacy rendezvous on etcd: traps that no scenario can set up.
#include <gmock/gmock.h>

#include "model/rendezvous/core/errors.h"
#include "properties/unit/model/rendezvous/legacy_etcd_handlers.h"

namespace hooke::model {
namespace {

TEST_F(LegacyEtcdHandlers, cannot_close_what_has_not_begun) {  // S-L11
  node("a", [](Ports&, RendezvousHandler& handler) {
    EXPECT_ANY_THROW(handler.set_closed());
    EXPECT_FALSE(handler.shutdown());
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 1);
}

TEST_F(LegacyEtcdHandlers, has_nothing_to_close_before_it_has_begun_where_hardened) {  // S-L11
  parameters_.variant = Variant::hardened;
  node("a", [](Ports&, RendezvousHandler& handler) { EXPECT_TRUE(handler.shutdown()); });
  world_.run_for(10min);
  EXPECT_EQ(done_, 1);
}

TEST_F(LegacyEtcdHandlers, go_on_with_their_versions_when_etcd_has_lost_them) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 1;
  node("a", [&](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().round, 1);
    modes_->expire(felt_);
    sleep(ports, 20s);
    EXPECT_GT(felt_, 0U);
    EXPECT_EQ(handler.group_state(), GroupState::over);
    EXPECT_EQ(handler.next_rendezvous().round, 2);
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 1);
}

TEST_F(LegacyEtcdHandlers, have_news_once_a_second_where_hardened) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 2;
  parameters_.min_nodes = 1;
  node("a", [&](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().round, 1);
    sleep(ports, 1s);
    EXPECT_TRUE(handler.may_have_news());
    EXPECT_EQ(handler.group_state(), GroupState::whole);
    EXPECT_FALSE(handler.may_have_news());
    sleep(ports, 999ms);
    EXPECT_FALSE(handler.may_have_news());
    sleep(ports, 1ms);
    EXPECT_TRUE(handler.may_have_news());
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 1);
}

TEST_F(LegacyEtcdHandlers, let_no_newcomer_begin_again_with_a_version_it_has_seen) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 1;
  node("a", [&](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().round, 1);
    sleep(ports, 20s);
    modes_->expire(felt_);
  });
  node("b", [&](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 10s);
    EXPECT_EQ(handler.next_rendezvous().round, 2);
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 2);
}

TEST_F(LegacyEtcdHandlers, send_a_spare_away_in_peace_when_the_job_is_over) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 1;
  node("a", [](Ports& ports, RendezvousHandler& handler) {
    static_cast<void>(handler.next_rendezvous());
    sleep(ports, 30s);
    EXPECT_TRUE(handler.shutdown());
  });
  node("b", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 10s);
    EXPECT_THROW(handler.next_rendezvous(), RendezvousGracefulExitError);
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 2);
}

TEST_F(LegacyEtcdHandlers, say_that_they_wait_beside_a_version_of_others_but_not_beside_their_own) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 1;
  int by_a = 0;
  int by_b = 0;
  node("a", [&](Ports& ports, RendezvousHandler& handler) {
    handler.when_waiting([&] { ++by_a; });
    EXPECT_EQ(handler.next_rendezvous().round, 1);
    EXPECT_EQ(handler.next_rendezvous().round, 2);
    sleep(ports, 20s);
    EXPECT_TRUE(handler.shutdown());
  });
  node("b", [&](Ports& ports, RendezvousHandler& handler) {
    handler.when_waiting([&] { ++by_b; });
    sleep(ports, 20s);
    EXPECT_THROW(handler.next_rendezvous(), RendezvousGracefulExitError);
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 2);
  EXPECT_EQ(by_a, 0);
  EXPECT_EQ(by_b, 1);
}

TEST_F(LegacyEtcdHandlers, say_that_they_close_anew_where_etcd_has_come_up_empty) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 1;
  int told = 0;
  node("a", [&](Ports& ports, RendezvousHandler& handler) {
    handler.when_closing_anew([&] { ++told; });
    EXPECT_EQ(handler.next_rendezvous().round, 1);
    EXPECT_TRUE(handler.shutdown());
    EXPECT_EQ(told, 0);
    modes_->expire(felt_);
    sleep(ports, 10s);
    EXPECT_TRUE(handler.shutdown());
    EXPECT_EQ(told, 1);
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 1);
}

TEST_F(LegacyEtcdHandlers, ask_how_a_version_ended_before_they_take_it_away) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 1;
  node("a", [](Ports& ports, RendezvousHandler& handler) {
    handler.next_rendezvous().store->set("last words", Value("done"));
    sleep(ports, 20s);
  });
  int asked = 0;
  node("b", [&](Ports& ports, RendezvousHandler& handler) {
    handler.when_abandoned([&](std::int64_t version, Store& store) {
      ++asked;
      EXPECT_EQ(version, 1);
      EXPECT_TRUE(store.check({"last words"}));
      return true;
    });
    sleep(ports, 10s);
    EXPECT_THROW(handler.next_rendezvous(), RendezvousGracefulExitError);
    EXPECT_TRUE(handler.is_closed());
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 2);
  EXPECT_EQ(asked, 1);
}

/// Of what etcd may refuse a node that advances the counter of versions, only a counter that is
/// gone or changed is fatal; one without a leader is asked again.
TEST_F(LegacyEtcdHandlers, ask_again_where_etcd_has_no_leader_when_they_count_a_version) {
  parameters_.max_nodes = 1;
  world_.world->on_fault_point([&](sim::NodeId, sim::Pid, std::string_view name, std::uint64_t n) {
    if (name == "legacy.setup" && n == 1) {
      modes_->begin(EtcdMisbehaviour::Mode::leader_loss, felt_);
    }
  });
  world_.at(10s, [&] { modes_->end(EtcdMisbehaviour::Mode::leader_loss); });
  node("a", [](Ports&, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().world_size, 1);
  });
  world_.run_for(10min);
  EXPECT_GT(felt_, 1U);
  EXPECT_EQ(done_, 1);
}

/// A job that has ended meanwhile cannot tell it to a node that comes back.
TEST_F(LegacyEtcdHandlers, endure_an_etcd_without_a_leader_for_a_while_where_they_join) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 1;
  parameters_.config["timeout"] = "600s";
  parameters_.config["read_timeout"] = "30s";
  world_.at(3s, [&] { modes_->begin(EtcdMisbehaviour::Mode::leader_loss, felt_); });
  world_.at(32s, [&] { modes_->end(EtcdMisbehaviour::Mode::leader_loss); });
  world_.at(70s, [&] { modes_->begin(EtcdMisbehaviour::Mode::leader_loss, felt_); });
  node("a", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 2s);
    EXPECT_EQ(handler.next_rendezvous().world_size, 1);
    sleep(ports, 60s);
    const auto begin = ports.clock.monotonic_now();
    EXPECT_THROW(static_cast<void>(handler.next_rendezvous()), RendezvousConnectionError);
    EXPECT_GE(ports.clock.monotonic_now() - begin, 30s);
    EXPECT_LE(ports.clock.monotonic_now() - begin, 32s);
  });
  world_.run_for(20min);
  EXPECT_EQ(done_, 1);
}

/// For which no other node can begin one: 5 s.
TEST_F(LegacyEtcdHandlers, go_on_with_a_version_in_whose_setting_up_they_were_cut_off) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 1;
  world_.world->on_fault_point(
      [&](sim::NodeId a, sim::Pid, std::string_view name, std::uint64_t n) {
        if (name != "legacy.setup" || n != 1) return;
        world_.inject(world::FaultKind::net_loss, [&](world::Fault& fault) {
          fault.paths = {{a}, {etcd_}, true};
          fault.ratio_ppm = 1'000'000;
          fault.duration = 500ms;
        });
      });
  node("a", [](Ports& ports, RendezvousHandler& handler) {
    const auto begin = ports.clock.monotonic_now();
    EXPECT_EQ(handler.next_rendezvous().world_size, 1);
    EXPECT_LT(ports.clock.monotonic_now() - begin, 2s);
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 1);
}

/// a and b make room for c, a only when b's seat has long expired.
TEST_F(LegacyEtcdHandlers, begin_no_version_without_a_member_that_takes_long_to_come_back) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 3;
  const auto meets_all = [](RendezvousHandler& handler) {
    const RendezvousInfo info = handler.next_rendezvous();
    EXPECT_EQ(info.round, 2);
    EXPECT_EQ(info.world_size, 3);
  };
  const auto member = [&](const std::string& name, sim::Duration stops_for) {
    node(name, [=](Ports& ports, RendezvousHandler& handler) {
      EXPECT_EQ(handler.next_rendezvous().world_size, 2);
      sleep(ports, 6s + stops_for);
      meets_all(handler);
    });
  };
  member("a", 25s);
  member("b", 0s);
  node("c", [=](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 10s);
    meets_all(handler);
  });
  world_.run_for(10min);
  EXPECT_EQ(done_, 3);
}

TEST_F(LegacyEtcdHandlers, close_anew_what_etcd_has_lost) {
  parameters_.variant = Variant::hardened;
  node("a", [this](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().world_size, 2);
    sleep(ports, 10s);
    modes_->expire(felt_);
    EXPECT_TRUE(handler.shutdown());
    EXPECT_TRUE(handler.is_closed());
  });
  one_of_two("b", 30s);
  node("c", [](Ports& ports, RendezvousHandler& handler) {
    sleep(ports, 20s);
    EXPECT_THROW(static_cast<void>(handler.next_rendezvous()), RendezvousClosedError);
  });
  parameters_.min_nodes = 2;
  world_.run_for(10min);
  EXPECT_EQ(done_, 3);
}

/// Beside a, whose version they have waited for, one of b and c hears first that it is free.
TEST_F(LegacyEtcdHandlers, miss_no_last_call_however_short) {
  parameters_.variant = Variant::hardened;
  parameters_.max_nodes = 3;
  parameters_.config["last_call_timeout"] = "0s";
  node("a", [](Ports& ports, RendezvousHandler& handler) {
    EXPECT_EQ(handler.next_rendezvous().world_size, 1);
    sleep(ports, 8s);
  });
  for (const char* waiting : {"b", "c"}) {
    node(waiting, [](Ports& ports, RendezvousHandler& handler) {
      sleep(ports, 5s);
      EXPECT_EQ(handler.next_rendezvous().world_size, 2);
    });
  }
  world_.run_for(10min);
  EXPECT_EQ(done_, 3);
}

/// Its connections stay, and nothing ever comes by them.
TEST_F(LegacyEtcdHandlers, hear_of_an_etcd_whose_machine_has_crashed) {
  parameters_.variant = Variant::hardened;
  parameters_.min_nodes = 2;
  const auto on_its_machine = [this](world::Fault& fault) { fault.node = etcd_; };
  world_.inject_at(5s, world::FaultKind::node_crash, on_its_machine);
  world_.inject_at(8s, world::FaultKind::node_restart, on_its_machine);
  world_.at(9s, [this] { world_.start_again(etcd_, "server"); });
  for (const sim::Duration later : {0s, 12s}) {
    node(later > 0s ? "b" : "a", [later](Ports& ports, RendezvousHandler& handler) {
      sleep(ports, later);
      EXPECT_EQ(handler.next_rendezvous().world_size, 2);
    });
  }
  world_.run_for(10min);
  EXPECT_EQ(done_, 2);
}

/// With a prefix that begins with no slash, one node at work and a newcomer, and that one
/// hears.
class LegacyEtcdPrefix : public LegacyEtcdHandlers {
 protected:
  std::int64_t waiting_seen(Variant variant) {
    parameters_.config["etcd_prefix"] = "torchelastic";
    parameters_.variant = variant;
    std::int64_t seen = -1;
    node("a", [&](Ports& ports, RendezvousHandler& handler) {
      EXPECT_EQ(handler.next_rendezvous().world_size, 1);
      sleep(ports, 90s);
      seen = handler.num_nodes_waiting();
      sleep(ports, 2min);
    });
    node("b", [&](Ports& ports, RendezvousHandler& handler) {
      sleep(ports, 1min);
      try {
        alone_ = handler.next_rendezvous().world_size == 1;
      } catch (const RendezvousTimeoutError&) {  // no agent let it in
      }
    });
    world_.run_for(5min);
    return seen;
  }
  bool alone_ = false;
};

TEST_F(LegacyEtcdPrefix, without_its_slash_lets_a_newcomer_end_a_living_version) {  // S-L14
  EXPECT_EQ(waiting_seen(Variant::torch_1_13), 0) << "it runs on, in a version that is gone";
  EXPECT_TRUE(alone_);
}

TEST_F(LegacyEtcdPrefix, gets_its_slash_in_the_hardened_variant) {
  EXPECT_EQ(waiting_seen(Variant::hardened), 1);
  EXPECT_FALSE(alone_) << "it waits to be let in";
}

}  // namespace
}  // namespace hooke::model
