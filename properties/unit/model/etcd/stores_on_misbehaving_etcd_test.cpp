// What stores on etcd, and clients that read by quorum, make of replies that are lost, stale or
// unknown.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "model/etcd/v2_store.h"
#include "model/etcd/v3_store.h"
#include "model/hardened/etcd/hardened_etcd_v2_store.h"
#include "properties/unit/model/etcd/misbehaving_etcd.h"

namespace hooke::model {
namespace {

using Mode = EtcdMisbehaviour::Mode;

std::vector<std::int64_t> up_to(std::int64_t last) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(last));
  std::iota(out.begin(), out.end(), 1);
  return out;
}

/// What two clients are told that each count to 20, in the order of the numbers.
std::vector<std::int64_t> counted_by_two(sim::Ports& ports,
                                         const std::function<std::shared_ptr<Store>()>& store) {
  std::vector<std::int64_t> told;
  std::vector<sim::FiberId> fibers;
  for (int client = 0; client < 2; ++client) {
    fibers.push_back(ports.executor.spawn("counts", [&told, &ports, own = store()] {
      for (int i = 0; i < 20; ++i) {
        told.push_back(own->add("k", 1));
        ports.executor.sleep_until(in(ports, 1ms));
      }
    }));
  }
  for (const sim::FiberId fiber : fibers) ports.executor.join(fiber);
  std::sort(told.begin(), told.end());
  return told;
}

TEST_F(EtcdMisbehaviourTest, hardened_stores_count_once_whatever_reply_is_lost) {
  v2([&](sim::Ports& ports, EtcdV2Client&) {
    EtcdOptions by_quorum = options(10s);
    by_quorum.by_quorum = true;
    const auto client = std::make_shared<EtcdV2Client>(ports, by_quorum);
    modes->begin(Mode::unknown_outcome, felt);
    EXPECT_EQ(counted_by_two(ports,
                             [&] { return make_hardened_etcd_v2_store(ports, client, "/prefix"); }),
              up_to(40));
    modes->end(Mode::unknown_outcome);
    EXPECT_EQ(felt, 40U);
    const auto faithful = make_etcd_v2_store(ports, client, "/prefix");
    EXPECT_EQ(faithful->add("k", 1), 41) << "PyTorch reads past the blanks behind a number";
  });
  v3([&](sim::Ports& ports, EtcdV3Client&) {
    const auto client = std::make_shared<EtcdV3Client>(ports, options(10s));
    modes->begin(Mode::unknown_outcome, felt);
    EXPECT_EQ(counted_by_two(ports, [&] { return make_etcd_v3_store(ports, client, "/prefix/"); }),
              up_to(40));
    EXPECT_EQ(felt, 40U);
  });
}

TEST_F(EtcdMisbehaviourTest, a_count_that_failed_is_gone_on_with_when_it_is_asked_for_again) {
  v3([&](sim::Ports& ports, EtcdV3Client&) {
    const auto client = std::make_shared<EtcdV3Client>(ports, options(1s));
    const auto store = make_etcd_v3_store(ports, client, "/prefix/");
    modes->begin(Mode::unknown_outcome, felt);
    modes->begin(Mode::leader_loss, felt);
    EXPECT_THROW(store->add("k", 1), StoreNetworkError);
    modes->end(Mode::leader_loss);
    EXPECT_EQ(store->add("k", 1), 1);
    EXPECT_EQ(store->add("k", 1), 2);
  });
}

/// A client counts to 20 while another one writes over that, and neither hears of an outcome. How
/// often that stays unknown to the first; what failed otherwise it asks for again.
std::int64_t counts_unknown(sim::Ports& ports, Store& store, Store& other) {
  bool done = false;
  const sim::FiberId writer = ports.executor.spawn("writes", [&] {
    while (!done) {
      try {
        other.set("k", Value("7"));
      } catch (const StoreNetworkError&) {
        // The next one follows.
      }
      ports.executor.sleep_until(
          in(ports, ports.random.between("test.pause", sim::Duration::zero(), sim::Duration(3ms))));
    }
  });
  std::int64_t unknown = 0;
  for (int i = 0; i < 20; ++i) {
    bool is_settled = false;
    for (int attempt = 0; attempt < 10 && !is_settled; ++attempt) {
      try {
        store.add("k", 1);
        is_settled = true;
      } catch (const StoreNetworkError& error) {
        if (error.outcome_unknown()) ++unknown;
        is_settled = error.outcome_unknown();
      }
    }
    EXPECT_TRUE(is_settled) << "it is asked for again in vain";
  }
  done = true;
  ports.executor.join(writer);
  return unknown;
}

TEST_F(EtcdMisbehaviourTest, a_count_stays_unknown_when_etcd_has_forgotten_its_writer) {
  EtcdOptions by_quorum = options(10s);
  by_quorum.by_quorum = true;
  const auto compare = [&](sim::Ports& ports, auto make) {
    modes->begin(Mode::unknown_outcome, felt);
    EXPECT_EQ(counts_unknown(ports, *make(), *make()), 0);
    modes->begin(Mode::compaction, felt);
    EXPECT_GT(counts_unknown(ports, *make(), *make()), 0);
  };
  v2([&](sim::Ports& ports, EtcdV2Client&) {
    compare(ports, [&, client = std::make_shared<EtcdV2Client>(ports, by_quorum)] {
      return make_hardened_etcd_v2_store(ports, client, "/prefix");
    });
  });
  v3([&](sim::Ports& ports, EtcdV3Client&) {
    compare(ports, [&, client = std::make_shared<EtcdV3Client>(ports, by_quorum)] {
      return make_etcd_v3_store(ports, client, "/prefix/");
    });
  });
}

TEST_F(EtcdMisbehaviourTest, reads_of_v2_by_quorum_see_nothing_stale_and_take_no_for_an_outage) {
  v2([&](sim::Ports& ports, EtcdV2Client& usual) {
    EtcdOptions by_quorum = options(10s);
    by_quorum.by_quorum = true;
    EtcdV2Client client(ports, by_quorum);
    put(client, "/k", {.value = "old"});
    modes->begin(Mode::stale_read, felt);
    put(client, "/k", {.value = "new"});
    EXPECT_EQ(value(usual, "/k"), "old");
    EXPECT_EQ(value(client, "/k"), "new");
    modes->end(Mode::stale_read);
    modes->begin(Mode::leader_loss, felt);
    EXPECT_THROW(usual.put("/k", {.value = "newer"}), EtcdError);
    EXPECT_THROW(client.put("/k", {.value = "newer"}), EtcdConnectionError);
    EXPECT_THROW(client.get("/k"), EtcdConnectionError);
  });
}

TEST_F(EtcdMisbehaviourTest, reads_of_v3_by_quorum_see_nothing_stale) {
  v3([&](sim::Ports& ports, EtcdV3Client& usual) {
    EtcdOptions by_quorum = options(10s);
    by_quorum.by_quorum = true;
    EtcdV3Client client(ports, by_quorum);
    EXPECT_FALSE(client.get("k").entry.exists());
    client.put("k", sim::Value("old"));
    const EtcdV3Read old = client.get("k");
    modes->begin(Mode::stale_read, felt);
    client.put("k", sim::Value("new"));
    EXPECT_EQ(usual.get("k").entry.value.bytes(), "old");
    const EtcdV3Read now = client.get("k");
    EXPECT_EQ(now.entry.value.bytes(), "new");
    EXPECT_EQ(now.entry.revision, old.revision + 1);
    EXPECT_EQ(now.revision, now.entry.revision);
    EXPECT_EQ(client.get("k").entry.revision, now.entry.revision) << "to read writes nothing";
  });
}

TEST_F(EtcdMisbehaviourTest, hardened_stores_write_where_no_outcome_is_ever_known) {
  EtcdOptions by_quorum = options(10s);
  by_quorum.by_quorum = true;
  v2([&](sim::Ports& ports, EtcdV2Client&) {
    const auto client = std::make_shared<EtcdV2Client>(ports, by_quorum);
    const auto store = make_hardened_etcd_v2_store(ports, client, "/prefix");
    modes->begin(Mode::unknown_outcome, felt);
    store->set("k", Value("v"));
    EXPECT_GT(felt, 0U);
    EXPECT_EQ(store->get("k").bytes(), "v");
    modes->begin(Mode::leader_loss, felt);
    EXPECT_THROW(store->set("k", Value("w")), StoreNetworkError);
  });
  v3([&](sim::Ports& ports, EtcdV3Client&) {
    const auto client = std::make_shared<EtcdV3Client>(ports, by_quorum);
    const auto store = make_etcd_v3_store(ports, client, "/prefix/");
    modes->begin(Mode::unknown_outcome, felt);
    store->set("k", Value("v"));
    EXPECT_EQ(felt, 1U);
    EXPECT_EQ(store->get("k").bytes(), "v");
    modes->begin(Mode::leader_loss, felt);
    EXPECT_THROW(store->set("k", Value("w")), StoreNetworkError);
  });
}

}  // namespace
}  // namespace hooke::model
