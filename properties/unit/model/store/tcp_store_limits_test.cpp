// What one client may cost the server, and that others do not feel its refusal.
#include "model/store/tcp_store_limits.h"

#include <gtest/gtest.h>

#include "raw_store.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kEntry = kStoreEntryBytes;

/// Runs `body` against a server with these limits; returns what the server said of refusals.
Texts talk_within(TcpStoreLimits limits, const std::function<void(sim::Ports&)>& body) {
  Texts told;
  limits.refused = [&told](const std::string& text) { told.push_back(text); };
  StoreWorld world(1, {}, limits);
  world.client(body);
  world.run();
  return told;
}

TEST(TcpStoreLimits, a_connection_too_many_is_closed_and_the_others_are_served) {
  TcpStoreLimits limits;
  limits.connections = 2;
  Texts seen;
  const Texts told = talk_within(limits, [&](sim::Ports& ports) {
    RawClient first(ports);
    {
      RawClient second(ports);
      seen.push_back(second.call(set("/k", "v") + get("/k")));
      seen.push_back(RawClient(ports).receive());
      seen.push_back(first.call(get("/k")));
    }
    world::sleep(ports, 10ms);
    seen.push_back(RawClient(ports).call(get("/k")));
  });
  EXPECT_EQ(seen, (Texts{value_text("v"), "<end>", value_text("v"), value_text("v")}));
  EXPECT_EQ(told, (Texts{"a client is refused: limit connections is 2, the client needs 3"}));
}

TEST(TcpStoreLimits, a_request_that_never_ends_is_cut_off) {
  TcpStoreLimits limits;
  limits.request_bytes = 1000;
  Texts seen;
  const Texts told = talk_within(limits, [&](sim::Ports& ports) {
    const std::string large = set("/k", std::string(2000, 'x'));
    seen.push_back(RawClient(ports).call(large.substr(0, 999)));
    seen.push_back(RawClient(ports).call(large.substr(0, 1001)));
    seen.push_back(RawClient(ports).call(get("/k")));
  });
  EXPECT_EQ(seen, (Texts{"", "<end>", value_text("")}));
  EXPECT_EQ(told.size(), 1U);
}

TEST(TcpStoreLimits, a_reply_that_would_be_too_large_is_never_built) {
  TcpStoreLimits limits;
  limits.reply_bytes = 100;
  const std::string half(42, 'x');  // 50 bytes with its length
  Texts seen;
  const Texts told = talk_within(limits, [&](sim::Ports& ports) {
    RawClient client(ports);
    client.send(set("/k", half));
    seen.push_back(client.call(list_of(Query::multi_get, {"/k", "/k"})));
    seen.push_back(client.call(list_of(Query::multi_get, {"/k", "/k", "/none"})));
    seen.push_back(RawClient(ports).call(append("/k", std::string(60, 'y'))));
    RawClient lister(ports);
    for (int i = 0; i < 12; ++i) lister.send(set("/" + std::to_string(i), ""));
    seen.push_back(lister.call(bytes_of(Message(Query::list_keys))));
    seen.push_back(RawClient(ports).call(get("/k")));
  });
  EXPECT_EQ(seen, (Texts{value_text(half) + value_text(half), "<end>", "<end>", "<end>",
                         value_text(half)}));
  EXPECT_EQ(told.size(), 1U) << "a client in a loop would fill the log";
}

/// Each way to have the server keep something.
Texts requests_that_hold() {
  return {set("/new", "12345"),      append("/new", "12345"), compare_set("/new", "", "12345"),
          multi_set("/new", "1234"), push("/new", "12345"),   add("/new", 12345),
          barrier_at("/new", 3),     wait_for({"/new"})};
}

TEST(TcpStoreLimits, a_full_store_refuses_whatever_would_grow_it_and_serves_the_rest) {
  TcpStoreLimits limits;
  limits.held_bytes = kEntry + 2 + 5;  // "/k" with five bytes
  for (const std::string& request : requests_that_hold()) {
    Texts seen;
    const Texts told = talk_within(limits, [&](sim::Ports& ports) {
      RawClient honest(ports);
      honest.send(set("/k", "12345"));
      seen.push_back(RawClient(ports).call(request));
      seen.push_back(honest.call(set("/k", "54321") + get("/k")));
      seen.push_back(honest.call(bytes_of(Message(Query::delete_key).text("/k"))));
      seen.push_back(honest.call(set("/n", "1") + get("/n")));
    });
    EXPECT_EQ(seen, (Texts{"<end>", value_text("54321"), number_text(1), value_text("1")}));
    EXPECT_EQ(told.size(), 1U);
  }
}

TEST(TcpStoreLimits, a_list_of_which_not_all_can_be_held_sets_none_and_wakes_no_client) {
  TcpStoreLimits limits;
  limits.held_bytes = 4 * (kEntry + 2) + 12;
  const auto list = [](const std::vector<std::pair<std::string, std::string>>& items) {
    Message message(Query::multi_set);
    message.u64(items.size());
    for (const auto& [key, value] : items) message.text(key).text(value);
    return bytes_of(std::move(message));
  };
  Texts seen;
  const Texts told = talk_within(limits, [&](sim::Ports& ports) {
    RawClient waiter(ports);
    RawClient honest(ports);
    waiter.send(wait_for({"/b"}));
    honest.send(set("/a", "old"));
    world::sleep(ports, 10ms);
    // The first two would have room, the third has none.
    seen.push_back(RawClient(ports).call(
        list({{"/a", "new!"}, {"/b", "1"}, {"/c", std::string(200, 'x')}, {"/d", ""}})));
    seen.push_back(waiter.receive());
    seen.push_back(honest.call(get("/a") + number_of_keys()));
    // What fits exactly is set, and wakes.
    seen.push_back(honest.call(list({{"/a", "456"}, {"/b", "012345678"}, {"/c", ""}}) + get("/a")));
    seen.push_back(waiter.receive());
  });
  EXPECT_EQ(seen,
            (Texts{"<end>", "", value_text("old") + number_text(1), value_text("456"), kStop}));
  EXPECT_EQ(told.size(), 1U);
}

TEST(TcpStoreLimits, half_requests_of_many_clients_are_bounded_together) {
  TcpStoreLimits limits;
  limits.held_bytes = 5000;
  std::vector<std::string> ends;
  std::string honest;
  const Texts told = talk_within(limits, [&](sim::Ports& ports) {
    const std::string half = set("/k", std::string(2000, 'x')).substr(0, 1500);
    {
      std::vector<std::unique_ptr<RawClient>> clients;
      for (int i = 0; i < 5; ++i) {
        clients.push_back(std::make_unique<RawClient>(ports));
        ends.push_back(clients.back()->call(half));
      }
      honest = RawClient(ports).call(set("/a", "1") + get("/a"));
    }
    world::sleep(ports, 10ms);
    ends.push_back(RawClient(ports).call(half));  // what clients held that have gone is free again
  });
  EXPECT_EQ(ends, (Texts{"", "", "", "<end>", "<end>", ""}));
  EXPECT_EQ(honest, value_text("1"));
  EXPECT_EQ(told.size(), 1U);
}

TEST(TcpStoreLimits, what_is_taken_back_makes_room_again) {
  TcpStoreLimits limits;
  limits.held_bytes = 2 * (kEntry + 10);
  std::string last;
  const Texts told = talk_within(limits, [&](sim::Ports& ports) {
    for (int i = 0; i < 20; ++i) {
      RawClient client(ports);
      client.send(push("/q", "12345678") + pop("/q"));
      client.send(set("/k", "12345678") + bytes_of(Message(Query::delete_key).text("/k")));
      client.send(wait_for({"/w"}) + cancel() + wait_for({"/w"}) + set("/w", "1"));
      client.send(bytes_of(Message(Query::delete_key).text("/w")) + wait_for({"/w"}));
      static_cast<void>(client.receive());  // and gone, in the middle of a wait
    }
    world::sleep(ports, 10ms);
    last = RawClient(ports).call(set("/k", "12345678") + set("/l", "12345678") + get("/l"));
  });
  EXPECT_EQ(last, value_text("12345678"));
  EXPECT_EQ(told, Texts{});
}

TEST(TcpStoreLimits, waiting_for_one_key_again_and_again_is_bounded) {
  TcpStoreLimits limits;
  limits.held_bytes = 10 * (kEntry + 2);
  std::string answer;
  static_cast<void>(talk_within(limits, [&](sim::Ports& ports) {
    std::string waits;
    for (int i = 0; i < 11; ++i) waits += wait_for({"/w"});
    answer = RawClient(ports).call(waits);
  }));
  EXPECT_EQ(answer, "<end>");
}

}  // namespace
}  // namespace hooke::model
