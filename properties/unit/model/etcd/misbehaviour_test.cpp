// Each mode of a misbehaving etcd, as a client of both APIs meets it.
#include "model/etcd/misbehaviour.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/etcd/v2_client.h"
#include "model/etcd/v3_client.h"
#include "properties/unit/model/etcd/misbehaving_etcd.h"

namespace hooke::model {
namespace {

using testing::HasSubstr;
using Mode = EtcdMisbehaviour::Mode;

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

TEST_F(EtcdMisbehaviourTest, what_was_found_before_is_not_told_when_it_must_not_be) {
  v3([&](sim::Ports& ports, EtcdV3Client& client) {
    client.put("k", sim::Value("one"));
    client.put("k", sim::Value("two"));
    EXPECT_EQ(client.get("k").entry.value.bytes(), "two");
    EXPECT_EQ(client.get("k", 2).entry.value.bytes(), "one");
    const HttpRequest request{"POST", "/v3/kv/range", R"({"key":"aw=="})", "", ""};
    HttpClient http(ports, options(1s).server);
    EXPECT_EQ(http.exchange(request, in(ports, 1s)).status, 200);
    modes->begin(Mode::leader_loss, felt);
    EXPECT_EQ(http.exchange(request, in(ports, 1s)).status, 503);
    modes->end(Mode::leader_loss);
    const HttpRequest compaction{"POST", "/v3/kv/compaction", R"({"revision":"3"})", "", ""};
    EXPECT_EQ(http.exchange(compaction, in(ports, 1s)).status, 200);
    EXPECT_THROW(static_cast<void>(client.get("k", 2)), EtcdError);
    client.put("k", sim::Value("three"));
    EXPECT_EQ(client.get("k").entry.value.bytes(), "three");
  });
}

TEST_F(EtcdMisbehaviourTest, a_key_is_not_missing_where_no_answer_says_so) {
  v2([&](sim::Ports&, EtcdV2Client& client) {
    EXPECT_FALSE(client.has("/k"));
    put(client, "/k", {.value = "v"});
    EXPECT_TRUE(client.has("/k"));
    EXPECT_THROW(static_cast<void>(client.has("/k/below")), EtcdError) << "/k is no directory";
  });
  run<EtcdV2Server>([&](sim::Ports& ports) {
    EtcdOptions agreed = options(10s);
    agreed.by_quorum = true;
    EtcdV2Client client(ports, agreed);
    EXPECT_FALSE(client.has("/k"));
    modes->begin(Mode::leader_loss, felt);
    EXPECT_THROW(static_cast<void>(client.has("/k")), EtcdConnectionError);
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
