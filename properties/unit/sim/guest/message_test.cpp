// Messages as Python's marshal module writes them; the bytes of the examples were written by it.
#include "sim/guest/message.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <limits>

namespace hooke::guest {
namespace {

using namespace std::string_literals;

std::string error_of(const std::string& bytes) {
  try {
    static_cast<void>(decode(bytes));
  } catch (const GuestError& error) {
    return error.what();
  }
  return "";
}

TEST(Messages, are_what_marshal_writes) {
  EXPECT_EQ(encode({}), "N");
  EXPECT_EQ(encode(true), "T");
  EXPECT_EQ(encode(-2), "i\xfe\xff\xff\xff");
  EXPECT_EQ(encode(std::int64_t{1} << 40U), "l\3\0\0\0\0\0\0\0\0\4"s);
  EXPECT_EQ(encode(-(std::int64_t{1} << 40U)), "l\xfd\xff\xff\xff\0\0\0\0\0\4"s);
  EXPECT_EQ(encode("ab"), "u\2\0\0\0ab"s);
  EXPECT_EQ(encode(Bytes{"\0x"s}), "s\2\0\0\0\0x"s);
  EXPECT_EQ(encode(Message::List{1, false}), "(\2\0\0\0i\1\0\0\0F"s);
}

TEST(Messages, come_back_at_the_ends_of_their_ranges) {
  for (const std::int64_t number :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(),
        std::int64_t{std::numeric_limits<std::int32_t>::min()} - 1,
        std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1}) {
    EXPECT_EQ(decode(encode(number)).number(), number);
  }
}

RC_GTEST_PROP(Messages, come_back, ()) {
  const auto numbers = *rc::gen::arbitrary<std::vector<std::int64_t>>();
  Message::List list;
  for (const std::int64_t number : numbers) {
    list.push_back(Message::List{number, Bytes{*rc::gen::arbitrary<std::string>()}, {}, "text"});
  }
  RC_ASSERT(decode(encode(list)) == Message(list));
}

/// Whatever the bytes, there is a message or an error that names a place.
RC_GTEST_PROP(Messages, of_any_bytes_are_read_or_refused, ()) {
  const auto kinds = *rc::gen::container<std::string>(
      rc::gen::element('N', 'T', 'i', 'l', 'u', 's', '(', '[', 'g', '\0', '\1', '\2', '\xff'));
  const std::string error = error_of(kinds);
  RC_ASSERT(error.empty() || error.find("byte ") != std::string::npos);
}

TEST(Messages, that_are_none_say_where) {
  EXPECT_EQ(error_of(""), "message of the guest, byte 0: expected a value");
  EXPECT_EQ(error_of("g12345678"),
            "message of the guest, byte 0: expected a value of a known kind");
  EXPECT_EQ(error_of("u\4\0\0\0abc"s), "message of the guest, byte 5: expected a length that fits");
  EXPECT_EQ(error_of("NN"), "message of the guest, byte 1: expected the end");
  EXPECT_EQ(error_of("l\5\0\0\0\1\0\1\0\1\0\1\0\x10\0"s),
            "message of the guest, byte 15: expected a number of 64 bits");
  std::string deep;
  for (int i = 0; i < 100; ++i) deep += "(\1\0\0\0"s;
  EXPECT_NE(error_of(deep).find("lists that are not so deep"), std::string::npos);
}

TEST(Messages, of_another_kind_say_both) {
  EXPECT_THROW(
      try { static_cast<void>(Message("x").number()); } catch (const GuestError& error) {
        EXPECT_STREQ(error.what(), "the guest sent a text, expected a number");
        throw;
      },
      GuestError);
  EXPECT_THROW(static_cast<void>(Message(Message::List{1}).at(1)), GuestError);
}

}  // namespace
}  // namespace hooke::guest
