// The HTTP service against clients that ask much and read little.
#include "model/http/http_service.h"

#include <gtest/gtest.h>

#include "properties/unit/sim/world/test_world.h"
#include "sim/port/sync.h"
#include "sim/real/real_process.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kBodyBytes = 64UL * 1024;
constexpr int kRequests = 300;

std::string requests(int count) {
  std::string all;
  for (int i = 0; i < count; ++i) all += "GET /x HTTP/1.1\r\nHost: n\r\n\r\n";
  return all;
}

void with_service(const HttpService::Handler& handler,
                  const std::function<void(sim::Ports&, sim::Stream&)>& body) {
  real::RealProcess process({"test"});
  process.run([&](sim::Ports& ports) {
    const HttpService service(ports, sim::PortNumber{0}, handler);
    const sim::Endpoint own{"localhost", service.port()};
    const auto stream = ports.network.connect(own, world::in(ports, 5s)).value();
    body(ports, *stream);
    return 0;
  });
}

/// Answers that have come within two seconds, or as soon as there are `wanted`.
int answers_read(sim::Ports& ports, sim::Stream& stream, int wanted) {
  const std::string end(kBodyBytes, 'x');
  std::string text;
  int count = 0;
  while (count < wanted) {
    auto got = stream.read(world::in(ports, 2s));
    if (!got.ok() || got->empty()) break;
    text += got->take_bytes(got->size());
    for (std::size_t at = text.find(end); at != std::string::npos; at = text.find(end)) {
      text.erase(0, at + end.size());
      ++count;
    }
  }
  return count;
}

TEST(AnHttpService, answers_no_more_than_its_peer_takes_in) {
  int asked = 0;
  const auto answer = [&](const std::shared_ptr<HttpExchange>& exchange) {
    ++asked;
    exchange->answer(200, std::string(kBodyBytes, 'x'));
  };
  with_service(answer, [&](sim::Ports& ports, sim::Stream& stream) {
    EXPECT_EQ(world::write_text(stream, requests(kRequests)), "ok");
    world::sleep(ports, 50ms);
    EXPECT_LT(asked, kRequests);
    EXPECT_EQ(answers_read(ports, stream, kRequests), kRequests);
    EXPECT_EQ(asked, kRequests);
  });
}

TEST(AnHttpService, goes_on_with_requests_that_came_while_one_waited) {
  std::vector<std::shared_ptr<HttpExchange>> waiting;
  const auto keep = [&](const std::shared_ptr<HttpExchange>& exchange) {
    waiting.push_back(exchange);
  };
  with_service(keep, [&](sim::Ports& ports, sim::Stream& stream) {
    EXPECT_EQ(world::write_text(stream, requests(kRequests)), "ok");
    sim::Scope scope(ports.executor);
    scope.spawn("service", [&] {
      for (std::size_t next = 0; next < kRequests;) {
        if (next == waiting.size()) {
          world::sleep(ports, 1ms);
        } else {
          waiting[next++]->answer(200, std::string(kBodyBytes, 'x'));
        }
      }
    });
    world::sleep(ports, 50ms);
    EXPECT_LT(waiting.size(), kRequests);
    EXPECT_EQ(answers_read(ports, stream, kRequests), kRequests);
    scope.join();
  });
}

TEST(AnHttpService, leaves_a_client_that_piles_up_requests_behind_one_that_waits) {
  std::vector<std::shared_ptr<HttpExchange>> waiting;
  const auto keep = [&](const std::shared_ptr<HttpExchange>& exchange) {
    waiting.push_back(exchange);
  };
  with_service(keep, [&](sim::Ports& ports, sim::Stream& stream) {
    constexpr std::size_t kMuch = 64UL << 20U;
    const std::string some = requests(100'000);
    for (std::size_t sent = 0; sent < kMuch; sent += some.size()) {
      if (world::write_text(stream, some) != "ok") break;
      world::sleep(ports, 1ms);
    }
    EXPECT_EQ(world::read_text(stream, world::in(ports, 5s)), "<connection reset>");
    ASSERT_EQ(waiting.size(), 1U);
    EXPECT_TRUE(waiting.front()->gone());
  });
}

}  // namespace
}  // namespace hooke::model
