// The messages of the TCPStore as bytes, without a server.
#include "model/store/wire.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "raw_store.h"

namespace hooke::model {
namespace {

/// One request of every kind, as bytes.
std::vector<std::string> every_request() {
  const Value value("value");
  return {opening(),
          bytes_of(Message(Query::set).text("/k").value(value)),
          bytes_of(Message(Query::compare_set).text("/k").value(Value("old")).value(value)),
          bytes_of(Message(Query::get).text("/k")),
          bytes_of(Message(Query::add).text("/n").i64(-7)),
          list_of(Query::check, {"/a", "/b"}),
          list_of(Query::wait, {"/a", "", "/c"}),
          bytes_of(Message(Query::get_num_keys)),
          bytes_of(Message(Query::delete_key).text("/k")),
          bytes_of(Message(Query::append).text("/k").value(Value())),
          list_of(Query::multi_get, {"/a"}),
          bytes_of(Message(Query::multi_set)
                       .u64(2)
                       .text("/a")
                       .value(value)
                       .text("/b")
                       .value(Value("other"))),
          bytes_of(Message(Query::cancel_wait)),
          bytes_of(Message(Query::ping).u32(4242)),
          bytes_of(Message(Query::queue_push).text("/q").value(value)),
          bytes_of(Message(Query::queue_pop).text("/q")),
          bytes_of(Message(Query::queue_len).text("/q")),
          bytes_of(Message(Query::list_keys)),
          bytes_of(Message(Query::barrier).text("/b").i64(3))};
}

/// Everything a request says, to compare requests by.
std::string text_of(const Request& request) {
  std::string out = std::to_string(static_cast<int>(request.query)) + "|" + request.key + "|" +
                    request.value.bytes() + "|" + request.expected.bytes() + "|" +
                    std::to_string(request.number);
  for (const std::string& key : request.keys) out += "|" + key;
  for (const auto& [key, value] : request.items) out += "|" + key + "=" + value.bytes();
  return out;
}

std::vector<std::string> take_all(sim::Buffer& buffer) {
  std::vector<std::string> out;
  while (auto request = take_request(buffer)) out.push_back(text_of(*request));
  return out;
}

/// The words with which `bytes` are refused; "taken" or "waits" when they are not.
std::string refusal(const std::string& bytes) {
  sim::Buffer buffer(bytes);
  try {
    return take_request(buffer) ? "taken" : "waits";
  } catch (const WireError& error) {
    return error.what();
  }
}

TEST(Wire, every_kind_of_request_is_read_as_it_was_written) {
  sim::Buffer buffer;
  for (const std::string& request : every_request()) buffer.append(request);
  EXPECT_EQ(take_all(buffer),
            (std::vector<std::string>{
                "0||||1015412686", "1|/k|value||0", "2|/k|value|old|0", "3|/k|||0", "4|/n|||-7",
                "5||||0|/a|/b", "6||||0|/a||/c", "7||||0", "8|/k|||0", "9|/k|||0", "10||||0|/a",
                "11||||0|/a=value|/b=other", "12||||0", "13||||4242", "14|/q|value||0", "15|/q|||0",
                "16|/q|||0", "17||||0", "18|/b|||3"}));
  EXPECT_TRUE(buffer.empty());
}

TEST(Wire, a_request_that_is_not_all_there_takes_nothing) {
  for (const std::string& request : every_request()) {
    for (std::size_t length = 0; length < request.size(); ++length) {
      sim::Buffer buffer(request.substr(0, length));
      EXPECT_FALSE(take_request(buffer).has_value()) << to_hex(request) << " cut at " << length;
      EXPECT_EQ(buffer.size(), length);
    }
  }
}

TEST(Wire, a_refusal_names_the_byte_and_what_was_expected_there) {
  const std::string too_long = bytes_of(Message().u64(kKeyBytesMax + 1));
  const std::string key_expected =
      ": a key of at most 8192 bytes was expected, its length says 8193";
  EXPECT_EQ(refusal("\x13"), "byte 0: a query of 0 to 18 was expected, got 19");
  EXPECT_EQ(refusal("\xff"), "byte 0: a query of 0 to 18 was expected, got 255");
  EXPECT_EQ(refusal("\x03" + too_long), "byte 1" + key_expected);
  EXPECT_EQ(
      refusal(list_of(Query::multi_get, {"/a", "/b"}).replace(1, 8, number_text(3)) + too_long),
      "byte 29" + key_expected);
  const std::string value_expected =
      ": a value of at most 8388608 bytes was expected, its length says 8388609";
  const std::string huge = bytes_of(Message().u64(kValueBytesMax + 1));
  EXPECT_EQ(refusal(bytes_of(Message(Query::set).text("/k")) + huge), "byte 11" + value_expected);
  EXPECT_EQ(refusal(bytes_of(Message(Query::compare_set).text("/k").value(Value("abc"))) + huge),
            "byte 22" + value_expected);
  EXPECT_EQ(refusal(bytes_of(Message(Query::multi_set).u64(1).text("/k")) + huge),
            "byte 19" + value_expected);
  EXPECT_EQ(refusal(bytes_of(Message(Query::wait).u64(kKeysMax + 1))),
            "byte 1: at most 131072 keys were expected, the count says 131073");
}

TEST(Wire, lengths_at_the_limits_are_waited_for_and_lengths_beyond_any_memory_are_refused) {
  EXPECT_EQ(refusal(bytes_of(Message(Query::get).u64(kKeyBytesMax))), "waits");
  EXPECT_EQ(refusal(bytes_of(Message(Query::set).text("/k").u64(kValueBytesMax))), "waits");
  EXPECT_EQ(refusal(bytes_of(Message(Query::check).u64(kKeysMax))), "waits");
  EXPECT_EQ(refusal(bytes_of(Message(Query::get).text(std::string(kKeyBytesMax, 'k')))), "taken");
  for (const std::uint64_t length : {~0ULL, 1ULL << 63U, (1ULL << 63U) - 1, 57ULL << 30U}) {
    EXPECT_TRUE(refusal(bytes_of(Message(Query::get).u64(length))).starts_with("byte 1:"));
    EXPECT_TRUE(refusal(bytes_of(Message(Query::check).u64(length))).starts_with("byte 1:"));
  }
}

TEST(Wire, the_longest_value_and_the_longest_list_are_taken) {
  const Value longest(std::string(kValueBytesMax, 'v'));
  sim::Buffer value = Message(Query::set).text("/k").value(longest).take();
  EXPECT_EQ(take_request(value)->value.payload(), longest.payload());
  sim::Buffer list(list_of(Query::wait, std::vector<std::string>(kKeysMax, "/key")));
  EXPECT_EQ(take_request(list)->keys.size(), kKeysMax);
}

TEST(Wire, a_request_of_one_byte_pieces_is_read_in_the_time_of_its_bytes) {
  // 4 MiB in single bytes: a piece for each would take minutes and hundreds of megabytes.
  const std::string request = list_of(Query::multi_get, std::vector<std::string>(1, "/k"));
  const std::string value =
      bytes_of(Message(Query::set).text("/k").text(std::string(1U << 22U, 'v')));
  sim::Buffer buffer;
  for (const char byte : request + value) buffer.append(std::string(1, byte));
  EXPECT_EQ(take_request(buffer)->keys.size(), 1U);
  EXPECT_EQ(take_request(buffer)->value.size(), std::size_t{1} << 22U);
  EXPECT_TRUE(buffer.empty());
}

TEST(Wire, a_list_that_comes_in_pieces_is_looked_at_once) {
  const std::size_t keys = 5000;
  std::string whole = bytes_of(Message(Query::multi_set).u64(keys));
  for (std::size_t i = 0; i < keys; ++i) {
    whole += bytes_of(Message().text("/key" + std::to_string(i)).text("value"));
  }
  sim::Buffer received;
  ListProgress progress;
  std::size_t looked_at = 0;
  std::optional<Request> request;
  for (std::size_t at = 0; at < whole.size(); at += 700) {
    ASSERT_FALSE(request);
    received.append(whole.substr(at, 700));
    request = take_request(received, Variant::torch_2_x, progress);
    if (request) continue;
    EXPECT_GE(progress.position, looked_at);
    EXPECT_LT(received.size() - progress.position, 40U);  // an item
    looked_at = progress.position;
  }
  ASSERT_TRUE(request);
  EXPECT_TRUE(received.empty());
  EXPECT_EQ(progress.position, 0U);
  EXPECT_EQ(request->items.size(), keys);
  EXPECT_EQ(request->items.back().first, "/key4999");
  // A refusal counts the bytes from the beginning of the request all the same.
  received.append(whole.substr(0, 61));
  EXPECT_FALSE(take_request(received, Variant::torch_2_x, progress));
  ASSERT_EQ(progress.position, 61U);
  received.append(std::string(8, '\xff'));
  try {
    static_cast<void>(take_request(received, Variant::torch_2_x, progress));
    FAIL() << "taken";
  } catch (const WireError& error) {
    EXPECT_TRUE(std::string(error.what()).starts_with("byte 61:")) << error.what();
  }
}

TEST(Wire, values_travel_by_reference_and_compare_by_bytes) {
  const Value value(std::string(1000, 'x'));
  sim::Buffer buffer = Message(Query::compare_set).text("k").value(value).value(value).take();
  const auto request = take_request(buffer);
  ASSERT_TRUE(request);
  EXPECT_EQ(request->value.payload(), value.payload());
  EXPECT_EQ(request->expected.payload(), value.payload());
  EXPECT_EQ(Value(std::string(1000, 'x')), value);
}

TEST(Wire, a_clients_key_begins_with_a_slash) {
  EXPECT_EQ(bytes_of(Message(Query::get).key("k")), bytes_of(Message(Query::get).text("/k")));
  EXPECT_EQ(bytes_of(Message(Query::get).key("")), bytes_of(Message(Query::get).text("/")));
}

RC_GTEST_PROP(Wire, requests_cut_anywhere_mean_the_same,
              (const std::vector<std::uint8_t>& picks, const std::vector<std::uint8_t>& cuts)) {
  const std::vector<std::string> kinds = every_request();
  std::string bytes;
  for (const std::uint8_t pick : picks) bytes += kinds[pick % kinds.size()];
  sim::Buffer whole(bytes);
  const std::vector<std::string> wanted = take_all(whole);
  RC_ASSERT(wanted.size() == picks.size());

  std::vector<std::string> got;
  sim::Buffer buffer;
  const auto feed = [&](const std::string& piece) {
    buffer.append(piece);
    for (std::string& request : take_all(buffer)) got.push_back(std::move(request));
  };
  std::size_t at = 0;
  for (const std::uint8_t cut : cuts) {
    const std::size_t length = std::min<std::size_t>(cut % 40, bytes.size() - at);
    feed(bytes.substr(at, length));
    at += length;
  }
  feed(bytes.substr(at));
  RC_ASSERT(got == wanted);
  RC_ASSERT(buffer.empty());
}

}  // namespace
}  // namespace hooke::model
