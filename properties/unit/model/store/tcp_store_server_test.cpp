// The server at the level of bytes: what each request is answered by. Each test is one process that
// talks over raw connections.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstdlib>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>

#include "raw_store.h"

namespace hooke::model {
namespace {

using namespace std::chrono_literals;

// ---- golden sequence ----------------------------------------------------------------------------

struct GoldenStep {
  std::string operation;
  std::string request;
  std::string reply;
};

/// The recorded conversation of a 2.x client with an empty store.
std::vector<GoldenStep> golden_conversation() {
  const char* const source = std::getenv("HOOKE_SOURCE_DIR");
  std::ifstream file(std::string(source == nullptr ? "." : source) +
                     "/properties/conformance/wire/tcpstore-2.x-golden.json");
  const nlohmann::json golden = nlohmann::json::parse(file);
  std::vector<GoldenStep> out;
  for (const auto& step : golden.at("ops")) {
    const auto& reply = step.at("reply_hex");
    out.push_back({step.at("op"), from_hex(step.at("request_hex")),
                   reply.is_null() ? "" : from_hex(reply.get<std::string>())});
  }
  return out;
}

TEST(TcpStoreServer, answers_the_golden_sequence_byte_by_byte) {
  const auto golden = golden_conversation();
  ASSERT_GE(golden.size(), 24U);
  Texts replies;
  talk([&](sim::Ports& ports) {
    RawClient client(ports, "");
    for (const GoldenStep& step : golden) replies.push_back(client.call(step.request));
  });
  ASSERT_EQ(replies.size(), golden.size());
  for (std::size_t i = 0; i < replies.size(); ++i) {
    EXPECT_EQ(to_hex(replies[i]), to_hex(golden[i].reply)) << golden[i].operation;
  }
}

/// What comes back when `bytes` are sent in these pieces, on a fresh server.
std::string answer_to_pieces(const Texts& pieces) {
  std::string answer;
  talk([&](sim::Ports& ports) {
    RawClient client(ports, "");
    for (const std::string& piece : pieces) {
      client.send(piece);
      world::sleep(ports, 1ms);  // a segment of its own
    }
    answer = client.receive();
  });
  return answer;
}

TEST(TcpStoreServer, a_conversation_cut_at_any_byte_is_answered_the_same) {
  std::string requests;
  std::string replies;
  for (const GoldenStep& step : golden_conversation()) {
    requests += step.request;
    replies += step.reply;
  }
  ASSERT_GT(requests.size(), 400U);
  for (std::size_t cut = 0; cut <= requests.size(); ++cut) {
    ASSERT_EQ(to_hex(answer_to_pieces({requests.substr(0, cut), requests.substr(cut)})),
              to_hex(replies))
        << "cut at " << cut;
  }
  Texts bytes;
  for (const char byte : requests) bytes.emplace_back(1, byte);
  EXPECT_EQ(to_hex(answer_to_pieces(bytes)), to_hex(replies));
}

TEST(TcpStoreServer, an_incomplete_list_of_values_is_not_stored_at_all) {  // S-27
  const std::string half = bytes_of(Message(Query::multi_set).u64(2).text("/a").text("1"));
  const std::string rest = bytes_of(Message().text("/b").text("2"));
  talk([&](sim::Ports& ports) {
    RawClient writer(ports);
    RawClient reader(ports);
    writer.send(half);
    EXPECT_EQ(to_hex(reader.call(get("/a"))), to_hex(value_text("")));
    writer.send(rest);
    EXPECT_EQ(to_hex(reader.call(get("/a"))), to_hex(value_text("1")));
    EXPECT_EQ(to_hex(reader.call(get("/b"))), to_hex(value_text("2")));
  });
}

/// One of the requests a client could send, by number.
std::string some_request(std::uint32_t pick) {
  const std::string key = "/k" + std::to_string(pick / 16 % 3);
  const std::string value(pick / 64 % 5, static_cast<char>('a' + pick % 3));
  switch (pick % 16) {
    case 0: return set(key, value);
    case 1: return compare_set(key, value, "a");
    case 2: return get(key);
    case 3: return add("/n", static_cast<std::int64_t>(pick) - 1000);
    case 4: return list_of(Query::check, {key, "/n"});
    case 5: return wait_for({key});
    case 6: return number_of_keys();
    case 7: return bytes_of(Message(Query::delete_key).text(key));
    case 8: return append(key, value);
    case 9: return list_of(Query::multi_get, {key, "/k2", "/n"});
    case 10: return multi_set(key, value);
    case 11: return cancel();
    case 12: return push("/q", value);
    case 13: return pop("/q");
    case 14: return bytes_of(Message(Query::list_keys));
    default: return barrier_at("/b", pick % 3);
  }
}

RC_GTEST_PROP(TcpStoreServer, random_conversations_cut_at_random_are_answered_the_same,
              (const std::vector<std::uint16_t>& picks, const std::vector<std::uint8_t>& cuts)) {
  std::string requests = opening();
  for (const std::uint16_t pick : picks) requests += some_request(pick);
  Texts pieces;
  std::size_t at = 0;
  for (const std::uint8_t cut : cuts) {
    pieces.push_back(requests.substr(at, cut % 50 + 1));
    at = std::min(requests.size(), at + pieces.back().size());
  }
  pieces.push_back(requests.substr(at));
  RC_ASSERT(answer_to_pieces(pieces) == answer_to_pieces({requests}));
}

// ---- single requests ----------------------------------------------------------------------------

TEST(TcpStoreServer, a_missing_key_reads_as_empty) {
  EXPECT_EQ(answers_to({get("/none"), list_of(Query::multi_get, {"/none", "/nor"})}),
            (Texts{value_text(""), value_text("") + value_text("")}));
}

TEST(TcpStoreServer, what_is_appended_is_part_of_the_value_for_whatever_reads_it) {
  EXPECT_EQ(answers_to({append("/k", "1") + append("/k", "") + append("/k", "2"), get("/k"),
                        append("/k", "3") + add("/k", 1), append("/k", "5") + get("/k"),
                        append("/k", "6") + compare_set("/k", "12456", "7"),
                        append("/k", "8") + set("/k", "9") + get("/k")}),
            (Texts{"", value_text("12"), number_text(124), value_text("1245"), value_text("7"),
                   value_text("9")}));
}

TEST(TcpStoreServer, adding_follows_the_rules_of_strtoll) {
  EXPECT_EQ(answers_to({set("/n", "12abc") + add("/n", 1), get("/n"),
                        set("/n", " -3") + add("/n", 1), get("/n")}),
            (Texts{number_text(13), value_text("13"), number_text(-2), value_text("-2")}));
}

TEST(TcpStoreServer, adding_to_what_is_no_number_closes_the_connection_and_changes_nothing) {
  for (const std::string text : {"abc", "", "99999999999999999999"}) {
    Texts seen;
    talk([&](sim::Ports& ports) {
      RawClient client(ports);
      seen.push_back(client.call(set("/n", text) + add("/n", 1)));
      seen.push_back(RawClient(ports).call(get("/n")));
    });
    EXPECT_EQ(seen, (Texts{"<end>", value_text(text)}));
  }
}

TEST(TcpStoreServer, sums_wrap_around) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();
  EXPECT_EQ(answers_to({add("/n", kMax), add("/n", 1), add("/n", -1),
                        barrier_at("/n", std::int64_t{kMin})}),
            (Texts{number_text(kMax), number_text(kMin), number_text(kMax), kStop}));
}

TEST(TcpStoreServer, compare_set_answers_what_is_there_and_lies_about_a_missing_key) {
  EXPECT_EQ(
      answers_to({compare_set("/k", "old", "new"), number_of_keys(), compare_set("/k", "", "one"),
                  compare_set("/k", "", "two"), compare_set("/k", "one", "three"),
                  compare_set("/k", "one", "four"), set("/k", "") + compare_set("/k", "", "five")}),
      (Texts{value_text("old"), number_text(0), value_text("one"), value_text("one"),
             value_text("three"), value_text("three"), value_text("five")}));
}

TEST(TcpStoreServer, checking_no_keys_and_waiting_for_none_are_answered_at_once) {
  EXPECT_EQ(answers_to({list_of(Query::check, {}), wait_for({}), list_of(Query::multi_get, {})}),
            (Texts{kStop, kStop, ""}));
}

TEST(TcpStoreServer, keys_are_counted_and_listed_as_they_are_and_queues_are_not) {
  Message list;
  list.i64(3).text("/a").text("/b").text("init/");
  EXPECT_EQ(answers_to({set("/b", "1") + set("/a", "2") + add("init/", 1) + push("/q", "x"),
                        number_of_keys(), bytes_of(Message(Query::list_keys))}),
            (Texts{number_text(1), number_text(3), bytes_of(std::move(list))}));
}

TEST(TcpStoreServer, a_queue_is_first_in_first_out_and_has_a_namespace_of_its_own) {
  const std::string length = bytes_of(Message(Query::queue_len).text("/q"));
  const std::string remove = bytes_of(Message(Query::delete_key).text("/q"));
  EXPECT_EQ(answers_to({length, push("/q", "a") + push("/q", "b") + length, get("/q"), remove,
                        list_of(Query::check, {"/q"}), pop("/q"), pop("/q"), pop("/q"),
                        list_of(Query::check, {"/q"})}),
            (Texts{number_text(0), number_text(2), value_text(""), number_text(0), kStop,
                   number_text(2) + value_text("a"), number_text(1) + value_text("b"),
                   number_text(0), kCanceled}));
}

}  // namespace
}  // namespace hooke::model
