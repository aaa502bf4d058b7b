// Each mode of a misbehaving etcd, as a client of both APIs meets it.
#include "model/etcd/misbehaviour.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "model/etcd/v2_client.h"
#include "model/etcd/v2_server.h"
#include "model/etcd/v2_store.h"
#include "model/etcd/v3_client.h"
#include "model/etcd/v3_server.h"
#include "model/etcd/v3_store.h"
#include "model/http/http_client.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using world::in;
using Mode = EtcdMisbehaviour::Mode;

class EtcdMisbehaviourTest : public testing::Test {
 protected:
  /// Runs `body` beside a server with the modes in `modes`.
  template <class Server>
  void run(const std::function<void(sim::Ports&)>& body) {
    bool done = false;
    world::TestWorld world;
    world.start(world.node("n"), "test", [&](sim::Ports& ports) {
      modes = std::make_shared<EtcdMisbehaviour>();
      felt = 0;
      const Server server(ports, sim::PortNumber{2379}, modes);
      body(ports);
      done = true;
      return 0;
    });
    world.run_for(std::chrono::hours(1));
    EXPECT_TRUE(done);
  }
  void v2(const std::function<void(sim::Ports&, EtcdV2Client&)>& body) {
    run<EtcdV2Server>([&](sim::Ports& ports) {
      EtcdV2Client client(ports, options(10s));
      body(ports, client);
    });
  }
  void v3(const std::function<void(sim::Ports&, EtcdV3Client&)>& body) {
    run<EtcdV3Server>([&](sim::Ports& ports) {
      EtcdV3Client client(ports, options(10s));
      body(ports, client);
    });
  }
  static EtcdOptions options(sim::Duration read_timeout) {
    return {{{"n", sim::PortNumber{2379}}, std::nullopt}, "", "", read_timeout};
  }
  static void sleep(sim::Ports& ports, sim::Duration span) {
    ports.executor.sleep_until(in(ports, span));
  }
  static std::string value(EtcdV2Client& client, const std::string& path) {
    try {
      return client.get(path).node.value;
    } catch (const EtcdError& error) {
      return "error " + std::to_string(error.code());
    }
  }
  static std::string put(EtcdV2Client& client, const std::string& path, const EtcdV2Write& write) {
    try {
      return client.put(path, write).node.value;
    } catch (const EtcdError& error) {
      return "error " + std::to_string(error.code());
    }
  }
  /// All that a watch hears within a second.
  static std::string watched(sim::Ports& ports, const std::string& request) {
    HttpFeed feed(ports, options(1s).server, {"POST", "/v3/watch", request, "", ""}, in(ports, 1s));
    std::string text;
    const auto deadline = in(ports, 1s);
    try {
      while (const auto piece = feed.next(deadline)) text += *piece;
    } catch (const HttpError& error) {
      EXPECT_EQ(error.fault(), sim::Fault::timed_out);
    }
    return text;
  }
  static std::size_t count(const std::string& text, const std::string& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
      ++found;
    }
    return found;
  }

  std::shared_ptr<EtcdMisbehaviour> modes;
  std::uint64_t felt = 0;
};

TEST_F(EtcdMisbehaviourTest, late_expiry_lets_leases_outlive_their_time) {
  v3([&](sim::Ports& ports, EtcdV3Client& client) {
    client.put_if("k", sim::Value("v"), 0, client.grant(5s));
    modes->begin(Mode::late_expiry, felt);
    sleep(ports, 60s);
    EXPECT_TRUE(client.get("k").entry.exists());
    EXPECT_GT(felt, 0U);
    modes->end(Mode::late_expiry);
    sleep(ports, 1s);
    EXPECT_FALSE(client.get("k").entry.exists());
  });
  v2([&](sim::Ports& ports, EtcdV2Client& client) {
    put(client, "/k", {.value = "v", .ttl_seconds = 5});
    modes->begin(Mode::late_expiry, felt);
    sleep(ports, 60s);
    EXPECT_EQ(value(client, "/k"), "v");
    EXPECT_GT(felt, 0U);
    modes->end(Mode::late_expiry);
    EXPECT_EQ(value(client, "/k"), "error 100");
  });
}

TEST_F(EtcdMisbehaviourTest, leases_can_end_before_their_time) {
  v3([&](sim::Ports& ports, EtcdV3Client& client) {
    client.put_if("k", sim::Value("v"), 0, client.grant(5000s));
    client.put("kept", sim::Value("v"));
    modes->expire(felt);
    sleep(ports, 1ms);
    EXPECT_FALSE(client.get("k").entry.exists());
    EXPECT_TRUE(client.get("kept").entry.exists());
    EXPECT_EQ(felt, 1U);
  });
  v2([&](sim::Ports& ports, EtcdV2Client& client) {
    put(client, "/k", {.value = "v", .ttl_seconds = 5000});
    put(client, "/kept", {.value = "v"});
    modes->expire(felt);
    sleep(ports, 1ms);
    EXPECT_EQ(value(client, "/k"), "error 100");
    EXPECT_EQ(value(client, "/kept"), "v");
    EXPECT_EQ(felt, 1U);
  });
}

TEST_F(EtcdMisbehaviourTest, stale_reads_see_the_beginning_and_writes_go_through) {
  v3([&](sim::Ports& ports, EtcdV3Client& client) {
    client.put("k", sim::Value("old"));
    const EtcdV3Read before = client.get("k");
    modes->begin(Mode::stale_read, felt);
    const EtcdV3Write written = client.put_if("k", sim::Value("new"), before.entry.revision);
    EXPECT_TRUE(written.written);
    EXPECT_EQ(client.get("k").entry.value, sim::Value("old"));
    EXPECT_EQ(client.get("k").revision, before.revision);
    EXPECT_FALSE(client.put_if("k", sim::Value("x"), before.entry.revision).written);
    EXPECT_EQ(felt, 2U);
    EXPECT_FALSE(client.watch("k", before.revision + 1, in(ports, 5s)));
    modes->end(Mode::stale_read);
    EXPECT_TRUE(client.watch("k", before.revision + 1, in(ports, 5s)));
    EXPECT_EQ(client.get("k").entry.value, sim::Value("new"));
  });
  v2([&](sim::Ports& ports, EtcdV2Client& client) {
    put(client, "/k", {.value = "old"});
    const std::uint64_t index = client.get("/k").index;
    modes->begin(Mode::stale_read, felt);
    EXPECT_EQ(put(client, "/k", {.value = "new", .previous_value = "old"}), "new");
    EXPECT_EQ(value(client, "/k"), "old");
    EXPECT_EQ(put(client, "/k", {.value = "x", .previous_value = "old"}), "error 101");
    EXPECT_EQ(felt, 1U);
    EXPECT_EQ(client.watch("/k", index + 1, in(ports, 5s)), std::nullopt);
    modes->end(Mode::stale_read);
    EXPECT_EQ(client.watch("/k", index + 1, in(ports, 5s))->node.value, "new");
    EXPECT_EQ(value(client, "/k"), "new");
  });
}

TEST_F(EtcdMisbehaviourTest, a_watch_that_waits_while_reads_are_stale_hears_of_it_afterwards) {
  v3([&](sim::Ports& ports, EtcdV3Client& client) {
    modes->begin(Mode::stale_read, felt);
    client.put("k", sim::Value("v"));
    ports.executor.spawn("end", [&] {
      sleep(ports, 5s);
      modes->end(Mode::stale_read);
    });
    const auto begin = ports.clock.monotonic_now();
    EXPECT_TRUE(client.watch("k", 2, in(ports, 60s)));
    EXPECT_GE(ports.clock.monotonic_now() - begin, 5s);
  });
}

TEST_F(EtcdMisbehaviourTest, compaction_cancels_a_watch_from_an_earlier_revision) {
  v3([&](sim::Ports& ports, EtcdV3Client& client) {
    client.put("k", sim::Value("1"));
    modes->begin(Mode::compaction, felt);
    client.put("k", sim::Value("2"));
    client.put("k", sim::Value("3"));
    EXPECT_EQ(felt, 2U);
    const std::string told =
        watched(ports, R"({"create_request":{"key":"aw==","start_revision":"2"}})");
    EXPECT_THAT(told, HasSubstr(R"("canceled":true,"compact_revision":"4")"));
    EXPECT_TRUE(client.watch("k", 2, in(ports, 5s)));  // read again
    EXPECT_EQ(client.get("k").entry.value, sim::Value("3"));
  });
  v2([&](sim::Ports& ports, EtcdV2Client& client) {
    put(client, "/k", {.value = "1"});
    const std::uint64_t index = client.get("/k").index;
    modes->begin(Mode::compaction, felt);
    put(client, "/k", {.value = "2"});
    put(client, "/k", {.value = "3"});
    try {
      client.watch("/k", index, in(ports, 5s));
      ADD_FAILURE() << "the index is not cleared";
    } catch (const EtcdError& error) {
      EXPECT_EQ(error.code(), EtcdV2Client::kIndexCleared);
    }
    EXPECT_EQ(client.watch("/k", index + 2, in(ports, 5s))->node.value, "3");
  });
}

TEST_F(EtcdMisbehaviourTest, without_a_leader_a_transaction_does_nothing_and_leases_do_not_end) {
  v3([&](sim::Ports& ports, EtcdV3Client& client) {
    const std::int64_t lease = client.grant(5s);
    client.put_if("k", sim::Value("v"), 0, lease);
    modes->begin(Mode::leader_loss, felt);
    EtcdV3Client hasty(ports, options(200ms));
    try {
      hasty.put_if("new", sim::Value("v"), 0);
      ADD_FAILURE() << "there is a leader";
    } catch (const EtcdConnectionError& error) {
      EXPECT_THAT(error.what(), HasSubstr("leader changed"));
      EXPECT_TRUE(error.outcome_unknown());
    }
    EXPECT_GT(felt, 0U);
    HttpClient one(ports, options(1s).server);
    const auto read = [&](const std::string& body) {
      return one.exchange({"POST", "/v3/kv/range", body, "", ""}, in(ports, 1s)).status;
    };
    EXPECT_EQ(read(R"({"key":"aw=="})"), 503);
    EXPECT_EQ(read(R"({"key":"aw==","serializable":true})"), 200);  // of that member alone
    sleep(ports, 8s);
    modes->end(Mode::leader_loss);
    EXPECT_FALSE(client.get("new").entry.exists());
    sleep(ports, 4s);  // the new leader counts anew
    EXPECT_TRUE(client.get("k").entry.exists());
    sleep(ports, 2s);
    EXPECT_FALSE(client.get("k").entry.exists());
  });
  v2([&](sim::Ports&, EtcdV2Client& client) {
    put(client, "/k", {.value = "v"});
    modes->begin(Mode::leader_loss, felt);
    EXPECT_EQ(put(client, "/k", {.value = "x"}), "error 300");
    EXPECT_EQ(value(client, "/k"), "v");  // needs no leader, unless by quorum
    EXPECT_EQ(felt, 1U);
    modes->end(Mode::leader_loss);
    EXPECT_EQ(value(client, "/k"), "v");
  });
}

TEST_F(EtcdMisbehaviourTest, the_v3_client_outlives_a_change_of_leader) {
  v3([&](sim::Ports& ports, EtcdV3Client& client) {
    modes->begin(Mode::leader_loss, felt);
    ports.executor.spawn("end", [&] {
      sleep(ports, 3s);
      modes->end(Mode::leader_loss);
    });
    EXPECT_TRUE(client.put_if("k", sim::Value("v"), 0).written);
    EXPECT_EQ(client.get("k").entry.value, sim::Value("v"));
  });
}

TEST_F(EtcdMisbehaviourTest, an_unknown_outcome_is_a_write_that_happened) {
  v3([&](sim::Ports&, EtcdV3Client& client) {
    modes->begin(Mode::unknown_outcome, felt);
    // Read again behind the fence, the client finds its own write.
    const EtcdV3Write written = client.put_if("k", sim::Value("v"), 0);
    EXPECT_TRUE(written.written);
    EXPECT_EQ(written.present.value, sim::Value("v"));
    EXPECT_EQ(felt, 1U);
    EXPECT_THROW(client.remove("k"), EtcdConnectionError);
    EXPECT_FALSE(client.get("k").entry.exists());
  });
  v2([&](sim::Ports&, EtcdV2Client& client) {
    modes->begin(Mode::unknown_outcome, felt);
    EXPECT_EQ(put(client, "/k", {.value = "v", .previous_exists = false}), "error 300");
    EXPECT_EQ(value(client, "/k"), "v");
    EXPECT_EQ(felt, 1U);
  });
}

TEST_F(EtcdMisbehaviourTest, duplicate_events_are_told_twice) {
  v3([&](sim::Ports& ports, EtcdV3Client& client) {
    client.put("k", sim::Value("v"));
    const std::string request = R"({"create_request":{"key":"aw==","start_revision":"2"}})";
    EXPECT_EQ(count(watched(ports, request), "\"events\""), 1U);
    modes->begin(Mode::duplicate_events, felt);
    EXPECT_EQ(count(watched(ports, request), "\"events\""), 2U);
    EXPECT_EQ(felt, 1U);
  });
  v2([&](sim::Ports& ports, EtcdV2Client& client) {
    put(client, "/k", {.value = "v"});
    const std::uint64_t index = client.get("/k").index;
    EXPECT_EQ(client.watch("/k", index + 1, in(ports, 1s)), std::nullopt);
    modes->begin(Mode::duplicate_events, felt);
    EXPECT_EQ(client.watch("/k", index + 1, in(ports, 1s))->node.value, "v");
    EXPECT_EQ(client.watch("/k", index + 1, in(ports, 1s)), std::nullopt);  // twice, not for ever
    EXPECT_EQ(felt, 1U);
  });
}

/// What two clients are told who each count to 20, in the order of the numbers.
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

std::vector<std::int64_t> up_to(std::int64_t last) {
  std::vector<std::int64_t> out(static_cast<std::size_t>(last));
  std::iota(out.begin(), out.end(), 1);
  return out;
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

TEST_F(EtcdMisbehaviourTest, who_reads_v2_by_quorum_sees_nothing_stale_and_takes_no_for_an_outage) {
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

TEST_F(EtcdMisbehaviourTest, who_reads_v3_by_quorum_sees_nothing_stale) {
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

TEST_F(EtcdMisbehaviourTest, a_fence_may_hold_what_stands_behind_it) {
  v3([&](sim::Ports&, EtcdV3Client& client) {
    client.put("k", sim::Value("mine"));
    const EtcdV3Entry present = client.get("k").entry;
    const sim::Value another("another's");
    const EtcdV3Write refused =
        client.put_if("k", sim::Value("next"), present.revision, 0, &another);
    EXPECT_FALSE(refused.written);
    EXPECT_EQ(refused.present.value.bytes(), "mine");
    EXPECT_TRUE(
        client.put_if("k", sim::Value("next"), present.revision, 0, &present.value).written);
  });
}

}  // namespace
}  // namespace hooke::model
