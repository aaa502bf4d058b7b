// What a run of the legacy rendezvous keeps in etcd.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/etcd/v2_server.h"
#include "model/hardened/legacy_etcd/hardened_run.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using sim::Ports;
using testing::ElementsAre;
using testing::IsEmpty;
using world::sleep;
using Status = LegacyState::Status;

constexpr sim::PortNumber kRunPort{2379};

class LegacyEtcdRuns : public testing::Test {
 protected:
  /// `Run` is LegacyEtcdRun or HardenedLegacyEtcdRun; the second one is of another node.
  template <class Run>
  void with_etcd(const std::function<void(Ports&, Run&, Run&)>& body) {
    etcd_ = world_.node("s");
    world_.start(etcd_, "server", [this](Ports& ports) {
      EtcdV2Server server(ports, kRunPort, modes_);
      world::park_for_ever(ports);
      return 0;
    });
    node_ = world_.node("a");
    world_.start(node_, "node", [&, this](Ports& ports) {
      sleep(ports, 1s);
      EtcdOptions options;
      options.server.endpoint = {"s", kRunPort};
      const auto client = std::make_shared<EtcdV2Client>(ports, options);
      Run run(ports, client, "/p2p", "job");
      Run others(ports, client, "/p2p", "job");
      body(ports, run, others);
      done_ = true;
      return 0;
    });
    world_.run_for(10min);
    EXPECT_TRUE(done_);
  }

  static LegacyState joinable(std::int64_t version) {
    LegacyState state;
    state.status = Status::joinable;
    state.version = version;
    state.participants.emplace();
    return state;
  }

  std::shared_ptr<EtcdMisbehaviour> modes_ = std::make_shared<EtcdMisbehaviour>();
  world::TestWorld world_;
  sim::NodeId etcd_{}, node_{};
  bool done_ = false;
};

TEST_F(LegacyEtcdRuns, have_one_state_that_only_an_agent_that_has_seen_it_replaces) {
  with_etcd<LegacyEtcdRun>([](Ports&, LegacyEtcdRun& run, LegacyEtcdRun&) {
    EXPECT_TRUE(run.create({}, 60));
    EXPECT_FALSE(run.create({}, 60));
    const LegacyEtcdRun::Active setup = run.read();
    EXPECT_EQ(*setup.state, LegacyState());
    EXPECT_TRUE(run.replace(setup, joinable(4)));
    EXPECT_FALSE(run.replace(setup, joinable(5)));
    EXPECT_EQ(*run.read().state, joinable(4));
    EXPECT_GT(run.read().index, setup.index);
    run.remove(run.read());
    EXPECT_THROW(run.read(), EtcdError);
  });
}

TEST_F(LegacyEtcdRuns, have_a_state_that_goes_when_no_agent_renews_it) {
  with_etcd<LegacyEtcdRun>([](Ports& ports, LegacyEtcdRun& run, LegacyEtcdRun&) {
    EXPECT_TRUE(run.create({}, 5));
    sleep(ports, 7s);
    EXPECT_TRUE(run.create(joinable(1), 5));
    EXPECT_TRUE(run.replace(run.read(), joinable(1)));
    sleep(ports, 5min);
    EXPECT_EQ(*run.read().state, joinable(1));
  });
}

TEST_F(LegacyEtcdRuns, number_their_versions) {
  with_etcd<LegacyEtcdRun>([](Ports&, LegacyEtcdRun& run, LegacyEtcdRun&) {
    EXPECT_EQ(run.advance_counter(), 1);
    EXPECT_EQ(run.advance_counter(), 2);
  });
}

TEST_F(LegacyEtcdRuns, go_on_above_what_was_seen_in_an_etcd_that_has_lost_it_where_hardened) {
  with_etcd<HardenedLegacyEtcdRun>(
      [this](Ports& ports, HardenedLegacyEtcdRun& run, HardenedLegacyEtcdRun&) {
        EXPECT_TRUE(run.create(joinable(7), 60));
        EXPECT_FALSE(run.has_been_emptied());
        EXPECT_EQ(run.read().state->version, 7);
        EXPECT_EQ(run.latest_seen(), 7);
        run.remove(run.read());
        EXPECT_FALSE(run.has_been_emptied()) << "there is still a counter";
        std::uint64_t felt = 0;
        modes_->expire(felt);
        sleep(ports, 3s);
        EXPECT_TRUE(run.has_been_emptied());
        EXPECT_EQ(run.advance_counter(), 8);
        EXPECT_FALSE(run.has_been_emptied());
      });
}

TEST_F(LegacyEtcdRuns, miss_the_members_whose_keys_have_expired) {
  with_etcd<LegacyEtcdRun>([](Ports& ports, LegacyEtcdRun& run, LegacyEtcdRun&) {
    run.create_version(1);
    const std::string first = run.keep_alive_path(1, 0);
    const std::string second = run.keep_alive_path(1, 1);
    run.put_keep_alive(first);
    sleep(ports, 6s);
    run.put_keep_alive(second);
    EXPECT_THAT(run.expired(1, {first, second}), IsEmpty());
    sleep(ports, 6s);
    EXPECT_THAT(run.expired(1, {first, second}), ElementsAre(first));
  });
}

TEST_F(LegacyEtcdRuns, give_each_place_to_one_node_alone) {
  with_etcd<HardenedLegacyEtcdRun>(
      [this](Ports& ports, HardenedLegacyEtcdRun& run, HardenedLegacyEtcdRun& others) {
        run.create_version(1);
        EXPECT_FALSE(run.holds_claim(1, 0));
        EXPECT_TRUE(run.claim(1, 0));
        EXPECT_TRUE(run.claim(1, 0)) << "after an answer that was lost";
        EXPECT_FALSE(others.claim(1, 0));
        EXPECT_TRUE(run.holds_claim(1, 0));
        EXPECT_TRUE(others.claim(1, 1));
        std::uint64_t felt = 0;
        modes_->expire(felt);
        sleep(ports, 3s);
        EXPECT_FALSE(run.holds_claim(1, 0)) << "etcd has lost it";
      });
}

/// A node that gave up its place would keep the others from it for ten seconds.
TEST_F(LegacyEtcdRuns, hold_on_to_a_place_through_a_short_outage) {
  with_etcd<HardenedLegacyEtcdRun>(
      [this](Ports& ports, HardenedLegacyEtcdRun& run, HardenedLegacyEtcdRun&) {
        const auto cut_off_for = [&](sim::Duration span) {
          world_.inject(world::FaultKind::net_loss, [&](world::Fault& fault) {
            fault.paths = {{node_}, {etcd_}, true};
            fault.ratio_ppm = 1'000'000;
            fault.duration = span;
          });
        };
        run.create_version(1);
        cut_off_for(500ms);
        EXPECT_TRUE(run.claim(1, 0));
        cut_off_for(500ms);
        EXPECT_TRUE(run.holds_claim(1, 0));
        const auto begin = ports.clock.monotonic_now();
        cut_off_for(20s);
        EXPECT_THROW(static_cast<void>(run.claim(1, 0)), EtcdConnectionError);
        EXPECT_LT(ports.clock.monotonic_now() - begin, 4s);
      });
}

TEST_F(LegacyEtcdRuns, drop_the_keys_of_their_own_members_alone) {
  with_etcd<HardenedLegacyEtcdRun>(
      [](Ports&, HardenedLegacyEtcdRun& run, HardenedLegacyEtcdRun& others) {
        run.create_version(1);
        const std::string key = run.keep_alive_path(1, 0);
        EXPECT_FALSE(run.is_of_another(key)) << "it is of no node";
        run.put_keep_alive(key);
        EXPECT_FALSE(run.is_of_another(key));
        EXPECT_TRUE(others.is_of_another(key));
        others.drop_keep_alive(key);
        EXPECT_THAT(run.expired(1, {key}), IsEmpty());
        run.drop_keep_alive(key);
        EXPECT_THAT(run.expired(1, {key}), ElementsAre(key));
        run.drop_keep_alive(key);
      });
}

TEST_F(LegacyEtcdRuns, wait_for_members_that_live_and_have_not_come_back_where_one_has) {
  with_etcd<HardenedLegacyEtcdRun>(
      [](Ports& ports, HardenedLegacyEtcdRun& run, HardenedLegacyEtcdRun&) {
        run.create_version(1);
        const std::vector<std::string> both{run.keep_alive_path(1, 0), run.keep_alive_path(1, 1)};
        for (const std::string& keep_alive : both) run.put_keep_alive(keep_alive);
        EXPECT_FALSE(run.some_will_return(1, both));
        EXPECT_FALSE(run.one_returns(1));
        run.tell_return(1, both[0]);
        EXPECT_TRUE(run.one_returns(1));
        EXPECT_TRUE(run.some_will_return(1, both));
        sleep(ports, 12s);  // the other one is dead
        EXPECT_FALSE(run.some_will_return(1, both));
      });
}

}  // namespace
}  // namespace hooke::model
