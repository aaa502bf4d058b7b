// hooke's etcd beside the real one: the same requests of the v2 API, the same answers.
#include <random>

#include "job.h"
#include "model/etcd/embedded_server.h"
#include "model/etcd/v2_server.h"
#include "model/http/http_client.h"

namespace hooke::interop {
namespace {

namespace fs = std::filesystem;
using model::HttpClient;
using model::HttpRequest;

/// What two servers may say differently: the clock, and where their indices begin.
json comparable(json value, std::uint64_t base) {
  if (value.is_object()) {
    value.erase("expiration");
    for (const char* index : {"modifiedIndex", "createdIndex", "index"}) {
      if (value.contains(index)) value[index] = value[index].get<std::uint64_t>() - base;
    }
    // Comparing indices is spoken about too.
    if (value.contains("cause")) {
      const std::string cause = value["cause"];
      if (cause.starts_with("[")) value["cause"] = "compared";
    }
    // A second may just be over.
    if (value.contains("ttl")) value["ttl"] = "some";
  }
  if (value.is_structured()) {
    for (auto& item : value) item = comparable(item, base);
  }
  // The real one lists in the order of its hash table.
  if (value.is_object() && value.contains("nodes")) {
    std::sort(value["nodes"].begin(), value["nodes"].end());
  }
  return value;
}

class TwoEtcds {
 public:
  TwoEtcds(Ports& ports, const model::EmbeddedEtcd& real, const model::EtcdV2Server& own)
      : ports_(ports),
        real_(ports, {real.endpoint(), {}}),
        own_(ports, {{"localhost", own.port()}, {}}),
        real_base_(index(real_)),
        own_base_(index(own_)) {}

  /// Both answer alike; says what the real one answered.
  json both(const std::string& method, const std::string& key, const std::string& parameters) {
    const auto ask = [&](HttpClient& client, std::uint64_t base) {
      // An index in a request counts from where the server's indices begin.
      std::string text = parameters;
      if (const std::size_t at = text.find("Index=+"); at != std::string::npos) {
        const std::size_t end = std::min(text.find('&', at), text.size());
        const std::uint64_t wanted = std::stoull(text.substr(at + 7, end - at - 7)) + base;
        text.replace(at + 6, end - at - 6, std::to_string(wanted));
      }
      HttpRequest request{method, "/v2/keys" + key, "", "", ""};
      if (method == "PUT" || method == "POST") {
        request.body = text;
        request.content_type = "application/x-www-form-urlencoded";
      } else if (!text.empty()) {
        request.target += "?" + text;
      }
      const auto response = client.exchange(request, in(ports_, 10s));
      json out{{"status", response.status}};
      out["body"] = comparable(json::parse(response.body, nullptr, false), base);
      out["index"] = std::stoull(*response.header("x-etcd-index")) - base;
      return out;
    };
    const json theirs = ask(real_, real_base_), ours = ask(own_, own_base_);
    EXPECT_EQ(ours, theirs) << method << " " << key << " " << parameters;
    return theirs;
  }

 private:
  std::uint64_t index(HttpClient& client) {
    const auto response = client.exchange({"GET", "/v2/keys/", "", "", ""}, in(ports_, 10s));
    return std::stoull(*response.header("x-etcd-index"));
  }
  Ports& ports_;
  HttpClient real_, own_;
  std::uint64_t real_base_, own_base_;
};

class EtcdServer : public testing::Test {
 protected:
  void SetUp() override {
    if (!is_installed("etcd")) GTEST_SKIP() << "there is no etcd here";
  }
  void with_both(const std::function<void(Ports&, TwoEtcds&)>& body) {
    run([&](Ports& ports, const fs::path& directory) {
      model::EmbeddedEtcd real(ports, {{}, (directory / "etcd").string(), 60s});
      const model::EtcdV2Server own(ports, sim::PortNumber{0});
      TwoEtcds etcds(ports, real, own);
      body(ports, etcds);
      real.stop();
    });
  }
};

TEST_F(EtcdServer, answers_random_requests_as_etcd_does) {
  with_both([](Ports&, TwoEtcds& etcds) {
    std::minstd_rand random(20261122);
    const auto pick = [&](std::initializer_list<const char*> from) {
      return std::string(from.begin()[random() % from.size()]);
    };
    for (int i = 0; i < 3000 && !testing::Test::HasFailure(); ++i) {
      const std::string key =
          pick({"/a", "/b", "/a/x", "/a/y", "/b/x", "/b/x/deep", "/_hidden", "/a/x/"});
      switch (random() % 4) {
        case 0:
          etcds.both("GET", key, pick({"", "", "recursive=true", "sorted=true&recursive=true"}));
          break;
        case 1: etcds.both("GET", pick({"/", "/a", "/b"}), pick({"", "recursive=true"})); break;
        case 2:
          etcds.both("PUT", key,
                     pick({"value=1", "value=2", "value=", "dir=true", "value=1&ttl=1000",
                           "dir=true&prevExist=false", "value=3&prevExist=false",
                           "value=4&prevExist=true", "ttl=1000&refresh=true&prevExist=true",
                           "value=5&prevValue=1", "value=6&prevValue=2", "value=1&prevValue=4",
                           "value=7&prevIndex=1", "value=8&prevIndex=+3",
                           "ttl=&prevExist=true&value=9", "dir=true&ttl=1000&prevExist=false"}));
          break;
        default:
          etcds.both("DELETE", key,
                     pick({"", "", "dir=true", "recursive=true", "prevValue=1", "prevIndex=+5"}));
      }
    }
  });
}

TEST_F(EtcdServer, watches_and_forgets_as_etcd_does) {
  with_both([](Ports&, TwoEtcds& etcds) {
    for (const char* key : {"/w/a", "/w/b", "/w/a"}) etcds.both("PUT", key, "value=1");
    etcds.both("PUT", "/w/a", "ttl=100&refresh=true&prevExist=true");
    etcds.both("DELETE", "/w", "recursive=true");
    for (int index = 1; index <= 5; ++index) {
      const std::string since = "wait=true&waitIndex=+" + std::to_string(index);
      if (index != 4) etcds.both("GET", "/w/a", since);
      etcds.both("GET", "/w", since + "&recursive=true");
    }
    for (int i = 0; i < 1000; ++i) etcds.both("PUT", "/other", "value=" + std::to_string(i));
    EXPECT_EQ(etcds.both("GET", "/w", "wait=true&waitIndex=+2")["body"]["errorCode"], 401);
  });
}

TEST_F(EtcdServer, lets_keys_expire_as_etcd_does) {
  with_both([](Ports& ports, TwoEtcds& etcds) {
    etcds.both("PUT", "/kept", "value=1&ttl=2");
    etcds.both("PUT", "/kept", "value=2&prevValue=1");
    etcds.both("PUT", "/directory", "dir=true&ttl=2");
    etcds.both("PUT", "/directory/key", "value=1");
    etcds.both("PUT", "/lost", "value=1&ttl=1");
    ports.executor.sleep_until(in(ports, 4s));
    etcds.both("GET", "/", "recursive=true");
    etcds.both("GET", "/", "wait=true&recursive=true&waitIndex=+6");
    etcds.both("GET", "/", "wait=true&recursive=true&waitIndex=+7");
    etcds.both("GET", "/directory/key", "");
  });
}

}  // namespace
}  // namespace hooke::interop
