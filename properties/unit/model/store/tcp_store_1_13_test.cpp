// The wire format of PyTorch 1.13, byte by byte on raw connections and through the client.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "raw_store.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

constexpr Variant kOld = Variant::torch_1_13;

std::string old_bytes(Query query, const std::string& arguments) {
  return bytes_of(Message(query, kOld)) + arguments;
}
std::string key(const std::string& name) {
  return bytes_of(Message().text(name));
}
std::string number(std::int64_t value) {
  return bytes_of(Message().i64(value));
}

/// Answers of one connection to these requests, one after the other.
Texts answers(const Texts& requests) {
  Texts out;
  talk([&](sim::Ports& ports) {
    RawClient client(ports, "");
    for (const std::string& request : requests) out.push_back(client.call(request));
  });
  return out;
}

TEST(TcpStore113, recorded_requests_are_answered_as_recorded) {
  const Texts got = answers({
      from_hex("000200000000000000"
               "2f6b"
               "0500000000000000"
               "68656c6c6f"),
      from_hex("050100000000000000"
               "0200000000000000"
               "2f6b"),
      from_hex("020200000000000000"
               "2f6b"),
      from_hex("030200000000000000"
               "2f6e"
               "f9ffffffffffffff"),
  });
  EXPECT_EQ(to_hex(got[0]), "");
  EXPECT_EQ(to_hex(got[1]), "00");
  EXPECT_EQ(to_hex(got[2]),
            "0500000000000000"
            "68656c6c6f");
  EXPECT_EQ(to_hex(got[3]), "f9ffffffffffffff");
}

TEST(TcpStore113, every_query_has_its_number) {
  const Texts got = answers({
      std::string(1, '\x01') + key("/k") + key("") + key("v"),     // COMPARE_SET
      std::string(1, '\x04') + number(1) + key("/k"),              // CHECK
      std::string(1, '\x04') + number(2) + key("/k") + key("/x"),  // CHECK
      std::string(1, '\x06'),                                      // GETNUMKEYS
      std::string(1, '\x08') + key("/k"),                          // DELETE_KEY
      std::string(1, '\x06'), std::string(1, '\x07') + key("/k"),  // WATCH_KEY
  });
  EXPECT_EQ(got, (Texts{key("v"), std::string(1, '\0'), "\x01", number(1), number(1), number(0),
                        "<end>"}));
}

TEST(TcpStore113, a_get_of_a_missing_key_closes_the_connection) {
  EXPECT_EQ(answers({old_bytes(Query::get, key("/none"))}), Texts{"<end>"});
}

TEST(TcpStore113, a_request_may_arrive_split_at_any_byte) {
  const std::string set = old_bytes(Query::set, key("/k") + key("value"));
  for (std::size_t cut = 1; cut < set.size(); ++cut) {
    const Texts got =
        answers({set.substr(0, cut), set.substr(cut), old_bytes(Query::get, key("/k"))});
    EXPECT_EQ(got, (Texts{"", "", key("value")})) << "cut at " << cut;
  }
}

TEST(TcpStore113, only_the_whole_opening_of_2_x_makes_a_client_one_of_2_x) {
  EXPECT_EQ(dialect_of(sim::Buffer()), std::nullopt);
  EXPECT_EQ(dialect_of(sim::Buffer(opening().substr(0, 4))), std::nullopt);
  EXPECT_EQ(dialect_of(sim::Buffer(opening())), Variant::torch_2_x);
  EXPECT_EQ(dialect_of(sim::Buffer("\x03")), kOld);
  EXPECT_EQ(dialect_of(sim::Buffer(std::string("\0\x02\0\0\0", 5))), kOld);
}

TEST(TcpStore113, clients_of_both_kinds_share_what_is_stored) {
  Texts got;
  talk([&](sim::Ports& ports) {
    RawClient older(ports, "");
    RawClient newer(ports);
    older.send(old_bytes(Query::set, key("/k") + key("from old")));
    got.push_back(newer.call(bytes_of(Message(Query::get).text("/k"))));
    // An old client's compare_set wakes no client, a new one's does.
    newer.send(list_of(Query::wait, {"/w"}));
    got.push_back(older.call(old_bytes(Query::compare_set, key("/w") + key("") + key("1"))));
    got.push_back(newer.receive());
    got.push_back(older.call(old_bytes(Query::add, key("/w") + number(1))));
    got.push_back(newer.receive());
  });
  EXPECT_EQ(got, (Texts{key("from old"), key("1"), "", number(2), std::string(1, '\0')}));
}

TEST(TcpStore113, a_silent_connection_is_left_alone) {
  Texts got;
  talk([&](sim::Ports& ports) {
    RawClient silent(ports, "");
    world::sleep(ports, 1h);
    got.push_back(silent.receive());
    got.push_back(silent.call(old_bytes(Query::add, key("/n") + number(5))));
  });
  EXPECT_EQ(got, (Texts{"", number(5)}));
}

/// What `body` does with a client of 1.13.
void with_client(const std::function<void(sim::Ports&, Store&)>& body) {
  talk([&](sim::Ports& ports) {
    TcpStoreOptions options = StoreWorld::options(10s);
    options.variant = kOld;
    body(ports, *connect_tcp_store(ports, options));
  });
}

TEST(TcpStore113, the_client_does_everything_the_protocol_needs) {
  with_client([](sim::Ports&, Store& store) {
    store.set("a", Value("1"));
    EXPECT_EQ(store.get("a").bytes(), "1");
    EXPECT_EQ(store.add("n", 41), 41);
    EXPECT_EQ(store.add("n", 1), 42);
    EXPECT_EQ(store.compare_set("s", Value(), Value("x")).bytes(), "x");
    EXPECT_EQ(store.compare_set("s", Value("y"), Value("z")).bytes(), "x");
    store.wait({"a", "n"});
    EXPECT_TRUE(store.check({"a", "s"}));
    EXPECT_FALSE(store.check({"a", "none"}));
    store.multi_set({{"p", Value("3")}, {"q", Value("4")}});
    const auto both = store.multi_get({"q", "p"});
    EXPECT_EQ(both.at(0).bytes() + both.at(1).bytes(), "43");
    EXPECT_EQ(store.num_keys(), 5);
    EXPECT_TRUE(store.delete_key("p"));
    EXPECT_FALSE(store.delete_key("p"));
    EXPECT_THROW(store.append("a", Value("2")), StoreError);
  });
}

TEST(TcpStoreDetection, tells_the_generations_apart_and_says_when_no_server_is_there) {
  talk([](sim::Ports& ports) {
    const sim::Endpoint old{ports.network.host_name(), sim::PortNumber{1}};
    /// Hangs up as soon as anything comes, as a server of 1.13 does at 2.x' opening.
    struct HangsUp final : sim::AcceptHandler, sim::StreamHandler {
      void on_accept(std::unique_ptr<sim::Stream> accepted) override {
        stream = std::move(accepted);
        stream->set_handler(*this);
      }
      void on_data(sim::Buffer&) override { stream.reset(); }
      void on_end() override { stream.reset(); }
      std::unique_ptr<sim::Stream> stream;
    } server;
    const auto listener = ports.network.listen(old.port, server);
    EXPECT_EQ(detect_tcp_store(ports, old, 5s), kOld);
    EXPECT_EQ(detect_tcp_store(ports, {"s", kStorePort}, 5s), Variant::torch_2_x);
    EXPECT_THROW(detect_tcp_store(ports, {"s", sim::PortNumber{2}}, 5s), StoreNetworkError);
  });
}

TEST(TcpStore113, a_wait_that_timed_out_spoils_a_later_answer) {  // S-1
  with_client([](sim::Ports&, Store& store) {
    EXPECT_THROW(store.wait({"late"}, 1s), StoreTimeoutError);
    store.set("late", Value("1"));
    // The byte 00 of the wait comes first: 05 00 … is read as 00 05 ….
    EXPECT_EQ(store.add("n", 5), 1280);
    // So is the last 00 that is left of this answer, for as long as there is the connection.
    EXPECT_EQ(store.add("n", 1), 1536);
  });
}

}  // namespace
}  // namespace hooke::model
