// The simulated etcd v3 as a client meets it, and as its bytes are. That the bytes are etcd's is
// shown by interop/etcd_server_test.cpp.
#include "model/etcd/v3_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/etcd/v3_client.h"
#include "model/etcd/v3_store.h"
#include "model/http/http_client.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;
using world::in;

constexpr sim::PortNumber kV3Port{2379};

class EtcdV3ServerTest : public testing::Test {
 protected:
  /// Runs `body` beside a server.
  static void run(const std::function<void(sim::Ports&)>& body) {
    bool done = false;
    world::TestWorld world;
    world.start(world.node("n"), "test", [&](sim::Ports& ports) {
      const EtcdV3Server server(ports, kV3Port);
      body(ports);
      done = true;
      return 0;
    });
    world.run_for(std::chrono::hours(3));
    EXPECT_TRUE(done);
  }
  static EtcdOptions options() { return {{{"n", kV3Port}, std::nullopt}, "", "", 60s}; }
  static HttpRequest request(const std::string& path, const std::string& body) {
    return {"POST", path, body, "application/json", ""};
  }
  /// Status and body; of the header only the revision is kept.
  static std::string ask(sim::Ports& ports, const std::string& path, const std::string& body) {
    HttpClient client(ports, {{"n", kV3Port}, std::nullopt});
    const HttpResponse response = client.exchange(request(path, body), in(ports, 5s));
    return std::to_string(response.status) + " " + shortened(response.text());
  }
  /// What a feed tells until it has been silent for a second.
  static std::string heard(sim::Ports& ports, HttpFeed& feed) {
    std::string text;
    try {
      while (const auto piece = feed.next(in(ports, 1s))) text += piece->bytes();
    } catch (const HttpError& error) {
      EXPECT_EQ(error.fault(), sim::Fault::timed_out);
    }
    return text;
  }
  static std::size_t count_of(std::string_view what, std::string_view text) {
    std::size_t count = 0;
    for (auto at = text.find(what); at != std::string_view::npos; at = text.find(what, at + 1)) {
      ++count;
    }
    return count;
  }
  static std::string shortened(std::string text) {
    for (const char* constant :
         {R"("cluster_id":"14841639068965178418","member_id":"10276657743932975437",)",
          R"(,"raft_term":"2")"}) {
      for (std::size_t at = text.find(constant); at != std::string::npos;
           at = text.find(constant)) {
        text.erase(at, std::string(constant).size());
      }
    }
    return text;
  }
};

TEST_F(EtcdV3ServerTest, counts_revisions_and_versions) {
  run([](sim::Ports& ports) {
    EXPECT_EQ(ask(ports, "/v3/kv/range", R"({"key":"YQ=="})"),
              R"(200 {"header":{"revision":"1"}})");
    ask(ports, "/v3/kv/put", R"({"key":"YQ==","value":"MQ=="})");
    EXPECT_EQ(ask(ports, "/v3/kv/put", R"({"key":"YQ==","value":"Mg==","prev_kv":true})"),
              R"(200 {"header":{"revision":"3"},"prev_kv":{"key":"YQ==","create_revision":"2",)"
              R"("mod_revision":"2","version":"1","value":"MQ=="}})");
    EXPECT_EQ(ask(ports, "/v3/kv/range", R"({"key":"YQ==","revision":2})"),
              R"(200 {"header":{"revision":"3"},"kvs":[{"key":"YQ==","create_revision":"2",)"
              R"("mod_revision":"2","version":"1","value":"MQ=="}],"count":"1"})");
    EXPECT_EQ(ask(ports, "/v3/kv/deleterange", R"({"key":"YQ=="})"),
              R"(200 {"header":{"revision":"4"},"deleted":"1"})");
    EXPECT_EQ(ask(ports, "/v3/kv/deleterange", R"({"key":"YQ=="})"),
              R"(200 {"header":{"revision":"4"}})");
  });
}

TEST_F(EtcdV3ServerTest, forgets_what_is_compacted) {
  run([](sim::Ports& ports) {
    for (const char* value : {"MQ==", "Mg==", "Mw=="}) {
      ask(ports, "/v3/kv/put", std::string(R"({"key":"YQ==","value":")") + value + "\"}");
    }
    EXPECT_EQ(ask(ports, "/v3/kv/compaction", R"({"revision":"3"})"),
              R"(200 {"header":{"revision":"4"}})");
    EXPECT_THAT(ask(ports, "/v3/kv/range", R"({"key":"YQ==","revision":"2"})"),
                HasSubstr("required revision has been compacted"));
    EXPECT_THAT(ask(ports, "/v3/kv/range", R"({"key":"YQ==","revision":"3"})"),
                HasSubstr(R"("value":"Mg==")"));
    EXPECT_THAT(ask(ports, "/v3/kv/range", R"({"key":"YQ==","revision":"5"})"),
                HasSubstr("required revision is a future revision"));
    EXPECT_THAT(ask(ports, "/v3/kv/compaction", R"({"revision":"3"})"), HasSubstr("\"code\":11"));
  });
}

TEST_F(EtcdV3ServerTest, carries_a_transaction_out_whole_or_not_at_all) {
  run([](sim::Ports& ports) {
    EXPECT_EQ(ask(ports, "/v3/kv/txn",
                  R"({"compare":[{"key":"YQ==","target":"MOD","mod_revision":"0"}],
                      "success":[{"request_put":{"key":"YQ==","value":"MQ=="}},
                                 {"request_put":{"key":"Yg=="}}]})"),
              R"(200 {"header":{"revision":"2"},"succeeded":true,"responses":[)"
              R"({"response_put":{"header":{"revision":"2"}}},)"
              R"({"response_put":{"header":{"revision":"2"}}}]})");
    EXPECT_EQ(ask(ports, "/v3/kv/txn",
                  R"({"success":[{"request_put":{"key":"YQ==","value":"Mg=="}},
                                 {"request_put":{"key":"Yw==","lease":"9"}}]})"),
              R"(404 {"error":"etcdserver: requested lease not found",)"
              R"("message":"etcdserver: requested lease not found","code":5})");
    EXPECT_THAT(ask(ports, "/v3/kv/range", R"({"key":"YQ=="})"), HasSubstr(R"("value":"MQ==")"));
    const std::string nested = R"({"success":[{"request_txn":)";
    std::string deep = "{}";
    for (int i = 0; i < 1000; ++i) deep = nested + deep + "}]}";
    EXPECT_THAT(ask(ports, "/v3/kv/txn", deep), HasSubstr("too many operations in txn request"));
  });
}

TEST_F(EtcdV3ServerTest, a_transaction_that_only_reads_sees_each_change) {
  run([](sim::Ports& ports) {
    EtcdOptions agreed = options();
    agreed.by_quorum = true;
    EtcdV3Client client(ports, agreed);
    EtcdV3Client other(ports, options());
    EXPECT_FALSE(client.get("k").entry.exists());
    for (const char* value : {"1", "2", "2"}) {
      other.put("k", sim::Value(value));
      const EtcdV3Read first = client.get("k");
      EXPECT_EQ(first.entry.value.bytes(), value);
      const EtcdV3Read again = client.get("k");
      EXPECT_EQ(again.revision, first.revision);
      EXPECT_EQ(again.entry.value, first.entry.value);
      other.put("another", sim::Value("1"));
      EXPECT_EQ(client.get("k").revision, first.revision + 1);
    }
    EXPECT_TRUE(other.remove("k"));
    EXPECT_FALSE(client.get("k").entry.exists());
    // What reads or writes by its condition is told what it finds, each time.
    const std::string once = R"({"compare":[{"key":"Yg==","target":"MOD","mod_revision":"0"}],)"
                             R"("success":[{"request_put":{"key":"Yg==","value":"MQ=="}}],)"
                             R"("failure":[{"request_range":{"key":"Yg=="}}]})";
    EXPECT_THAT(ask(ports, "/v3/kv/txn", once), HasSubstr(R"("succeeded":true)"));
    for (int i = 0; i < 2; ++i)
      EXPECT_THAT(ask(ports, "/v3/kv/txn", once), HasSubstr(R"("value":"MQ==")"));
    EXPECT_TRUE(other.remove("b"));
    EXPECT_THAT(ask(ports, "/v3/kv/txn", once), HasSubstr(R"("succeeded":true)"));
  });
}

TEST_F(EtcdV3ServerTest, looks_for_what_has_stood_at_a_key_no_longer_than_it_may) {
  run([](sim::Ports& ports) {
    EtcdV3Client client(ports, options());
    const std::int64_t before = client.get("k").revision;
    for (const char* value : {"1", "2", "3"}) client.put("k", sim::Value(value));
    const EtcdV3Entry now = client.get("k").entry;
    const auto found = [&](const char* value, sim::MonotonicTime deadline) {
      const auto is_it = [&](const sim::Value& bytes) { return bytes.bytes() == value; };
      return client.since("k", before, now, is_it, deadline).has_value();
    };
    EXPECT_TRUE(found("1", in(ports, 1s)));
    EXPECT_FALSE(found("4", in(ports, 1s)));
    EXPECT_TRUE(found("3", in(ports, 0s))) << "it is known already";
    EXPECT_FALSE(found("1", in(ports, 0s)));
  });
}

TEST_F(EtcdV3ServerTest, a_lease_takes_its_keys_along_unless_it_is_renewed) {
  run([](sim::Ports& ports) {
    EtcdV3Client client(ports, options());
    const std::int64_t lease = client.grant(10s);
    const EtcdV3Write written = client.put_if("k", sim::Value("v"), 0, lease);
    ASSERT_TRUE(written.written);
    for (int i = 0; i < 3; ++i) {
      ports.executor.sleep_until(in(ports, 8s));
      EXPECT_TRUE(client.renew(lease));
      EXPECT_TRUE(client.get("k").entry.exists());
    }
    ports.executor.sleep_until(in(ports, 9s));
    EXPECT_TRUE(client.get("k").entry.exists());
    EXPECT_TRUE(client.watch("k", written.present.revision + 1, in(ports, 10s)));
    EXPECT_FALSE(client.get("k").entry.exists());
    EXPECT_FALSE(client.renew(lease));
    EXPECT_THAT(ask(ports, "/v3/lease/leases", "{}"), testing::Not(HasSubstr("ID")));
  });
}

TEST_F(EtcdV3ServerTest, grants_leases_up_to_the_limit_and_not_beyond) {
  run([](sim::Ports& ports) {
    const auto granted = [&](const std::string& ttl) {
      return ask(ports, "/v3/lease/grant", R"({"ID":"7","TTL":")" + ttl + "\"}");
    };
    EXPECT_THAT(granted("9000000001"), HasSubstr("too large lease TTL"));
    EXPECT_THAT(granted("9223372036854775807"), HasSubstr("too large lease TTL"));
    EXPECT_THAT(granted("9223372036854775808"), testing::StartsWith("400 "));
    EXPECT_THAT(granted("9000000000"), HasSubstr(R"("TTL":"9000000000")"));
    ports.executor.sleep_until(in(ports, 2h));
    EXPECT_THAT(ask(ports, "/v3/lease/timetolive", R"({"ID":"7"})"),
                HasSubstr(R"("TTL":"8999992)"));
    ask(ports, "/v3/lease/revoke", R"({"ID":"7"})");
    EXPECT_THAT(granted("-9223372036854775808"), HasSubstr(R"("TTL":"2")"));
  });
}

TEST_F(EtcdV3ServerTest, ends_thousands_of_leases_with_their_keys) {
  run([](sim::Ports& ports) {
    EtcdV3Client client(ports, options());
    for (int i = 0; i < 3000; ++i) {
      client.put_if("k/" + std::to_string(i), sim::Value("v"), 0, client.grant(60s));
    }
    client.put("k/of no lease", sim::Value("v"));
    EXPECT_EQ(client.list("k/").size(), 3001U);
    ports.executor.sleep_until(in(ports, 61s));
    EXPECT_EQ(client.list("k/").size(), 1U);
    EXPECT_EQ(count_of("ID", ask(ports, "/v3/lease/leases", "{}")), 0U);
  });
}

TEST_F(EtcdV3ServerTest, tells_each_of_thousands_of_watches_once) {
  run([](sim::Ports& ports) {
    constexpr std::size_t kOfOneStream = 3000;
    constexpr std::size_t kStreams = 500;
    const std::string watch = R"({"create_request":{"key":"YQ=="}})";
    std::string many;
    for (std::size_t i = 0; i < kOfOneStream; ++i) many += watch + "\n";
    const auto watching = [&](const std::string& body) {
      return std::make_unique<HttpFeed>(ports, HttpServer{{"n", kV3Port}, std::nullopt},
                                        request("/v3/watch", body), in(ports, 5s));
    };
    const auto large = watching(many);
    std::vector<std::unique_ptr<HttpFeed>> small;
    for (std::size_t i = 0; i < kStreams; ++i) small.push_back(watching(watch));
    EXPECT_EQ(count_of(R"("created":true)", heard(ports, *large)), kOfOneStream);
    ask(ports, "/v3/kv/put", R"({"key":"YQ=="})");
    ask(ports, "/v3/kv/put", R"({"key":"Yg=="})");
    EXPECT_EQ(count_of(R"("events")", heard(ports, *large)), kOfOneStream);
    for (const auto& feed : small) EXPECT_EQ(count_of(R"("events")", heard(ports, *feed)), 1U);
    small.clear();
    EXPECT_THAT(ask(ports, "/v3/kv/put", R"({"key":"YQ=="})"), HasSubstr(R"("revision":"4")"));
  });
}

TEST_F(EtcdV3ServerTest, serves_a_store) {
  run([](sim::Ports& ports) {
    const auto store =
        make_etcd_v3_store(ports, std::make_shared<EtcdV3Client>(ports, options()), "/prefix/");
    ports.executor.spawn("setter", [&ports] {
      const auto other =
          make_etcd_v3_store(ports, std::make_shared<EtcdV3Client>(ports, options()), "/prefix/");
      ports.executor.sleep_until(in(ports, 5s));
      other->set("awaited", sim::Value(std::string("\0\xff", 2)));
    });
    const auto begin = ports.clock.monotonic_now();
    EXPECT_EQ(store->get("awaited").bytes(), std::string("\0\xff", 2));
    EXPECT_LT(ports.clock.monotonic_now() - begin, 6s);
    EXPECT_EQ(store->add("n", 3), 3);
    EXPECT_EQ(store->add("n", 4), 7);
    EXPECT_EQ(store->compare_set("n", sim::Value("7"), sim::Value("8")), sim::Value("8"));
    EXPECT_EQ(store->compare_set("n", sim::Value("7"), sim::Value("9")), sim::Value("8"));
    EXPECT_EQ(store->num_keys(), 2);
    EXPECT_TRUE(store->delete_key("n"));
    EXPECT_FALSE(store->check({"n"}));
  });
}

TEST_F(EtcdV3ServerTest, a_watch_hears_of_the_past_then_of_what_comes) {
  run([](sim::Ports& ports) {
    ask(ports, "/v3/kv/put", R"({"key":"YQ==","value":"MQ=="})");
    ask(ports, "/v3/kv/deleterange", R"({"key":"YQ=="})");
    HttpFeed feed(ports, {{"n", kV3Port}, std::nullopt},
                  request("/v3/watch",
                          R"({"create_request":{"key":"YQ==","start_revision":2,"prev_kv":true}})"),
                  in(ports, 5s));
    const auto told = [&] { return shortened(heard(ports, feed)); };
    EXPECT_EQ(told(), R"({"result":{"header":{"revision":"3"},"created":true}})"
                      "\n"
                      R"({"result":{"header":{"revision":"3"},"events":[)"
                      R"({"kv":{"key":"YQ==","create_revision":"2","mod_revision":"2",)"
                      R"("version":"1","value":"MQ=="}},)"
                      R"({"type":"DELETE","kv":{"key":"YQ==","mod_revision":"3"},)"
                      R"("prev_kv":{"key":"YQ==","create_revision":"2","mod_revision":"2",)"
                      R"("version":"1","value":"MQ=="}}]}})"
                      "\n");
    ask(ports, "/v3/kv/put", R"({"key":"Yg=="})");
    ask(ports, "/v3/kv/put", R"({"key":"YQ=="})");
    EXPECT_EQ(told(), R"({"result":{"header":{"revision":"5"},"events":[{"kv":{"key":"YQ==",)"
                      R"("create_revision":"5","mod_revision":"5","version":"1"}}]}})"
                      "\n");
  });
}

}  // namespace
}  // namespace hooke::model
