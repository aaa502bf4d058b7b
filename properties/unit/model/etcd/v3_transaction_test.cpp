// A transaction as a value: its text, what a server does with either, and what is told.
#include "model/etcd/v3_transaction.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/etcd/v3_client.h"
#include "model/etcd/v3_server.h"
#include "model/http/http_client.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using world::in;

TEST(EtcdV3Transaction, is_written_as_etcds_gateway_reads_it) {
  const EtcdV3Transaction put({.key = "k",
                               .value = sim::Value("new"),
                               .lease = 9,
                               .revision = 7,
                               .there = sim::Value("old")});
  EXPECT_EQ(put.bytes(),
            R"({"compare":[{"key":"aw==","mod_revision":"7","target":"MOD"},)"
            R"({"key":"aw==","target":"VALUE","value":"b2xk"}],)"
            R"("failure":[{"request_range":{"key":"aw=="}}],)"
            R"("success":[{"request_put":{"key":"aw==","lease":"9","value":"bmV3"}}]})");
  EXPECT_EQ(put.size(), put.bytes().size());
  EXPECT_FALSE(put.only_reads());
  const EtcdV3Transaction first({.key = "k", .value = sim::Value("new")});
  EXPECT_EQ(first.bytes(), R"({"compare":[{"key":"aw==","mod_revision":"0","target":"MOD"}],)"
                           R"("failure":[{"request_range":{"key":"aw=="}}],)"
                           R"("success":[{"request_put":{"key":"aw==","value":"bmV3"}}]})");
  EXPECT_TRUE(EtcdV3Transaction(EtcdV3Transaction::reading("k")).only_reads());
}

/// What a server in the same program is asked as values and as texts has the same answers, of which
/// the client understands the same, and leaves the same behind.
TEST(EtcdV3Transaction, is_carried_out_like_its_text) {
  using Put = EtcdV3Transaction::Put;
  const std::vector<Put> puts{
      EtcdV3Transaction::reading("k"),
      {.key = "k", .value = sim::Value("1")},
      {.key = "k", .value = sim::Value("2")},  // it is there
      {.key = "k", .value = sim::Value("2"), .revision = 2},
      EtcdV3Transaction::reading("k"),
      {.key = "k", .value = sim::Value("3"), .revision = 3, .there = sim::Value("1")},
      {.key = "k", .value = sim::Value("3"), .revision = 3, .there = sim::Value("2")},
      {.key = "k", .value = sim::Value("4"), .lease = 1, .revision = 4},  // no such lease
      {.key = "k", .value = sim::Value(""), .revision = 4},
      {.key = "k", .value = sim::Value("5"), .revision = 5, .there = sim::Value("")},
      EtcdV3Transaction::reading("k")};
  bool done = false;
  world::TestWorld world;
  world.start(world.node("n"), "test", [&](sim::Ports& ports) {
    const EtcdV3Server asked_by_value(ports, sim::PortNumber{1});
    const EtcdV3Server asked_by_text(ports, sim::PortNumber{2});
    HttpClient by_value(ports, {{"n", sim::PortNumber{1}}, std::nullopt});
    HttpClient by_text(ports, {{"n", sim::PortNumber{2}}, std::nullopt});
    for (const Put& put : puts) {
      const auto transaction = std::make_shared<EtcdV3Transaction>(put);
      HttpRequest request{"POST", "/v3/kv/txn", transaction->bytes(), "application/json", ""};
      const HttpResponse expected = by_text.exchange(request, in(ports, 1s));
      request.body.clear();
      request.whole = sim::Value(transaction);
      const HttpResponse told = by_value.exchange(request, in(ports, 1s));
      EXPECT_EQ(told.status, expected.status);
      EXPECT_EQ(told.text(), expected.text());
    }
    done = true;
    return 0;
  });
  world.run_for(1min);
  EXPECT_TRUE(done);
}

TEST(EtcdV3Transaction, gives_readers_the_very_value_that_was_written) {
  bool done = false;
  world::TestWorld world;
  world.start(world.node("n"), "test", [&](sim::Ports& ports) {
    const EtcdV3Server server(ports, sim::PortNumber{2379});
    EtcdOptions options{{{"n", sim::PortNumber{2379}}, std::nullopt}, "", "", 60s};
    options.by_quorum = true;
    EtcdV3Client writer(ports, options), reader(ports, options);
    const sim::Value value("state");
    EXPECT_TRUE(writer.put_if("k", value, 0).written);
    const EtcdV3Read read = reader.get("k");
    EXPECT_EQ(read.entry.value.payload(), value.payload());
    EXPECT_EQ(read.entry.revision, read.revision);
    const EtcdV3Write refused = writer.put_if("k", sim::Value("other"), 0);
    EXPECT_FALSE(refused.written);
    EXPECT_EQ(refused.present.value.payload(), value.payload());
    EXPECT_EQ(refused.present.revision, read.revision);
    done = true;
    return 0;
  });
  world.run_for(1min);
  EXPECT_TRUE(done);
}

}  // namespace
}  // namespace hooke::model
