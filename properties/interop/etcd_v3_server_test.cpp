// hooke's etcd beside the real one: the v3 API.
#include <random>
#include <regex>

#include "job.h"
#include "model/etcd/embedded_server.h"
#include "model/etcd/v3_server.h"
#include "model/http/http_client.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;
using model::HttpClient;
using model::HttpRequest;

/// An answer without what no two clusters have alike.
std::string comparable(const std::string& text) {
  static const std::regex kIds(R"re("(cluster_id|member_id)":"[0-9]+")re");
  return std::regex_replace(text, kIds, R"re("$1":"some")re");
}

class TwoEtcdsV3 {
 public:
  TwoEtcdsV3(Ports& ports, const model::EmbeddedEtcd& real, const model::EtcdV3Server& own)
      : ports_(ports),
        real_at_{real.endpoint(), {}},
        own_at_{{"localhost", own.port()}, {}},
        real_(ports, real_at_),
        own_(ports, own_at_) {}

  /// Both answer alike, byte for byte; says what the real one answered.
  std::string both(const std::string& path, const std::string& body) {
    const auto ask = [&](HttpClient& client) {
      const auto response = client.exchange(request(path, body), in(ports_, 10s));
      return std::to_string(response.status) + " " + comparable(response.body);
    };
    const std::string theirs = ask(real_), ours = ask(own_);
    EXPECT_EQ(ours, theirs) << path << " " << body;
    return theirs;
  }

  /// Both tell the same to a watcher, however they cut it, until `events` have been told and
  /// `results` others (created, canceled). Says what the real one told.
  json watch(const std::string& body, std::size_t events, std::size_t results) {
    const auto ask = [&](const model::HttpServer& server) {
      model::HttpFeed feed(ports_, server, request("/v3/watch", body), in(ports_, 10s));
      json told = json::object(), others = json::array();
      std::string text;
      std::size_t count = 0;
      while (count < events || others.size() < results) {
        const auto piece = feed.next(in(ports_, 10s));
        if (!piece) break;
        text += piece->bytes();
        for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n')) {
          json result = json::parse(text.substr(0, end))["result"];
          text.erase(0, end + 1);
          if (!result.contains("events")) {
            result["header"].erase("cluster_id");
            result["header"].erase("member_id");
            others.push_back(result);
            continue;
          }
          for (const json& event : result["events"]) {
            told[result.value("watch_id", "0")].push_back(event);
            ++count;
          }
        }
      }
      return json{{"events", told}, {"others", others}};
    };
    const json theirs = ask(real_at_), ours = ask(own_at_);
    EXPECT_EQ(ours, theirs) << body;
    return theirs;
  }

 private:
  static HttpRequest request(const std::string& path, const std::string& body) {
    return {"POST", path, body, "application/json", ""};
  }
  Ports& ports_;
  model::HttpServer real_at_, own_at_;
  HttpClient real_, own_;
};

class EtcdV3Server : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_installed("etcd")) GTEST_SKIP() << "there is no etcd here";
  }
  void with_both(const std::function<void(Ports&, TwoEtcdsV3&)>& body) {
    run([&](Ports& ports, const fs::path& directory) {
      model::EmbeddedEtcd real(ports, {{}, (directory / "etcd").string(), 60s});
      const model::EtcdV3Server own(ports, sim::PortNumber{0});
      TwoEtcdsV3 etcds(ports, real, own);
      body(ports, etcds);
      real.stop();
    });
  }
};

/// Requests as anybody could send them, over four keys.
class Requests {
 public:
  explicit Requests(unsigned seed) : random_(seed) {}

  std::string pick(std::initializer_list<const char*> from) {
    return from.begin()[random_() % from.size()];
  }
  unsigned below(unsigned bound) { return static_cast<unsigned>(random_() % bound); }
  std::string key() { return R"("key":")" + pick({"YQ==", "Yg==", "YmI=", "Yw=="}) + '"'; }
  std::string value() { return R"("value":")" + pick({"MQ==", "Mg==", "AP8=", ""}) + '"'; }
  std::string keys() {
    return pick({R"("key":"YQ==")", R"("key":"Yg==")", R"("key":"AA==","range_end":"AA==")",
                 R"("key":"Yg==","range_end":"AA==")", R"("key":"YQ==","range_end":"Yw==")",
                 R"("key":"Yw==","range_end":"YQ==")", R"("keyless":1)"});
  }
  std::string revision(const char* name) {
    const char* const quote = below(2) == 0 ? "\"" : "";
    return std::string(",\"") + name + "\":" + quote + std::to_string(below(60)) + quote;
  }
  std::string range() {
    std::string out = keys();
    if (below(3) == 0) out += revision("revision");
    if (below(6) == 0) out += revision("min_mod_revision");
    if (below(6) == 0) out += revision("maxCreateRevision");
    out += pick({"", "", "", R"(,"keys_only":true)", R"(,"count_only":true)"});
    out += pick({"", "", R"(,"limit":"1")", R"(,"limit":2)", R"(,"limit":-1)"});
    out += pick({"", "", R"(,"sort_order":"DESCEND")", R"(,"sort_order":2,"sort_target":"KEY")",
                 R"(,"serializable":true)", R"(,"sort_order":"UP")"});
    return "{" + out + "}";
  }
  /// `keeps`: it may keep a part of what is there.
  std::string put(bool keeps = true) {
    return "{" + pick({"", R"("prev_kv":true,)", R"("prevKv":false,)"}) +
           pick({"", "", "", R"("lease":"7",)", R"("lease":8,)"}) +
           (keeps && below(8) == 0
                ? key() + pick({R"(,"ignore_value":true)", R"(,"ignore_lease":true)"})
                : key() + "," + value()) +
           "}";
  }
  std::string removal() { return "{" + keys() + pick({"", R"(,"prev_kv":true)"}) + "}"; }
  std::string compare() {
    return "{" + (below(5) == 0 ? keys() : key()) +
           pick({R"(,"target":"VERSION","version":"1")", R"(,"target":"MOD","mod_revision":"0")",
                 R"(,"target":"CREATE","create_revision":"9")",
                 R"(,"target":"VALUE","value":"MQ==")", R"(,"target":"LEASE","lease":"7")",
                 R"(,"target":3)"}) +
           pick({"", "", R"(,"result":"GREATER")", R"(,"result":"LESS")",
                 R"(,"result":"NOT_EQUAL")"}) +
           "}";
  }
  /// A transaction that removes keeps no part of anything: etcd 3.4 crashes when a put is to keep a
  /// part of what the same transaction has removed.
  std::string operations(int depth, bool removes) {
    std::string out;
    for (unsigned left = below(4); left > 0; --left) {
      switch (below(depth > 0 ? 5 : 4)) {
        case 0: out += R"({"request_range":)" + range() + "}"; break;
        case 1:
          out += removes ? R"({"request_delete_range":)" + removal() + "}"
                         : R"({"request_range":)" + range() + "}";
          break;
        case 4: out += R"({"request_txn":)" + txn(depth - 1, removes) + "}"; break;
        default: out += R"({"request_put":)" + put(!removes) + "}";
      }
      if (left > 1) out += ",";
    }
    return "[" + out + "]";
  }
  std::string txn(int depth, bool removes) {
    std::string compares;
    for (unsigned left = below(3); left > 0; --left) compares += compare() + (left > 1 ? "," : "");
    return R"({"compare":[)" + compares + R"(],"success":)" + operations(depth, removes) +
           R"(,"failure":)" + operations(depth, removes) + "}";
  }

 private:
  std::minstd_rand random_;
};

TEST_F(EtcdV3Server, answers_random_requests_as_etcd_does) {
  with_both([](Ports&, TwoEtcdsV3& etcds) {
    Requests requests(20261122);
    int revoked = 0;
    for (int i = 0; i < 8000 && !testing::Test::HasFailure(); ++i) {
      switch (requests.below(16)) {
        case 0:
        case 1:
        case 2:
        case 3: etcds.both("/v3/kv/range", requests.range()); break;
        case 4:
        case 5:
        case 6: etcds.both("/v3/kv/put", requests.put()); break;
        case 7: etcds.both("/v3/kv/deleterange", requests.removal()); break;
        case 8:
          etcds.both("/v3/lease/grant",
                     requests.pick({R"({"TTL":"1000","ID":"7"})", R"({"TTL":1000,"ID":8})"}));
          break;
        case 9:
          if (++revoked % 4 == 0)
            etcds.both("/v3/lease/revoke", requests.pick({R"({"ID":"7"})", R"({"ID":8})"}));
          break;
        case 10:
          etcds.both("/v3/lease/keepalive",
                     requests.pick({R"({"ID":"7"})", R"({"ID":9}{"ID":7})"}));
          break;
        case 11:
          if (requests.below(20) == 0)
            etcds.both("/v3/kv/compaction", R"({"a":0)" + requests.revision("revision") + "}");
          break;
        default: etcds.both("/v3/kv/txn", requests.txn(2, requests.below(2) == 0));
      }
    }
  });
}

TEST_F(EtcdV3Server, refuses_as_etcd_does) {
  with_both([](Ports&, TwoEtcdsV3& etcds) {
    for (const char* path : {"/v3/kv/range", "/v3/kv/put", "/v3/kv/deleterange"}) {
      for (const char* body : {"", "{}", "null", "x", "[]", R"({"key":"***"})", R"({"key":5})",
                               R"({"key":"YQ=="} trailing)", R"({"key":"YQ==")", R"({"key":"YQ"})",
                               R"({"key":null})"}) {
        etcds.both(path, body);
      }
    }
    etcds.both("/v3/kv/range", R"({"key":"YQ==","limit":"99999999999999999999"})");
    etcds.both("/v3/kv/range", R"({"key":"YQ==","serializable":"true"})");
    etcds.both("/v3/kv/put", R"({"key":"YQ==","value":"MQ==","ignore_value":true})");
    etcds.both("/v3/kv/put", R"({"key":"YQ==","lease":"1","ignore_lease":true})");
    etcds.both("/v3/kv/txn", R"({"success":[{}]})");
    etcds.both("/v3/kv/txn", R"({"success":{}})");
    etcds.both("/v3/kv/txn", R"({"compare":[{"target":"MOD"}]})");
    etcds.both("/v3/lease/grant", R"({"TTL":"99999999999"})");
    etcds.both("/v3/lease/grant", R"({"TTL":-1,"ID":"5"})");
    etcds.both("/v3/lease/timetolive", R"({"ID":"6"})");
    etcds.both("/v3/lease/revoke", "{}");
    etcds.both("/v3/lease/keepalive", "x");
    etcds.both("/v3/watch", "x");
    etcds.both("/v3/auth/authenticate", R"({"name":"u","password":"p"})");
    etcds.both("/v3/nothing", "{}");
    std::string many;
    for (int i = 0; i < 129; ++i) {
      many += (i > 0 ? "," : "") + std::string(R"({"request_range":{"key":"YQ=="}})");
    }
    etcds.both("/v3/kv/txn", R"({"success":[)" + many + "]}");
  });
}

TEST_F(EtcdV3Server, watches_as_etcd_does) {
  with_both([](Ports&, TwoEtcdsV3& etcds) {
    etcds.both("/v3/kv/put", R"({"key":"YQ==","value":"MQ=="})");
    etcds.both("/v3/kv/put", R"({"key":"Yg==","value":"MQ=="})");
    etcds.both("/v3/kv/put", R"({"key":"YQ==","value":"Mg=="})");
    etcds.both("/v3/kv/deleterange", R"({"key":"AA==","range_end":"AA=="})");
    etcds.both("/v3/kv/txn", R"({"success":[{"request_put":{"key":"YQ=="}},
                                            {"request_put":{"key":"Yw=="}}]})");
    etcds.watch(R"({"create_request":{"key":"YQ==","start_revision":"1"}})", 4, 1);
    etcds.watch(R"({"create_request":{"key":"YQ==","start_revision":3,"prev_kv":true}})", 3, 1);
    etcds.watch(R"({"create_request":{"start_revision":1,"range_end":"AA==",
                    "filters":["NOPUT"]}})",
                2, 1);
    etcds.watch(R"({"create_request":{"key":"YQ==","range_end":"Yg==","start_revision":1,
                    "filters":["NODELETE"],"watch_id":"5"}})",
                3, 1);
    etcds.watch(R"({"create_request":{"key":"Yg==","range_end":"YQ=="}})", 0, 1);
    etcds.watch(R"({"create_request":{"key":"YQ=="}}{"create_request":{"key":"Yg=="}}
                   {"cancel_request":{"watch_id":"1"}}{"progress_request":{}})",
                0, 4);
    etcds.watch(R"({"create_request":{"key":"YQ==","watch_id":3}}
                   {"create_request":{"key":"Yg==","watch_id":3}})",
                0, 2);
    etcds.both("/v3/kv/compaction", R"({"revision":"5"})");
    const json told =
        etcds.watch(R"({"create_request":{"key":"YQ==","start_revision":"4"}})", 0, 2);
    EXPECT_EQ(told["others"][1].value("compact_revision", ""), "5");
    etcds.watch(R"({"create_request":{"key":"YQ==","start_revision":"6"}})", 1, 1);
  });
}

TEST_F(EtcdV3Server, ends_leases_as_etcd_does) {
  with_both([](Ports& ports, TwoEtcdsV3& etcds) {
    etcds.both("/v3/lease/grant", R"({"TTL":"1","ID":"7"})");
    etcds.both("/v3/lease/grant", R"({"TTL":"100","ID":"8"})");
    etcds.both("/v3/kv/put", R"({"key":"YQ==","lease":"7"})");
    etcds.both("/v3/kv/put", R"({"key":"Yg==","lease":"7"})");
    etcds.both("/v3/kv/put", R"({"key":"Yw==","lease":"7"})");
    etcds.both("/v3/kv/put", R"({"key":"Yw==","lease":"8"})");
    etcds.both("/v3/lease/keepalive", R"({"ID":"7"})");
    ports.executor.sleep_until(in(ports, 5s));
    etcds.both("/v3/lease/keepalive", R"({"ID":"7"})");
    etcds.both("/v3/lease/leases", "{}");
    etcds.both("/v3/lease/timetolive", R"({"ID":"7","keys":true})");
    etcds.both("/v3/kv/range", R"({"key":"AA==","range_end":"AA=="})");
    etcds.watch(R"({"create_request":{"key":"AA==","range_end":"AA==","start_revision":6}})", 2, 1);
  });
}

}  // namespace
}  // namespace hooke::interop
