// The HTTP client against a server that sends just these bytes.
#include "model/http/http_client.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/etcd/v2_client.h"
#include "model/etcd/v3_client.h"
#include "model/http/http_service.h"
#include "properties/unit/sim/world/test_world.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

/// Answers each request with the next of `answers`, and closes after the last.
class Script final : public sim::AcceptHandler {
 public:
  Script(sim::Ports& ports, std::vector<std::string> answers)
      : answers_(std::move(answers)),
        listener_(ports.network.listen(sim::PortNumber{80}, *this).value()) {}
  void on_accept(std::unique_ptr<sim::Stream> stream) override {
    ++connections;
    served_.push_back(std::make_unique<Served>(*this, std::move(stream)));
  }
  std::string requests;
  int connections = 0;

 private:
  struct Served final : sim::StreamHandler {
    Served(Script& of, std::unique_ptr<sim::Stream> given) : script(of), stream(std::move(given)) {
      stream->set_handler(*this);
    }
    void on_data(sim::Buffer& received) override {
      script.requests += received.take(received.size()).bytes();
      if (script.next_ < script.answers_.size()) {
        static_cast<void>(stream->write(sim::Buffer(script.answers_[script.next_++])));
      }
      if (script.next_ == script.answers_.size()) stream->finish_writing();
    }
    void on_end() override {}
    Script& script;
    std::unique_ptr<sim::Stream> stream;
  };
  std::vector<std::string> answers_;
  std::size_t next_ = 0;
  std::vector<std::unique_ptr<Served>> served_;
  std::unique_ptr<sim::Listener> listener_;
};

/// Gives each client these pieces, one a second.
class PiecemealServer final : public sim::AcceptHandler {
 public:
  PiecemealServer(sim::Ports& ports, std::vector<std::string> pieces)
      : ports_(ports),
        pieces_(std::move(pieces)),
        listener_(ports.network.listen(sim::PortNumber{80}, *this).value()) {}
  void on_accept(std::unique_ptr<sim::Stream> stream) override {
    const std::shared_ptr<sim::Stream> kept = std::move(stream);
    ports_.executor.spawn("pieces", [this, kept] {
      for (const std::string& piece : pieces_) {
        static_cast<void>(kept->write(sim::Buffer(piece)));
        ports_.executor.sleep_until(world::in(ports_, 1s));
      }
    });
  }

 private:
  sim::Ports& ports_;
  std::vector<std::string> pieces_;
  std::unique_ptr<sim::Listener> listener_;
};

class Http : public testing::Test {
 protected:
  void run(std::vector<std::string> answers,
           const std::function<void(sim::Ports&, Script&)>& body) {
    bool done = false;
    world::TestWorld world;
    world.start(world.node("n"), "test", [&](sim::Ports& ports) {
      Script script(ports, std::move(answers));
      body(ports, script);
      done = true;
      return 0;
    });
    world.run_for(std::chrono::hours(1));
    EXPECT_TRUE(done);
  }
  static HttpResponse ask(sim::Ports& ports, HttpClient& client) {
    return client.exchange({"GET", "/x", "", "", ""}, world::in(ports, 5s));
  }
  static std::string fault_of(sim::Ports& ports, HttpClient& client) {
    try {
      return std::to_string(ask(ports, client).status);
    } catch (const HttpError& error) {
      return std::string(to_string(error.fault())) + (error.outcome_unknown() ? ", unknown" : "");
    }
  }
  static HttpServer server() { return {{"n", sim::PortNumber{80}}, std::nullopt}; }
};

TEST_F(Http, is_given_the_very_body_of_a_service_in_the_same_program) {
  const auto given = std::make_shared<sim::BytesPayload>("a body");
  run({}, [&](sim::Ports& ports, Script&) {
    HttpService service(ports, sim::PortNumber{81},
                        [&](const std::shared_ptr<HttpExchange>& exchange) {
                          if (exchange->query().path == "/x") {
                            exchange->answer(200, sim::Value(given), {{"X-A", "b"}});
                          } else {
                            exchange->answer(200, "a text");
                          }
                        });
    HttpClient client(ports, {{"n", sim::PortNumber{81}}, std::nullopt});
    for (int i = 0; i < 2; ++i) {  // on one connection
      const HttpResponse response = ask(ports, client);
      EXPECT_EQ(response.text(), "a body");
      EXPECT_EQ(*response.header("x-a"), "b");
      EXPECT_EQ(response.whole.payload(), given);
    }
    const HttpResponse plain = client.exchange({"GET", "/y", "", "", ""}, world::in(ports, 5s));
    EXPECT_EQ(plain.text(), "a text");
  });
}

/// A value that counts how often its bytes are made.
class CountedText final : public sim::Payload {
 public:
  [[nodiscard]] std::size_t size() const override { return text_.size(); }
  [[nodiscard]] const std::string& bytes() const override { return ++made, text_; }
  mutable int made = 0;

 private:
  std::string text_ = "a=b+c&d=%20";
};

TEST_F(Http, gives_a_service_in_the_same_program_the_very_body) {
  run({}, [&](sim::Ports& ports, Script&) {
    const auto body = std::make_shared<const CountedText>();
    std::vector<HttpQuery> asked;
    HttpService service(ports, sim::PortNumber{81},
                        [&](const std::shared_ptr<HttpExchange>& exchange) {
                          asked.push_back(exchange->query());
                          exchange->answer(200, "told");
                        });
    HttpClient client(ports, HttpServer{{"n", sim::PortNumber{81}}, std::nullopt});
    HttpRequest request{"PUT", "/a?x=y", "", "text/plain", "Basic eDp5"};
    request.whole = sim::Value(body);
    for (int i = 0; i < 2; ++i)
      EXPECT_EQ(client.exchange(request, world::in(ports, 5s)).text(), "told");
    ASSERT_EQ(asked.size(), 2U);
    for (const HttpQuery& query : asked) {
      EXPECT_EQ(query.whole.payload(), body);
      EXPECT_EQ(query.method + query.path + query.authorization, "PUT/aBasic eDp5");
      EXPECT_EQ(query.parameters, (std::map<std::string, std::string>{{"x", "y"}}));
      EXPECT_EQ(query.body, "");
    }
    EXPECT_EQ(body->made, 0);
    request.content_type = "application/x-www-form-urlencoded";
    static_cast<void>(client.exchange(request, world::in(ports, 5s)));
    EXPECT_EQ(asked.back().parameters,
              (std::map<std::string, std::string>{{"a", "b c"}, {"d", " "}, {"x", "y"}}));
    EXPECT_EQ(asked.back().text(), "a=b+c&d=%20");
    request.authorization = "no\x01 HTTP";
    EXPECT_EQ(client.exchange(request, world::in(ports, 5s)).status, 400);
    EXPECT_EQ(asked.size(), 3U);
  });
}

/// What a service is asked and its client told, one line for each request; `clients` take turns.
std::vector<std::string> dialogue(sim::Ports& ports, std::size_t clients) {
  std::vector<std::string> said;
  std::uint64_t index = 0;
  HttpService service(
      ports, sim::PortNumber{81}, [&](const std::shared_ptr<HttpExchange>& exchange) {
        const HttpQuery& query = exchange->query();
        std::string line = query.method + " " + query.path + " [" + query.body + "] ";
        for (const auto& [name, value] : query.parameters) line += name + "=" + value + ",";
        said.push_back(line + query.authorization);
        if (query.method == "PUT") ++index;
        const HttpHeaders headers{{"X-Etcd-Index", std::to_string(index)}};
        const int status = query.path == "/none" ? 404 : 200;
        exchange->answer(status, query.path == "/empty" ? "" : "told of " + query.path, headers);
      });
  std::vector<std::unique_ptr<HttpClient>> asking;
  for (std::size_t i = 0; i < clients; ++i) {
    asking.push_back(
        std::make_unique<HttpClient>(ports, HttpServer{{"n", sim::PortNumber{81}}, std::nullopt}));
  }
  const std::string form = "application/x-www-form-urlencoded";
  const std::vector<HttpRequest> asked{{"GET", "/a%20b?c=d", "", "", ""},
                                       {"GET", "/none", "", "", ""},
                                       {"GET", "/empty", "", "", ""},
                                       {"PUT", "/a", "value=x+y&ttl=5", form, ""},
                                       {"PUT", "/a", "value=x+z&ttl=5", form, ""},
                                       {"GET", "/a%20b?c=d", "", "", "Basic eDp5"}};
  for (std::size_t i = 0; i < 200; ++i) {
    const HttpRequest& request = asked[i / 6 * 5 % asked.size()];  // six times each, in turn
    const HttpResponse told = asking[i % clients]->exchange(request, world::in(ports, 5s));
    said.push_back(std::to_string(told.status) + " " + *told.header("x-etcd-index") + " " +
                   *told.header("content-length") + " " + told.text());
  }
  return said;
}

/// One client sends the same bytes again, which are made out once; of two hundred each asks once.
TEST_F(Http, a_client_that_asks_again_is_told_the_same_as_one_that_asks_once) {
  run({}, [&](sim::Ports& ports, Script&) {
    const std::vector<std::string> again = dialogue(ports, 1);
    EXPECT_EQ(again, dialogue(ports, 200));
    EXPECT_EQ(again, dialogue(ports, 2));
    ASSERT_EQ(again.size(), 400U);
    EXPECT_EQ(again[2], "GET /a b [] c=d,");
    EXPECT_EQ(again[3], "200 0 12 told of /a b");
    EXPECT_EQ(again[14], "GET /a b [] c=d,Basic eDp5");
    EXPECT_EQ(again[28], "PUT /a [value=x+z&ttl=5] ttl=5,value=x z,");
    EXPECT_EQ(again[29], "200 3 10 told of /a");
    EXPECT_EQ(again[51], "200 12 0 ");
    EXPECT_EQ(again[63], "404 12 13 told of /none");
  });
}

TEST_F(Http, reads_answers_with_a_length_or_in_chunks_on_one_connection) {
  run({"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nX-Etcd-Index: 7\r\n\r\none",
       "HTTP/1.1 201 Created\r\nTransfer-Encoding: chunked\r\n\r\n2\r\ntw\r\n1\r\no\r\n0\r\n\r\n"},
      [](sim::Ports& ports, Script& script) {
        HttpClient client(ports, server());
        const HttpResponse first = ask(ports, client);
        EXPECT_EQ(first.status, 200);
        EXPECT_EQ(first.text(), "one");
        EXPECT_EQ(*first.header("x-etcd-index"), "7");
        EXPECT_EQ(ask(ports, client).text(), "two");
        EXPECT_EQ(script.connections, 1);
        EXPECT_THAT(script.requests, HasSubstr("GET /x HTTP/1.1\r\nHost: n:80\r\n"));
      });
}

TEST_F(Http, an_answer_without_a_length_ends_with_its_connection) {
  run({"HTTP/1.1 200 OK\r\n\r\nall of it"}, [](sim::Ports& ports, Script&) {
    HttpClient client(ports, server());
    EXPECT_EQ(ask(ports, client).text(), "all of it");
  });
}

TEST_F(Http, what_is_cut_short_or_no_http_is_an_error_with_an_unknown_outcome) {
  const auto fault = [&](const std::string& answer) {
    std::string out;
    run({answer}, [&](sim::Ports& ports, Script&) {
      HttpClient client(ports, server());
      out = fault_of(ports, client);
    });
    return out;
  };
  EXPECT_EQ(fault("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort"),
            "connection reset, unknown");
  EXPECT_EQ(fault(""), "connection reset, unknown");
  EXPECT_EQ(fault("HTTP/1.1 200"), "connection reset, unknown");
  EXPECT_EQ(fault("*** not HTTP ***\r\n\r\n"), "malformed, unknown");
  EXPECT_EQ(fault("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n"), "malformed, unknown");
}

TEST_F(Http, silence_ends_with_the_deadline_and_refusal_is_certain) {
  run({}, [](sim::Ports& ports, Script&) {
    HttpClient nobody(ports, {{"n", sim::PortNumber{81}}, std::nullopt});
    EXPECT_EQ(fault_of(ports, nobody), "connection refused");
  });
  run({"", ""}, [](sim::Ports& ports, Script&) {
    HttpClient client(ports, server());
    EXPECT_EQ(fault_of(ports, client), "timed out, unknown");
  });
}

TEST_F(Http, a_feed_gives_what_has_come_and_goes_on) {
  run({"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none\r\n", "unused"},
      [](sim::Ports& ports, Script&) {
        HttpFeed feed(ports, server(), {"POST", "/watch", "{}", "application/json", ""},
                      world::in(ports, 5s));
        EXPECT_EQ(feed.next(world::in(ports, 5s))->bytes(), "one");
        EXPECT_EQ(feed.status(), 200);
        EXPECT_THROW(feed.next(world::in(ports, 1s)), HttpError);
      });
}

TEST_F(Http, a_feed_is_given_the_very_piece_of_a_service_in_the_same_program) {
  const auto given = std::make_shared<sim::BytesPayload>(std::string(300, 'x'));
  run({}, [&](sim::Ports& ports, Script&) {
    std::shared_ptr<HttpExchange> waits;
    HttpService service(ports, sim::PortNumber{81},
                        [&](const std::shared_ptr<HttpExchange>& exchange) {
                          exchange->begin(200);
                          if (exchange->query().path == "/later") {
                            waits = exchange;
                          } else {
                            exchange->finish(sim::Value(given));
                          }
                        });
    const HttpServer asked{{"n", sim::PortNumber{81}}, std::nullopt};
    for (const char* const path : {"/x", "/later"}) {
      HttpFeed feed(ports, asked, {"GET", path, "", "", ""}, world::in(ports, 5s));
      ports.executor.sleep_until(world::in(ports, 1s));
      if (waits != nullptr) waits->finish(sim::Value(given));
      const HttpResponse response = feed.rest(world::in(ports, 5s));
      EXPECT_EQ(response.whole.payload(), given) << path;
      EXPECT_EQ(response.status, 200);
    }
  });
}

TEST_F(Http, a_feed_takes_no_more_for_a_whole_body_than_is_one) {
  const std::string head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n";
  // Chunks as they come from elsewhere: in one text, cut anywhere, several, with a longer end.
  const std::vector<std::vector<std::string>> cases{
      {head + "3\r\none\r\n0\r\n\r\n"},
      {head + "3\r\non", "e\r\n0\r\n\r\n"},
      {head + "3\r\n", "one\r\n0\r\n\r\n"},
      {head, "3\r\n", "one", "\r\n0\r\n\r\n"},
      {head.substr(0, 30), head.substr(30) + "1\r\no\r\n2\r\nne\r\n0\r\n\r\n"},
      {head + "3;a=b\r\none\r\n0\r\nX-Y: z\r\n\r\n"}};
  for (const std::vector<std::string>& pieces : cases) {
    bool done = false;
    world::TestWorld world;
    world.start(world.node("n"), "test", [&](sim::Ports& ports) {
      PiecemealServer served(ports, pieces);
      HttpFeed feed(ports, server(), {"GET", "/watch", "", "", ""}, world::in(ports, 5s));
      EXPECT_EQ(feed.rest(world::in(ports, 60s)).text(), "one") << pieces.size();
      done = true;
      return 0;
    });
    world.run_for(std::chrono::hours(1));
    EXPECT_TRUE(done);
  }
}

/// What a client makes of an answer that some other server gives.
template <class Client>
std::string complaint(const std::string& body) {
  std::string out;
  world::TestWorld world;
  world.start(world.node("n"), "test", [&](sim::Ports& ports) {
    const std::string answer =
        "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
    Script script(ports, std::vector<std::string>(8, answer));
    try {
      Client client(ports, {{{"n", sim::PortNumber{80}}, std::nullopt}, "", "", 5s});
      static_cast<void>(client.get("/k"));
      out = "accepted";
    } catch (const EtcdConnectionError& error) {
      out = error.what();
    } catch (const EtcdError& error) {
      out = std::string("etcd says: ") + error.what();
    }
    return 0;
  });
  world.run_for(std::chrono::hours(1));
  return out;
}

TEST_F(Http, an_answer_that_is_not_etcds_is_said_to_be_so) {
  for (const char* body : {"<html>", "[]", "{}", R"({"node":7})", R"({"node":{"key":7}})",
                           R"({"errorCode":"x"})", R"({"node":{"nodes":[[[]]]}})"}) {
    EXPECT_THAT(complaint<EtcdV2Client>(body), HasSubstr("not etcd's")) << body;
  }
  for (const char* body :
       {"<html>", "[]", R"({"members":7})", R"({"members":[{"clientURLs":3}]})", R"({"kvs":[7]})",
        R"({"kvs":[{"mod_revision":"x"}]})", R"({"kvs":[{"value":"a"}]})", R"({"header":[]})",
        R"({"header":{"revision":"9223372036854775807"}})",
        R"({"header":{"revision":-9223372036854775808}})"}) {
    EXPECT_THAT(complaint<EtcdV3Client>(body), HasSubstr("not etcd's")) << body;
  }
}

TEST(EtcdClients, take_a_lease_without_a_positive_number_for_no_etcds) {
  for (const std::string body : {R"({})", R"({"ID":"0"})", R"({"ID":"-7","TTL":"10"})"}) {
    world::TestWorld world;
    world.start(world.node("n"), "test", [&](sim::Ports& ports) {
      const std::string answer =
          "HTTP/1.1 200 OK\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
      Script script(ports, std::vector<std::string>(8, answer));
      EtcdV3Client client(ports, {{{"n", sim::PortNumber{80}}, std::nullopt}, "", "", 5s});
      EXPECT_THROW(static_cast<void>(client.grant(10s)), EtcdConnectionError) << body;
      return 0;
    });
    world.run_for(std::chrono::hours(1));
  }
}

TEST(PercentEncoded, escapes_all_but_unreserved_and_kept_characters) {
  EXPECT_EQ(percent_encoded("a b/c+\xff", "/"), "a%20b/c%2B%FF");
  EXPECT_EQ(percent_encoded("=", "="), "=");
}

}  // namespace
}  // namespace hooke::model
